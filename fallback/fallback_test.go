package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/keywrighttest"
)

// events counts what a guard tells.
type events struct {
	mu sync.Mutex
	n  map[fallback.Event]int
}

func (e *events) add(what fallback.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n == nil {
		e.n = map[fallback.Event]int{}
	}
	e.n[what]++
}

func (e *events) count(what fallback.Event) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n[what]
}

func text(v string) fallback.Fields { return fallback.Fields{"text": v} }

// put writes by the guard while the server is there.
func (w world) put(id, v string, o ...fallback.WriteOption) int64 {
	w.Helper()
	r, err := w.g.Put(w.Context(), id, text(v), o...)
	w.ok(err)
	if r.Pending { // on a slow machine the server may seem to be away
		w.drained()
		return mustGet(w, id).Version
	}
	return r.Version
}

// copied waits until the second store has a version of an item.
func (w world) copied(id string, version int64) {
	w.Helper()
	eventually(w.T, "the copy of "+id, func() bool {
		r, known, err := w.store.Get(w.Context(), id)
		return err == nil && known && r.Version == version && r.Pending == 0
	})
}

// drained waits until the log is empty.
func (w world) drained() {
	w.Helper()
	eventually(w.T, "the end of the replay", func() bool { return w.state() == fallback.Up })
}

func (w world) state() fallback.Phase {
	s, err := w.g.State(context.Background())
	w.ok(err)
	return s.Phase
}

// freezeServer makes the server not answer.
func (w world) freezeServer() { w.proxy.Freeze() }

func (w world) back() {
	w.proxy.Thaw()
	w.proxy.Cut()
}

func (w world) read(id string) string {
	w.Helper()
	item, err := w.raw.Get(w.Context(), id)
	if errors.Is(err, keywright.ErrNotFound) {
		return "-"
	}
	w.ok(err)
	return item.Value["text"]
}

// answer returns an answer in a line.
func answer(a fallback.Answer[fallback.Fields], err error) string {
	if errors.Is(err, keywright.ErrNotFound) {
		return fmt.Sprintf("- from %s, %d pending", a.Source, a.Pending)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s from %s, %d pending", a.Value["text"], a.Source, a.Pending)
}

func (w world) get(id string) string {
	w.Helper()
	return answer(w.g.Get(w.Context(), id))
}

func TestReads(t *testing.T) {
	brands(t, fallback.Options{}, func(w world) {
		ctx := w.Context()
		same(w.T, "nothing", w.get("a"), "- from server, 0 pending")
		v := w.put("a", "one", fallback.ExpiresIn(time.Hour))
		w.put("short", "lived", fallback.ExpiresIn(300*time.Millisecond))
		short, err := w.g.Get(ctx, "short")
		w.ok(err)
		w.copied("a", v)
		w.copied("short", short.Version)
		seen := time.Now()
		same(w.T, "from the server", w.get("a"), "one from server, 0 pending")
		w.freezeServer()
		a, err := w.g.Get(ctx, "a")
		w.ok(err)
		same(w.T, "while away", answer(a, err), "one from second store, 0 pending")
		same(w.T, "version", a.Version, v)
		if a.AsOf.After(time.Now()) || a.AsOf.Before(seen.Add(-10*time.Second)) || time.Until(a.Expires) < 59*time.Minute {
			t.Errorf("as of %v, expires %v", a.AsOf, a.Expires)
		}
		_, err = w.g.Get(ctx, "unknown")
		is(w.T, "neither knows", err, fallback.ErrNoCopy)
		class, _ := keywright.ClassOf(err)
		same(w.T, "class", class, keywright.Retryable)
		eventually(w.T, "the item has expired", func() bool { return time.Now().After(short.Expires) })
		same(w.T, "expired while away", w.get("short"), "- from second store, 0 pending")
		w.back()
		eventually(w.T, "the server", func() bool { return w.get("a") == "one from server, 0 pending" })
	})
}

// TestMissIsBelieved: what the server does not have is not there, and while it is
// away the second store remembers that.
func TestMissIsBelieved(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	w.copied("a", w.put("a", "one"))
	w.s.Do("DEL", "note:a")
	same(w.T, "a miss", w.get("a"), "- from server, 0 pending")
	eventually(t, "a copy of nothing", func() bool {
		r, _, err := w.store.Get(t.Context(), "a")
		return err == nil && r.Gone
	})
	w.freezeServer()
	same(w.T, "a miss that is remembered", w.get("a"), "- from second store, 0 pending")
}

func TestMissesToo(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{MissesToo: true})
	w.copied("a", w.put("a", "one"))
	w.copied("b", w.put("b", "two"))
	w.s.Do("FLUSHALL")
	same(w.T, "a miss", w.get("a"), "one from second store, 0 pending")
	same(w.T, "unknown", w.get("c"), "- from server, 0 pending")
	_, err := w.g.Delete(t.Context(), "b")
	is(t, "delete of what the server does not have", err, keywright.ErrNotFound)
	v := w.put("b", "three")
	w.copied("b", v)
	_, err = w.g.Delete(t.Context(), "b")
	w.ok(err)
	same(w.T, "deleted", w.get("b"), "- from server, 0 pending")
}

