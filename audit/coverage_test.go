package audit

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// value makes n elements of a value of a kind that has more of them.
func value(kind source.Kind, n, of int) *source.Value {
	v := &source.Value{Of: int64(of), Partial: n < of}
	for i := range n {
		e := []byte(strconv.Itoa(i + 1))
		switch kind {
		case source.Hash:
			v.Elements = append(v.Elements, e, []byte("high"))
		case source.ZSet:
			v.Elements, v.Scores = append(v.Elements, e), append(v.Scores, 1)
		default:
			v.Elements = append(v.Elements, e)
		}
	}
	return v
}

// The report says how many elements of how many were looked at, per entry and in
// total, and the rows add up.
func TestCoverageAddsUp(t *testing.T) {
	ks := loaded(t, declaration)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		a, err := New(ks, Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		var want Coverage
		for i := range rapid.IntRange(0, 30).Draw(t, "keys") {
			of := rapid.IntRange(1, 400).Draw(t, "of")
			n := rapid.IntRange(0, of).Draw(t, "looked at")
			name, kind := "app:e:"+strconv.Itoa(i), source.Set
			if rapid.Bool().Draw(t, "hash") {
				name, kind = "app:o", source.Hash
			}
			k := key(name, kind, no)
			if want.Keys++; rapid.IntRange(0, 9).Draw(t, "unread") == 0 {
				want.Unread++
			} else {
				k.Value = value(kind, n, of)
				want.Elements, want.Looked = want.Elements+int64(of), want.Looked+int64(n)
				if n == of {
					want.Whole++
				}
			}
			a.Add([]source.Key{k})
		}
		r := a.Report(source.Summary{}, false)
		var sum Coverage
		for _, e := range r.Entries {
			if e.Values != nil {
				sum.add(*e.Values)
			}
		}
		if got := *r.Values; sum != (Coverage{got.Keys, got.Whole, got.Unread, got.Elements, got.Looked, 0}) || sum != want {
			t.Fatalf("total %+v, rows %+v, want %+v", got, sum, want)
		}
		if want.Elements > 0 && r.Values.Share != float64(want.Looked)/float64(want.Elements) {
			t.Fatalf("share %v of %+v", r.Values.Share, want)
		}
	})
}

func TestNoCoverageWithoutValues(t *testing.T) {
	a := newAudit(t, Options{})
	a.Add([]source.Key{key("app:e:1", source.Set, no)})
	if r := a.Report(source.Summary{}, false); r.Values != nil || r.Entries[0].Values != nil {
		t.Errorf("%+v", r.Values)
	}
}

// A value in parts is judged as one: a field in one part is not missing in another,
// a fault counts once for a key, parts of two keys do not mix, and a value that
// begins again does not count twice.
func TestPartsAreOneValue(t *testing.T) {
	a := newAudit(t, Options{Values: true, Whole: true})
	pair := func(from int64, words ...string) *source.Value {
		v := &source.Value{From: from}
		for _, w := range words {
			v.Elements = append(v.Elements, []byte(w))
		}
		return v
	}
	part := func(name string, v *source.Value) source.Key {
		k := key(name, source.Hash, no)
		k.Value = v
		return k
	}
	first := part("app:f:1", pair(0, "a", "x", "u1", "1"))
	a.Part(&first)
	other := part("app:f:2", pair(0, "u1", "1"))
	a.Part(&other)
	a.Part(&first) // over another connection
	second := part("app:f:1", pair(2, "u1", "1", "u2", "1"))
	a.Part(&second)
	last := pair(4, "s", sealed)
	last.Of = 5
	a.Add([]source.Key{part("app:f:1", last)})
	end := pair(1, "s", sealed)
	end.Of = 2
	a.Add([]source.Key{part("app:f:2", end)})
	r := a.Report(source.Summary{}, false)
	got := map[string]int64{}
	for _, f := range r.Findings {
		got[f.Message] += f.Count
	}
	if len(got) != 4 || got[`forever: the field "u1" is not declared`] != 2 ||
		got[`forever: the field "u2" is not declared`] != 1 || got["forever: the field a is missing"] != 1 {
		t.Errorf("%v", got)
	}
	if v := r.Values; v.Elements != 7 || v.Looked != 7 || v.Whole != 2 || v.Share != 1 || len(a.open) != 0 {
		t.Errorf("%+v, %d open", v, len(a.open))
	}
}

// A stream may be longer than its maxlen by what trimming leaves.
func TestMaxLen(t *testing.T) {
	ks := loaded(t, "keywright: 1\npackage: p\nowner: o\nkeys:\n  log: {key: \"app:log:{id}\", type: stream, maxlen: 1000, ttl: none}\n  free: {key: \"app:free\", type: stream, ttl: none}\n")
	for n, long := range map[int64]bool{0: false, 1000: false, 1200: false, 1201: true, 5000: true} {
		a, err := New(ks, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !a.WantsSize([]byte("app:log:1"), source.Stream) || a.WantsSize([]byte("app:free"), source.Stream) {
			t.Error("the wrong sizes are asked for")
		}
		k, other := key("app:log:1", source.Stream, no), key("app:free", source.Stream, no)
		k.Size, other.Size = n, 1<<40
		a.Add([]source.Key{k, other})
		r := a.Report(source.Summary{}, false)
		if got := len(r.Findings) == 1 && r.Findings[0].Code == "KW514" && r.Findings[0].Pos.Line == 5 &&
			fmt.Sprint(r.Entries[0].Violations) == "map[KW514:1]"; got != long || !long && len(r.Findings) > 0 {
			t.Errorf("%d entries: %+v", n, r.Findings)
		}
	}
}
