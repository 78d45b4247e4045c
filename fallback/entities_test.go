package fallback_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// entityItem represents an item of an entity.
type entityItem struct {
	Context string
	Secret  string
	Note    *string
	Created time.Time
	Version int64
}

var (
	memoFields = value.Fields[entityItem]{Columns: []value.Column[entityItem]{
		value.Required("context", value.Text(0), func(m *entityItem) *string { return &m.Context }),
		value.Encrypted(value.Required("secret", value.Text(0), func(m *entityItem) *string { return &m.Secret })),
		value.Optional("note", value.Text(0), func(m *entityItem) **string { return &m.Note }),
		value.Required("created", value.UnixMS(), func(m *entityItem) *time.Time { return &m.Created }),
		value.Required("version", value.Int(1, 1<<62), func(m *entityItem) *int64 { return &m.Version }),
	}}
	setContext = entity.Field[entityItem, string]{Name: "context", At: func(m *entityItem) *string { return &m.Context }}
	setNote    = entity.OptionalField[entityItem, string]{Name: "note", At: func(m *entityItem) **string { return &m.Note }}
)

// itemSpec returns what a store of items is made with.
func itemSpec(c *keywright.Client) keywright.Binding {
	return keywright.Binding{Client: c, Entry: &keywright.Entry{Name: "memo", Pattern: "memo:{id}", Type: "hash",
		Schema: "test", TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Minute,
			Max: 24 * time.Hour, Text: "1h in 1m..1d"}}}
}

func memoSpec(prefix string) *entity.Spec[string, entityItem] {
	return &entity.Spec[string, entityItem]{
		Prefix: prefix + "memo:",
		Key:    func(id string) (string, error) { return prefix + "memo:" + id, nil },
		Parse:  func(key string) (string, bool) { return strings.CutPrefix(key, prefix+"memo:") },
		Fields: &memoFields,
		Indexes: []entity.Index[entityItem]{
			{Name: "context", Field: "context", Prefix: prefix + "idx:context:",
				Key: func(m *entityItem) (string, error) { return prefix + "idx:context:" + m.Context, nil }},
		},
		Expires: prefix + "idx:expiry", Records: prefix + "ledger", Lease: prefix + "sweep", IndexTTL: 48 * time.Hour,
		Created: "created", Version: "version",
	}
}

// guardedItems represents an entity with its guard, and without it.
type guardedItems struct {
	world
	e    *fallback.Entities[string, entityItem]
	past *entity.Store[string, entityItem]
}

func newMemos(t *testing.T, brand keywrighttest.Brand, o fallback.Options) guardedItems {
	t.Helper()
	return newItems(t, brand, o, memoSpec(""))
}

func newItems(t *testing.T, brand keywrighttest.Brand, o fallback.Options,
	spec *entity.Spec[string, entityItem]) guardedItems {
	t.Parallel()
	s := keywrighttest.Start(t, brand)
	m := guardedItems{world: world{T: t, s: s, proxy: keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{}),
		store: fallback.NewMemory(fallback.Limits{})}}
	sealer := servertest.Ring(t, "a")
	open := func(addr string) *entity.Store[string, entityItem] {
		c, err := keywright.Open(t.Context(), "redis://"+addr,
			keywright.Options{NoCache: true, Timeout: time.Second, Attempts: 2, Sealer: sealer})
		m.ok(err)
		t.Cleanup(c.Close)
		return entity.New(itemSpec(c), spec)
	}
	m.past = open(s.Addr())
	var err error
	m.e, err = fallback.NewEntities(open(m.proxy.Addr()), m.store, fast(o))
	m.ok(err)
	t.Cleanup(func() { m.ok(m.e.Close()) })
	return m
}

func (m guardedItems) drained() {
	m.Helper()
	eventually(m.T, "the end of the replay", func() bool {
		s, err := m.e.Guard().State(context.Background())
		return err == nil && s.Phase == fallback.Up
	})
}

