package entity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"go.uber.org/goleak"
)

// rueidis waits up to a second, after Close too, before it asks a cluster for its slots again.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

// note represents an item with every kind of index.
type note struct {
	Kind     string
	Context  string
	Priority int64
	Text     string
	Due      *time.Time
	Created  time.Time
	Updated  time.Time
	Version  int64
}

var noteFields = value.Fields[note]{Columns: []value.Column[note]{
	value.Required("kind", value.Text(0), func(n *note) *string { return &n.Kind }),
	value.Required("context", value.Text(0), func(n *note) *string { return &n.Context }),
	value.Required("priority", value.Int(1, 10), func(n *note) *int64 { return &n.Priority }),
	value.Required("text", value.Text(0), func(n *note) *string { return &n.Text }),
	value.Optional("due", value.UnixMS(), func(n *note) **time.Time { return &n.Due }),
	value.Required("created", value.UnixMS(), func(n *note) *time.Time { return &n.Created }),
	value.Required("updated", value.UnixMS(), func(n *note) *time.Time { return &n.Updated }),
	value.Required("version", value.Int(1, math.MaxInt64), func(n *note) *int64 { return &n.Version }),
}}

var (
	setKind     = Field[note, string]{"kind", func(n *note) *string { return &n.Kind }}
	setPriority = Field[note, int64]{"priority", func(n *note) *int64 { return &n.Priority }}
	setText     = Field[note, string]{"text", func(n *note) *string { return &n.Text }}
	setDue      = OptionalField[note, time.Time]{"due", func(n *note) **time.Time { return &n.Due }}
)

// part returns a part of a key: no separator in it.
func part(prefix, text string) (string, error) {
	if text == "" || strings.Contains(text, ":") {
		return "", key.Refuse("note", "part", "is no part of a key")
	}
	return prefix + text, nil
}

// noteSpec returns the entity under keys that begin with a prefix.
func noteSpec(prefix string) *Spec[string, note] {
	kind, ctx, pri := prefix+":idx:kind:", prefix+":idx:context:", prefix+":idx:priority:"
	return &Spec[string, note]{
		entry: &keywright.Entry{Name: "note", Pattern: prefix + ":item:{id}", Type: "hash",
			TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: 10 * time.Millisecond, Max: 24 * time.Hour,
				Text: "1h in 10ms..1d"}},
		Prefix: prefix + ":item:",
		Key:    func(id string) (string, error) { return part(prefix+":item:", id) },
		Parse:  func(key string) (string, bool) { return strings.CutPrefix(key, prefix+":item:") },
		Fields: &noteFields,
		Indexes: []Index[note]{
			{Name: "kind", Field: "kind", Prefix: kind, Key: func(n *note) (string, error) { return part(kind, n.Kind) }},
			{Name: "context", Field: "context", Prefix: ctx, Key: func(n *note) (string, error) { return part(ctx, n.Context) }},
			{Name: "priority+created", Field: "priority", Score: "created", Prefix: pri,
				Key: func(n *note) (string, error) { return part(pri, strconv.FormatInt(n.Priority, 10)) }},
			{Name: "due", Score: "due", Prefix: prefix + ":idx:due"},
			{Name: "updated", Score: "updated", Prefix: prefix + ":idx:updated"},
		},
		Expires: prefix + ":idx:expiry", Records: prefix + ":ledger", Lease: prefix + ":sweep", IndexTTL: 48 * time.Hour,
		Created: "created", Version: "version", Updated: "updated",
	}
}

var (
	must            = expect.NoError
	open            = servertest.Open
	eventually      = expect.Eventually
	nextMillisecond = expect.NextMillisecond
)

func brands(t *testing.T, run func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note])) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			run(t, s, storeOf(open(t, s.URL()), noteSpec("n")))
		})
	}
}

// sound fails unless indexes and items agree.
func sound(t *testing.T, s *Store[string, note]) Checked {
	t.Helper()
	got, err := s.Check(t.Context(), CheckOptions{Found: func(p Problem) { t.Errorf("%+v", p) }})
	must(t, err)
	return got
}

func a(kind string, priority int64) note {
	return note{Kind: kind, Context: "c1", Priority: priority, Text: "hello"}
}

func ids(p Page[string, note]) (out []string) {
	for _, item := range p.Items {
		out = append(out, item.ID)
	}
	return out
}

