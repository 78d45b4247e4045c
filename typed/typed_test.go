package typed_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// policies lists the kinds of TTL an entry can have.
var policies = map[string]keywright.TTL{
	"fixed":  {Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute, Text: "1m"},
	"bounds": {Policy: keywright.Expires, Default: time.Minute, Min: time.Second, Max: time.Hour, Text: "1m in 1s..1h"},
	"jitter": {Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute, Jitter: 0.5,
		Text: "1m ~50%"},
	"sliding": {Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute, Sliding: true,
		Text: "1m sliding"},
	"none": {Policy: keywright.Forever, Text: "none"},
	"any":  {Policy: keywright.Undecided, Text: "any"},
}

type world struct {
	*testing.T
	s *keywrighttest.Server
	c *keywright.Client
}

func worlds(t *testing.T, run func(w world)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts()
			c := servertest.Open(t, s.URL())
			run(world{t, s, c})
		})
	}
}

// key returns a key of an entry with one of the policies.
func (w world) key(policy string) typed.Key {
	e := &keywright.Entry{Name: "thing", Pattern: "thing:{id}", TTL: policies[policy]}
	return typed.NewKey(keywright.Binding{Client: w.c, Entry: e, Key: "thing:" + policy})
}

// left returns the TTL of a key in ms, as PTTL says it.
func (w world) left(k typed.Key) int64 { return w.s.Do("PTTL", k.Name()).(int64) }

func (w world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func same[T comparable](w world, what string, got, want T) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

func list[T any](w world, what string, got []T, want string) {
	w.Helper()
	if fmt.Sprint(got) != want {
		w.Errorf("%s: %v, want %s", what, got, want)
	}
}

func get[T any](w world) func(v T, err error) T {
	return func(v T, err error) T {
		w.Helper()
		w.ok(err)
		return v
	}
}

var (
	words   = value.Text(0)
	numbers = value.Int(-1000, 1000)
	scores  = value.IntScore(0, 1<<50)
)

// writers are one write per type and policy; what they leave must have the TTL
// that the policy demands, whatever was there.
var writers = map[string]func(w world, k typed.Key) error{
	"string": func(w world, k typed.Key) error { return typed.NewString(k.Binding(), &words).Set("x").Do(w.Context()) },
	"absent": func(w world, k typed.Key) error {
		_, err := typed.NewString(k.Binding(), &words).SetIfAbsent("x").Do(w.Context())
		return err
	},
	"swap": func(w world, k typed.Key) error {
		_, err := typed.NewString(k.Binding(), &words).Swap("x").Do(w.Context())
		if err == keywright.ErrNotFound {
			err = nil
		}
		return err
	},
	"counter": func(w world, k typed.Key) error {
		_, err := typed.NewCounter(k.Binding(), &numbers).Add(1).Do(w.Context())
		return err
	},
	"map": func(w world, k typed.Key) error {
		_, err := typed.NewMap(k.Binding(), &words, &numbers).Set("f", 1).Do(w.Context())
		return err
	},
	"map all": func(w world, k typed.Key) error {
		return typed.NewMap(k.Binding(), &words, &numbers).SetAll(map[string]int64{"a": 1, "b": 2}).Do(w.Context())
	},
	"count map": func(w world, k typed.Key) error {
		_, err := typed.CountMap[string]{Map: typed.NewMap(k.Binding(), &words, &numbers)}.Add("f", 1).Do(w.Context())
		return err
	},
	"set": func(w world, k typed.Key) error {
		_, err := typed.NewSet(k.Binding(), &words).Add("a", "b").Do(w.Context())
		return err
	},
	"list": func(w world, k typed.Key) error {
		_, err := typed.NewList(k.Binding(), &words).PushRight("a", "b").Do(w.Context())
		return err
	},
	"replace": func(w world, k typed.Key) error {
		return typed.NewList(k.Binding(), &words).Replace([]string{"a", "b"}).Do(w.Context())
	},
	"zset": func(w world, k typed.Key) error {
		_, err := typed.NewZSet(k.Binding(), &words, &scores).Add("a", 1).Do(w.Context())
		return err
	},
	"increase": func(w world, k typed.Key) error {
		_, err := typed.NewZSet(k.Binding(), &words, &scores).Increase("a", 1).Do(w.Context())
		return err
	},
	"stream": func(w world, k typed.Key) error {
		any := value.AnyFields()
		_, err := typed.NewStream(k.Binding(), &any, 10).Add(map[string]string{"a": "b"}).Do(w.Context())
		return err
	},
	"group": func(w world, k typed.Key) error {
		any := value.AnyFields()
		return typed.NewGroup(typed.NewStream(k.Binding(), &any, 10), "g").Ensure().Do(w.Context())
	},
	"hash": func(w world, k typed.Key) error {
		return typed.NewHash(k.Binding(), &personFields).Set(person{Name: "a"}).Do(w.Context())
	},
}

// TestNoWriteWithoutItsTTL is the promise of the package.
func TestNoWriteWithoutItsTTL(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		for name, write := range writers {
			for policy, ttl := range policies {
				k := w.key(policy)
				w.s.Do("DEL", k.Name())
				w.ok(write(w, k))
				ms, where := w.left(k), name+" "+policy
				switch ttl.Policy {
				case keywright.Expires:
					most := int64(float64(ttl.Max.Milliseconds()) * (1 + ttl.Jitter))
					if ms < 1 || ms > most {
						w.Errorf("%s: TTL %d ms", where, ms)
					}
				default:
					same(w, where, ms, -1)
				}
				second(w, where, write, k, ttl)
			}
		}
	})
}

