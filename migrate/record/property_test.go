package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/migrate/record"
	"pgregory.net/rapid"
)

// drawn writes documents in layouts of all kinds.
type drawn struct {
	t *rapid.T
	b bytes.Buffer
}

func (d *drawn) space() {
	d.b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n  ", "\t", "\r\n"}).Draw(d.t, "space"))
}

// value writes any JSON.
func (d *drawn) value(depth int) {
	switch rapid.IntRange(0, 5+min(1, depth)*2).Draw(d.t, "kind") {
	case 0:
		d.b.WriteString("null")
	case 1:
		d.b.WriteString(rapid.SampledFrom([]string{"true", "false"}).Draw(d.t, "bool"))
	case 2, 3:
		d.b.WriteString(
			rapid.SampledFrom([]string{"0", "-1", "1.50", "9007199254740993", "1e3", "-0.0", "12345678901234567890"}).Draw(d.t,
				"number"))
	case 4, 5:
		text, _ := json.Marshal(rapid.SampledFrom([]string{"", "a", "é\"\\\n", "日本", "x y"}).Draw(d.t, "text"))
		d.b.Write(text)
	case 6:
		d.list(rapid.IntRange(0, 3).Draw(d.t, "n"), func(int) { d.value(depth - 1) })
	default:
		d.object([]string{"a", "b", "c"}, func(string) { d.value(depth - 1) })
	}
}

func (d *drawn) list(n int, each func(int)) {
	d.b.WriteByte('[')
	for i := range n {
		if i > 0 {
			d.b.WriteByte(',')
		}
		d.space()
		each(i)
		d.space()
	}
	d.b.WriteByte(']')
}

// object writes some of the names.
func (d *drawn) object(names []string, each func(string)) {
	d.b.WriteByte('{')
	first := true
	for _, name := range names {
		if !rapid.Bool().Draw(d.t, "there") {
			continue
		}
		if !first {
			d.b.WriteByte(',')
		}
		first = false
		d.space()
		text, _ := json.Marshal(name)
		d.b.Write(text)
		d.space()
		d.b.WriteByte(':')
		d.space()
		each(name)
		d.space()
	}
	d.b.WriteByte('}')
}

// document returns a file of the source state, with other things in it.
func document(t *rapid.T) string {
	d := &drawn{t: t}
	d.object([]string{"other", "guilds", "history"}, func(section string) {
		switch section {
		case "other":
			d.value(2)
		case "guilds":
			d.object([]string{"None", "456", "789"}, func(string) {
				d.object([]string{"persona", "x", "feeds"}, func(name string) {
					switch name {
					case "persona":
						d.b.WriteString(`"p"`)
					case "x":
						d.value(2)
					default:
						d.object([]string{"A b", "c", "D"}, func(string) { d.value(1) })
					}
				})
			})
		default:
			d.object([]string{"123"}, func(string) {
				d.object([]string{"7", "8"}, func(channel string) {
					d.object([]string{"stories"}, func(string) {
						hashes := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 4, rapid.ID).Draw(d.t, "hashes")
						d.list(len(hashes), func(i int) {
							d.b.WriteString("{")
							d.space()
							fmt.Fprintf(&d.b, `"hash":"%s%d",`, channel, hashes[i])
							d.space()
							fmt.Fprintf(&d.b, `"at": "2026-11-20T10:00:0%dZ"`, hashes[i])
							d.space()
							d.b.WriteString("}")
						})
					})
				})
			})
		}
	})
	d.space()
	return d.b.String()
}

// all returns the records of a document by ID, with their digests.
func all(t *rapid.T, s *record.Source, doc string) map[record.ID]*record.Record {
	out := map[record.ID]*record.Record{}
	_, err := s.Read(iotest.HalfReader(strings.NewReader(doc)), "state.json", record.Options{},
		func(m *record.Match) error {
			for _, mv := range m.Moves {
				if r, err := mv.Record(m); err == nil {
					out[r.ID()] = r
				}
			}
			return nil
		})
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return out
}

func digests(records map[record.ID]*record.Record) map[record.ID][32]byte {
	out := map[record.ID][32]byte{}
	for id, r := range records {
		out[id] = r.Digest()
	}
	return out
}