func (m guardedItems) pending(r fallback.Receipt, err error) {
	m.Helper()
	m.ok(err)
	same(m.T, "pending", r.Pending, true)
}

func (m guardedItems) done(r fallback.Receipt, err error) {
	m.Helper()
	m.ok(err)
	m.drained()
}

// sound fails unless items and indexes agree.
func (m guardedItems) sound(contexts map[string]int64) {
	m.Helper()
	_, err := m.past.Check(m.Context(), entity.CheckOptions{Found: func(p entity.Problem) { m.Errorf("%+v", p) }})
	m.ok(err)
	for name, want := range contexts {
		same(m.T, "items in "+name, m.s.Do("ZCARD", "idx:context:"+name).(int64), want)
	}
}

// TestTheIDIsInItsField: what a store fills in from the key is filled in here too, whether the server answers or not,
// and another id is refused.
func TestTheIDIsInItsField(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			spec := memoSpec("")
			spec.Identify = func(id string, m *entityItem) { m.Context = id }
			m := newItems(t, brand, fallback.Options{}, spec)
			ctx := t.Context()
			has := func(id string) {
				t.Helper()
				got, err := m.e.Get(ctx, id)
				m.ok(err)
				same(t, "the field of "+id, got.Value.Value.Context, id)
			}
			change := func(id, to string) error {
				_, err := m.e.Update(ctx, id, []entity.Change[entityItem]{setContext.Set(to), setNote.Set("x")})
				return err
			}
			m.done(m.e.Create(ctx, "made", entityItem{Secret: "s"}))
			m.done(m.e.Put(ctx, "put", entityItem{Context: "other", Secret: "s"}))
			m.freezeServer()
			m.pending(m.e.Create(ctx, "waits", entityItem{Context: "other", Secret: "s"}))
			for range 2 {
				for _, id := range []string{"made", "put", "waits"} {
					has(id)
					m.ok(change(id, id))
					class, _ := keywright.ClassOf(change(id, "other"))
					same(t, "another id for "+id, class, keywright.Invalid)
					_, err := m.e.Guard().Update(ctx, "memo:"+id, fallback.Fields{"context": "other"})
					class, _ = keywright.ClassOf(err)
					same(t, "another id as text for "+id, class, keywright.Invalid)
				}
				m.back()
				m.drained()
			}
			for _, id := range []string{"made", "put", "waits"} {
				has(id)
			}
			m.sound(map[string]int64{"made": 1, "put": 1, "waits": 1, "other": 0})
		})
	}
}