// second writes again to a key with a shorter TTL: a sliding one is renewed, a
// fixed one of a collection stays as it was, a whole value gets a new one.
func second(w world, where string, write func(world, typed.Key) error, k typed.Key, ttl keywright.TTL) {
	if ttl.Policy != keywright.Expires {
		return
	}
	w.s.Do("PEXPIRE", k.Name(), "5000")
	if err := write(w, k); err != nil {
		w.Errorf("%s, again: %v", where, err)
	}
	ms := w.left(k)
	if ms < 1 || ttl.Sliding && ms < 20_000 && !strings.HasPrefix(where, "absent") && !strings.HasPrefix(where, "group") {
		w.Errorf("%s: TTL %d ms after a second write", where, ms)
	}
	w.s.Do("PERSIST", k.Name())
	if err := write(w, k); err != nil {
		w.Errorf("%s, a third time: %v", where, err)
	}
	if ms := w.left(k); ms < 1 && !strings.HasPrefix(where, "absent") && !strings.HasPrefix(where, "group") {
		w.Errorf("%s: a key that somebody had made permanent has the TTL %d after a write", where, ms)
	}
}

func TestChosenTTL(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx := w.Context()
		s := typed.NewString(w.key("bounds").Binding(), &words)
		w.ok(s.Set("x", keywright.ExpiresIn(time.Hour)).Do(ctx))
		if ms := w.left(s.Key); ms < 3_500_000 {
			w.Errorf("%d", ms)
		}
		for policy, asked := range map[string]time.Duration{"bounds": 2 * time.Hour, "fixed": time.Second,
			"none": time.Minute, "any": -1} {
			k := w.key(policy)
			for name, err := range map[string]error{
				"string": typed.NewString(k.Binding(), &words).Set("y", keywright.ExpiresIn(asked)).Do(ctx),
				"list":   typed.NewList(k.Binding(), &words).Replace([]string{"y"}, keywright.ExpiresIn(asked)).Do(ctx),
			} {
				if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
					w.Errorf("%s %s: %v", name, policy, err)
				}
			}
		}
		a := typed.NewString(w.key("any").Binding(), &words)
		w.ok(a.Set("x", keywright.ExpiresIn(time.Minute)).Do(ctx))
		w.ok(a.Set("y").Do(ctx))
		if ms := w.left(a.Key); ms < 1 {
			w.Error("an undecided entry lost the TTL of its key")
		}
		w.ok(a.Renew(keywright.ExpiresIn(time.Hour)).Do(ctx))
		if left, err := a.TTL().Do(ctx); err != nil || left < 59*time.Minute {
			w.Errorf("%v %v", left, err)
		}
		if err := typed.NewString(w.key("none").Binding(), &words).Renew().Do(ctx); err == nil {
			w.Error("a TTL was renewed that must not be")
		}
		if err := typed.NewString(w.key("fixed").Binding(), &words).Renew().Do(ctx); err != keywright.ErrNotFound {
			w.Errorf("renewing a missing key: %v", err)
		}
	})
}

