package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// change is a write past the guard, by another.
func (w world) change(id, v string) {
	w.Helper()
	_, err := w.raw.Write(w.Context(), id, fallback.Change{Kind: fallback.Update, Fields: text(v), If: fallback.Any})
	w.ok(err)
}

func (w world) update(id, v string) fallback.Receipt {
	w.Helper()
	r, err := w.g.Update(w.Context(), id, text(v))
	w.ok(err)
	return r
}

// TestServerDies: killed, and frozen, by the server itself.
func TestServerDies(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for name, harm := range map[string]struct{ gone, back func(*keywrighttest.Server) }{
			"killed": {(*keywrighttest.Server).Kill, (*keywrighttest.Server).Restart},
			"frozen": {(*keywrighttest.Server).Stop, (*keywrighttest.Server).Continue},
		} {
			t.Run(string(brand)+" "+name, func(t *testing.T) {
				w := newWorld(t, brand, fallback.Options{WritePatience: 300 * time.Millisecond},
					keywrighttest.Config("appendonly", "yes"), keywrighttest.Config("appendfsync", "always"))
				before := w.put("a", "one")
				w.put("b", "one")
				harm.gone(w.s)
				same(t, "a write", w.update("a", "two").Pending, true)
				same(t, "a read", w.get("a"), "two from second store, 1 pending")
				same(t, "another read", w.get("b"), "one from second store, 0 pending")
				w.update("a", "three")
				harm.back(w.s)
				w.drained()
				same(t, "on the server", w.read("a")+w.read("b"), "threeone")
				item, err := w.raw.Get(t.Context(), "a")
				w.ok(err)
				same(t, "versions", item.Version, before+2)
			})
		}
	}
}

// TestLostReply: a write that was applied and whose reply was lost is done once.
func TestLostReply(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{Probe: 50 * time.Millisecond})
	w.ok(lostReplies(w))
}

// lostReplies gives what is wrong after lost replies.
func lostReplies(w world) error {
	var wrong []error
	expect := func(what string, ok bool) {
		if !ok {
			wrong = append(wrong, errors.New(what))
		}
	}
	before := w.put("changed", "one")
	w.put("deleted", "one")
	for word, write := range map[string]func() (fallback.Receipt, error){
		"made":   func() (fallback.Receipt, error) { return w.g.Put(w.Context(), "new", text("made")) },
		"two":    func() (fallback.Receipt, error) { return w.g.Update(w.Context(), "changed", text("two")) },
		"delete": func() (fallback.Receipt, error) { return w.g.Delete(w.Context(), "deleted") },
	} {
		w.proxy.LoseReplyTo(word)
		r, err := write()
		w.ok(err)
		expect(word+" is pending", r.Pending && w.proxy.Lost())
		w.drained()
	}
	item, err := w.raw.Get(w.Context(), "changed")
	w.ok(err)
	expect("changed once", item.Version == before+1)
	expect("as it should be", w.read("new")+w.read("changed")+w.read("deleted") == "madetwo-")
	list, err := w.g.Conflicts(w.Context())
	w.ok(err)
	expect("no conflicts", len(list) == 0)
	return errors.Join(wrong...)
}

// lateDelivery gives what is wrong when a request arrives that no caller waits for any
// more, and another has written meanwhile.
func lateDelivery(w world) error {
	w.put("a", "one")
	w.put("b", "one")
	w.freezeServer()
	same(w.T, "a write", w.update("a", "late").Pending, true)
	w.change("a", "newer")
	before := w.scripts()
	w.proxy.Thaw()
	w.drained()
	eventually(w.T, "the late request and the replay", func() bool { return w.scripts() >= before+2 })
	if got := w.read("a"); got != "newer" {
		return fmt.Errorf("the newer was overwritten: %s", got)
	}
	return nil
}

// scripts returns how many writes the server has run.
func (w world) scripts() (n int) {
	_, _ = fmt.Sscanf(w.s.Info("cmdstat_evalsha"), "calls=%d,", &n)
	return n
}

func TestLateDelivery(t *testing.T) {
	brands(t, fallback.Options{Patience: 100 * time.Millisecond, WritePatience: 100 * time.Millisecond},
		func(w world) { w.ok(lateDelivery(w)) })
}

