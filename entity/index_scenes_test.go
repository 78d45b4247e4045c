package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/keywrighttest"
)

// mixed represents an entity over several slots, written by programs with and without two of its indexes.
type mixed struct {
	t       *testing.T
	cluster *keywrighttest.Cluster
	prefix  string
}

// program returns a process of a version, which stops when its work is done.
func (m *mixed) program(edits ...func(*Spec[string, note])) *Store[string, note] {
	p := spread(m.t, m.cluster.URL(), m.prefix, edits...)
	p.core.Windows = itemkeys.Windows{Act: itemkeys.UsualWindows.Act, Due: quick.Due}
	return p
}

func (m *mixed) new() *Store[string, note] { return m.program() }
func (m *mixed) old() *Store[string, note] { return m.program(older) }

// create makes an item by a program.
func (m *mixed) create(p *Store[string, note], id string, priority int64) {
	m.t.Helper()
	_, err := p.Create(m.t.Context(), id, a("k", priority))
	must(m.t, err)
}

// move gives an item another priority.
func (m *mixed) move(p *Store[string, note], id string, priority int64) {
	m.t.Helper()
	if _, err := p.Update(m.t.Context(), id, setPriority.Set(priority)); err != nil && !errors.Is(err, errDied) {
		m.t.Error(err)
	}
}

// overdue waits until each intent may be taken over, and lets a program sweep.
func (m *mixed) overdue(p *Store[string, note]) {
	m.t.Helper()
	later(m.t, p, quick.Due)
	eventually(m.t, "no other process sweeps", func() bool {
		done, err := p.Sweep(m.t.Context(), SweepOptions{})
		if err != nil && !errors.Is(err, errDied) {
			m.t.Error(err)
		}
		return done.Busy == 0
	})
}

// build builds the indexes once, and dies where a hook says so.
func (m *mixed) build(p *Store[string, note], o IndexOptions) {
	m.t.Helper()
	if _, err := p.Indexes(m.t.Context(), o); err != nil && !errors.Is(err, errDied) && !errors.Is(err, context.Canceled) {
		m.t.Error(err)
	}
}

