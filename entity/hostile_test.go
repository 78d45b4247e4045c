package entity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"pgregory.net/rapid"
)

// hostile are texts that a reader may take for something else.
var hostile = []string{"0", "-", "1", "-1", "007", "1e3", "nan", "inf", "(1", "[a", "@x", "@kind", "#", "*", "=", "==",
	"kind=1", "=kind=4", "a=b", "'", `"`, `\`, `\"`, "]]", "--", "%", "%s", "\n", "\r\n", "\x00", "\x00\x00", "a\x00b",
	"\x1f", "\x7f", "\xff", "\xc3\x28", "ü", "☃", "\u2028", "</script>", "{}", "{a}", " ", "x y",
	strings.Repeat("long", 25_000)}

// TestHostile: ids and texts are what they are, whatever is in them, and the
// message of an event is JSON that says so.
func TestHostile(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		notes := storeOf(open(t, s.URL()), announcing("n"))
		for i, id := range hostile {
			kind, body := hostile[len(hostile)-1-i], hostile[(i+7)%len(hostile)]
			v := note{Kind: kind, Context: id, Priority: 5, Text: body}
			_, err := notes.Create(t.Context(), id, v)
			must(t, err)
			got, err := notes.Get(t.Context(), id)
			must(t, err)
			if !(mirror{v: v}).same(got.Value) {
				t.Errorf("%.50q: %.300q", id, fmt.Sprint(got))
			}
			same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", kind)}), []string{id})
			_, err = notes.Update(t.Context(), id, setKind.Set(id), setText.Set(""))
			must(t, err)
			same(t, "by the old kind", notes.listed(t, Query[note]{Of: notes.By("kind", kind)}),
				map[bool][]string{true: {id}}[kind == id])
			same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", id)}), []string{id})
			sound(t, notes)
			if i%2 == 0 {
				_, err = notes.Delete(t.Context(), id)
			} else {
				expire(t, s, notes, id)
				_, err = notes.Sweep(t.Context(), SweepOptions{})
			}
			must(t, err)
			for _, e := range readLog(s, "n:log") {
				if !utf8.ValidString(id) || !utf8.ValidString(kind) {
					continue
				}
				if e.bad != nil || e.data["id"] != id || e.data["kind"] != id && e.data["kind"] != kind {
					t.Errorf("%.50q of kind %.50q: the event says %.300q, %v", id, kind, e.raw, e.bad)
				}
			}
			s.Do("DEL", "n:log")
			if left := keysOf(s, "n:"); len(left) > 0 {
				t.Errorf("%.50q leaves %.300q", id, left)
			}
		}
	})
}

// TestEmptyIDs: what is no part of a key is refused before anything is sent.
func TestEmptyIDs(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for _, v := range []note{a("", 5), a("a:b", 5), {Kind: "k", Priority: 5}, a("k", 99)} {
			if _, err := notes.Create(t.Context(), "1", v); err == nil {
				t.Errorf("%+v was taken", v)
			}
		}
		for _, id := range []string{"", "a:b"} {
			if _, err := notes.Put(t.Context(), id, a("k", 5)); err == nil {
				t.Errorf("%q was taken", id)
			}
			for _, list := range [][]string{{id, "1"}, {"1", id}} {
				items, err := notes.GetMany(t.Context(), list...)
				if class, _ := keywright.ClassOf(err); class != keywright.Invalid || errors.Is(err, keywright.ErrNotRun) {
					t.Errorf("%q were read: %v, %v", list, items, err)
				}
			}
		}
		if left := keysOf(s, ""); len(left) > 0 {
			t.Errorf("left %s", left)
		}
	})
}

