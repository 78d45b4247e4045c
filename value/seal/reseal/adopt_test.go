package reseal_test

import (
	"fmt"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
)

// plainFill writes one of everything as it was before it was declared encrypted.
func (w *world) plainFill() (texts int64) {
	w.do("SET", "t:1", "secret", "PX", "500000")
	w.do("SET", "old:1", "secret", "PX", "500000")
	w.do("SET", "o:1", `{ "name":"Ann","phone" : "abcd", "mail":"ann@example.com" }`, "PX", "500000")
	w.do("HSET", "h:1", "name", "Ann", "phone", "+81 90", "mail", "")
	for n := range 250 {
		w.do("RPUSH", "l:1", fmt.Sprint("same", n%3))
		w.do("HSET", "m:1", fmt.Sprint("f", n), fmt.Sprint(n))
	}
	w.do("SET", "{jobs}:job:1", "1763774000000 1 0 - -\n"+`{"to":"x@y"}`)
	return 1 + 1 + 2 + 2 + 250 + 250 + 1
}

func (w *world) opens(s keywright.Sealer, key, field string, stored any, want string) {
	w.Helper()
	text, _ := stored.(string)
	plain, err := s.Open(keywright.Place{Schema: "shop", Key: key, Field: field}, text)
	if err != nil || plain != want {
		w.Errorf("%s %s opens as %q, want %q: %v", key, field, plain, want, err)
	}
}

// TestAdoption: a plan changes nothing; applied it seals what is plain, once, keeps
// TTLs and everything beside, and leaves what does not open.
func TestAdoption(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		ring := ring(t, "new", "old")
		texts := w.plainFill()
		w.do("SET", "t:later", "\x02\x03abc and more than thirty bytes of a later version")
		w.do("SET", "t:sealed", w.sealed(ring, "t:sealed", "", "kept"))
		w.do("XADD", "x:1", "*", "who", "Ann", "what", "plain")
		plan := w.status(ring)
		w.equal("planned", plan.Total().Plain, texts)
		w.equal("not sealed", plan.Total().NotSealed, texts+2)
		w.equal("unchanged", w.do("GET", "t:1"), "secret")
		r, err := w.walk(ring).Adopt(w.Context())
		w.equal("sealed", fmt.Sprint(r.Resealed, err), fmt.Sprint(texts, " <nil>"))
		sum := r.Total()
		w.equal("counted at last", fmt.Sprint(sum.Keys, sum.Plain, sum.NotSealed),
			fmt.Sprint(map[string]int64{"new": texts + 1}, 0, 2))
		w.opens(ring, "t:1", "", w.do("GET", "t:1"), "secret")
		w.opens(ring, "old:1", "", w.do("GET", "old:1"), "secret")
		w.opens(ring, "h:1", "phone", w.do("HGET", "h:1", "phone"), "+81 90")
		w.opens(ring, "h:1", "mail", w.do("HGET", "h:1", "mail"), "")
		w.opens(ring, "l:1", "", w.do("LINDEX", "l:1", "7"), "same1")
		w.opens(ring, "m:1", "f7", w.do("HGET", "m:1", "f7"), "7")
		w.equal("beside it", w.do("HGET", "h:1", "name"), "Ann")
		w.equal("a later version", w.do("GET", "t:later"), "\x02\x03abc and more than thirty bytes of a later version")
		if ms, _ := w.do("PTTL", "t:1").(int64); ms < 300_000 {
			t.Errorf("a TTL of %d ms", ms)
		}
		again, err := w.walk(ring).Adopt(w.Context())
		w.equal("a second time", fmt.Sprint(again.Resealed, err), "0 <nil>")
	})
}

// TestAdoptionLeavesWhatDoesNotParse: plain text that is not of the declared type is
// counted and reported, in the plan and when the rest is sealed.
func TestAdoptionLeavesWhatDoesNotParse(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		ring := ring(t, "new")
		w.do("SET", "n:1", "12")
		w.do("SET", "n:2", "twelve")
		w.do("HSET", "d:1", "at", "1700000000000", "on", "2026-11-20")
		w.do("HSET", "d:2", "at", "yesterday", "on", "2026-13-45")
		w.do("SET", "j:1", `{"n":12,"ok":true,"on":"2026-11-20","free":{"a":1}}`)
		w.do("SET", "j:2", `{"n":"12","ok":"yes","on":7,"free":[1]}`)
		for _, what := range []string{"plan", "applied"} {
			r, err := w.walk(ring).Status(w.Context())
			if what == "applied" {
				r, err = w.walk(ring).Adopt(w.Context())
			}
			if err != nil {
				w.Fatal(err)
			}
			sum := r.Total()
			w.equal(what, fmt.Sprint(sum.Misfits, sum.NotSealed-sum.Plain), "6 6")
			told := 0
			for _, p := range r.Parts {
				for _, e := range p.Examples {
					if e.State == reseal.NotAsTyped {
						told++
					}
				}
			}
			w.equal(what+": told", told, 6)
		}
		w.equal("left alone", w.do("GET", "n:2"), "twelve")
		w.opens(ring, "n:1", "", w.do("GET", "n:1"), "12")
		w.opens(ring, "d:1", "at", w.do("HGET", "d:1", "at"), "1700000000000")
		w.equal("left alone", w.do("HGET", "d:2", "on"), "2026-13-45")
	})
}

// TestAdoptionUnderLiveWriters: what is written between the reading of a text and
// its replacement stays, and is sealed by the next walk; readers open it all along.
func TestAdoptionUnderLiveWriters(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) { adoptLive(w) })
}

func adoptLive(w *world) {
	both := ring(w.TB, "new", "old")
	reader := seal.Adopting{Ring: both}
	w.do("SET", "t:1", "before", "PX", "500000")
	w.do("HSET", "h:1", "name", "x", "phone", "before")
	w.do("RPUSH", "l:1", "a", "b")
	walk := w.walk(both)
	writes := map[string]func(){
		"t:1": func() {
			w.do("SET", "t:1", "after", "PX", "500000")
			w.opens(reader, "t:1", "", w.do("GET", "t:1"), "after")
		},
		"h:1": func() { w.do("HSET", "h:1", "phone", "after") },
		"l:1": func() { w.do("LPUSH", "l:1", "first") },
	}
	walk.Client = w.interrupted(writes)
	if _, err := walk.Adopt(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.equal("writes that came in between", len(writes), 0)
	w.opens(both, "t:1", "", w.do("GET", "t:1"), "after")
	w.opens(both, "h:1", "phone", w.do("HGET", "h:1", "phone"), "after")
	for i, want := range []string{"first", "a", "b"} {
		w.opens(both, "l:1", "", w.do("LINDEX", "l:1", fmt.Sprint(i)), want)
	}
}

// TestAdoptionMutations: each guard of the script, taken out, is found when plain
// text is adopted, too.
func TestAdoptionMutations(t *testing.T) {
	for _, m := range []struct{ guard, instead string }{
		{"if redis.call('GET', KEYS[1]) == old then", "if true then"},
		{"if redis.call('HGET', KEYS[1], where) == old then", "if true then"},
		{"if at >= 0 and redis.call('LINDEX', KEYS[1], at) == old then return at end", "if at >= 0 then return at end"},
	} {
		t.Run(m.guard, func(t *testing.T) {
			reseal.Mutate(t, m.guard, m.instead)
			w := newWorld(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
			f := &failures{TB: t}
			w.TB = f
			adoptLive(w)
			if f.n == 0 {
				t.Error("no test notices")
			}
		})
	}
}