func TestEntities(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			m := newMemos(t, brand, fallback.Options{})
			ctx := t.Context()
			for _, id := range []string{"moved", "deleted", "theirs", "read"} {
				m.done(m.e.Create(ctx, id, entityItem{Context: "a", Secret: "hush " + id}))
			}
			got, err := m.e.Get(ctx, "read")
			m.ok(err)
			same(t, "secret", got.Value.Value.Secret, "hush read")
			if left := time.Until(got.Expires); left > time.Hour || left < 59*time.Minute {
				t.Errorf("left %v", left)
			}
			m.freezeServer()
			got, err = m.e.Get(ctx, "read")
			m.ok(err)
			same(t, "while away", got.Source, fallback.Second)
			same(t, "secret", got.Value.Value.Secret, "hush read")
			same(t, "created", time.Since(got.Value.Value.Created).Abs() < time.Minute, true)
			m.pending(m.e.Update(ctx, "moved", []entity.Change[entityItem]{setContext.Set("b"), setNote.Set("x")}))
			m.pending(m.e.Update(ctx, "moved", []entity.Change[entityItem]{setNote.Unset()}))
			m.pending(m.e.Delete(ctx, "deleted"))
			m.pending(m.e.Create(ctx, "new", entityItem{Context: "b", Secret: "hush new"}, fallback.ExpiresIn(time.Minute)))
			m.pending(m.e.Put(ctx, "theirs", entityItem{Context: "b", Secret: "ours"}))
			_, err = m.e.Create(ctx, "new", entityItem{Context: "c"})
			is(t, "a second one", err, fallback.ErrConflict)
			_, err = m.e.Put(ctx, "bad", entityItem{Context: "c"}, fallback.ExpiresIn(time.Second))
			class, _ := keywright.ClassOf(err)
			same(t, "a TTL that is not declared", class, keywright.Invalid)
			_, err = m.past.Update(ctx, "theirs", setContext.Set("c"))
			m.ok(err)
			for _, id := range []string{"memo:read", "memo:new"} {
				r, known, err := m.store.Get(ctx, id)
				m.ok(err)
				if text := strings.Join([]string{r.Fields["secret"], r.Fields["context"]}, " "); !known ||
					strings.Contains(text, "hush") {
					t.Errorf("%s: the second store has %q", id, text)
				}
			}
			m.back()
			m.drained()
			m.sound(map[string]int64{"a": 1, "b": 2, "c": 1})
			item, err := m.past.Get(ctx, "moved")
			m.ok(err)
			same(t, "moved", item.Value.Context+item.Value.Secret, "bhush moved")
			same(t, "without a note", item.Value.Note, nil)
			item, err = m.past.Get(ctx, "new")
			m.ok(err)
			same(t, "new", item.Value.Secret, "hush new")
			if left := m.s.Do("PTTL", "memo:new").(int64); left > 60_000 || left < 30_000 {
				t.Errorf("the new one has %d ms left", left)
			}
			_, err = m.past.Get(ctx, "deleted")
			is(t, "deleted", err, keywright.ErrNotFound)
			item, err = m.past.Get(ctx, "theirs")
			m.ok(err)
			same(t, "theirs", item.Value.Secret, "hush theirs")
			list, err := m.e.Guard().Conflicts(ctx)
			m.ok(err)
			same(t, "conflicts", len(list), 1)
		})
	}
}

// TestEntityLostReplies: sealed text that was applied and not confirmed is known
// again, though it would be sealed otherwise now.
func TestEntityLostReplies(t *testing.T) {
	m := newMemos(t, keywrighttest.Redis, fallback.Options{})
	ctx := t.Context()
	for _, step := range []struct {
		word  string
		write func() (fallback.Receipt, error)
	}{
		{"first", func() (fallback.Receipt, error) {
			return m.e.Create(ctx, "a", entityItem{Context: "first", Secret: "s"})
		}},
		{"second", func() (fallback.Receipt, error) { return m.e.Put(ctx, "a", entityItem{Context: "second", Secret: "t"}) }},
		{"third", func() (fallback.Receipt, error) {
			return m.e.Update(ctx, "a", []entity.Change[entityItem]{setContext.Set("third")})
		}},
	} {
		m.proxy.LoseReplyTo(step.word)
		m.pending(step.write())
		m.drained()
	}
	item, err := m.past.Get(ctx, "a")
	m.ok(err)
	same(t, "item", item.Value.Context+item.Value.Secret, "thirdt")
	list, err := m.e.Guard().Conflicts(ctx)
	m.ok(err)
	same(t, "conflicts", len(list), 0)
	m.sound(map[string]int64{"first": 0, "second": 0, "third": 1})
}

// TestHotItem: while a copy is fresh, a read asks for the item alone; it still knows
// the deadline, and sees what others have changed.
func TestHotItem(t *testing.T) {
	m := newMemos(t, keywrighttest.Redis, fallback.Options{Fresh: time.Hour})
	ctx := t.Context()
	made, err := m.e.Create(ctx, "a", entityItem{Context: "one", Secret: "s"})
	m.ok(err)
	m.copied("memo:a", made.Version) // with what the server has added to it
	_, err = m.e.Get(ctx, "a")
	m.ok(err)
	deadlines := m.s.Info("cmdstat_pttl")
	for range 10 {
		got, err := m.e.Get(ctx, "a")
		m.ok(err)
		if left := time.Until(got.Expires); left < 59*time.Minute || left > time.Hour {
			t.Fatalf("%v left", left)
		}
	}
	same(t, "questions for the deadline", m.s.Info("cmdstat_pttl"), deadlines)
	version, err := m.past.Update(ctx, "a", setContext.Set("two"))
	m.ok(err)
	got, err := m.e.Get(ctx, "a")
	m.ok(err)
	same(t, "changed", got.Value.Value.Context, "two")
	m.copied("memo:a", version)
}