// TestSlidingReads renew, and Peek does not.
func TestSlidingReads(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, k := w.Context(), w.key("sliding")
		reads := map[string]func() error{
			"string": func() error { _, err := typed.NewString(k.Binding(), &words).Get().Do(ctx); return err },
			"hash":   func() error { _, err := typed.NewHash(k.Binding(), &personFields).Get().Do(ctx); return err },
			"set":    func() error { _, err := typed.NewSet(k.Binding(), &words).Members().Do(ctx); return err },
			"zset":   func() error { _, err := typed.NewZSet(k.Binding(), &words, &scores).Top(3).Do(ctx); return err },
			"map":    func() error { _, err := typed.NewMap(k.Binding(), &words, &numbers).Get("f").Do(ctx); return err },
			"list":   func() error { _, err := typed.NewList(k.Binding(), &words).Range(0, -1).Do(ctx); return err },
		}
		for name, read := range reads {
			w.s.Do("DEL", k.Name())
			w.ok(writers[name](w, k))
			w.s.Do("PEXPIRE", k.Name(), "5000")
			w.ok(read())
			if ms := w.left(k); ms < 20_000 {
				w.Errorf("%s: TTL %d ms after a read", name, ms)
			}
		}
		w.ok(typed.NewString(k.Binding(), &words).Set("x").Do(ctx))
		w.s.Do("PEXPIRE", k.Name(), "5000")
		same(w, "peek", get[string](w)(typed.NewString(k.Binding(), &words).Peek().Do(ctx)), "x")
		if ms := w.left(k); ms > 5000 {
			w.Errorf("Peek renewed the TTL: %d", ms)
		}
	})
}

// TestWatchOfSliding: reading in a transaction renews nothing, or it would be its
// own conflict.
func TestWatchOfSliding(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, k := w.Context(), w.key("sliding")
		s, m := typed.NewString(k.Binding(), &words), typed.NewMap(k.Binding(), &words, &numbers)
		w.ok(s.Set("a").Do(ctx))
		w.ok(w.c.Transact(ctx, func(tx *keywright.Tx) error {
			v, err := keywright.Watch(tx, s.Get())
			keywright.Queue(tx, s.Set(v+"b"))
			return err
		}))
		same(w, "after it", get[string](w)(s.Get().Do(ctx)), "ab")
		w.s.Do("DEL", k.Name())
		w.ok(m.SetAll(map[string]int64{"f": 1}).Do(ctx))
		w.ok(w.c.Transact(ctx, func(tx *keywright.Tx) error {
			all, err := keywright.Watch(tx, m.All())
			keywright.Queue(tx, m.Set("f", all["f"]+1))
			return err
		}))
		same(w, "after it", get[int64](w)(m.Get("f").Do(ctx)), 2)
	})
}