// TestRewriteDoesWhatEditsSay: after any edits a document has exactly the records
// that it had, but for those edits; without edits, and with edits that say what is
// there, it has every byte that it had.
func TestRewriteDoesWhatEditsSay(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	s := m.Source("state")
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		doc := document(t)
		before := all(t, s, doc)
		var same []record.Edit
		for _, r := range before {
			same = append(same, record.Edit{Record: r})
		}
		for _, edits := range [][]record.Edit{nil, same} {
			var out bytes.Buffer
			if _, err := s.Rewrite(&out, strings.NewReader(doc), "state.json", edits, nil, record.Options{}); err != nil ||
				out.String() != doc {
				t.Fatalf("%v\n%s\nbecame\n%s", err, doc, out.String())
			}
		}
		want := maps.Clone(before)
		edits := drawEdits(t, m, want)
		var out bytes.Buffer
		_, err := s.Rewrite(&out, iotest.HalfReader(strings.NewReader(doc)), "state.json", edits, nil, record.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("%s\nbecame\n%s", doc, out.String())
		}
		if diff := cmp.Diff(digests(want), digests(all(t, s, out.String()))); diff != "" {
			t.Fatalf("%s\n%s\nbecame\n%s", diff, doc, out.String())
		}
	})
}

// drawEdits changes, deletes and adds records.
func drawEdits(t *rapid.T, m *record.Map, want map[record.ID]*record.Record) (edits []record.Edit) {
	put := func(r *record.Record) {
		want[r.ID()] = r
		edits = append(edits, record.Edit{Record: r})
	}
	for _, g := range []string{"global", "456", "999"} {
		if rapid.Bool().Draw(t, "persona") {
			put(&record.Record{Move: m.Move("settings.persona"), Key: "p:" + g,
				Value: []byte(rapid.SampledFrom([]string{"p", "q"}).Draw(t, "value"))})
		}
		for _, name := range []string{"A b", "c", "D", "new"} {
			r := &record.Record{Move: m.Move("settings.feeds"), Key: "f:" + g, Sub: name}
			switch rapid.IntRange(0, 3).Draw(t, "feed") {
			case 0:
				delete(want, r.ID())
				edits = append(edits, record.Edit{Record: r, Delete: true})
			case 1:
				r.Value = []byte(rapid.SampledFrom([]string{`{"a":1,"n":[1,{"b":2}]}`, `[]`, `{}`, `null`, `{"c":"x"}`}).Draw(t,
					"value"))
				put(r)
			}
		}
	}
	for _, c := range []string{"7", "8"} {
		for i := range 4 {
			hash := fmt.Sprintf("%s%d", c, i)
			story := &record.Record{Move: m.Move("history.story"), Key: "h:123:story:" + hash}
			scored := &record.Record{Move: m.Move("history.stories"), Key: "h:123:" + c, Sub: hash}
			switch rapid.IntRange(0, 2).Draw(t, "story") {
			case 0:
				delete(want, story.ID())
				delete(want, scored.ID())
				edits = append(edits, record.Edit{Record: story, Delete: true}, record.Edit{Record: scored, Delete: true})
			case 1:
				story.Value = []byte(`{"hash":"` + hash + `","at":"2026-11-20T10:00:09Z","n":1}`)
				scored.Score = "1795168809"
				put(scored)
				put(story)
			}
		}
	}
	return rapid.Permutation(edits).Draw(t, "order")
}

// TestCanonical: two spellings of one value have one form, and it is JSON of the
// same value.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b": 1.0, "a": [1e2, -0, 0.10]}`: `{"a":[100,0,0.1],"b":1}`,
		`"\u00e9\/\u0001"`:                 "\"é/\\u0001\"",
		`9007199254740993.000`:             `9007199254740993`,
		` [ ] `:                            `[]`,
		`1e308`:                            "1" + strings.Repeat("0", 308),
		`1.5e-7`:                           `0.00000015`,
		`{"é": null, "z": true}`:           `{"z":true,"é":null}`,
	} {
		got, err := record.Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		d := &drawn{t: t}
		d.value(3)
		doc := d.b.String()
		once, err := record.Canonical([]byte(doc))
		if err != nil {
			t.Fatal(err, doc)
		}
		twice, err := record.Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: %s, %s", doc, once, twice)
		}
		var a, b any
		if json.Unmarshal([]byte(doc), &a) != nil || json.Unmarshal(once, &b) != nil || !cmp.Equal(a, b) {
			t.Fatalf("%s became %s", doc, once)
		}
	})
}
