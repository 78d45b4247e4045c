package typed_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// guards say what the scripts take care of: the check that fails without it, and
// the line that is taken out to show so.
var guards = []struct {
	name, file, old, new string
	check                func(w world) error
}{
	{"sums are exact to the last digit", "write.lua", "math.abs(reply) >= 2 ^ 53", "false", exactSums},
	{"a sum of a hash field is that of its field", "write.lua", "redis.call('HGET', KEYS[1], ARGV[7])",
		"redis.call('HGET', KEYS[1], command)", exactSums},
	{"a read shortens no life", "read.lua", "left < tonumber(ARGV[1])", "true", keptLives},
	{"a read renews a life that is nearly over", "read.lua", "redis.call('PEXPIRE', KEYS[1], ARGV[1])",
		"local kept = left", renewedLives},
	{"a write shortens no life that slides", "write.lua", "mode == 'longer' and left < ttl", "mode == 'longer'",
		keptLives},
	{"a write renews a life that is nearly over", "write.lua", "mode == 'longer' and left < ttl", "false", renewedLives},
	{"a score stays exact upwards", "increase.lua", "by > 0 and by > most - have", "false", wholeScores},
	{"a score stays exact downwards", "increase.lua", "by < 0 and -by > most + have", "false", wholeScores},
	{"a score of another kind is left alone", "increase.lua", "have % 1 ~= 0", "false", wholeScores},
	{"an increase gives the TTL", "increase.lua", "redis.call('PEXPIRE', KEYS[1], ttl)", "local kept = left", wholeScores},
}

func TestGuards(t *testing.T) {
	worlds(t, func(w world) {
		for _, guard := range guards {
			if err := guard.check(w); err != nil {
				w.Errorf("%s: %v", guard.name, err)
			}
			w.s.Do("FLUSHALL")
		}
	})
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := servertest.Open(t, s.URL())
	for _, guard := range guards {
		t.Run(guard.name+"/without", func(t *testing.T) {
			s.Do("FLUSHALL")
			restore, ok := typed.Mutate(guard.file, guard.old, guard.new)
			if !ok {
				t.Fatalf("%s has no single %q", guard.file, guard.old)
			}
			defer restore()
			if guard.check(world{t, s, c}) == nil {
				t.Error("nothing notices that it is gone")
			}
		})
	}
}

var wide = value.Int(math.MinInt64, math.MaxInt64)

// exactSums counts around 2^53 and at both ends of int64, with and without a TTL.
func exactSums(w world) error {
	for _, policy := range []string{"fixed", "none", "sliding"} {
		k := w.key(policy)
		adders := map[string]struct {
			set, get func(args ...string) any
			add      func(n int64) (int64, error)
		}{
			"counter": {w.at("SET", k), w.at("GET", k), func(n int64) (int64, error) {
				return typed.NewCounter(k.Binding(), &wide).Add(n).Do(w.Context())
			}},
			"field": {w.at("HSET", k, "f"), w.at("HGET", k, "f"), func(n int64) (int64, error) {
				return typed.IntField{Field: typed.NewField(k, "f", &wide, true)}.Add(n).Do(w.Context())
			}},
			"map": {w.at("HSET", k, "f"), w.at("HGET", k, "f"), func(n int64) (int64, error) {
				return typed.CountMap[string]{Map: typed.NewMap(k.Binding(), &words, &wide)}.Add("f", n).Do(w.Context())
			}},
		}
		for name, a := range adders {
			for _, from := range []int64{0, 1<<53 - 2, 1 << 53, -1 << 53, math.MaxInt64 - 3, math.MinInt64 + 3} {
				w.s.Do("DEL", k.Name())
				a.set(strconv.FormatInt(from, 10))
				sign := int64(1)
				if from < 0 {
					sign = -1
				}
				for range 3 {
					from += sign
					if sum, err := a.add(sign); err != nil || sum != from || a.get() != strconv.FormatInt(from, 10) {
						return fmt.Errorf("%s %s: %d, %v; want %d, and the server has %v", policy, name, sum, err, from, a.get())
					}
				}
			}
			if _, err := a.add(-10); !refused(err) || a.get() != strconv.FormatInt(math.MinInt64, 10) {
				return fmt.Errorf("%s %s below the least: %v, the server has %v", policy, name, err, a.get())
			}
		}
	}
	return nil
}

// at returns a command on a key.
func (w world) at(command string, k typed.Key, args ...string) func(args ...string) any {
	return func(more ...string) any {
		return w.s.Do(append(append([]string{command, k.Name()}, args...), more...)...)
	}
}

func refused(err error) bool {
	class, ok := keywright.ClassOf(err)
	return ok && class == keywright.Refused
}

// long returns an entry whose keys may live for longer than the default.
func (w world) long(jitter float64) typed.Key {
	e := &keywright.Entry{Name: "long", Pattern: "long:{id}",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: 30 * time.Minute,
			Min: 5 * time.Minute, Max: 12 * time.Hour, Jitter: jitter, Sliding: true, Text: "30m in 5m..12h sliding"}}
	return typed.NewKey(keywright.Binding{Client: w.c, Entry: e, Key: "long:1"})
}