// TestWithoutVersion: an entity that has none is refused.
func TestWithoutVersion(t *testing.T) {
	m := newMemos(t, keywrighttest.Redis, fallback.Options{})
	spec := memoSpec("")
	spec.Version = ""
	_, err := fallback.NewEntities(entity.New(itemSpec(connect(t, m.s.Addr())), spec), m.store, fallback.Options{})
	if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
		t.Fatalf("%v", err)
	}
}

// TestEntitiesInACluster: every node is stopped for a while; the keys of the entity
// lie in one slot, or in several.
func TestEntitiesInACluster(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 3, 0)
			c := servertest.Open(t, cluster.URL(),
				keywright.Options{NoCache: true, Timeout: time.Second, Sealer: servertest.Ring(t, "a")})
			apart := memoSpec("")
			apart.Expires, apart.Records, apart.Lease = "{books}:expiry", "{books}:ledger", "{books}:sweep"
			for _, spec := range []*entity.Spec[string, entityItem]{memoSpec("{m}:"), apart} {
				m := guardedItems{world: world{T: t, store: fallback.NewMemory(fallback.Limits{})}, past: entity.New(itemSpec(c), spec)}
				var err error
				m.e, err = fallback.NewEntities(m.past, m.store,
					fast(fallback.Options{Patience: 100 * time.Millisecond, WritePatience: 100 * time.Millisecond}))
				m.ok(err)
				m.standStill(cluster)
				m.ok(m.e.Close())
			}
		})
	}
}

func (m guardedItems) standStill(cluster *keywrighttest.Cluster) {
	m.done(m.e.Create(m.Context(), "a", entityItem{Context: "one", Secret: "s"}))
	for _, node := range cluster.Nodes {
		node.Stop()
	}
	m.pending(m.e.Update(m.Context(), "a", []entity.Change[entityItem]{setContext.Set("two")}))
	got, err := m.e.Get(m.Context(), "a")
	m.ok(err)
	same(m.T, "while away", got.Value.Value.Context+got.Value.Value.Secret, "twos")
	for _, node := range cluster.Nodes {
		node.Continue()
	}
	m.drained()
	item, err := m.past.Get(m.Context(), "a")
	m.ok(err)
	same(m.T, "on the cluster", item.Value.Context, "two")
	m.done(m.e.Delete(m.Context(), "a"))
	_, err = m.past.Get(m.Context(), "a")
	is(m.T, "deleted", err, keywright.ErrNotFound)
}

// What the server adds to a write is in the copy, too, though no read has followed.
func TestACopyHasWhatTheServerAdds(t *testing.T) {
	m := newMemos(t, keywrighttest.Redis, fallback.Options{})
	ctx := t.Context()
	m.done(m.e.Create(ctx, "a", entityItem{Context: "a", Secret: "hush"}))
	m.done(m.e.Update(ctx, "a", []entity.Change[entityItem]{setNote.Set("x")}))
	eventually(t, "the copy has the time at which the item was made", func() bool {
		r, known, err := m.store.Get(ctx, "memo:a")
		return err == nil && known && r.Fields["note"] == "x" && r.Fields["created"] != ""
	})
	m.freezeServer()
	got, err := m.e.Get(ctx, "a")
	m.ok(err)
	same(t, "while away", got.Source, fallback.Second)
	if v := got.Value.Value; time.Since(v.Created).Abs() > time.Minute || v.Note == nil || *v.Note != "x" {
		t.Errorf("the copy is %+v", v)
	}
}