// TestAnItemIsNoOtherKeyOfItsEntity: an id that gives an item the key of an index, or another key of the entity, is
// refused before anything is sent, and such a key is no item to a check.
func TestAnItemIsNoOtherKeyOfItsEntity(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := noteSpec("n")
		spec.Prefix, spec.Key = "n:", func(id string) (string, error) { return part("n:", id) }
		spec.Parse = func(key string) (string, bool) { return strings.CutPrefix(key, "n:") }
		spec.Indexes[3].Prefix = "n:due"
		spec.Expires, spec.Records, spec.Lease, spec.Pending = "n:expiry", "n:ledger", "n:sweep", "n:pending"
		notes := storeOf(open(t, s.URL()), spec)
		for _, id := range []string{"due", "expiry", "ledger", "sweep", "pending"} {
			_, err := notes.Create(t.Context(), id, a("k", 5))
			if class, _ := keywright.ClassOf(err); class != keywright.Invalid || !strings.Contains(fmt.Sprint(err), "n:"+id) {
				t.Errorf("%s: %v", id, err)
			}
			if _, err = notes.Delete(t.Context(), id); err == nil {
				t.Errorf("%s is deleted", id)
			}
		}
		if left := keysOf(s, ""); len(left) > 0 {
			t.Errorf("left %s", left)
		}
		v := a("k", 5)
		due := time.UnixMilli(1000)
		v.Due = &due
		_, err := notes.Create(t.Context(), "1", v)
		must(t, err)
		if got := sound(t, notes); got.Items != 1 || got.Entries != 5 {
			t.Errorf("%+v", got)
		}
	})
}

