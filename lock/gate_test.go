package lock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

func TestGate(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string) {
		c := open(t, url, keywright.Options{})
		g := lock.NewGate(c, "balance:7", time.Minute)
		for _, step := range []struct {
			fence int64
			want  error
		}{{5, nil}, {5, nil}, {4, lock.ErrStale}, {9, nil}, {5, lock.ErrStale}} {
			m, err := g.Do(t.Context(), step.fence, "INCRBY", "1")
			if !errors.Is(err, step.want) || step.want == nil && err != nil {
				t.Errorf("fence %d: %v", step.fence, err)
			}
			if class, ok := keywright.ClassOf(err); err != nil && (!ok || class != keywright.NotApplied) {
				t.Errorf("fence %d: %v is %v", step.fence, err, class)
			}
			if n, _ := m.(int64); step.want == nil && n == 0 {
				t.Errorf("fence %d: the command answered nothing", step.fence)
			}
		}
		if n, err := c.Raw().Do(t.Context(), c.Raw().B().Get().Key("balance:7").Build()).AsInt64(); err != nil || n != 3 {
			t.Errorf("%d writes, %v", n, err)
		}
		if _, err := g.Do(t.Context(), 10, "LPUSH", "x"); err == nil {
			t.Error("an error of the command is passed over")
		}
		if _, err := g.Do(t.Context(), 9, "INCRBY", "0"); err != nil {
			t.Errorf("a command that failed has raised the gate: %v", err)
		}
		if m, err := g.Do(t.Context(), 10, "SET", "1", "NX"); err != nil || m != nil {
			t.Errorf("a command that answers nothing: %v %v", m, err)
		}
	})
}

// row represents a database of one row: UPDATE … WHERE fence <= $1.
type row struct{ fence int64 }

func (r *row) Open(string) (driver.Conn, error)             { return r, nil }
func (r *row) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r *row) Driver() driver.Driver                        { return r }
func (r *row) Prepare(string) (driver.Stmt, error)          { return r, nil }
func (r *row) Begin() (driver.Tx, error)                    { return nil, errors.New("none") }
func (r *row) Close() error                                 { return nil }
func (r *row) NumInput() int                                { return 1 }
func (r *row) Query([]driver.Value) (driver.Rows, error)    { return nil, errors.New("none") }
func (r *row) Exec(args []driver.Value) (driver.Result, error) {
	if fence := args[0].(int64); fence >= r.fence {
		r.fence = fence
		return driver.RowsAffected(1), nil
	}
	return driver.RowsAffected(0), nil
}

// TestExecFenced: through database/sql, with a row that compares as the
// statement in its documentation does.
func TestExecFenced(t *testing.T) {
	db := sql.OpenDB(&row{})
	defer db.Close()
	l := lock.Open(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{}), "lock:a",
		lock.Options{})
	old := take(t, t.Context(), l)
	must(t, old.Release(t.Context()))
	lease := take(t, t.Context(), l)
	must(t, lock.ExecFenced(t.Context(), db, "UPDATE t SET fence = $1 WHERE fence <= $1", lease.Fence()))
	if err := lock.ExecFenced(t.Context(), db, "UPDATE t SET fence = $1 WHERE fence <= $1", old.Fence()); !errors.Is(err,
		lock.ErrStale) {
		t.Errorf("an older holder wrote: %v", err)
	}
	must(t, lease.Release(t.Context()))
}

// TestStrangeGate: a gate that holds no token names its key and lets nothing
// through; tokens and arguments that a script cannot take are refused before.
func TestStrangeGate(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	gate := lock.NewGate(open(t, s.URL(), keywright.Options{}), "ledger", 0)
	for _, put := range [][]string{{"SET", "{ledger}:seen", "v2:1"}, {"SET", "{ledger}:seen", "9007199254740992"},
		{"HSET", "{ledger}:seen", "a", "b"}} {
		s.Do("DEL", "{ledger}:seen")
		s.Do(put...)
		if _, err := gate.Do(t.Context(), 5, "SET", "x"); err == nil || !strings.Contains(err.Error(), "{ledger}:seen") ||
			s.Do("EXISTS", "ledger") != int64(0) {
			t.Errorf("%v: %v", put, err)
		}
	}
	s.Do("DEL", "{ledger}:seen")
	for fence, args := range map[int64][]string{-1: {"x"}, 1 << 53: {"x"}, 7: make([]string, 7001)} {
		_, err := gate.Do(t.Context(), fence, "RPUSH", args...)
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
			t.Errorf("%d: %v", fence, err)
		}
	}
	if _, err := gate.Do(t.Context(), 7, "RPUSH", make([]string, 7000)...); err != nil {
		t.Error(err)
	}
	for _, ttl := range []time.Duration{-1, -time.Hour, time.Microsecond} { // it would let older holders in at once
		_, err := lock.NewGate(open(t, s.URL(), keywright.Options{}), "short", ttl).Do(t.Context(), 5, "SET", "x")
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid || s.Do("EXISTS", "short") != int64(0) {
			t.Errorf("a gate that remembers for %v: %v", ttl, err)
		}
	}
}

// TestGatesAreDeclared: the second key of a gate is the one that `gate` declares, with its type and
// its TTL, whatever the key that it protects.
func TestGatesAreDeclared(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL(), keywright.Options{})
	ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte(`keywright: 1
vars: {id: int}
keys:
  plain: {key: "plain:{id}", type: string, ttl: none, gate: 1d}
  tagged: {key: "tagged:{#u:{id}}:x", type: string, ttl: none, gate: 1d}
  words: {key: report, type: string, ttl: none, gate: 1d}
`)}}, "k.yaml")
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	must(t, err)
	for _, key := range []string{"plain:7", "tagged:{u:7}:x", "report"} {
		_, err := lock.NewGate(c, key, 0).Do(t.Context(), 5, "SET", "x")
		must(t, err)
	}
	keys := s.Do("EVAL", "return redis.call('SCAN', 0, 'COUNT', 1000)[2]", "0").([]any)
	if len(keys) != 6 {
		t.Errorf("%q", keys)
	}
	for _, key := range keys {
		i := m.Match([]byte(key.(string)), nil)
		if i == match.None || targets[i].Key == nil {
			t.Errorf("%s is not declared", key)
			continue
		}
		k := targets[i].Key
		left := time.Duration(s.Do("PTTL", key.(string)).(int64)) * time.Millisecond
		if kind := s.Do("TYPE", key.(string)); kind != string(k.Kind) || k.Role == "seen" && (left <= 0 || left > k.TTL.Max) {
			t.Errorf("%s is a %v that lives for %v, and %s is a %s that lives for %v", key, kind, left, k.Name, k.Kind,
				k.TTL.Max)
		}
	}
}
