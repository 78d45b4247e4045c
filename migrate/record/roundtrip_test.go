package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/migrate/record"
	"pgregory.net/rapid"
)

// shape is one way to declare a move: what its entry is, what is said beside from and to, and what a document
// has in its place.
type shape struct {
	entry, path, move string
	except            bool                               // the move has a capture {c}
	value             func(d *drawn)                     // at the end of the path
	edit              func(t *rapid.T, r *record.Record) // a record that may fit or not
}

func pick(words ...string) func(*drawn) {
	return func(d *drawn) { d.b.WriteString(rapid.SampledFrom(words).Draw(d.t, "value")) }
}

func values(words ...string) func(*rapid.T, *record.Record) {
	return func(t *rapid.T, r *record.Record) { r.Value = []byte(rapid.SampledFrom(words).Draw(t, "stored")) }
}

var shapes = []shape{
	{"type: string, value: text, key: 'K:{c}'", "/{c}", "value: .", true, pick(`"a"`, `"é\n"`, `7`, `{}`),
		values("a", "b", "", "é", "\xff")},
	{"type: string, value: int 0..9, key: 'K:{c}'", "/{c}/n", "value: .n", true,
		func(d *drawn) { d.object([]string{"n", "x"}, func(string) { pick("1", "9", `"x"`)(d) }) },
		values("1", "10", "x", "007")},
	{"type: string, value: json, key: 'K:{c}'", "/{c}/{c2}", "value: ., with: {c: '{c}'}, kept: {}", true,
		func(d *drawn) { d.value(1) }, values(`{"a":1}`, `{"a":1,"a":2}`, "[1, 2]", "{", "null")},
	{"type: string, value: a|b, key: 'K:{c}'", "/{c}", "with: {c: 'rename({c}, None=global)'}, value: .", true,
		pick(`"a"`, `"b"`, `"c"`), values("a", "c")},
	{"type: hash, field: int, value: text optional, key: K", "/{c}", "field: '{c}', value: .", true,
		pick(`"a"`, `null`), values("a", "b\u0000")},
	{"type: set, member: text, key: K", "/{c}", "member: '{c}'", true, pick(`{}`, `{"x": 1}`),
		func(*rapid.T, *record.Record) {}},
	{"type: zset, member: text, score: unix_s, key: K", "/{c}", "member: '{c}', score: iso8601(.at)", true,
		func(d *drawn) {
			d.object([]string{"at", "x"}, func(string) { pick(`"2026-01-31T09:30:00+01:00"`, `"x"`)(d) })
		},
		func(t *rapid.T, r *record.Record) {
			r.Score = rapid.SampledFrom([]string{"5", "5.5", "1e3"}).Draw(t, "score")
		}},
	{"type: list, member: int 0..9, key: K", "/[]", "member: .", false, pick("1", "2", `"x"`), values("1", "9", "10", "x")},
	{"type: hash, fields: {a: text, n: int optional, o: json}, key: 'K:{c}'", "/{c}", "fields: {n: 'null(.n)', o: .o.p}",
		true, func(d *drawn) {
			d.object([]string{"a", "n", "o", "x"}, func(name string) {
				pick(map[string]string{"a": `"a"`, "n": "null", "o": `{"q": 1, "p": [1]}`, "x": "1"}[name])(d)
			})
		}, func(t *rapid.T, r *record.Record) {
			for _, f := range [][]string{{"a", "x", ""}, {"n", "1", "x"}, {"o", "[1]", "{"}} {
				if rapid.Bool().Draw(t, "field") {
					r.Fields = append(r.Fields, record.Field{Name: f[0], Value: rapid.SampledFrom(f[1:]).Draw(t, "of it")})
				}
			}
		}},
}

// random is a declaration of some shapes, each below a member of its own, and a document for it.
type random struct {
	text   string
	shapes []shape
}

func (r *random) draw(t *rapid.T) {
	var keys, moves strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "moves") {
		s := rapid.SampledFrom(shapes).Draw(t, "shape")
		if strings.Contains(s.path, "{c2}") { // a step that no key says: a name comes from the record
			s.path, s.move = "/{c}/v", "value: ."
		}
		r.shapes = append(r.shapes, s)
		fmt.Fprintf(&keys, "  e%d: {%s, ttl: none}\n", i, strings.ReplaceAll(s.entry, "K", fmt.Sprintf("k%d", i)))
		fmt.Fprintf(&moves, "          - {from: 's:/m%d%s', to: e%d, %s", i, s.path, i, s.move)
		if s.except && rapid.Bool().Draw(t, "except") {
			moves.WriteString(", except: {c: [x, None]}")
		}
		moves.WriteString("}\n")
	}
	r.text = "keywright: 1\nvars: {c: text}\nkeys:\n" + keys.String() + "migrations:\n  files:\n    sources: {s: {file: s.json}}\n" +
		"    parts:\n      p:\n        moves:\n" + moves.String()
}

var captured = []string{"x", "None", "global", "5", "a b", "~/", ""}