func (s *Store[I, T]) listed(t *testing.T, q Query[T]) []string {
	t.Helper()
	p, err := s.List(t.Context(), q)
	must(t, err)
	var out []string
	for _, item := range p.Items {
		out = append(out, fmt.Sprint(item.ID))
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		made, err := notes.Create(ctx, "1", a("fact", 5))
		must(t, err)
		got, err := notes.Get(ctx, "1")
		must(t, err)
		if got.Version != made.Version || got.Version < 1e15 || got.Value != made.Value || got.Value.Created.IsZero() ||
			got.Value.Version != got.Version {
			t.Errorf("made %+v, read %+v", made, got)
		}
		for _, wrong := range mortal(s, "n") {
			t.Error(wrong)
		}
		if _, err = notes.Create(ctx, "1", a("fact", 5)); !errors.Is(err, ErrExists) {
			t.Errorf("a second one: %v", err)
		}
		same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), []string{"1"})
		due := time.UnixMilli(1000).UTC()
		v2, err := notes.Update(ctx, "1", setKind.Set("task"), setDue.Set(due))
		must(t, err)
		if v2 != made.Version+1 {
			t.Errorf("version %d behind %d", v2, made.Version)
		}
		same(t, "by the old kind", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), nil)
		same(t, "by the new kind", notes.listed(t, Query[note]{Of: notes.By("kind", "task")}), []string{"1"})
		same(t, "by due", notes.listed(t, Query[note]{Of: notes.By("due", "")}), []string{"1"})
		var conflict *Conflict
		if _, err = notes.UpdateIf(ctx, "1", made.Version, setText.Set("late")); !errors.Is(err, ErrVersion) ||
			!errors.As(err, &conflict) || conflict.Version != v2 {
			t.Errorf("an update of an old version: %v", err)
		}
		if _, err = notes.UpdateIf(ctx, "1", v2, setText.Set("new"), setDue.Unset()); err != nil {
			t.Error(err)
		}
		same(t, "by due", notes.listed(t, Query[note]{Of: notes.By("due", "")}), nil)
		sound(t, notes)
		replaced, err := notes.Replace(ctx, "1", a("task", 1))
		must(t, err)
		if replaced.Value.Text != "hello" || replaced.Version != v2+2 {
			t.Errorf("replaced by %+v", replaced)
		}
		got, err = notes.Get(ctx, "1")
		must(t, err)
		if !got.Value.Created.Equal(made.Value.Created) || got.Value.Due != nil || got.Value.Priority != 1 {
			t.Errorf("replaced: %+v", got)
		}
		item, err := notes.Modify(ctx, "1", func(n *note) error { n.Priority++; return nil })
		must(t, err)
		same(t, "by priority", notes.listed(t, Query[note]{Of: notes.By("priority+created", "2")}), []string{"1"})
		sound(t, notes)
		stale := item
		stale.Version--
		if _, err = notes.DeleteItem(ctx, stale); !errors.Is(err, ErrVersion) {
			t.Errorf("delete of an old version: %v", err)
		}
		ok, err := notes.Delete(ctx, "1")
		if must(t, err); !ok {
			t.Error("not deleted")
		}
		if ok, err = notes.Delete(ctx, "1"); err != nil || ok {
			t.Errorf("deleted twice: %v %v", ok, err)
		}
		if _, err = notes.Get(ctx, "1"); !errors.Is(err, keywright.ErrNotFound) {
			t.Errorf("get of a deleted one: %v", err)
		}
		if _, err = notes.Update(ctx, "1", setText.Set("x")); !errors.Is(err, keywright.ErrNotFound) {
			t.Errorf("update of a deleted one: %v", err)
		}
		if n := s.Do("DBSIZE").(int64); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		for i := range 500 {
			_, err := notes.Create(ctx, fmt.Sprint(i), a(fmt.Sprint("k", i%3), int64(1+i%10)),
				keywright.ExpiresIn(50*time.Millisecond))
			must(t, err)
		}
		_, err := notes.Create(ctx, "stays", a("k1", 5))
		must(t, err)
		eventually(t, "they expire",
			func() bool { _, err := notes.Get(ctx, "499"); return errors.Is(err, keywright.ErrNotFound) })
		same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "k1")}), []string{"stays"})
		n, exact, err := notes.Count(ctx, notes.By("kind", "k1"), "", "")
		if must(t, err); n != 1 || !exact {
			t.Errorf("%d of kind k1, exact %v", n, exact)
		}
		done, err := notes.Sweep(ctx, SweepOptions{})
		if must(t, err); done.Gone != 500 {
			t.Errorf("%+v", done)
		}
		if c := sound(t, notes); c.Items != 1 || c.Entries != 4 || c.Expired != 0 {
			t.Errorf("%+v", c)
		}
		if n := s.Do("DBSIZE").(int64); n != 7 {
			t.Errorf("%d keys", n)
		}
	})
}

var _ = context.Background

// storeOf returns the store of a spec that has its entry.
func storeOf[I, T any](c *keywright.Client, spec *Spec[I, T]) *Store[I, T] {
	return New(keywright.Binding{Client: c, Entry: spec.entry}, spec)
}

// offline returns the store of a spec that has no server: what it says of keys and records can be looked at.
func offline(spec *Spec[string, note]) *Store[string, note] {
	s := &Store[string, note]{typed: spec}
	s.core = &itemkeys.Keys{Spec: s.description()}
	s.core.Tag()
	return s
}