// TestThousandsLeaveNothing: 10,000 items that have come and gone, by delete and
// by expiry, leave no key.
func TestThousandsLeaveNothing(t *testing.T) {
	t.Parallel()
	const workers = 20
	s := keywrighttest.Start(t, keywrighttest.Redis)
	notes := storeOf(open(t, s.URL()), noteSpec("n"))
	ended := make(chan error, workers)
	for w := range workers {
		go func() {
			for i := range 100 {
				id := fmt.Sprint(w, "-", i)
				_, err := notes.Create(t.Context(), id, a(fmt.Sprint("k", i%7), int64(1+i%10)))
				if err == nil && i%2 == 0 {
					_, err = notes.Delete(t.Context(), id)
				}
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range workers {
		must(t, <-ended)
	}
	if c := sound(t, notes); c.Items != 1000 {
		t.Errorf("%+v", c)
	}
	s.Do("EVAL",
		"local ids = redis.call('ZRANGE', KEYS[1], 0, -1) for _, id in ipairs(ids) do redis.call('PEXPIREAT', ARGV[1] .. "+
			"id, 1) redis.call('ZADD', KEYS[1], 1, id) end", "1", notes.core.Spec.Expires, notes.core.Spec.Prefix)
	if done, err := notes.Sweep(t.Context(), SweepOptions{Rate: 1 << 30}); err != nil || done.Gone != 1000 {
		t.Errorf("%+v %v", done, err)
	}
	if left := keysOf(s, ""); len(left) > 0 {
		t.Errorf("left %s", left)
	}
}

// TestRecord: a record says what went in, whatever that is.
func TestRecord(t *testing.T) {
	t.Parallel()
	s := offline(noteSpec("n"))
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		in := map[string]string{}
		for _, name := range []string{"kind", "context", "priority+created"} {
			if text := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile), rapid.StringMatching(`[=:0-9a-c]{0,9}`)).Draw(t,
				name); text != "" {
				in[name] = text
			}
		}
		if got := s.core.KnownPlaces(s.core.RecordOf(in, "", true)); !maps.Equal(got, in) {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

// FuzzRecorded: what is no record is no reason to fall, and what was understood of
// it is understood again.
func FuzzRecorded(f *testing.F) {
	for _, text := range append(slices.Clone(hostile), "=kind|n:idx:kind:|=4:fact", "=kind|n:idx:kind:|=4:fac",
		"=kind|n:idx:kind:|=-1:x", "=kind|n:idx:kind:|=+1:x", "=kind|n:idx:kind:|=99999999999999999999:x",
		"=kind|n:idx:kind:|=0:context|n:idx:context:|=1:a", "==1:a", "=kind|n:idx:kind:|=01:a", "=?kind|n:idx:kind:|=1:a",
		"=new|x|=1:b?new|x|=1:c", "=all|x=0:", "=a|b|c|d=1:x") {
		f.Add(text)
	}
	s := offline(noteSpec("n"))
	f.Fuzz(func(t *testing.T, text string) {
		in := s.core.KnownPlaces(text)
		record := s.core.RecordOf(in, text, true)
		if again := s.core.KnownPlaces(record); !maps.Equal(again, in) {
			t.Fatalf("%q is read as %q, and that as %q", text, in, again)
		}
		had := s.core.UnknownEntries(text)
		if again := s.core.UnknownEntries(record); !slices.Equal(again, had) {
			t.Fatalf("of %q %q is kept, of %q", text, again, had)
		}
		size := 0
		for name, value := range in {
			size += len(name) + len(value)
		}
		if size > len(text) {
			t.Fatalf("%q has grown to %q", text, in)
		}
	})
}

// TestEventsCarryThePartsOfTheKey: a channel and a message may name any placeholder
// of the key: what all items share, and the parts of an id, whatever is done.
func TestEventsCarryThePartsOfTheKey(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		s.WatchScripts()
		spec := noteSpec("acme:n")
		spec.Pieces = func(id string) []string { tail, head, _ := strings.Cut(id, "."); return []string{"acme", tail, head} }
		event := func(what string) []Event {
			return []Event{{Mode: Append, MaxLen: 100, Plain: true,
				Name: []Part{{Name: "log:", Literal: true}, {Name: "tenant", Key: 1}, {Name: ":", Literal: true},
					{Name: "b", Key: 3}},
				Data: []Part{{Name: what, Key: 1, Form: value.Quoted}, {Name: "a", Key: 2, Form: value.Bare},
					{Name: "b", Key: 3, Form: value.Quoted}}}}
		}
		spec.OnCreate, spec.OnUpdate, spec.OnDelete, spec.OnExpire = event("made"), event("changed"), event("deleted"),
			event("expired")
		notes := storeOf(open(t, s.URL()), spec)
		for _, id := range []string{"7.x", "8.x"} {
			_, err := notes.Create(t.Context(), id, a("k", 5))
			must(t, err)
		}
		_, err := notes.Update(t.Context(), "7.x", setKind.Set("other"))
		must(t, err)
		_, err = notes.Delete(t.Context(), "7.x")
		must(t, err)
		expire(t, s, notes, "8.x")
		_, err = notes.Sweep(t.Context(), SweepOptions{})
		must(t, err)
		same(t, "events", logged(s, "log:acme:x"), []string{
			`{"made":"acme","a":7,"b":"x"}`, `{"made":"acme","a":8,"b":"x"}`, `{"changed":"acme","a":7,"b":"x"}`,
			`{"deleted":"acme","a":7,"b":"x"}`, `{"expired":"acme","a":8,"b":"x"}`})
		spec.OnUpdate[0].Name[1] = Part{Name: "kind", Field: "kind"}
		if _, err = storeOf(notes.core.Client, spec).Create(t.Context(), "9.x", a("k", 5)); err == nil ||
			!strings.Contains(err.Error(), "depends on a field") {
			t.Errorf("a stream whose key depends on a field: %v", err)
		}
	})
}

// TestAnUpdateKeepsTheID: the field that holds the id of an item takes no other id.
func TestAnUpdateKeepsTheID(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := noteSpec("n")
		spec.Identify = func(id string, n *note) { n.Context = id }
		notes := storeOf(open(t, s.URL()), spec)
		setContext := Field[note, string]{"context", func(n *note) *string { return &n.Context }}
		made, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		for _, update := range []func(Change[note]) error{
			func(c Change[note]) error { _, err := notes.Update(t.Context(), "1", c); return err },
			func(c Change[note]) error { _, err := notes.UpdateIf(t.Context(), "1", made.Version, c); return err },
		} {
			err := update(setContext.Set("2"))
			if class, _ := keywright.ClassOf(err); class != keywright.Invalid || !strings.Contains(fmt.Sprint(err), "context") {
				t.Error(err)
			}
		}
		_, err = notes.Update(t.Context(), "1", setContext.Set("1"), setKind.Set("other"))
		must(t, err)
		if got, err := notes.Get(t.Context(), "1"); err != nil || got.Value.Context != "1" || got.Value.Kind != "other" {
			t.Errorf("%+v, %v", got, err)
		}
		sound(t, notes)
	})
}