// forgetful represents a store that fails where a process could die: when a write was
// applied and is not yet marked.
type forgetful struct {
	fallback.Store
	dies atomic.Bool
	died atomic.Int64
}

func (f *forgetful) Done(ctx context.Context, e fallback.Entry, version int64, at time.Time) error {
	if f.dies.Load() {
		f.died.Add(1)
		return errors.New("the process is dead")
	}
	return f.Store.Done(ctx, e, version, at)
}

// replayDies gives what is wrong when the process that replays dies after every
// write that it applies, and a new one goes on.
func replayDies(w world, target fallback.Target[fallback.Fields]) error {
	w.close(w.g)
	f := &forgetful{Store: w.store}
	w.store = f
	w = w.guard(target, fallback.Options{})
	before := w.put("a", "one")
	w.freezeServer()
	w.update("a", "two")
	w.update("a", "three")
	_, err := w.g.Put(w.Context(), "b", text("new"))
	w.ok(err)
	f.dies.Store(true)
	w.back()
	for range 3 {
		f.died.Store(0)
		eventually(w.T, "a death", func() bool { return f.died.Load() > 0 })
		w.close(w.g)
		f.dies.Store(false)
		list, err := w.store.Next(w.Context(), 0, 1)
		w.ok(err)
		w = w.guard(target, fallback.Options{Probe: time.Hour}) // what it learns is in the store alone
		w.close(w.g)
		f.dies.Store(true)
		if len(list) == 0 {
			break
		}
		w = w.guard(target, fallback.Options{})
	}
	w.close(w.g)
	f.dies.Store(false)
	w = w.guard(target, fallback.Options{})
	w.drained()
	item, err := w.raw.Get(w.Context(), "a")
	w.ok(err)
	conflicts, err := w.g.Conflicts(w.Context())
	w.ok(err)
	if item.Version != before+2 || item.Value["text"] != "three" || w.read("b") != "new" || len(conflicts) > 0 {
		return fmt.Errorf("version %d behind the first, %q, %q, %d conflicts", item.Version-before, item.Value["text"],
			w.read("b"), len(conflicts))
	}
	return nil
}

func TestReplayDies(t *testing.T) {
	brands(t, fallback.Options{}, func(w world) { w.ok(replayDies(w, target(w.c))) })
}

// newerStays gives what is wrong when another has written meanwhile.
func newerStays(w world) error {
	w.put("a", "one")
	w.put("b", "one")
	w.copied("a", mustGet(w, "a").Version)
	w.proxy.Freeze()
	for range 5 { // the breaker opens: what follows is not sent
		_, _ = w.g.Get(w.Context(), "a")
	}
	w.update("a", "ours")
	_, err := w.g.Update(w.Context(), "a", fallback.Fields{"more": "ours"})
	w.ok(err)
	w.update("b", "ours")
	w.change("a", "newer")
	w.back()
	w.drained()
	if item := mustGet(w, "a"); !maps.Equal(item.Value, text("newer")) || w.read("b") != "ours" {
		return fmt.Errorf("%v, %s", item.Value, w.read("b"))
	}
	return nil
}

func mustGet(w world, id string) fallback.Item[fallback.Fields] {
	w.Helper()
	item, err := w.raw.Get(w.Context(), id)
	w.ok(err)
	return item
}

func TestNewerStays(t *testing.T) {
	brands(t, fallback.Options{Patience: 50 * time.Millisecond}, func(w world) { w.ok(newerStays(w)) })
}

// blind and credulous are targets without a guard.
type judging struct {
	hashes
	same bool
}

func (j judging) Same(string, fallback.Fields, fallback.Fields) bool { return j.same }

