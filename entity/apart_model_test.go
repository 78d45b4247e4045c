package entity

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// model describes what the items should be.
type model struct {
	t     *rapid.T
	notes *Store[string, note]
	items map[string]note
	seen  map[string]Item[string, note] // as last written or read
}

// apartModel: whatever is called one after the other, the store says what a map
// would, and nothing is wrong with its indexes.
func apartModel(t *testing.T, c *keywrighttest.Cluster) {
	client := open(t, c.URL())
	var runs atomic.Int64
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		prefix := fmt.Sprint("r", runs.Add(1))
		m := &model{t: rt, notes: spreadOn(t, client, prefix), items: map[string]note{},
			seen: map[string]Item[string, note]{}}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			m.Step()
		}
		m.compare()
	})
}

func (m *model) ID() string { return rapid.SampledFrom([]string{"1", "2", "3"}).Draw(m.t, "id") }

func (m *model) note() note {
	n := note{Kind: rapid.SampledFrom([]string{"x", "y"}).Draw(m.t, "kind"), Context: "c",
		Priority: rapid.Int64Range(1, 3).Draw(m.t, "priority"), Text: "t"}
	if rapid.Bool().Draw(m.t, "with due") {
		due := time.UnixMilli(rapid.Int64Range(1, 4).Draw(m.t, "due")).UTC()
		n.Due = &due
	}
	return n
}

