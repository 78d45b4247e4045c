package bbolt_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/harm"
)

// guarding represents a guard with what it needs.
type guarding struct {
	*fallback.Entities[string, tally]
	c *keywright.Client
	f *bbolt.File
}

func (g guarding) close() error {
	defer g.c.Close()
	if err := g.Close(); err != nil {
		return err
	}
	return g.f.Close()
}

// guardOf opens the file of a place, and what guards the items by it.
func guardOf(url, path string) (g guarding, err error) {
	if g.f, err = bbolt.Open(path, bbolt.Options{Wait: 10 * time.Second}); err != nil {
		return g, err
	}
	second, err := g.f.Store("tallies", fallback.Limits{})
	if err != nil {
		return g, err
	}
	s, c, err := tallies(url)
	if err != nil {
		g.f.Close()
		return g, err
	}
	g.c = c
	g.Entities, err = fallback.NewEntities(s, second,
		fallback.Options{Patience: 30 * time.Millisecond, WritePatience: 30 * time.Millisecond,
			Probe: 20 * time.Millisecond, Rate: 10_000})
	return g, err
}

// TestHarmedProcess is no test: it is a process that counts items up, of which no other
// place has any.
func TestHarmedProcess(t *testing.T) {
	harm.Work(t, func(ctx context.Context, w *harm.Worker) {
		var g guarding
		if !w.Until(ctx, func() (err error) { g, err = guardOf(w.URL, w.File); return err }) {
			return
		}
		var all sync.WaitGroup
		for n := range workers {
			all.Go(func() { countUp(ctx, w, g, fmt.Sprint(filepath.Base(w.File), "-", n)) })
		}
		all.Wait()
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
}

// errOlder reports a copy that may be as old as Flush: the process that wrote it was killed. A write that is
// based on it is a conflict, as the documents say, and not what this test counts.
var errOlder = errors.New("the copy is of another process")

// countUp counts an item up and says what was acknowledged.
func countUp(ctx context.Context, w *harm.Worker, g guarding, id string) {
	for sure := false; ctx.Err() == nil; sure = true {
		var n, version int64
		if !w.Until(ctx, func() error {
			a, err := g.Get(ctx, id)
			if err == nil && !sure && a.Source == fallback.Second && a.Pending == 0 {
				err = errOlder
			}
			n, version = a.Value.Value.N, a.Version
			return err
		}) {
			return
		}
		for ctx.Err() == nil {
			r, err := g.Update(ctx, id, []entity.Change[tally]{setN.Set(n + 1)}, fallback.If(version))
			if err != nil {
				w.Say("again", err)
				break // a lost reply, or one too late: what is there?
			}
			n, version = n+1, r.Version
			w.Say("done", id, n, r.Pending)
		}
	}
}

// forgotten returns what of the writes that were acknowledged is not on the server.
func forgotten(t *testing.T, s *harm.Side) (wrong []string) {
	for place := range s.Places {
		if err := replayed(t.Context(), s.URL, s.File(place)); err != nil {
			wrong = append(wrong, fmt.Sprintf("place %d: %v", place, err))
		}
	}
	last, accepted := map[string]int64{}, 0
	for _, line := range s.Lines("done") {
		var id string
		var n int64
		var pending bool
		if _, err := fmt.Sscan(line, &id, &n, &pending); err != nil {
			t.Fatal(line, err)
		}
		if last[id] = max(last[id], n); pending {
			accepted++
		}
	}
	if s.Full && accepted == 0 {
		wrong = append(wrong, "no write was accepted: this shows nothing")
	}
	store, c, err := tallies(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, line := range s.Lines("first") {
		var id string
		var version int64
		_, _ = fmt.Sscan(line, &id, &version)
		item, err := store.Get(t.Context(), id)
		if err != nil || item.Value.N < last[id] || item.Version != version+item.Value.N {
			wrong = append(wrong, fmt.Sprintf("%s: %d, %v, of which %d were acknowledged; its version has grown by %d",
				id, item.Value.N, err, last[id], item.Version-version))
		}
	}
	t.Logf("%d of %d writes are lost, %d of them were accepted by the second store", len(wrong), len(s.Lines("done")),
		accepted)
	return wrong
}

// replayed waits until all of a file is on the server.
func replayed(ctx context.Context, url, path string) error {
	g, err := guardOf(url, path)
	if err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		if state, err := g.Guard().State(ctx); err != nil || time.Now().After(end) {
			return fmt.Errorf("%+v, %w", state, err)
		} else if state.Phase == fallback.Up {
			break
		}
	}
	conflicts, err := g.Guard().Conflicts(ctx)
	if err == nil && len(conflicts) > 0 {
		err = fmt.Errorf("%d conflicts, the first %+v", len(conflicts), conflicts[0])
	}
	if err != nil {
		return err
	}
	return g.close()
}

// TestKillsUnderHarm: whatever happens while processes with a second store are killed, 0
// writes that were acknowledged are lost, and none is applied twice.
func TestKillsUnderHarm(t *testing.T) {
	gate.Skip(t, "24 kills of processes and servers in four worlds")
	t.Parallel()
	harm.Run(t, harm.Suite{Process: "TestHarmedProcess", Key: "{s}:tallies", Wrong: forgotten,
		Begin: func(t *testing.T, s *harm.Side, backlog int) {
			store, c, err := tallies(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			backlog /= 10
			items := make([]entity.Item[string, tally], backlog) // that nothing is written to
			for i := range items {
				items[i].ID = fmt.Sprint("old-", i)
			}
			for place := range s.Places {
				for n := range workers {
					items = append(items, entity.Item[string, tally]{ID: fmt.Sprint(place, "-", n)})
				}
			}
			made, err := store.CreateAll(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range made[backlog:] {
				s.Say(fmt.Sprint("first ", item.ID, " ", item.Version))
			}
		}})
}
