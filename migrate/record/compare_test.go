package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record"
)

var today = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// TestCompare: what differs and what does not.
func TestCompare(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	story := func(value string) *record.Record {
		return &record.Record{Move: m.Move("history.story"), Key: "h:123:story:ab", Value: []byte(value)}
	}
	game := func(q, ends string, more ...record.Field) *record.Record {
		return &record.Record{Move: m.Move("settings.game"), Key: "t:1:g",
			Fields: append([]record.Field{{Name: "q", Value: q}, {Name: "ends", Value: ends}}, more...)}
	}
	scored := func(s string) *record.Record {
		return &record.Record{Move: m.Move("history.stories"), Key: "h:1:1", Sub: "x", Score: s}
	}
	for _, c := range []struct {
		a, b *record.Record
		want string
	}{
		{story(`{"a": 1.0, "b": "é"}`), story(`{"b":"\u00e9","a":1}`), ""},
		{story(`{"id": 9007199254740993}`), story(`{"id": 9007199254740992}`), ".id value"},
		{story(`{"id": "1"}`), story(`{"id": 1}`), ".id type"},
		{story(`{"a": null}`), story(`{}`), ".a missing"},
		{story(`{}`), story(`{"a": null}`), ".a extra"},
		{story(`{"a": null}`), story(`{"a": {}}`), ".a type"},
		{story(`{"a": {}}`), story(`{"a": []}`), ".a type"},
		{story(`{"l": [1, 2]}`), story(`{"l": [2, 1]}`), ".l order"},
		{story(`{"l": [1, 2]}`), story(`{"l": [1, 3]}`), ".l[] value"},
		{story(`{"l": [1, 2]}`), story(`{"l": [1]}`), ".l[] missing"},
		{story(`{"l": [{"a": 1}, {"a": 2}]}`), story(`{"l": [{"a": 2}, {"a": 3}]}`), ".l[].a value"},
		{story(`{"tags": ["a", "b", "a"]}`), story(`{"tags": ["b", "a"]}`), ""},
		{story(`{"tags": ["a"]}`), story(`{"tags": ["b"]}`), ".tags[] value"},
		{story(`{"seen": 1}`), story(`{"seen": 2}`), ""},
		{story(`{"seen": 1}`), story(`{}`), ""},
		{story(`{"at": "2026-11-20T10:00:00Z"}`), story(`{"at": "2026-11-20T11:00:00+01:00"}`), ""},
		{story(`{"at": "2026-11-20T10:00:00Z"}`), story(`{"at": 1795168800}`), ""},
		{story(`{"at": "2026-11-20T10:00:00Z"}`), story(`{"at": "2026-11-20T10:00:01Z"}`), ".at value"},
		{scored("1.0"), scored("1"), ""},
		{scored("9007199254740993"), scored("9007199254740992"), " score"},
		{game("a", "1"), game("a", "1", record.Field{Name: "n", Value: "3"}), ".n extra"},
		{game("a", "1", record.Field{Name: "open", Value: "true"}),
			game("b", "1", record.Field{Name: "open", Value: "false"}), ".q value, .open value"},
		{game("a", "1", record.Field{Name: "options", Value: `[1, {"x": 1}]`}),
			game("a", "1", record.Field{Name: "options", Value: `[1,{"x":2}]`}), ".options[].x value"},
		{nil, story(`{}`), " extra"}, {story(`{}`), nil, " missing"}, {nil, nil, ""},
	} {
		mv := m.Moves[0]
		if c.a != nil {
			mv = c.a.Move
		}
		var got []string
		for _, d := range mv.Compare(c.a, c.b, today, time.Second) {
			got = append(got, d.Path+" "+string(d.Kind))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%v %v: %s", c.a, c.b, diff)
		}
	}
	if d := m.Move("history.story").Compare(story(`{"seen": 1}`), story(`{"seen": 2}`), today.AddDate(1, 0, 0),
		0); len(d) != 1 {
		t.Errorf("a rule that has ended ignores still: %v", d)
	}
	a, b := story(`{}`), story(`{}`)
	a.Ends, b.Ends = today, today.Add(2*time.Second)
	if d := a.Move.Compare(a, b, today, time.Second); len(d) != 1 || d[0].Kind != record.DiffEnd {
		t.Error(d)
	}
	if d := a.Move.Compare(a, b, today, 2*time.Second); len(d) != 0 {
		t.Error(d)
	}
}