func TestString(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, s := w.Context(), typed.NewString(w.key("fixed").Binding(), &words)
		same(w, "present", get[bool](w)(s.SetIfPresent("a").Do(ctx)), false)
		same(w, "absent", get[bool](w)(s.SetIfAbsent("b").Do(ctx)), true)
		same(w, "absent", get[bool](w)(s.SetIfAbsent("c").Do(ctx)), false)
		same(w, "present", get[bool](w)(s.SetIfPresent("d").Do(ctx)), true)
		same(w, "swap", get[string](w)(s.Swap("e").Do(ctx)), "d")
		same(w, "exists", get[bool](w)(s.Exists().Do(ctx)), true)
		same(w, "cached", get[string](w)(s.Cached(time.Minute).Do(ctx)), "e")
		same(w, "take", get[string](w)(s.Take().Do(ctx)), "e")
		for _, err := range []error{expect.Err(s.Get().Do(ctx)), expect.Err(s.Take().Do(ctx)),
			expect.Err(s.Swap("f").Do(ctx))} {
			same(w, "missing", err, error(keywright.ErrNotFound))
		}
		same(w, "delete", get[bool](w)(s.Delete().Do(ctx)), true)
		same(w, "delete", get[bool](w)(s.Delete().Do(ctx)), false)
		if _, err := s.TTL().Do(ctx); err != keywright.ErrNotFound {
			w.Error(err)
		}
		n := typed.NewCounter(w.key("fixed").Binding(), &numbers)
		same(w, "add", get[int64](w)(n.Add(-3).Do(ctx)), -3)
		if err := n.Set(5000).Do(ctx); err == nil || strings.Contains(err.Error(), "5000") {
			w.Errorf("a value out of range: %v", err)
		}
	})
}

// TestCachedSeesChanges: a value in this process's memory is given up when
// another changes it.
func TestCachedSeesChanges(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, s := w.Context(), typed.NewString(w.key("fixed").Binding(), &words)
		w.ok(s.Set("a").Do(ctx))
		same(w, "cached", get[string](w)(s.Cached(time.Minute).Do(ctx)), "a")
		stop := w.s.Monitor()
		for range 5 {
			same(w, "cached", get[string](w)(s.Cached(time.Minute).Do(ctx)), "a")
		}
		same(w, "commands for five hits", len(stop()), 0)
		w.s.Do("SET", s.Name(), "b", "PX", "60000")
		expect.Eventually(t, "the new value", func() bool { return get[string](w)(s.Cached(time.Minute).Do(ctx)) == "b" })
	})
}

type person struct {
	Name string
	Age  *int64
	At   *time.Time
}

var (
	age, at      = value.Int(0, 150), value.UnixMS()
	personFields = value.Fields[person]{Columns: []value.Column[person]{
		value.Required("name", words, func(p *person) *string { return &p.Name }),
		value.Optional("age", age, func(p *person) **int64 { return &p.Age }),
		value.Optional("at", at, func(p *person) **time.Time { return &p.At }),
	}}
)