// TestMutations: each guard, taken out, turns a test red.
func TestMutations(t *testing.T) {
	for name, mutant := range map[string]struct {
		change func(w world) world
		test   func(w world) error
	}{
		"the version is not compared": {func(w world) world {
			return w.guard(unchecked(w.T, w.c), fallback.Options{Patience: 50 * time.Millisecond})
		}, newerStays},
		"the version is not compared, and the replay dies": {func(w world) world { return w },
			func(w world) error { return replayDies(w, unchecked(w.T, w.c)) }},
		"writes are sent without a version": {func(w world) world {
			return w.guard(target(w.c),
				fallback.Options{Blind: true, Patience: 100 * time.Millisecond, WritePatience: 100 * time.Millisecond})
		}, lateDelivery},
		"own writes are not known again": {func(w world) world {
			return w.guard(judging{target(w.c), false}, fallback.Options{Probe: 50 * time.Millisecond})
		}, lostReplies},
		"foreign writes count as own": {func(w world) world {
			return w.guard(judging{target(w.c), true}, fallback.Options{Patience: 50 * time.Millisecond})
		}, newerStays},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, keywrighttest.Redis, fallback.Options{})
			w.close(w.g)
			if err := mutant.test(mutant.change(w)); err == nil {
				t.Error("no test is red")
			} else {
				t.Log(err)
			}
		})
	}
}

// TestFull: what does not fit is refused whole, and what was accepted stays.
func TestFull(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	w.close(w.g)
	w.store = fallback.NewMemory(fallback.Limits{LogEntries: 3})
	w = w.guard(target(w.c), fallback.Options{Patience: 50 * time.Millisecond})
	w.put("a", "0")
	w.freezeServer()
	for n := range 3 {
		w.update("a", fmt.Sprint(n+1))
	}
	_, err := w.g.Update(t.Context(), "a", text("4"))
	is(t, "the fourth", err, fallback.ErrFull)
	class, _ := keywright.ClassOf(err)
	same(t, "class", class, keywright.NotApplied)
	same(t, "a read", w.get("a"), "3 from second store, 3 pending")
	w.back()
	w.drained()
	same(t, "on the server", w.read("a"), "3")
}

// TestExpiry: what expires while the server is away is not resurrected, and a
// deadline does not begin again.
func TestExpiry(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis,
		fallback.Options{Patience: 50 * time.Millisecond, WritePatience: 50 * time.Millisecond})
	soon, later := time.Now().Add(2*time.Second), time.Now().Add(time.Hour)
	w.put("replaced", "long", fallback.ExpiresAt(later))
	w.put("prolonged", "short", fallback.ExpiresAt(soon.Add(time.Hour)))
	w.freezeServer()
	for _, write := range []func() (fallback.Receipt, error){
		func() (fallback.Receipt, error) {
			return w.g.Put(t.Context(), "new", text("new"), fallback.ExpiresAt(soon))
		},
		func() (fallback.Receipt, error) {
			return w.g.Put(t.Context(), "lasting", text("new"), fallback.ExpiresAt(later))
		},
		func() (fallback.Receipt, error) {
			return w.g.Put(t.Context(), "replaced", text("short"), fallback.ExpiresAt(soon))
		},
		func() (fallback.Receipt, error) {
			return w.g.Put(t.Context(), "prolonged", text("short"), fallback.ExpiresAt(soon))
		},
		func() (fallback.Receipt, error) {
			return w.g.Update(t.Context(), "prolonged", text("long"), fallback.ExpiresAt(later))
		},
	} {
		r, err := write()
		w.ok(err)
		same(t, "pending", r.Pending, true)
	}
	eventually(t, "the deadline is over", func() bool { return time.Now().After(soon) })
	same(t, "expired", w.get("new")+", "+w.get("replaced"),
		"- from second store, 1 pending, - from second store, 1 pending")
	w.proxy.Cut() // what was sent is gone: a write that arrives late lives for its TTL from then
	w.back()
	w.drained()
	same(t, "on the server", w.read("new")+w.read("replaced")+w.read("prolonged")+w.read("lasting"), "--longnew")
	for _, id := range []string{"lasting", "prolonged"} {
		if off := mustGet(w, id).Expires.Sub(later).Abs(); off > time.Second {
			t.Errorf("the deadline of %s is %v off", id, off)
		}
	}
	if n := w.saw.count(fallback.Expired); n != 2 {
		t.Errorf("%d expired", n)
	}
}