// uses read a key, or write to it without choosing a TTL, after a write with
// another one.
func uses(w world, k typed.Key) map[string][2]func() error {
	ctx, words2 := w.Context(), value.AnyFields()
	text, m, set := typed.NewString(k.Binding(), &words), typed.NewMap(k.Binding(), &words, &numbers),
		typed.NewSet(k.Binding(), &words)
	z, l, x, h := typed.NewZSet(k.Binding(), &words, &scores), typed.NewList(k.Binding(), &numbers),
		typed.NewStream(k.Binding(), &words2, 0),
		typed.NewHash(k.Binding(), &personFields)
	write := map[string]func() error{
		"string": func() error { return text.Set("x").Do(ctx) },
		"map":    func() error { return expect.Err(m.Set("f", 1).Do(ctx)) },
		"set":    func() error { return expect.Err(set.Add("a").Do(ctx)) },
		"zset":   func() error { return expect.Err(z.Increase("a", 1).Do(ctx)) },
		"list":   func() error { return expect.Err(l.PushRight(1).Do(ctx)) },
		"stream": func() error { return expect.Err(x.Add(map[string]string{"a": "b"}).Do(ctx)) },
		"hash":   func() error { return h.Set(person{Name: "a"}).Do(ctx) },
	}
	return map[string][2]func() error{
		"a string read":   {write["string"], func() error { return expect.Err(text.Get().Do(ctx)) }},
		"a field read":    {write["map"], func() error { return expect.Err(m.Get("f").Do(ctx)) }},
		"a map read":      {write["map"], func() error { return expect.Err(m.All().Do(ctx)) }},
		"a field written": {write["map"], write["map"]},
		"a set read":      {write["set"], func() error { return expect.Err(set.Members().Do(ctx)) }},
		"a member added":  {write["set"], write["set"]},
		"a zset read":     {write["zset"], func() error { return expect.Err(z.Top(1).Do(ctx)) }},
		"a score raised":  {write["zset"], write["zset"]},
		"a list read":     {write["list"], func() error { return expect.Err(l.Range(0, -1).Do(ctx)) }},
		"a list pushed":   {write["list"], write["list"]},
		"a stream read":   {write["stream"], func() error { return expect.Err(x.Last(1).Do(ctx)) }},
		"a stream added":  {write["stream"], write["stream"]},
		"a hash read":     {write["hash"], func() error { return expect.Err(h.Get().Do(ctx)) }},
	}
}

// keptLives: what was written with a long TTL keeps it when it is used.
func keptLives(w world) error {
	for _, jitter := range []float64{0, 0.5} {
		k := w.long(jitter)
		for name, use := range uses(w, k) {
			w.s.Do("DEL", k.Name())
			w.ok(use[0]())
			w.ok(typed.Removable{Key: k}.Renew(keywright.ExpiresIn(12 * time.Hour)).Do(w.Context()))
			before := w.left(k)
			w.ok(use[1]())
			if ms := w.left(k); ms < before-time.Minute.Milliseconds() {
				return fmt.Errorf("%s: a life of %d ms, and %d ms after it", name, before, ms)
			}
		}
	}
	return nil
}

// renewedLives: what has little left, or has been made permanent, gets the default.
func renewedLives(w world) error {
	k := w.long(0)
	for name, use := range uses(w, k) {
		for _, before := range [][]string{{"PEXPIRE", k.Name(), "60000"}, {"PERSIST", k.Name()}} {
			w.s.Do("DEL", k.Name())
			w.ok(use[0]())
			w.s.Do(before...)
			w.ok(use[1]())
			if ms := w.left(k); ms < 29*60_000 || ms > 30*60_000 {
				return fmt.Errorf("%s after %s: %d ms", name, before[0], ms)
			}
		}
	}
	return nil
}

// wholeScores: an increase keeps a whole score within what it holds exactly.
func wholeScores(w world) error {
	k := w.key("fixed")
	whole := value.IntScore(math.MinInt64, math.MaxInt64)
	z := typed.NewZSet(k.Binding(), &words, &whole)
	const most = 1 << 53
	for _, c := range []struct {
		have  string
		by    int64
		want  int64
		wrong bool
	}{
		{"5", 3, 8, false}, {"9007199254740991", 1, most, false}, {"9007199254740992", 1, 0, true},
		{"9007199254740990", 3, 0, true},
		{"-9007199254740992", -1, 0, true}, {"-9007199254740992", most, 0, false}, {"3.5", 1, 0, true},
		{"-7", most, most - 7, false},
		{"1e17", -1, 0, true}, {"inf", -1, 0, true},
	} {
		w.s.Do("DEL", k.Name())
		w.s.Do("ZADD", k.Name(), c.have, "m")
		stored := w.s.Do("ZSCORE", k.Name(), "m")
		got, err := z.Increase("m", c.by).Do(w.Context())
		class, failed := keywright.ClassOf(err)
		switch {
		case c.wrong && (!failed || class != keywright.Invalid || w.s.Do("ZSCORE", k.Name(), "m") != stored):
			return fmt.Errorf("%s and %d: %d, %v", c.have, c.by, got, err)
		case !c.wrong && (err != nil || got != c.want || w.left(k) < 1):
			return fmt.Errorf("%s and %d: %d, %v, with the TTL %d", c.have, c.by, got, err, w.left(k))
		}
	}
	return nil
}