// TestDifferencesAreBounded: a record that differs in everything says so and ends.
func TestDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	full := &record.Record{Move: m.Move("history.story"), Key: "h:123:story:ab", Value: []byte("{" + b.String()[1:] + "}")}
	empty := &record.Record{Move: full.Move, Key: full.Key, Value: []byte("{}")}
	d := full.Move.Compare(full, empty, today, 0)
	if len(d) != record.MaxDifferences+1 || d[len(d)-1].Kind != record.DiffMore {
		t.Errorf("%d differences, the last one %v", len(d), d[len(d)-1])
	}
}

// TestDigestsOfEqualRecords: two records have one digest exactly if they do not
// differ without rules.
func TestDigestsOfEqualRecords(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	values := []string{`{"a":1}`, `{"a": 1.0}`, `{"a":2}`, `{"a":"1"}`, `{"a":null}`, `{}`, `{"a":[1,2]}`, `{"a":[2,1]}`,
		`{"a":[1,2.0]}`}
	for _, x := range values {
		for _, y := range values {
			a := &record.Record{Move: m.Move("settings.feeds"), Key: "f:456", Sub: "x", Value: []byte(x)}
			b := &record.Record{Move: a.Move, Key: "f:456", Sub: "x", Value: []byte(y)}
			if same := len(a.Move.Compare(a, b, today, 0)) == 0; same != (a.Digest() == b.Digest()) {
				t.Errorf("%s %s: equal %v, digests equal %v", x, y, same, !same)
			}
		}
	}
}