func (r *random) document(t *rapid.T) string {
	d := &drawn{t: t}
	names := []string{"other"}
	for i := range r.shapes {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	d.object(names, func(name string) {
		if name == "other" {
			d.value(2)
			return
		}
		if rapid.IntRange(0, 9).Draw(t, "in the way") == 0 {
			d.value(0)
			return
		}
		s := r.shapes[name[1]-'0']
		r.below(d, s, strings.Split(s.path, "/")[1:])
	})
	d.space()
	return d.b.String()
}

func (r *random) below(d *drawn, s shape, steps []string) {
	switch {
	case len(steps) == 0:
		s.value(d)
	case steps[0] == "[]":
		d.list(rapid.IntRange(0, 3).Draw(d.t, "n"), func(int) { r.below(d, s, steps[1:]) })
	case steps[0][0] == '{':
		d.object(captured, func(string) { r.below(d, s, steps[1:]) })
	default:
		d.object([]string{steps[0], "z"}, func(string) { r.below(d, s, steps[1:]) })
	}
}

// edits are records of all moves, most of which a file can have.
func (r *random) edits(t *rapid.T, m *record.Map) (out []record.Edit) {
	for i, mv := range m.Moves {
		s := r.shapes[i]
		for n := range rapid.IntRange(0, 3).Draw(t, "edits") {
			c := rapid.SampledFrom(append([]string{"b\xff"}, captured...)).Draw(t, "capture")
			e := record.Record{Move: mv, Key: fmt.Sprintf("k%d", i)}
			switch {
			case strings.Contains(s.entry, ":{c}"):
				e.Key += ":" + c
			case !strings.Contains(s.entry, "list"):
				e.Sub = c
			default:
				e.Place = int64(n)
			}
			s.edit(t, &e)
			out = append(out, record.Edit{Record: &e, Delete: e.Place == 0 && rapid.IntRange(0, 5).Draw(t, "delete") == 0})
		}
	}
	return out
}

// lists returns what a document has, with the elements of a list under the ID of the list.
func lists(t *rapid.T, s *record.Source, doc string) map[record.ID][]*record.Record {
	out := map[record.ID][]*record.Record{}
	_, err := s.Read(strings.NewReader(doc), "s.json", record.Options{}, func(m *record.Match) error {
		for _, mv := range m.Moves {
			if r, err := mv.Record(m); err == nil {
				out[r.ID()] = append(out[r.ID()], r)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return out
}

func sameRecords(a, b []*record.Record) bool {
	return slices.EqualFunc(a, b, func(x, y *record.Record) bool {
		return len(x.Move.Compare(x, y, time.Time{}, 0)) == 0
	})
}

// TestWhatIsWrittenIsRead: of random declarations, documents and records, each record that a rewrite takes is
// read again as it was, each that it refuses has changed nothing, and so has what no edit names.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	took, left := 0, 0
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		var r random
		r.draw(rt)
		m := declared.Map(t, r.text)
		s, doc := m.Source("s"), r.document(rt)
		edits := r.edits(rt, m)
		before := lists(rt, s, doc)
		refused := map[record.ID]bool{}
		opt := record.Options{Refused: func(bad *record.Reject) error {
			id, whole := bad.Of()
			if !whole || bad.Key == "" {
				rt.Fatalf("%v says no record", bad)
			}
			refused[id] = true
			return nil
		}}
		var out bytes.Buffer
		if _, err := s.Rewrite(&out, strings.NewReader(doc), "s.json", edits, nil, opt); err != nil {
			rt.Fatalf("%v\n%s\n%s", err, r.text, doc)
		}
		fail := func(what string, id record.ID) {
			rt.Fatalf("%s %q\n%s\n%s\nbecame\n%s", what, id, r.text, doc, out.String())
		}
		if !json.Valid(out.Bytes()) {
			fail("no JSON", record.ID{})
		}
		want := map[record.ID][]*record.Record{}
		deleted := map[record.ID]bool{}
		for _, e := range edits {
			id := e.Record.ID()
			if e.Record.Move.Kind != "element" {
				delete(want, id)
			}
			if deleted[id] = e.Delete && len(want[id]) == 0; !e.Delete {
				want[id] = append(want[id], e.Record)
			}
		}
		after := lists(rt, s, out.String())
		for id, records := range want {
			switch {
			case refused[id]:
				left++
			case !sameRecords(records, after[id]):
				fail("not read again:", id)
			default:
				took++
			}
		}
		for id := range maps.All(before) {
			_, set := want[id]
			if refused[id] || !set && !deleted[id] {
				if !sameRecords(before[id], after[id]) {
					fail("changed:", id)
				}
			}
		}
		for id := range after {
			if _, set := want[id]; before[id] == nil && (!set || refused[id]) {
				fail("came from no document:", id)
			}
		}
		is := func(id record.ID) bool { return refused[id] }
		if err := s.Holds(bytes.NewReader(out.Bytes()), "s.json", edits, is, record.Options{}); err != nil {
			rt.Fatal(err)
		}
		var again bytes.Buffer
		some := slices.DeleteFunc(edits, func(e record.Edit) bool { return !refused[e.Record.ID()] })
		if _, err := s.Rewrite(&again, strings.NewReader(doc), "s.json", some, nil, opt); err != nil ||
			again.String() != doc {
			rt.Fatalf("what is refused has changed %s\nto %s: %v", doc, again.String(), err)
		}
	})
	if took == 0 || left == 0 {
		t.Errorf("%d were taken and %d refused: the test shows nothing", took, left)
	}
}