func TestHash(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, k := w.Context(), w.key("fixed")
		h := typed.NewHash(k.Binding(), &personFields)
		_, err := h.Get().Do(ctx)
		same(w, "missing", err, error(keywright.ErrNotFound))
		forty, moment := int64(40), time.UnixMilli(1_795_167_000_123).UTC()
		w.ok(h.Set(person{Name: "a", Age: &forty, At: &moment}).Do(ctx))
		p := get[person](w)(h.Get().Do(ctx))
		if p.Name != "a" || *p.Age != 40 || !p.At.Equal(moment) {
			w.Errorf("%+v", p)
		}
		p = get[person](w)(h.Cached(time.Minute).Do(ctx))
		same(w, "cached", p.Name, "a")
		w.ok(h.Set(person{Name: "b"}).Do(ctx))
		if p = get[person](w)(h.Get().Do(ctx)); p.Age != nil {
			w.Error("Set left a field of before")
		}
		name := typed.NewField(k, "name", &words, true)
		years := typed.OptionalIntField{
			OptionalField: typed.OptionalField[int64]{Field: typed.NewField(k, "age", &age, false)}}
		same(w, "add", get[int64](w)(years.Add(3).Do(ctx)), 3)
		w.ok(years.Set(7).Do(ctx))
		same(w, "field", get[int64](w)(years.Get().Do(ctx)), 7)
		same(w, "remove", get[bool](w)(years.Remove().Do(ctx)), true)
		_, err = years.Get().Do(ctx)
		same(w, "missing field", err, error(keywright.ErrNotFound))
		w.ok(name.Set("c").Do(ctx))
		if err := years.Set(1000).Do(ctx); err == nil || !strings.Contains(err.Error(), "age") {
			w.Errorf("a field out of range: %v", err)
		}
		w.s.Do("DEL", k.Name())
		same(w, "a field of a hash that is not there", years.Set(7).Do(ctx), error(keywright.ErrNotFound))
		same(w, "exists", get[bool](w)(h.Exists().Do(ctx)), false)
		w.s.Do("HSET", k.Name(), "age", "7", "other", "x")
		broken(w, expect.Err(h.Get().Do(ctx)), "name")
		w.s.Do("HSET", k.Name(), "name", "d", "age", "young")
		broken(w, expect.Err(h.Get().Do(ctx)), "age")
		broken(w, expect.Err(years.Get().Do(ctx)), "age")
	})
}

// broken checks the error of a value that does not decode.
func broken(w world, err error, field string) {
	w.Helper()
	e, ok := errors.AsType[*keywright.DecodeError](err)
	if !ok || e.Field != field || e.Entry != "thing" || !strings.HasPrefix(e.Key, "thing:") ||
		strings.Contains(err.Error(), "young") {
		w.Errorf("%v", err)
	}
}