// TestLateAndExpired: a write that is held up on the way until its item's deadline has
// passed is applied when it arrives, as nothing is newer; the item ends by its TTL, and
// the log, which would delete it, leaves what it does not know.
func TestLateAndExpired(t *testing.T) {
	gate.Skip(t, "a write is sent within 50 ms")
	w := newWorld(t, keywrighttest.Redis,
		fallback.Options{Patience: 50 * time.Millisecond, WritePatience: 50 * time.Millisecond})
	w.put("replaced", "long", fallback.ExpiresAt(time.Now().Add(time.Hour)))
	w.freezeServer()
	soon := time.Now().Add(2 * time.Second)
	r, err := w.g.Put(t.Context(), "replaced", text("short"), fallback.ExpiresAt(soon))
	w.ok(err)
	same(t, "pending", r.Pending, true)
	eventually(t, "the deadline is over", func() bool { return time.Now().After(soon) })
	w.proxy.Thaw() // what was sent arrives now
	w.drained()
	same(t, "on the server", w.read("replaced"), "short")
	if left := time.Until(mustGet(w, "replaced").Expires); left > 2*time.Second {
		t.Errorf("it lives for %v more", left)
	}
	same(t, "expired, conflicts", fmt.Sprint(w.saw.count(fallback.Expired), w.saw.count(fallback.Conflicted)), "0 1")
}

// TestQueuesBehind: while a write of an item waits, others wait after it, and reads
// say so; other items are not held up.
func TestQueuesBehind(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	w.close(w.g)
	gate := make(chan struct{})
	w = w.guard(target(w.c), fallback.Options{Lease: func(ctx context.Context, replay func(context.Context) error) error {
		select {
		case <-gate:
			return replay(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	w.put("a", "one")
	w.freezeServer()
	w.update("a", "two")
	w.back()
	eventually(t, "the server", func() bool { return w.state() == fallback.Replaying })
	same(t, "behind", w.update("a", "three").Pending, true)
	same(t, "a read", w.get("a"), "three from second store, 2 pending")
	a, err := w.g.Get(t.Context(), "a")
	w.ok(err)
	_, err = w.g.Update(t.Context(), "a", text("x"), fallback.If(a.Version-1))
	is(t, "an old version", err, fallback.ErrConflict)
	_, err = w.g.Update(t.Context(), "a", text("four"), fallback.If(a.Version))
	w.ok(err)
	w.put("b", "other")
	close(gate)
	w.drained()
	same(t, "on the server", w.read("a"), "four")
	same(t, "and again", w.update("a", "five").Pending, false)
}

// TestLease: with a lock's Do one process at a time replays.
func TestLease(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	w.close(w.g)
	var inside, replays atomic.Int64
	var all sync.WaitGroup
	for n := range 3 {
		other := w
		other.store = fallback.NewMemory(fallback.Limits{})
		l := lock.Open(connect(t, w.s.Addr()), "lease", lock.Options{Lease: 2 * time.Second})
		other = other.guard(target(w.c),
			fallback.Options{Lease: func(ctx context.Context, replay func(context.Context) error) error {
				return l.Do(ctx, func(ctx context.Context) error {
					if n := inside.Add(1); n > 1 {
						t.Errorf("%d at once", n)
					}
					defer inside.Add(-1)
					replays.Add(1)
					return replay(ctx)
				})
			}})
		other.put(fmt.Sprint(n), "one")
		all.Go(func() {
			w.proxy.LoseReplyTo("lost")
			for range 20 {
				_, _ = other.g.Update(t.Context(), fmt.Sprint(n), text("lost"))
			}
			other.drained()
		})
	}
	all.Wait()
	if replays.Load() == 0 {
		t.Error("nobody has replayed: this shows nothing")
	}
}

// TestRefused: a write that the server refuses stays, holds up its item only, and
// can be given up.
func TestRefused(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{Patience: 50 * time.Millisecond})
	w.put("a", "one")
	w.put("b", "one")
	w.freezeServer()
	w.update("a", "two")
	w.update("b", "two")
	w.s.Do("SET", "note:a", "not a hash")
	w.back()
	eventually(t, "the other", func() bool { return w.read("b") == "two" })
	eventually(t, "the refusal", func() bool { return w.saw.count(fallback.Stuck) > 0 })
	same(t, "phase", w.state(), fallback.Replaying)
	w.ok(w.g.Discard(t.Context(), "a"))
	w.drained()
	list, err := w.g.Conflicts(t.Context())
	w.ok(err)
	same(t, "conflicts", len(list), 1)
}