// TestDeadServerCostsNoTimeout: after five failures a read does not wait.
func TestDeadServerCostsNoTimeout(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	w.copied("a", w.put("a", "one"))
	w.ok(w.g.Close())
	w.freezeServer()
	// A guard of its own, for which no answer was late before the server was gone, whatever the load is.
	w = w.guard(target(w.c), fallback.Options{Patience: 50 * time.Millisecond, Probe: time.Hour})
	for range 5 {
		same(t, "while away", w.get("a"), "one from second store, 0 pending")
	}
	same(t, "phase", w.state(), fallback.Away)
	_, err := w.g.Get(t.Context(), "unknown")
	is(t, "left alone", err, fallback.ErrAway)
	if n := w.saw.count(fallback.WentAway); n != 1 {
		t.Errorf("told %d times that it went away", n)
	}
}

func TestWritesWhileAway(t *testing.T) {
	brands(t, fallback.Options{}, func(w world) {
		ctx := w.Context()
		w.copied("changed", w.put("changed", "one"))
		w.copied("deleted", w.put("deleted", "one"))
		w.copied("theirs", w.put("theirs", "one"))
		w.freezeServer()
		for _, write := range []func() (fallback.Receipt, error){
			func() (fallback.Receipt, error) {
				return w.g.Put(ctx, "new", text("new"), fallback.If(fallback.Absent))
			},
			func() (fallback.Receipt, error) { return w.g.Update(ctx, "new", fallback.Fields{"more": "x"}) },
			func() (fallback.Receipt, error) { return w.g.Update(ctx, "changed", text("two")) },
			func() (fallback.Receipt, error) { return w.g.Update(ctx, "changed", text("three")) },
			func() (fallback.Receipt, error) { return w.g.Delete(ctx, "deleted") },
			func() (fallback.Receipt, error) { return w.g.Update(ctx, "theirs", text("ours")) },
			func() (fallback.Receipt, error) { return w.g.Update(ctx, "theirs", fallback.Fields{"more": "ours"}) },
		} {
			r, err := write()
			w.ok(err)
			same(w.T, "pending", r.Pending, true)
		}
		_, err := w.g.Put(ctx, "new", text("again"), fallback.If(fallback.Absent))
		is(w.T, "create of what is there", err, fallback.ErrConflict)
		_, err = w.g.Update(ctx, "deleted", text("x"))
		is(w.T, "update of what was deleted", err, keywright.ErrNotFound)
		_, err = w.g.Update(ctx, "unknown", text("x"))
		is(w.T, "update of what is not known", err, fallback.ErrNoCopy)
		same(w.T, "own writes", w.get("changed")+", "+w.get("deleted")+", "+w.get("new"),
			"three from second store, 2 pending, - from second store, 1 pending, new from second store, 2 pending")
		_, err = w.raw.Write(ctx, "theirs", fallback.Change{Kind: fallback.Update, Fields: text("newer"), If: fallback.Any})
		w.ok(err)
		w.back()
		w.drained()
		same(w.T, "on the server", w.read("changed")+w.read("deleted")+w.read("new")+w.read("theirs"), "three-newnewer")
		conflicts, err := w.g.Conflicts(ctx)
		w.ok(err)
		same(w.T, "conflicts", len(conflicts), 2)
		c := conflicts[0]
		if c.ID != "theirs" || c.Found != c.Base+1 || len(c.Fields) != 1 || c.Fields[0] != "text" ||
			c.Kind != fallback.Update {
			t.Errorf("%+v", c)
		}
		w.ok(w.g.Settled(ctx, conflicts[1].Seq))
		same(w.T, "the newer", w.get("theirs"), "newer from server, 0 pending")
	})
}