func TestMapSetListZSet(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, k := w.Context(), w.key("fixed")
		m := typed.NewMap(k.Binding(), &words, &numbers)
		same(w, "empty", len(get[map[string]int64](w)(m.All().Do(ctx))), 0)
		same(w, "new", get[bool](w)(m.Set("a", 1).Do(ctx)), true)
		same(w, "known", get[bool](w)(m.SetIfAbsent("a", 2).Do(ctx)), false)
		w.ok(m.SetAll(map[string]int64{"b": 2, "c": 3}).Do(ctx))
		same(w, "len", get[int64](w)(m.Len().Do(ctx)), 3)
		same(w, "has", get[bool](w)(m.Has("c").Do(ctx)), true)
		same(w, "remove", get[int64](w)(m.Remove("c", "d").Do(ctx)), 1)
		w.ok(m.Replace(map[string]int64{"z": 9}).Do(ctx))
		same(w, "replaced", fmt.Sprint(get[map[string]int64](w)(m.All().Do(ctx))), "map[z:9]")
		w.ok(m.Replace(nil).Do(ctx))
		same(w, "replaced by nothing", get[bool](w)(m.Exists().Do(ctx)), false)

		s := typed.NewSet(k.Binding(), &words)
		list(w, "empty", get[[]string](w)(s.Members().Do(ctx)), "[]")
		same(w, "add", get[int64](w)(s.Add("a", "b", "a").Do(ctx)), 2)
		same(w, "has", get[bool](w)(s.Has("a").Do(ctx)), true)
		same(w, "random", len(get[[]string](w)(s.Random(5).Do(ctx))), 2)
		same(w, "remove", get[int64](w)(s.Remove("a").Do(ctx)), 1)
		list(w, "pop", get[[]string](w)(s.Pop(3).Do(ctx)), "[b]")
		w.ok(s.Replace([]string{"x"}).Do(ctx))
		same(w, "len", get[int64](w)(s.Len().Do(ctx)), 1)
		w.s.Do("DEL", k.Name())

		l := typed.NewList(k.Binding(), &numbers)
		same(w, "push", get[int64](w)(l.PushRight(1, 2, 3).Do(ctx)), 3)
		same(w, "push", get[int64](w)(l.PushLeft(0).Do(ctx)), 4)
		list(w, "range", get[[]int64](w)(l.Range(0, -1).Do(ctx)), "[0 1 2 3]")
		same(w, "at", get[int64](w)(l.At(-1).Do(ctx)), 3)
		same(w, "pop", get[int64](w)(l.PopLeft().Do(ctx)), 0)
		same(w, "pop", get[int64](w)(l.PopRight().Do(ctx)), 3)
		same(w, "remove", get[int64](w)(l.Remove(0, 2).Do(ctx)), 1)
		w.ok(l.Trim(1, 1).Do(ctx))
		_, err := l.PopLeft().Do(ctx)
		same(w, "pop of nothing", err, error(keywright.ErrNotFound))

		z := typed.NewZSet(k.Binding(), &words, &scores)
		w.ok(expect.Err(z.AddAll([]typed.Scored[string, int64]{{Member: "a", Score: 1}, {Member: "b", Score: 2},
			{Member: "c", Score: 1 << 40}}).Do(ctx)))
		same(w, "raise",
			get[int64](w)(z.Raise([]typed.Scored[string, int64]{{Member: "a", Score: 0}, {Member: "b", Score: 5}}).Do(ctx)), 0)
		same(w, "new",
			get[int64](w)(z.AddNew([]typed.Scored[string, int64]{{Member: "a", Score: 99}, {Member: "d", Score: 7}}).Do(ctx)), 1)
		list(w, "top", get[[]typed.Scored[string, int64]](w)(z.Top(2).Do(ctx)), "[{c 1099511627776} {d 7}]")
		list(w, "bottom", get[[]typed.Scored[string, int64]](w)(z.Bottom(2).Do(ctx)), "[{a 1} {b 5}]")
		list(w, "between", get[[]typed.Scored[string, int64]](w)(z.Between(2, 10, 10).Do(ctx)), "[{b 5} {d 7}]")
		same(w, "count", get[int64](w)(z.Count(2, 10).Do(ctx)), 2)
		same(w, "rank", get[int64](w)(z.Rank("b").Do(ctx)), 1)
		same(w, "from top", get[int64](w)(z.RankFromTop("b").Do(ctx)), 2)
		same(w, "increase", get[int64](w)(z.Increase("b", 3).Do(ctx)), 8)
		same(w, "score", get[int64](w)(z.Score("b").Do(ctx)), 8)
		_, err = z.Score("none").Do(ctx)
		same(w, "no member", err, error(keywright.ErrNotFound))
		same(w, "remove", get[int64](w)(z.Remove("b").Do(ctx)), 1)
		same(w, "remove between", get[int64](w)(z.RemoveBetween(0, 1).Do(ctx)), 1)
		same(w, "keep", get[int64](w)(z.KeepTop(1).Do(ctx)), 1)
		same(w, "len", get[int64](w)(z.Len().Do(ctx)), 1)
		w.ok(z.Replace(nil).Do(ctx))
		list(w, "empty", get[[]typed.Scored[string, int64]](w)(z.Top(2).Do(ctx)), "[]")
	})
}