// TestIncreaseTakesWhatTheRankingStores: a fraction cannot be written to whole
// scores, and a time is not increased.
func TestIncreaseTakesWhatTheRankingStores(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		k := w.key("any")
		floats, times := value.FloatScore(), value.UnixSScore()
		same(w, "a fraction",
			get[float64](w)(typed.NewZSet(k.Binding(), &words, &floats).Increase("a", 0.5).Do(w.Context())), 0.5)
		for name, err := range map[string]error{
			"no number": expect.Err(typed.NewZSet(k.Binding(), &words, &floats).Increase("a", math.NaN()).Do(w.Context())),
			"a time":    expect.Err(typed.NewZSet(k.Binding(), &words, &times).Increase("a", time.Unix(5, 0)).Do(w.Context())),
		} {
			if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestNothingToWorkOnChangesNothing: one rule for every operation on elements.
func TestNothingToWorkOnChangesNothing(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, k := w.Context(), w.key("fixed")
		any := value.AnyFields()
		m, s, z, l := typed.NewMap(k.Binding(), &words, &numbers), typed.NewSet(k.Binding(), &words),
			typed.NewZSet(k.Binding(), &words, &scores),
			typed.NewList(k.Binding(), &numbers)
		x := typed.NewStream(k.Binding(), &any, 0)
		for name, run := range map[string]func() error{
			"set all":      func() error { return m.SetAll(nil).Do(ctx) },
			"remove field": func() error { return expect.Err(m.Remove().Do(ctx)) },
			"add":          func() error { return expect.Err(s.Add().Do(ctx)) },
			"remove":       func() error { return expect.Err(s.Remove().Do(ctx)) },
			"add scores":   func() error { return expect.Err(z.AddAll(nil).Do(ctx)) },
			"add new":      func() error { return expect.Err(z.AddNew(nil).Do(ctx)) },
			"raise":        func() error { return expect.Err(z.Raise(nil).Do(ctx)) },
			"remove score": func() error { return expect.Err(z.Remove().Do(ctx)) },
			"push":         func() error { return expect.Err(l.PushLeft().Do(ctx)) },
			"delete entry": func() error { return expect.Err(x.Remove().Do(ctx)) },
			"acknowledge":  func() error { return expect.Err(typed.NewGroup(x, "g").Ack().Do(ctx)) },
		} {
			if err := run(); err != nil || w.s.Do("EXISTS", k.Name()) != int64(0) {
				w.Errorf("%s: %v, keys %v", name, err, w.s.Do("EXISTS", k.Name()))
			}
		}
		same(w, "pushed", get[int64](w)(l.PushRight(1, 2).Do(ctx)), 2)
		same(w, "nothing pushed", get[int64](w)(l.PushRight().Do(ctx)), 2)
		bad := typed.NewSet(keywright.Binding{Client: w.c, Entry: k.Entry(), Err: errors.New("no key")}, &words)
		if expect.Err(bad.Add().Do(ctx)) == nil {
			w.Error("a key that could not be built was passed over")
		}
	})
}

// TestAMapGivesTheGoodFields: one bad field hides no other.
func TestAMapGivesTheGoodFields(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		k := w.key("any")
		m := typed.NewMap(k.Binding(), &words, &numbers)
		w.s.Do("HSET", k.Name(), "a", "1", "b", "x", "c", "3", "d", "")
		all, err := m.All().Do(w.Context())
		same(w, "good fields", fmt.Sprint(all), "map[a:1 c:3]")
		e, ok := errors.AsType[*keywright.DecodeError](err)
		if !ok || !e.Partial || e.Field != "b" || e.Key != k.Name() {
			w.Errorf("%v", err)
		}
		var b keywright.Batch
		p := keywright.Queue(&b, m.All())
		_ = b.Run(w.Context())
		all, err = p.Result()
		same(w, "queued", fmt.Sprint(all), "map[a:1 c:3]")
		if err == nil {
			w.Error("queued, the bad field has no error")
		}
	})
}

// TestAnEntryOfTooManyFieldsIsInvalid: one command of a script takes so many texts.
func TestAnEntryOfTooManyFieldsIsInvalid(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		k, any := w.key("fixed"), value.AnyFields()
		entry := map[string]string{}
		for i := range 4000 {
			entry[strconv.Itoa(i)] = "x"
		}
		_, err := typed.NewStream(k.Binding(), &any, 0).Add(entry).Do(w.Context())
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
			w.Error(err)
		}
	})
}
