package restore_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/archive"
)

var must = expect.NoError

var same = expect.EqualMaps

// TestBytesOfParts: a report counts all bytes of a value in parts, as the archive does, and so does
// a plan; the name of a key is counted once.
func TestBytesOfParts(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	clients := applytest.Open(t, s.URL())
	applytest.Fill(t, clients, 0)
	there, want := applytest.Backup(t, s.URL(), 1), int64(0)
	for rec, err := range applytest.Records(there) {
		must(t, err)
		want += int64(len(rec.Payload))
		if !rec.More {
			want += int64(len(rec.Key))
		}
	}
	s.Do("FLUSHALL")
	for _, planned := range []bool{true, false} {
		r, err := restore.Restore(t.Context(), clients, applytest.Records(there), restore.Options{Plan: planned})
		must(t, err)
		if r.Bytes != want {
			t.Errorf("plan %t: %d bytes, not %d", planned, r.Bytes, want)
		}
	}
}

// Every kind of value is restored as it was, to the millisecond, whole or in parts,
// between both brands and into a cluster. A second run changes nothing.
func TestRestored(t *testing.T) {
	t.Parallel()
	for _, from := range kt.Brands() {
		for _, to := range []string{"redis-server", "valkey-server", "cluster"} {
			for name, largest := range map[string]int64{"whole": 1 << 40, "in parts": 1} {
				way := string(from) + " to " + to + " " + name
				if !gate.All() && !slices.Contains([]string{"redis-server to valkey-server in parts",
					"valkey-server to redis-server whole", "valkey-server to cluster in parts"}, way) {
					continue
				}
				t.Run(way, func(t *testing.T) {
					t.Parallel()
					s := kt.Start(t, from)
					sources := applytest.Open(t, s.URL())
					dbs := []int{0, 3}
					url := ""
					if to == "cluster" {
						dbs, url = dbs[:1], kt.StartCluster(t, kt.Valkey, 2, 0).URL()
					} else {
						url = kt.Start(t, kt.Brand(to)).URL()
					}
					for _, db := range dbs {
						applytest.Fill(t, sources, db)
					}
					want := applytest.Digest(t, s.URL(), sources)
					file := applytest.Backup(t, s.URL(), largest)
					targets := applytest.Open(t, url)
					for _, mode := range []restore.Existing{restore.Fail, restore.Different, restore.Skip, restore.Replace} {
						r, err := restore.Restore(t.Context(), targets, applytest.Records(file), restore.Options{Existing: mode})
						must(t, err)
						applytest.Adds(t, r)
						if r.Keys != int64(len(want)) || r.Refused+r.Unknown > 0 {
							t.Fatalf("%s: %+v", mode, r)
						}
						if mode == restore.Skip && r.Existing != r.Keys {
							t.Errorf("skip: %+v", r)
						}
						same(t, want, applytest.Digest(t, url, targets))
					}
				})
			}
		}
	}
}

// A key that is there is left, or is an error, or is replaced.
func TestExisting(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis)
	clients := applytest.Open(t, to.URL())
	s.Do("SET", "a", "archived")
	s.Do("SET", "b", "archived")
	file := applytest.Backup(t, s.URL(), 1<<40)
	for mode, want := range map[restore.Existing]string{restore.Fail: "live", restore.Skip: "live",
		restore.Replace:   "archived",
		restore.Different: "archived"} {
		to.Do("FLUSHALL")
		to.Do("SET", "a", "live")
		plan, err := restore.Restore(t.Context(), clients, applytest.Records(file), restore.Options{Existing: mode,
			Plan: true})
		must(t, err)
		applytest.Adds(t, plan)
		if to.Do("DBSIZE").(int64) != 1 || to.Do("GET", "a") != "live" {
			t.Errorf("%s: a plan changed something", mode)
		}
		r, err := restore.Restore(t.Context(), clients, applytest.Records(file), restore.Options{Existing: mode})
		must(t, err)
		applytest.Adds(t, r)
		if got := to.Do("GET", "a"); got != want {
			t.Errorf("%s: %v, not %s: %+v", mode, got, want, r)
		}
		if plan.Restored != r.Restored || plan.Existing != r.Existing ||
			plan.Replaces != map[bool]int64{true: 1}[want == "archived"] {
			t.Errorf("%s: planned %+v, done %+v", mode, plan, r)
		}
		if (len(r.Reasons) > 0) != (mode == restore.Fail) {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

// What has expired is not restored, and takes nothing away.
func TestExpired(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Valkey)
	to.Do("SET", "a", "live")
	file := applytest.Backup(t, to.URL(), 1<<40)
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), applytest.Records(file),
		restore.Options{Existing: restore.Replace, Place: func(r *archive.Record) (restore.Place, error) {
			return restore.Place{Key: r.Key, Expires: 1}, nil
		}})
	must(t, err)
	applytest.Adds(t, r)
	if r.Expired != 1 || to.Do("GET", "a") != "live" {
		t.Errorf("%+v", r)
	}
}

// TestFullMemory: memory that is full from the start, or fills, ends a restore. The report says what was not written.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	s.Do("EVAL", `for i = 1, 20000 do redis.call('SET', 'key'..i, string.rep('x', 100)) end`, "0")
	file := applytest.Backup(t, s.URL(), 1<<40)
	for _, room := range []int{0, 2_000_000} { // all of it takes some 4 MB
		to := kt.Start(t, kt.Redis, kt.Config("maxmemory-policy", "noeviction"))
		used, err := strconv.Atoi(to.Info("used_memory"))
		must(t, err)
		to.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(used+room))
		r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), applytest.Records(file), restore.Options{})
		applytest.Adds(t, r)
		if err == nil || !strings.Contains(err.Error(), "the server's memory is full: nothing more can be written") ||
			r.Unknown == 0 || r.Refused > 0 || errors.Is(err, context.Canceled) || (r.Restored > 0) != (room > 0) {
			t.Errorf("room for %d bytes: %v %+v", room, err, r) // the memory is the reason, and the only one
		}
	}
}

// A context that ends, ends a restore; nothing is counted twice or forgotten.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis)
	applytest.Fill(t, applytest.Open(t, s.URL()), 0)
	ctx, cancel := context.WithCancel(t.Context())
	file := applytest.Backup(t, s.URL(), 1)
	r, err := restore.Restore(ctx, applytest.Open(t, to.URL()), applytest.Records(file),
		restore.Options{Progress: func(done int64) {
			if done == 3 {
				cancel()
			}
		}})
	if err == nil || r.Restored < 3 {
		t.Errorf("%v %+v", err, r)
	}
	applytest.Adds(t, r)
}

// A temporary name is in the slot of its key, whatever braces the key has.
func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "{", "}", "{}a", "a}b{c", "{tag}x", "\xff"} {
		if name := restore.TemporaryName("run", []byte(key)); slot.Of([]byte(name)) != slot.Of([]byte(key)) ||
			!slices.Equal([]byte(name[:20]), []byte(writelease.TemporaryPrefix)) {
			t.Errorf("%q: %s", key, name)
		}
	}
}