// TestManyElements: more than one command of a script can take, in one step;
// and too many are refused before anything is sent.
func TestManyElements(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx := w.Context()
		for policy := range policies {
			k := w.key(policy)
			members := make([]string, 3333)
			values := map[string]int64{}
			for i := range members {
				members[i] = fmt.Sprint(i)
				values[members[i]] = int64(i % 1000)
			}
			s := typed.NewSet(k.Binding(), &words)
			same(w, "set "+policy, get[int64](w)(s.Add(members...).Do(ctx)), 3333)
			seen := map[string]bool{}
			for m, err := range s.Each(ctx, 100) {
				w.ok(err)
				seen[m] = true
			}
			same(w, "each", len(seen), 3333)
			w.s.Do("DEL", k.Name())
			l := typed.NewList(k.Binding(), &words)
			w.ok(l.Replace(members).Do(ctx))
			if got := get[[]string](w)(l.Range(0, -1).Do(ctx)); !slices.Equal(got, members) {
				w.Errorf("%s: the list is in another order", policy)
			}
			w.s.Do("DEL", k.Name())
			m := typed.NewMap(k.Binding(), &words, &numbers)
			w.ok(m.SetAll(values).Do(ctx))
			if got := get[map[string]int64](w)(m.All().Do(ctx)); !maps.Equal(got, values) {
				w.Errorf("%s: %d fields", policy, len(got))
			}
			n := 0
			for p, err := range m.Each(ctx, 500) {
				w.ok(err)
				if values[p.Field] == p.Value {
					n++
				}
				if n > 4000 {
					break
				}
			}
			if n < 3333 {
				w.Errorf("%s: Each gave %d pairs", policy, n)
			}
			w.s.Do("DEL", k.Name())
			if _, err := s.Add(make([]string, typed.MaxElements+1)...).Do(ctx); err == nil ||
				!strings.Contains(err.Error(), "divide") {
				w.Errorf("%s: too many at once: %v", policy, err)
			}
		}
	})
}

func TestStream(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, k := w.Context(), w.key("fixed")
		anything := value.AnyFields()
		s := typed.NewStream(k.Binding(), &personFields, 1000)
		if _, err := typed.NewStream(k.Binding(), &anything, 10).Add(nil).Do(ctx); err == nil ||
			!strings.Contains(err.Error(), "no field") {
			w.Errorf("an entry without fields: %v", err)
		}
		g := typed.NewGroup(s, "workers")
		w.ok(g.Ensure().Do(ctx))
		w.ok(g.Ensure().Do(ctx))
		first := get[string](w)(s.Add(person{Name: "a"}).Do(ctx))
		w.ok(expect.Err(s.Add(person{Name: "b"}).Do(ctx)))
		same(w, "len", get[int64](w)(s.Len().Do(ctx)), 2)
		same(w, "range", get[[]typed.Message[person]](w)(s.Range("-", "+", 1).Do(ctx))[0].ID, first)
		same(w, "last", get[[]typed.Message[person]](w)(s.Last(1).Do(ctx))[0].Value.Name, "b")
		got := get[[]typed.Message[person]](w)(g.Read(ctx, "one", 1, 0))
		same(w, "read", got[0].ID, first)
		same(w, "pending", get[int64](w)(g.Pending().Do(ctx)), 1)
		same(w, "claim", get[[]typed.Message[person]](w)(g.Claim("two", 0, 10).Do(ctx))[0].ID, first)
		same(w, "ack", get[int64](w)(g.Ack(first).Do(ctx)), 1)
		same(w, "rest", len(get[[]typed.Message[person]](w)(g.Read(ctx, "one", 10, time.Second))), 1)
		same(w, "none", len(get[[]typed.Message[person]](w)(g.Read(ctx, "one", 10, 10*time.Millisecond))), 0)
		same(w, "remove", get[int64](w)(s.Remove(first).Do(ctx)), 1)
	})
}

// TestABadKeyIsNeverSent: whatever is asked of a handle whose key could not be
// built, nothing reaches the server.
func TestABadKeyIsNeverSent(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		stop := w.s.Monitor()
		for name, write := range writers {
			bad := typed.NewKey(keywright.Binding{Client: w.c,
				Entry: &keywright.Entry{Name: "thing", TTL: policies["fixed"]}, Err: errors.New("no such key")})
			if class, ok := keywright.ClassOf(write(w, bad)); !ok || class != keywright.Invalid {
				w.Errorf("%s: %v", name, class)
			}
		}
		same(w, "commands sent", len(stop()), 0)
	})
}