// TestConversions: what each row of the table makes of a value, and whether it
// comes back.
func TestConversions(t *testing.T) {
	t.Parallel()
	for _, c := range route.Conversions() {
		if c.Takes == "" || c.Gives == "" || c.Form() == "" {
			t.Errorf("%s is not described", c.Name)
		}
	}
	for _, c := range []struct{ typ, term, doc, stored, back string }{
		{"int", ".a", `5`, "5", `5`}, {"int", ".a", `5.0`, "5", `5.0`}, {"int", ".a", `1e3`, "1000", `1e3`},
		{"int", ".a", `5.5`, "! is no whole number", ""}, {"int", ".a", `"5"`, "! is a text", ""},
		{"int", ".a", `99999999999999999999`, "! is not", ""}, {"int", "text(.a)", `"5"`, "5", `"5"`},
		{"int", "text(.a)", `"x"`, "! spells no number", ""}, {"int", "text(.a)", `5`, "! text takes a text", ""},
		{"float", ".a", `0.1`, "0.1", `0.1`}, {"float", ".a", `0.12345678901234567890123`, "! has more digits", ""},
		{"float", ".a", `9007199254740993`, "! has more digits", ""},
		{"text", ".a", `"é"`, "é", `"é"`}, {"text", ".a", `5`, "! is a number", ""}, {"text", ".a", `null`, "! is null", ""},
		{"text", ".b", `1`, "! is not there", ""},
		{"text", "number(.a)", `9007199254740993`, "9007199254740993", `9007199254740993`},
		{"text", "number(.a)", `"5"`, "! number takes a number", ""},
		{"bool", ".a", `true`, "true", `true`}, {"bool", "text(.a)", `"true"`, "true", `"true"`},
		{"bool", ".a", `1`, "! is a number", ""},
		{"unix_s", "iso8601(.a)", `"2026-11-20T10:00:00Z"`, "1795168800", `"2026-11-20T10:00:00Z"`},
		{"unix_ms", "iso8601(.a)", `"2026-11-20 10:00:00.250"`, "1795168800250", `"2026-11-20 10:00:00.250"`},
		{"unix_s", "iso8601(.a)", `"2026-11-20T11:00:00+01:00"`, "1795168800", `"2026-11-20T11:00:00+01:00"`},
		{"timestamp", "iso8601(.a)", `"2026-11-20"`, "2026-11-20T00:00:00Z", `"2026-11-20"`},
		{"unix_s", "iso8601(.a)", `"yesterday"`, "! is no time", ""}, {"unix_s", "unix_s(.a)", `1795168800.75`, "1795168800",
			`1795168800.75`}, {"unix_ms", "unix_s(.a)", `1795168800.75`, "1795168800750", `1795168800.75`},
		{"unix_s", "unix_ms(.a)", `1795168800750`, "1795168800", `1795168800750`},
		{"timestamp", "unix_s(.a)", `1`, "1970-01-01T00:00:01Z", `1`}, {"unix_s", "unix_s(.a)", `1e300`, "! is no time", ""},
		{"unix_s", ".a", `1795168800`, "1795168800", `1795168800`}, {"unix_s", ".a", `1.5`, "! is no whole number", ""},
		{"int", "minutes(.a)", `"09:30"`, "570", `"09:30"`}, {"int", "minutes(.a)", `"9:30"`, "570", `"9:30"`},
		{"int", "minutes(.a)", `"24:00"`, "! is no hour", ""},
		{"bytes", "base64(.a)", `"AP8="`, "\x00\xff", `"AP8="`}, {"bytes", "base64(.a)", `"%"`, "! is no base64", ""},
		{"a|b", "rename(.a, x=a)", `"x"`, "a", `"x"`}, {"a|b", "rename(.a, x=a)", `"b"`, "b", `"b"`},
		{"a|b", "rename(.a, x=a)", `"a"`, "! is a word that another one", ""},
		{"int", "default(.a, 7)", `8`, "8", `8`}, {"int", "default(.b, 7)", `8`, "7", `8`},
		{"text", "const(x)", `1`, "x", `1`},
		{"slug", "slug(.a)", `"Café  São-Paulo!"`, "cafe_sao_paulo", `"Café  São-Paulo!"`},
		{"slug", "slug(.a)", `"日本"`, "! has no letter", ""}, {"text", "lower(.a)", `"ÀB"`, "àb", `"ÀB"`},
		{"json", ".a", `{"x" : 1.0}`, `{"x":1.0}`, `{"x" : 1.0}`}, {"json", ".a", `null`, `null`, `null`},
		{"uuid", ".a", `"x"`, "! is not", ""},
	} {
		t.Run(c.typ+" "+c.term+" "+c.doc, func(t *testing.T) {
			m := declared.Map(t, "keywright: 1\nkeys:\n  k: {key: \"k:{id}\", type: hash, fields: {f: "+c.typ+"}, ttl: none}\nmigrations:\n  m: {sources: {s: {file: s.json}}, parts: {p: {moves: [{from: \"s:/{id}\", to: k, fields: {f: '"+c.term+"'}}]}}}\n")
			s, doc := m.Sources[0], `{"1": {"a": `+c.doc+`}}`
			got, err := read(t, s, "s.json", doc, record.Options{})
			reason, refused := strings.CutPrefix(c.stored, "! ")
			if err != nil || len(got) != 1 || refused && !strings.Contains(got[0], reason) ||
				!refused && got[0] != "p.k k:1 f="+c.stored {
				t.Fatalf("%q %v, want %q", got, err, c.stored)
			}
			if refused {
				return
			}
			r := &record.Record{Move: m.Moves[0], Key: "k:1", Fields: []record.Field{{Name: "f", Value: c.stored}}}
			back, _, err := rewrite(t, s, "s.json", doc, nil, record.Edit{Record: r})
			if err != nil || back != `{"1": {"a": `+c.back+`}}` {
				t.Errorf("%s %v", back, err)
			}
			if cv, _ := route.ConversionOf(strings.Split(c.term, "(")[0]); strings.Contains(c.term, "(") && !cv.Back {
				return
			}
			fresh, _, err := rewrite(t, s, "s.json", "", nil, record.Edit{Record: r})
			again, err2 := read(t, s, "s.json", fresh, record.Options{})
			if err != nil || err2 != nil || len(again) != 1 || again[0] != got[0] {
				t.Errorf("%s %v: %q %v", fresh, err, again, err2)
			}
		})
	}
}