// mixtures say what programs of two versions may do to few items, and stop in the middle of it.
// A list that does not say that items may be missing then has all, and it has all after a build.
var mixtures = map[string]func(m *mixed){
	"a new program updates a field that is in no index": func(m *mixed) {
		m.create(m.old(), "1", 1)
		_, err := m.new().Update(m.t.Context(), "1", setText.Set("x"))
		must(m.t, err)
	},
	"a new program shortens an item of an old one": func(m *mixed) {
		m.create(m.old(), "1", 1)
		_, err := m.new().Shorten(m.t.Context(), "1", time.Minute)
		must(m.t, err)
	},
	"a new program dies while it shortens an item of an old one": func(m *mixed) {
		m.create(m.old(), "1", 1)
		dying := m.new()
		at(dying, "indexed", dies)
		_, _ = dying.Shorten(m.t.Context(), "1", time.Minute)
		m.overdue(m.old())
	},
	"a new program sweeps where an old one has died": func(m *mixed) {
		dying := m.old()
		m.create(m.new(), "1", 1)
		at(dying, "written", dies)
		m.move(dying, "1", 2)
		m.overdue(m.new())
	},
	"an old program sweeps where a new one has died": func(m *mixed) {
		dying := m.new()
		m.create(m.new(), "1", 1)
		at(dying, "written", dies)
		m.move(dying, "1", 2)
		m.overdue(m.old())
	},
	"an old program sweeps where a new one has died after the indexes": func(m *mixed) {
		dying := m.new()
		m.create(m.new(), "1", 1)
		at(dying, "indexed", dies)
		m.move(dying, "1", 2)
		m.overdue(m.old())
		m.move(m.old(), "1", 3)
	},
	"an old program sweeps what was prolonged": func(m *mixed) {
		new, old := m.new(), m.old()
		m.create(new, "1", 1)
		serverOf(m.cluster, new.core.Spec.Expires).Do("ZADD", new.core.Spec.Expires, "1", "1") // it would have ended long ago
		m.overdue(old)
		if _, incomplete := lists(m.t, new, 1); incomplete {
			m.t.Error("a sweep of items that no program has changed makes an index incomplete")
		}
	},
	"an old program moves the item while a builder mends it": func(m *mixed) {
		builder, old := m.new(), m.old()
		m.create(old, "1", 1)
		at(builder, "opened", func() error { m.move(old, "1", 2); return nil })
		m.build(builder, IndexOptions{Apply: true})
	},
	"an intent is opened after the builder has read the index records, and its owner dies": func(m *mixed) {
		dying := m.new()
		m.create(m.old(), "1", 1)
		at(dying, "opened", dies)
		m.build(m.new(), IndexOptions{Apply: true, Before: func(ctx context.Context, _ int) error {
			_, _ = dying.Shorten(ctx, "1", time.Minute)
			return nil
		}})
	},
	"an old sweeper takes over while a builder waits": func(m *mixed) {
		dying, sweeper, builder := m.old(), m.old(), m.new()
		m.create(m.new(), "1", 1)
		at(dying, "written", dies)
		m.move(dying, "1", 2)
		m.create(m.old(), "2", 1)
		at(sweeper, "looked", dies)
		m.build(builder,
			IndexOptions{Apply: true, Before: func(context.Context, int) error { m.overdue(sweeper); return nil }})
		m.whole(builder)
		m.overdue(m.old())
	},
	"an old program moves the item while another shortens it": func(m *mixed) {
		toucher := m.old()
		m.create(m.new(), "1", 1)
		at(toucher, "opened", func() error { m.move(m.old(), "1", 2); return nil })
		_, err := toucher.Shorten(m.t.Context(), "1", time.Minute)
		must(m.t, err)
	},
	"a removal is stopped, and the index is declared again": func(m *mixed) {
		dying := m.old()
		m.create(m.new(), "1", 1)
		at(dying, "indexed", dies)
		m.build(dying, IndexOptions{Remove: newIndexes})
		m.overdue(m.old())
	},
	"an item is written while an index is removed": func(m *mixed) {
		remover, new := m.old(), m.new()
		m.create(new, "1", 1)
		at(remover, "looked", func() error { m.move(new, "1", 2); return nil })
		m.build(remover, IndexOptions{Remove: newIndexes})
	},
	"a builder dies with its intents open": func(m *mixed) {
		builder := m.new()
		m.create(m.old(), "1", 1)
		at(builder, "indexed", dies)
		m.build(builder, IndexOptions{Apply: true})
	},
}

// whole fails if a list that says nothing lacks an item.
func (m *mixed) whole(p *Store[string, note]) (complete bool) {
	m.t.Helper()
	want := map[int64][]string{}
	for item, err := range p.All(m.t.Context()) {
		must(m.t, err)
		want[item.Value.Priority] = append(want[item.Value.Priority], item.ID)
	}
	complete = true
	for priority := int64(1); priority <= 2; priority++ {
		slices.Sort(want[priority])
		got, incomplete := lists(m.t, p, priority)
		if complete = complete && !incomplete; !incomplete {
			same(m.t, fmt.Sprint("priority ", priority), got, slices.Compact(want[priority]))
		}
	}
	return complete
}

// TestVersionsApart: whatever programs of two versions do at once, and wherever they stop: a list
// that lacks an item says so. A build completes it without a sweeper, and no delete leaves an id.
func TestVersionsApart(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		n := 0
		for name, play := range mixtures {
			n++
			m := &mixed{cluster: c, prefix: fmt.Sprint("v", n)}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m.t = t
				play(m)
				new := m.new()
				m.whole(new)
				r, err := new.Indexes(t.Context(), IndexOptions{Apply: true})
				if must(t, err); r.Interrupted || !m.whole(new) {
					t.Errorf("it is not built: %+v", r)
				}
				sound(t, new)
				for id := range 3 {
					_, err := m.old().Delete(t.Context(), fmt.Sprint(id))
					must(t, err)
				}
				m.overdue(m.old())
				if left := keysLeft(c, m.prefix); left > 0 {
					t.Errorf("%d keys are left", left)
				}
			})
		}
	})
}
