package record_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// left has a move that leaves out what another file has, and types that a file may not meet.
const left = `keywright: 1
vars: {g: text}
keys:
  guilds: {key: guilds, type: set, member: text, ttl: none}
  persona: {key: "persona:{g}", type: string, value: text, ttl: none}
  mode: {key: "mode:{g}", type: string, value: quiet|loud, ttl: none}
  level: {key: "level:{g}", type: string, value: int 0..9, ttl: none}
  seen: {key: "seen:{g}", type: zset, member: text, score: unix_s, ttl: none}
  words: {key: "words:{g}", type: list, member: int 0..9, ttl: none}
  any: {key: "any:{g}", type: string, value: json, ttl: none}
  renamed: {key: "renamed:{g}", type: string, value: text, ttl: none}
migrations:
  files:
    sources: {s: {file: s.json}}
    parts:
      p:
        moves:
          - {from: "s:/guilds/{g}", to: guilds, member: "{g}", except: {g: global}}
          - {from: "s:/guilds/{g}/persona", to: persona, value: ., except: {g: global}}
          - {from: "s:/guilds/{g}/mode", to: mode, value: .}
          - {from: "s:/guilds/{g}/level", to: level, value: .}
          - {from: "s:/guilds/{g}/seen/{member}", to: seen, member: "{member}", score: iso8601(.)}
          - {from: "s:/guilds/{g}/words/[]", to: words, member: .}
          - {from: "s:/guilds/{g}/any", to: any, value: .}
          - {from: "s:/renamed/{x}", to: renamed, with: {g: "rename({x}, None=global)"}, value: .}
`

// TestRefuses: what the declaration would not read again is not written, whatever else is, and what is
// said has the key and no value.
func TestRefuses(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, left)
	s := m.Source("s")
	value := func(move, key, v string) record.Edit {
		return set(m, move, record.Record{Key: key, Value: []byte(v)})
	}
	good := value("p.persona", "persona:good", "fine")
	const doc = `{"guilds": {"a": {"persona": "y"}, "global": {"persona": "z"}}}`
	deep := strings.Repeat("[", 511) + strings.Repeat("]", 511)
	for _, c := range []struct {
		name, want string
		edit       record.Edit
	}{
		{"a member that is excepted", "except leaves out the {g}", set(m, "p.guilds", record.Record{Key: "guilds",
			Sub: "global"})},
		{"a value that is excepted", "except leaves out the {g}", value("p.persona", "persona:global", "secret")},
		{"another word than the type has", "mode", value("p.mode", "mode:a", "secret")},
		{"a number beyond the range", "level", value("p.level", "level:b", "10")},
		{"a part of a second", "score", set(m, "p.seen", record.Record{Key: "seen:a", Sub: "x", Score: "1.5"})},
		{"no UTF-8", "read any more", value("p.persona", "persona:b", "secret\xff")},
		{"a name that is no UTF-8", "no UTF-8", value("p.persona", "persona:b\xff", "secret")},
		{"an element beyond the range", "words", set(m, "p.words", record.Record{Key: "words:a", Value: []byte("77")})},
		{"a member twice", "no JSON", value("p.any", "any:a", `{"secret": 1, "secret": 2}`)},
		{"nested too deep", "is no JSON", value("p.any", "any:a", "[["+deep+"]]")},
		{"nested too deep where it would be", "read any more", value("p.any", "any:a", deep)},
		{"too large", "more than", value("p.persona", "persona:b", strings.Repeat("secret", 8<<20/6+1))},
		{"a word that stands for another", "another", value("p.renamed", "renamed:None", "secret")},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := rewrite(t, s, "s.json", doc, nil, good, c.edit)
			var bad *record.Reject
			if !errors.As(err, &bad) || !strings.Contains(bad.Error(), c.want) || bad.Key != c.edit.Record.Key ||
				bad.Digest == "" || strings.Contains(err.Error(), "secret") {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, doc := range []string{doc, ""} {
				var out bytes.Buffer
				var refused []record.ID
				_, err = s.Rewrite(&out, strings.NewReader(doc), "s.json", []record.Edit{c.edit, good}, nil,
					record.Options{Refused: func(r *record.Reject) error {
						id, _ := r.Of()
						refused = append(refused, id)
						return nil
					}})
				if err != nil || len(refused) != 1 || refused[0].Key != c.edit.Record.Key {
					t.Fatalf("%v %v", refused, err)
				}
				got := out.String()
				if !strings.Contains(got, "fine") || strings.Contains(got, "secret") ||
					strings.Count(got, "global") != strings.Count(doc, "global") {
					t.Errorf("%.300s", got)
				}
				is := func(id record.ID) bool { return id == refused[0] }
				if err := s.Holds(strings.NewReader(got), "s.json", []record.Edit{c.edit, good}, is,
					record.Options{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestHolds: a document that does not give back what was written is found, whatever has made it.
func TestHolds(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, left)
	s := m.Source("s")
	persona := set(m, "p.persona", record.Record{Key: "persona:a", Value: []byte("y")})
	word := func(w string, place int64) record.Edit {
		return set(m, "p.words", record.Record{Key: "words:a", Value: []byte(w), Place: place})
	}
	words := []record.Edit{word("2", 1), word("1", 0)}
	for _, c := range []struct {
		doc, want string
		edits     []record.Edit
	}{
		{`{"guilds": {"a": {"persona": "y"}}}`, "", []record.Edit{persona}},
		{`{"guilds": {"a": {"persona": "z"}}}`, "another value", []record.Edit{persona}},
		{`{"guilds": {"a": {"persona": "z"}}}`, "", []record.Edit{deletion(m, "p.persona", *persona.Record)}},
		{`{"guilds": {"a": {}}}`, "would not give it back", []record.Edit{persona}},
		{`{"guilds": {"a": {"persona": "y"}}, "guilds": {}}`, "already in its object", []record.Edit{persona}},
		{`{"guilds": {"a": {"persona": "y"}`, "end", []record.Edit{persona}},
		{`{"guilds": {"a": {"words": [1, 2]}}}`, "", words},
		{`{"guilds": {"a": {"words": [2, 1]}}}`, "another value", words},
		{`{"guilds": {"a": {"words": [1]}}}`, "would not give it back", words},
		{`{"guilds": {"a": {"words": [1, 2, 3]}}}`, "more elements", words},
	} {
		err := s.Holds(strings.NewReader(c.doc), "s.json", c.edits, func(record.ID) bool { return false },
			record.Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.doc, err, c.want)
		}
	}
}

// TestFitsReadsTheEnd: a record whose value does not say when it ends, as its move demands, fits no file, and is
// refused also where Redis decides and the file follows.
func TestFitsReadsTheEnd(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, `keywright: 1
vars: {h: slug}
keys:
  story: {key: "story:{h}", type: string, value: json, ttl: 2d}
migrations:
  files:
    sources: {s: {file: s.json}}
    parts: {p: {moves: [{from: "s:/{h}", to: story, value: ., ttl: {from: iso8601(.at)}}]}}
`)
	mv := m.Move("p.story")
	for value, fits := range map[string]bool{`{"at": "2099-01-01T00:00:00Z"}`: true, `{"at": "not a time"}`: false,
		`{}`: false} {
		err := mv.Fits(&record.Record{Move: mv, Key: "story:a", Value: []byte(value)})
		if bad := (*record.Reject)(nil); (err == nil) != fits || err != nil && !errors.As(err, &bad) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