func (m *model) must(err error, allowed ...error) bool {
	m.t.Helper()
	for _, a := range allowed {
		if errors.Is(err, a) {
			return false
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return true
}

func (m *model) wrote(id string, n note, item Item[string, note]) {
	m.items[id], m.seen[id] = n, item
}

func (m *model) Step() {
	ctx, id := m.t.Context(), m.ID()
	_, there := m.items[id]
	switch op := rapid.SampledFrom([]string{"create", "put", "replace", "update", "if", "delete", "item", "touch",
		"expire", "sweep", "modify"}).Draw(m.t, "op"); op {
	case "create", "put", "replace":
		n := m.note()
		do := map[string]func() (Item[string, note], error){
			"create":  func() (Item[string, note], error) { return m.notes.Create(ctx, id, n) },
			"put":     func() (Item[string, note], error) { return m.notes.Put(ctx, id, n) },
			"replace": func() (Item[string, note], error) { return m.notes.Replace(ctx, id, n) },
		}[op]
		item, err := do()
		if applied := m.must(err, ErrExists, keywright.ErrNotFound); applied != (op == "put" || op == "create" && !there ||
			op == "replace" && there) {
			m.t.Fatalf("%s with an item there %v: %v", op, there, err)
		} else if applied {
			m.wrote(id, n, item)
		}
	case "update", "if":
		m.update(id, op == "if")
	case "delete", "item":
		did, err := m.notes.Delete(ctx, id)
		if op == "item" && there {
			did, err = m.notes.DeleteItem(ctx, m.seen[id])
		}
		if m.must(err, ErrVersion) && did != there && op == "delete" {
			m.t.Fatalf("deleted %v, there %v", did, there)
		}
		delete(m.items, id)
	case "touch":
		if applied := m.must(m.notes.Touch(ctx, id,
			keywright.ExpiresIn(time.Duration(rapid.Int64Range(1, 10).Draw(m.t, "hours"))*time.Hour)),
			keywright.ErrNotFound); applied != there {
			m.t.Fatalf("touched %v, there %v", applied, there)
		}
	case "expire":
		m.expire(id, there)
	case "sweep":
		_, err := m.notes.Sweep(ctx, SweepOptions{})
		m.must(err)
	case "modify":
		item, err := m.notes.Modify(ctx, id, func(n *note) error { n.Priority = n.Priority%3 + 1; return nil })
		if m.must(err, keywright.ErrNotFound) {
			n := m.items[id]
			n.Priority = n.Priority%3 + 1
			m.wrote(id, n, item)
		}
	}
}

func (m *model) update(id string, conditional bool) {
	n, there := m.items[id]
	to := m.note()
	changes := []Change[note]{setKind.Set(to.Kind)}
	old := n
	n.Kind = to.Kind
	if rapid.Bool().Draw(m.t, "priority too") {
		changes, n.Priority = append(changes, setPriority.Set(to.Priority)), to.Priority
	}
	if to.Due != nil {
		changes, n.Due = append(changes, setDue.Set(*to.Due)), to.Due
	} else if rapid.Bool().Draw(m.t, "without due") {
		changes, n.Due = append(changes, setDue.Unset()), nil
	}
	var version int64
	var err error
	if conditional {
		version, err = m.notes.UpdateIf(m.t.Context(), id, m.seen[id].Version, changes...)
	} else {
		version, err = m.notes.Update(m.t.Context(), id, changes...)
	}
	if applied := m.must(err, keywright.ErrNotFound, ErrVersion); !applied && there && !conditional || applied && !there {
		m.t.Fatalf("updated %v, there %v (%v)", applied, there, err)
	} else if applied {
		item := m.seen[id]
		item.Version, item.texts = version, nil
		m.wrote(id, n, item)
	} else if there && conditional {
		m.items[id] = old
		m.t.Fatalf("the version %d of the last write is not the version: %v", m.seen[id].Version, err)
	}
}

// expire lets an item end.
func (m *model) expire(id string, there bool) {
	changed, err := m.notes.Shorten(m.t.Context(), id, 2*time.Millisecond)
	if applied := m.must(err, keywright.ErrNotFound); applied != there || changed != there {
		m.t.Fatalf("shortened %v %v, there %v", applied, changed, there)
	}
	for there {
		there, err = m.notes.Exists(m.t.Context(), id)
		m.must(err)
	}
	delete(m.items, id)
}

// compare reads everything in every way.
func (m *model) compare() {
	ctx := m.t.Context()
	ids := slices.Sorted(maps.Keys(m.items))
	items, err := m.notes.GetMany(ctx, "1", "2", "3")
	m.must(err)
	var got []string
	for _, item := range items {
		want := m.items[item.ID]
		want.Created, want.Updated, want.Version = item.Value.Created, item.Value.Updated, item.Version
		if fmt.Sprint(item.Value.Due) != fmt.Sprint(want.Due) || item.Value.Kind != want.Kind ||
			item.Value.Priority != want.Priority {
			m.t.Fatalf("item %s is %+v, not %+v", item.ID, item.Value, want)
		}
		got = append(got, item.ID)
	}
	m.equal("many", got, ids)
	got = nil
	for item, err := range m.notes.All(ctx) {
		m.must(err)
		got = append(got, item.ID)
	}
	slices.Sort(got)
	m.equal("all", got, ids)
	for _, kind := range []string{"x", "y"} {
		for p := range int64(3) {
			m.pages(kind, p+1)
		}
	}
	var due []string
	for _, id := range ids {
		if n := m.items[id]; n.Due != nil && n.Due.UnixMilli() >= 2 {
			due = append(due, id)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		return -cmp.Or(cmp.Compare(m.items[a].Due.UnixMilli(), m.items[b].Due.UnixMilli()), cmp.Compare(a, b))
	})
	listed, err := m.notes.IDs(ctx, Query[note]{Of: m.notes.By("due", ""), From: "2", Newest: true})
	m.must(err)
	m.equal("due, the last first", listed.IDs, due)
	_, err = m.notes.Sweep(ctx, SweepOptions{})
	m.must(err)
	checked, err := m.notes.Check(ctx, CheckOptions{Found: func(p Problem) { m.t.Errorf("%+v", p) }})
	m.must(err)
	if checked.Items != len(ids) || checked.Expired != 0 {
		m.t.Errorf("%+v for %q", checked, ids)
	}
	if n, _, err := m.notes.Count(ctx, m.notes.By("context", "c"), "", ""); err != nil || int(n) != len(ids) {
		m.t.Errorf("%d of %d are counted (%v)", n, len(ids), err)
	}
}

// pages lists an intersection, an item a page.
func (m *model) pages(kind string, priority int64) {
	var want, got []string
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		if n := m.items[id]; n.Kind == kind && n.Priority == priority {
			want = append(want, id)
		}
	}
	q := Query[note]{Of: m.notes.By("kind", kind),
		And:   []Of[note]{m.notes.By("priority+created", strconv.FormatInt(priority, 10)), m.notes.By("context", "c")},
		Limit: 1}
	for item, err := range m.notes.Each(m.t.Context(), q) {
		m.must(err)
		got = append(got, item.ID)
	}
	m.equal("pages", got, want)
}

func (m *model) equal(what string, got, want []string) {
	if !slices.Equal(got, want) {
		m.t.Fatalf("%s: %q, not %q", what, got, want)
	}
}
