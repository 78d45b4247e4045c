package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

func TestMain(m *testing.M) {
	if os.Getenv("MIGRATE_ROOT") != "" {
		child()
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1")) // each ends in a second
}

var oneOfEach = plain{map[string]string{"string": "a", "field": "a", "hash": "a", "member": "a", "scored": "a",
	"list": "a", "stream": "a"}}

func dial(t testing.TB, url string) *keywright.Client {
	t.Helper()
	return servertest.Open(t, url, keywright.Options{NoCache: true, Attempts: 2, Timeout: 2 * time.Second})
}

func open(t testing.TB, root, url string, d migrate.Documents, at func(string) error) *migrate.Migration {
	t.Helper()
	m, err := migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: root, Client: dial(t, url),
		Lease: 2 * time.Second, Wait: 5 * time.Second,
		Shadow: migrate.ShadowConfig{Settle: 20 * time.Millisecond}}, d, at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// to brings a part to a phase, step by step.
func to(t testing.TB, m *migrate.Migration, part string, want phase.Phase) {
	t.Helper()
	for {
		is, err := m.Phase(part)
		if err != nil {
			t.Fatal(err)
		}
		if is.Phase == want {
			return
		}
		step := m.Advance
		if is.Phase > want {
			step = m.Rollback
		}
		if _, err := step(t.Context(), part, migrate.ChangeOptions{Force: true, By: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
}

func redisHas(t testing.TB, c *keywright.Client, i record.ID) []string {
	t.Helper()
	raw := c.Raw()
	ctx := context.Background()
	switch i.Move {
	case "string":
		if v, err := raw.Do(ctx, raw.B().Get().Key(i.Key).Build()).ToString(); err == nil {
			return []string{v}
		}
	case "field":
		if v, err := raw.Do(ctx, raw.B().Hget().Key(i.Key).Field(i.Sub).Build()).ToString(); err == nil {
			return []string{v}
		}
	case "hash":
		all, _ := raw.Do(ctx, raw.B().Hgetall().Key(i.Key).Build()).AsStrMap()
		var out []string
		for k, v := range all {
			out = append(out, k+"="+v)
		}
		slices.Sort(out)
		return out
	case "member":
		if is, _ := raw.Do(ctx, raw.B().Sismember().Key(i.Key).Member(i.Sub).Build()).AsBool(); is {
			return []string{"1"}
		}
	case "scored":
		if v, err := raw.Do(ctx, raw.B().Zscore().Key(i.Key).Member(i.Sub).Build()).AsFloat64(); err == nil {
			return []string{fmt.Sprint(v)}
		}
	case "stream":
		all, _ := raw.Do(ctx, raw.B().Xrange().Key(i.Key).Start("-").End("+").Build()).AsXRange()
		var out []string
		for _, e := range all {
			out = append(out, e.FieldValues["f"])
		}
		return out
	case "list":
		all, _ := raw.Do(ctx, raw.B().Lrange().Key(i.Key).Start(0).Stop(-1).Build()).AsStrSlice()
		return all
	}
	return nil
}

// Each kind of record, in each phase, is on the sides that the phase says, and gone from
// them after a delete.
func TestEveryKindInEveryPhase(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			server := kt.Start(t, brand)
			c := dial(t, server.URL())
			root := t.TempDir()
			m := open(t, root, server.URL(), oneOfEach, nil)
			ids := []record.ID{id("string:a:1"), id("field:a:1", "f"), id("hash:b:1"), id("member:b:1", "x"),
				id("scored:b:1", "y"), id("list:a:2"), id("stream:b:2")}
			for at := phase.Off; at <= phase.Complete; at++ {
				to(t, m, "a", at)
				for _, i := range ids {
					for n, values := range [][]string{{"7"}, {"8"}, nil, {"9"}} {
						if i.Move == "hash" && values != nil {
							values = []string{"f=" + values[0], "g=1"}
						} else if (i.Move == "list" || i.Move == "stream") && values != nil {
							values = []string{values[0], "z", values[0]}
						} else if i.Move == "member" && values != nil {
							values = []string{"1"}
						}
						check(t, m, c, root, at, i, values, n)
					}
				}
			}
		})
	}
}

func check(t *testing.T, m *migrate.Migration, c *keywright.Client, root string, at phase.Phase, i record.ID,
	values []string, n int) {
	t.Helper()
	if err := m.Write(t.Context(), change(i, values...)); err != nil {
		t.Fatalf("%s %s: %v", at, i.Move, err)
	}
	read, err := m.Read(t.Context(), i)
	if err != nil || !slices.Equal(shown(read), values) {
		t.Errorf("%s %s: read %v, %v; want %v", at, i.Move, shown(read), err, values)
	}
	rule := phase.Of(at)
	if rule.Lags {
		if _, _, err := m.Replay(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if has := fileHas(root, i); (rule.Authority == phase.Files || rule.Also == phase.Files) && !slices.Equal(has,
		values) {
		t.Errorf("%s %s, step %d: the file has %v, want %v", at, i.Move, n, has, values)
	}
	if has := redisHas(t, c, i); (rule.Authority == phase.Redis || rule.Also == phase.Redis) && !slices.Equal(has,
		values) {
		t.Errorf("%s %s, step %d: Redis has %v, want %v", at, i.Move, n, has, values)
	}
}

// A Redis that is away holds no write up for ever, and loses none: the marks stay, and a
// replay makes the sides equal.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
	root := t.TempDir()
	away, lagging := atomic.Bool{}, atomic.Bool{}
	m := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if point == "closed" && away.CompareAndSwap(true, false) {
			server.Kill()
		}
		if point == "taken" && lagging.Load() {
			return errFull
		}
		return nil
	})
	i, j := id("string:a:1"), id("string:a:2")
	to(t, m, "a", phase.Shadow)
	away.Store(true)
	if _, err := m.Advance(t.Context(), "a", migrate.ChangeOptions{Force: true}); err == nil {
		t.Error("a server that went away has changed the phase")
	}
	if err := m.Write(t.Context(), change(i, "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Advance(t.Context(), "a", migrate.ChangeOptions{Force: true}); err == nil {
		t.Error("a server that is away has changed the phase")
	}
	if is, err := m.Phase("a"); err != nil || is.Phase != phase.Shadow || is.Intent != nil || is.Lag == 0 {
		t.Errorf("the phase is %+v, %v", is, err)
	}
	if err := m.Write(t.Context(), change(i, "2")); err != nil {
		t.Errorf("after a change that could not be: %v", err)
	}
	if f, err := m.Facts(t.Context(), "a"); err != nil || f.Marks != 1 || len(f.Unfit) == 0 {
		t.Errorf("facts: %+v, %v", f, err)
	}
	server.Restart()
	eventually(t, func() error { _, _, err := m.Replay(t.Context()); return err })
	if has := redisHas(t, dial(t, server.URL()), i); !slices.Equal(has, []string{"2"}) {
		t.Errorf("Redis has %v", has)
	}
	to(t, m, "a", phase.Live)
	lagging.Store(true)
	if err := m.Write(t.Context(), change(j, "of Redis alone")); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if read, err := m.Read(t.Context(), j); err == nil {
		t.Errorf("a record with a mark was read from the files: %v", shown(read))
	}
	read, err := m.Read(t.Context(), i)
	if err != nil || !slices.Equal(shown(read), []string{"2"}) || m.Stats().Fallbacks != 1 {
		t.Errorf("without Redis: %v %v, %+v", shown(read), err, m.Stats())
	}
	err = m.Write(t.Context(), change(i, "3"))
	if class, ok := keywright.ClassOf(err); !ok || class != keywright.NotApplied && class != keywright.UnknownOutcome {
		t.Errorf("a write without Redis: %v", err)
	}
	lagging.Store(false)
	server.Restart()
}

var eventually = expect.Success

// A Redis that was emptied, or that has an older backup, is found out: nothing is read from
// it and nothing is written to it as if it were whole.
func TestRedisHasLostData(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	i := id("string:a:1")
	to(t, m, "a", phase.Live)
	if err := m.Write(t.Context(), change(i, "1")); err != nil {
		t.Fatal(err)
	}
	backup, err := c.Raw().Do(t.Context(), c.Raw().B().Hgetall().Key("keywright:migrate:test").Build()).AsStrMap()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write(t.Context(), change(i, "2")); err != nil {
		t.Fatal(err)
	}
	flush(t, c)
	lost := func(how string) {
		t.Helper()
		if _, err := m.Read(t.Context(), i); !errors.Is(err, phase.ErrLost) {
			t.Errorf("%s: read: %v", how, err)
		}
		if err := m.Write(t.Context(), change(i, "3")); !errors.Is(err, phase.ErrLost) {
			t.Errorf("%s: write: %v", how, err)
		}
		if _, err := m.Rollback(t.Context(), "a", migrate.ChangeOptions{}); !errors.Is(err, phase.ErrLost) {
			t.Errorf("%s: rollback: %v", how, err)
		}
		if has := fileHas(root, i); !slices.Equal(has, []string{"2"}) {
			t.Errorf("%s: the file has %v", how, has)
		}
	}
	lost("emptied")
	for field, value := range backup {
		if err := c.Raw().Do(t.Context(),
			c.Raw().B().Hset().Key("keywright:migrate:test").FieldValue().FieldValue(field, value).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	lost("an older backup")
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Files}); err != nil {
		t.Fatal(err)
	}
	if is, err := m.Phase("a"); err != nil || is.Phase != phase.DualWrite {
		t.Errorf("repaired: %+v %v", is, err)
	}
	if err := m.Write(t.Context(), change(id("string:a:2"), "4")); err != nil {
		t.Error(err)
	}
	if r, err := m.Import(t.Context(), "a", migrate.ImportOptions{}); err != nil || r.Written != 1 || r.Same != 1 {
		t.Errorf("%+v %v", r, err)
	}
	to(t, m, "a", phase.Live)
	if read, err := m.Read(t.Context(), i); err != nil || !slices.Equal(shown(read), []string{"2"}) {
		t.Errorf("%v %v", shown(read), err)
	}
}

func flush(t testing.TB, c *keywright.Client) {
	t.Helper()
	if err := c.Raw().Do(t.Context(), c.Raw().B().Arbitrary("FLUSHALL").Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// A full disk refuses the write, changes nothing, and is no harm for the next.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	var full sync.Map
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if _, is := full.Load(point); is {
			return errFull
		}
		return nil
	})
	i := id("string:a:1")
	for at := phase.DualWrite; at <= phase.Live; at++ {
		to(t, m, "a", at)
		if err := m.Write(t.Context(), change(i, "before")); err != nil {
			t.Fatal(err)
		}
		for _, point := range []string{"mark", "temp", "synced", "rename"} {
			full.Store(point, true)
			err := m.Write(t.Context(), change(i, "during "+point))
			full.Delete(point)
			if left, _ := filepath.Glob(filepath.Join(root, ".*.tmp")); len(left) > 0 {
				t.Errorf("%s, %s: left: %v", at, point, left)
			}
			read, failed := m.Read(t.Context(), i)
			want := "before"
			if at == phase.Live && point != "mark" { // the file follows later
				want = "during " + point
				if err != nil {
					t.Errorf("%s, %s: %v", at, point, err)
				}
			} else if class, ok := keywright.ClassOf(err); !ok || class != keywright.NotApplied || !errors.Is(err, errFull) {
				t.Errorf("%s, %s: %v", at, point, err)
			}
			if failed != nil || !slices.Equal(shown(read), []string{want}) {
				t.Errorf("%s, %s: read %v %v, want %s", at, point, shown(read), failed, want)
			}
			if _, left, err := m.Replay(t.Context()); err != nil || left > 0 {
				t.Errorf("%s, %s: %d left, %v", at, point, left, err)
			}
			if err := m.Write(t.Context(), change(i, "before")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var errFull = errors.New("no space left on device")
