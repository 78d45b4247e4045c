package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// guilded is a declaration with moves, and what it says beside them.
func guilded(moves, beside string) string {
	return `keywright: 1
vars: {g: text}
keys:
  guilds: {key: guilds, type: set, member: text, ttl: none}
  persona: {key: "persona:{g}", type: string, value: text, ttl: none}
  feeds: {key: "feeds:{g}", type: hash, field: text, value: text, ttl: none}
  other: {key: other, type: string, value: json, ttl: none}
migrations:
  files:
    sources: {s: {file: s.json}, l: {file: l.jsonl, format: lines}}
    parts:
      p:
        moves:
          - ` + strings.ReplaceAll(moves, "; ", "\n          - ") + "\n" + beside
}

const (
	names    = `{from: "s:/{g}", to: guilds, member: "{g}"}`
	personas = `{from: "s:/{g}/persona", to: persona, value: .}`
	urls     = `{from: "s:/{g}/feeds/{name}", to: feeds, field: "{name}", value: .config.url}`
	listed   = `{from: "s:/feeds/[]", to: guilds, member: .id}`
	global   = `{from: "s:/global", to: other, value: .}`
)

// TestCoverage: what of a document no move reads is reported by path, count and bytes, and where a path meets
// another shape than its own.
func TestCoverage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, moves, beside, doc string
		want                     []string // path, values, bytes; or path: want, has
		met                      []string
	}{
		{"all is read", names + "; " + personas, "", `{"a": {"persona": "x"}, "b": {}, "c": null}`, nil,
			[]string{"p.guilds", "p.persona"}},
		{"a section of its own", personas, "", `{"a": {"persona": "x", "reminders": {"x": [1, 2]}}, "b": {"reminders": 1}}`,
			[]string{"/{g}/reminders 2 40"}, []string{"p.persona"}},
		{"what is empty is nothing", personas, "", `{"a": {"persona": "x", "reminders": {}, "x": [], "y": null}}`, nil,
			[]string{"p.persona"}},
		{"a member of a record", urls, "", `{"a": {"feeds": {"x": {"config": {"url": "u", "every": 5}, "n": 1}}}}`,
			[]string{"/{g}/feeds/{name}/config/every 1 10", "/{g}/feeds/{name}/n 1 6"}, []string{"p.feeds"}},
		{"a name without what it has", names, "", `{"a": true, "b": {"persona": "x"}}`,
			[]string{"/{g} 1 9", "/{g}/persona 1 14"}, []string{"p.guilds"}},
		{"an array where an object belongs", personas, "", `[{"persona": "x"}]`,
			[]string{" 1 18", ": an object, has an array 1"}, nil},
		{"an empty array where an object belongs", personas, "", `[]`, []string{": an object, has an array 1"}, nil},
		{"a text where an object belongs", personas, "", `{"a": "x"}`,
			[]string{"/{g} 1 8", "/{g}: an object, has a text 1"}, nil},
		{"an object where an array belongs", listed, "", `{"feeds": {"a": {"id": "x"}}}`,
			[]string{"/feeds 1 27", "/feeds: an array, has an object 1"}, nil},
		{"both shapes are declared", listed + `; {from: "s:/feeds/{g}", to: persona, value: .}`, "",
			`{"feeds": {"a": "x"}}`, nil, []string{"p.persona"}},
		{"a name that is not that of the path", `{from: "s:/users/{g}", to: persona, value: .}`, "",
			`{"people": {"a": "x"}}`, []string{"/people 1 20"}, nil},
		{"left out by all", `{from: "s:/{g}/persona", to: persona, value: ., except: {g: global}}`, "",
			`{"a": {"persona": "x"}, "global": {"persona": "z"}}`, nil, []string{"p.persona"}},
		{"left out by one", `{from: "s:/{g}/persona", to: persona, value: ., except: {g: global}}; ` + names, "",
			`{"global": {"persona": "z", "x": 1}}`, []string{"/{g}/x 1 6"}, []string{"p.guilds", "p.persona"}},
		{"moved by another", `{from: "s:/{g}/persona", to: persona, value: ., except: {g: global}}; ` + global, "",
			`{"global": {"persona": "z", "x": 1}}`, nil, []string{"p.other", "p.persona"}},
		{"ignored with a reason", personas, `    ignore: [{from: "s:/{g}/cache", reason: it is made again},
      {from: "s:/version", reason: of the file}]`, `{"version": {"n": 3}, "a": {"persona": "x", "cache": {"x": 1}, "cash": 1}}`,
			[]string{"/{g}/cash 1 9"}, []string{"p.persona"}},
		{"lines", `{from: "l:/[]", to: guilds, member: .id}`, "", "{\"id\": \"a\"}\n{\"id\": \"b\", \"x\": 1}\n",
			[]string{"/[]/x 1 6"}, []string{"p.guilds"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := declared.Map(t, guilded(c.moves, c.beside))
			s, file := m.Source("s"), "s.json"
			if strings.Contains(c.moves, "l:") {
				s, file = m.Source("l"), "l.jsonl"
			}
			all := record.Coverages{}
			cover := all.Of("s")
			if _, err := s.Read(strings.NewReader(c.doc), file, record.Options{Coverage: cover}, nothing); err != nil {
				t.Fatal(err)
			}
			var got, met []string
			for _, u := range cover.Places {
				got = append(got, fmt.Sprintf("%s %d %d", u.Path, u.Values, u.Bytes))
			}
			for _, x := range cover.Shapes {
				got = append(got, fmt.Sprintf("%s: %s, has %s %d", x.Path, x.Want, x.Has, x.Values))
			}
			for name := range cover.Matches {
				met = append(met, name)
			}
			slices.Sort(met)
			if diff := cmp.Diff(c.want, got); diff != "" || cover.Whole() != (c.want == nil) {
				t.Error(diff, cover.Whole())
			}
			if diff := cmp.Diff(c.met, met); diff != "" || cover.Bytes != int64(len(c.doc)) {
				t.Error(diff, cover.Bytes)
			}
		})
	}
}

// TestCoverageIsBounded: what is listed of a document is bounded, and all is counted.
func TestCoverageIsBounded(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, guilded(listed, ""))
	cover := record.Coverages{}.Of("s")
	_, err := m.Source("s").Read(strings.NewReader(members(5000, -1)), "s.json", record.Options{Coverage: cover}, nothing)
	if err != nil || cover.Unread.Values != 5000 || len(cover.Places) != 100 || cover.Unread.Bytes < 5000*10 ||
		!cover.Unmet(m.Moves[0].Name) {
		t.Errorf("%+v %d %v", cover.Unread, len(cover.Places), err)
	}
	long := record.Coverages{}.Of("s")
	_, err = m.Source("s").Read(strings.NewReader(`{"`+strings.Repeat("x", 1000)+`": 1}`), "s.json",
		record.Options{Coverage: long}, nothing)
	if err != nil || len(long.Places) != 1 || len(long.Places[0].Path) > 100 {
		t.Errorf("%+v %v", long.Places, err)
	}
}
