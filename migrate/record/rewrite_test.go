package record_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

func rewrite(t testing.TB, s *record.Source, file, doc string, names record.Names, edits ...record.Edit) (string,
	record.Rewritten, error) {
	t.Helper()
	var out bytes.Buffer
	done, err := s.Rewrite(&out, strings.NewReader(doc), file, edits, names, record.Options{})
	return out.String(), done, err
}

func set(m *record.Map, move string, r record.Record) record.Edit {
	r.Move = m.Move(move)
	return record.Edit{Record: &r}
}

func deletion(m *record.Map, move string, r record.Record) record.Edit {
	r.Move = m.Move(move)
	return record.Edit{Record: &r, Delete: true}
}

// TestRewrite: what an edit does to the bytes of a document.
func TestRewrite(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	state, guild := m.Source("state"), m.Source("guild")
	story := func(hash, value string) record.Edit {
		return set(m, "history.story", record.Record{Key: "h:123:story:" + hash, Value: []byte(value)})
	}
	scored := func(hash, score string) record.Edit {
		return set(m, "history.stories", record.Record{Key: "h:123:77", Sub: hash, Score: score})
	}
	persona := func(g, v string) record.Edit {
		return set(m, "settings.persona", record.Record{Key: "p:" + g, Value: []byte(v)})
	}
	feed := func(name, v string) record.Edit {
		return set(m, "settings.feeds", record.Record{Key: "f:456", Sub: name, Value: []byte(v)})
	}
	seen := func(id string) record.Edit {
		return set(m, "settings.seen", record.Record{Key: "s:456:san_diego", Sub: id})
	}
	noFeed := deletion(m, "settings.feeds", record.Record{Key: "f:456", Sub: "b"})
	word := func(g, w string, place int64) record.Edit {
		return set(m, "settings.words", record.Record{Key: "w:" + g, Value: []byte(w), Place: place})
	}
	for _, c := range []struct {
		name      string
		source    *record.Source
		doc, want string
		edits     []record.Edit
	}{
		{"nothing", state, state1, state1, nil},
		{"the same", state, state1, state1,
			[]record.Edit{persona("global", "x"),
				story("ab", `{"at":"2026-11-20T10:00:00Z","id":9007199254740993.0,"hash":"ab"}`), scored("ab", "1795168800.0"),
				feed("b", "[1,2]")}},
		{"a value", state, state1, strings.Replace(state1, `"x"`, `"y \"é\""`, 1), []record.Edit{persona("global", `y "é"`)}},
		{"one member of a record", state, state1, strings.Replace(state1, `9007199254740993`, `9007199254740995`, 1),
			[]record.Edit{story("ab", `{"hash":"ab","at":"2026-11-20T10:00:00Z","id":9007199254740995}`)}},
		{"a score", state, state1, strings.Replace(state1, `2026-11-20T10:00:00Z`, `2026-11-20T10:00:01Z`, 1),
			[]record.Edit{scored("ab", "1795168801")}},
		{"a member more", state, state1, strings.Replace(state1, `[1, 2]}`, `[1, 2], "c": {"a": 1}}`, 1),
			[]record.Edit{feed("c", `{"a":1}`)}},
		{"a member less", state, state1, strings.Replace(state1, `"b": [1, 2]`, ``, 1), []record.Edit{noFeed}},
		{"the first member", state, `{"guilds":{"456":{"feeds":{"b":1,"c":2}}}}`, `{"guilds":{"456":{"feeds":{"c":2}}}}`,
			[]record.Edit{noFeed}},
		{"the only member", state, "{\"guilds\": {\"456\": {\"feeds\": {\n  \"b\": 1\n}}}}",
			`{"guilds": {"456": {"feeds": {}}}}`, []record.Edit{noFeed}},
		{"the only one for another", state, `{"guilds": {"456": {"feeds": {"b": 1}}}}`,
			`{"guilds": {"456": {"feeds": {"c": 3}}}}`, []record.Edit{noFeed, feed("c", "3")}},
		{"two less", state, `{"guilds":{"456":{"feeds":{"b":1,"c":2,"d":3}}}}`, `{"guilds":{"456":{"feeds":{"d":3}}}}`,
			[]record.Edit{noFeed, deletion(m, "settings.feeds", record.Record{Key: "f:456", Sub: "c"})}},
		{"the last two", state, `{"guilds":{"456":{"feeds":{"a":1,"b":2,"c":3}}}}`, `{"guilds":{"456":{"feeds":{"a":1}}}}`,
			[]record.Edit{noFeed, deletion(m, "settings.feeds", record.Record{Key: "f:456", Sub: "c"})}},
		{"objects on the way", state, "{\n  \"a\": 1\n}\n",
			"{\n  \"a\": 1,\n  \"guilds\": {\n    \"456\": {\n      \"feeds\": {\n        \"b\": [\n          1\n        ]\n " +
				"     }\n    }\n  }\n}\n", []record.Edit{feed("b", "[1]")}},
		{"an empty object", state, "{\n  \"guilds\": {}\n}\n",
			"{\n  \"guilds\": {\n    \"None\": {\n      \"persona\": \"x\"\n    }\n  }\n}\n",
			[]record.Edit{persona("global", "x")}},
		{"nothing there", state, "", "{\n  \"guilds\": {\n    \"None\": {\n      \"persona\": \"x\"\n    }\n  }\n}\n",
			[]record.Edit{persona("global", "x")}},
		{"a match of two moves", state, `{"history":{"123":{"77":{"stories":[{"hash":"zz"}]}}}}`,
			`{"history":{"123":{"77":{"stories":[{"hash":"zz"},{"hash":"ef","at":"2026-11-20T10:00:01Z"},{"hash":"cd","n":1,"at":"2026-11-20T10:00:00Z"}]}}}}`,
			[]record.Edit{scored("ef", "1795168801"), story("cd", `{"hash":"cd","n":1,"at":"2026-11-20T10:00:00Z"}`), scored("cd", "1795168800")}},
		{"below a capture that cannot be had back", state, `{"guilds":{"456":{"feeds":{"San Diego":{"seen":["x"]}}}}}`,
			`{"guilds":{"456":{"feeds":{"San Diego":{"seen":["x","y"]}}}}}`, []record.Edit{seen("x"), seen("y")}},
		{"an item", guild, `{"games": {"g": {"q": "a",  "ends_at": 1.5, "options": [1]}}}`,
			`{"games": {"g": {"q": "b",  "ends_at": 1.5, "options": [1]}}}`,
			[]record.Edit{set(m, "settings.game",
				record.Record{Key: "t:123:g",
					Fields: []record.Field{{Name: "q", Value: "b"}, {Name: "ends", Value: "1"}, {Name: "options", Value: "[1]"}}})}},
		{"an item and what is in it", guild,
			`{"games": {"g": {"q": "a", "ends_at": 1, "options": [1], "n": 3, "answers": {"900": 1}}}}`,
			`{"games": {"g": {"q": "b", "ends_at": 2, "options": [1], "answers": {"900": 2, "901": 3}}}}`,
			[]record.Edit{set(m, "settings.game",
				record.Record{Key: "t:123:g",
					Fields: []record.Field{{Name: "q", Value: "b"}, {Name: "ends", Value: "2"}, {Name: "options", Value: "[1]"}}}),
				set(m, "settings.answers", record.Record{Key: "t:123:g:answers", Sub: "900", Value: []byte("2")}),
				set(m, "settings.answers", record.Record{Key: "t:123:g:answers", Sub: "901", Value: []byte("3")})}},
		{"a list", guild, `{"words": ["a", "b" , "c"]}`, `{"words": ["a", "x"]}`,
			[]record.Edit{word("123", "x", 1), word("123", "a", 0)}},
		{"a longer list", guild, `{"words": ["a"]}`, `{"words": ["a", "b", "c"]}`,
			[]record.Edit{word("123", "a", 0), word("123", "b", 1), word("123", "c", 2)}},
		{"no list", guild, `{"words": ["a","b"], "x": 1}`, `{"words": [], "x": 1}`,
			[]record.Edit{deletion(m, "settings.words", record.Record{Key: "w:123"})}},
		{"two numbers", guild, `{"daily": {"w": {"hour": 9, "minute": 30}}}`,
			`{"daily": {"w": {"hour": 10, "minute": 30}, "v": {"hour": 0, "minute": 1}}}`,
			[]record.Edit{set(m, "settings.schedule", record.Record{Key: "d:123", Sub: "w", Score: "630"}),
				set(m, "settings.schedule", record.Record{Key: "d:123", Sub: "v", Score: "1"})}},
		{"what was no record", state, `{"guilds": {"456": {"persona": 7}}}`, `{"guilds": {"456": {"persona": "x"}}}`,
			[]record.Edit{persona("456", "x")}},
		{"lines", m.Source("log"), "{\"guild\": \"123\", \"at\": 1, \"what\": \"x\"}\n",
			"{\"guild\": \"123\", \"at\": 1, \"what\": \"x\"}\n{\"guild\": \"123\", \"at\": 2, \"what\": \"y\"}\n",
			[]record.Edit{set(m, "settings.log",
				record.Record{Key: "log:123", Fields: []record.Field{{Name: "at", Value: "1"}, {Name: "what", Value: "x"}}}),
				set(m, "settings.log",
					record.Record{Key: "log:123", Place: 1,
						Fields: []record.Field{{Name: "at", Value: "2"}, {Name: "what", Value: "y"}}})}},
		{"lines less", m.Source("log"), "{\"guild\": \"123\"}\n{\"guild\": \"456\"}\n{\"guild\": \"123\"}\n",
			"{\"guild\": \"456\"}\n", []record.Edit{deletion(m, "settings.log", record.Record{Key: "log:123"})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := map[*record.Source]string{state: "state.json", guild: "guilds/123.json",
				m.Source("log"): "log.jsonl"}[c.source]
			got, _, err := rewrite(t, c.source, file, c.doc, nil, c.edits...)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

const state1 = `{
  "history": {"123": {"77": {"stories": [
    { "hash": "ab", "at" : "2026-11-20T10:00:00Z","id": 9007199254740993 }
  ]}}},
  "guilds": {"None": {"persona": "x"}, "456": {"feeds": {"b": [1, 2]}}}
}
`

// TestRewriteRefuses: what cannot be written is said, and what is in the way.
func TestRewriteRefuses(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	state := m.Source("state")
	seen := set(m, "settings.seen", record.Record{Key: "s:456:san_diego", Sub: "y"})
	for _, c := range []struct {
		name, doc, want string
		edit            record.Edit
	}{
		{"a capture that is kept nowhere", `{}`, "nothing says what {name} is", seen},
		{"a text in the way", `{"guilds": "x"}`, "1:15: a record cannot be put here: there is no object", seen},
		{"an array in the way", `{"guilds": []}`, "1:13: a record cannot be put here: there is no object", seen},
		{"a place that nothing says", `{}`, "nothing says what {c} is",
			set(m, "history.story", record.Record{Key: "h:123:story:ab",
				Value: []byte(`{"hash":"ab","at":"2099-01-01T00:00:00Z"}`)})},
		{"another key", `{}`, "the key is not one of persona",
			set(m, "settings.persona", record.Record{Key: "x:1", Value: []byte("x")})},
		{"another file", `{}`, "an edit is of another source",
			set(m, "settings.words", record.Record{Key: "w:1", Value: []byte("x")})},
		{"no value", `{}`, "is no JSON", set(m, "settings.feeds", record.Record{Key: "f:456", Sub: "b", Value: []byte("{")})},
		{"damaged", `{"a": 1,}`, "1:9: a comma after the last value",
			set(m, "settings.persona", record.Record{Key: "p:456", Value: []byte("x")})},
	} {
		_, _, err := rewrite(t, state, "state.json", c.doc, nil, c.edit)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	names := func(r *record.Record, capture string) ([]string, error) {
		if r.Move.Name != "settings.seen" || capture != "name" {
			return nil, errors.New("not asked for")
		}
		return []string{"San Jose", "San Diego", "Another"}, nil
	}
	got, done, err := rewrite(t, state, "state.json", `{}`, names, seen)
	if want := `"San Diego"`; err != nil || !strings.Contains(got, want) || done.Added != 1 {
		t.Error(got, done, err)
	}
	two := func(*record.Record, string) ([]string, error) { return []string{"San Diego", "san-diego"}, nil }
	if _, _, err := rewrite(t, state, "state.json", `{}`, two, seen); err == nil ||
		!strings.Contains(err.Error(), "nothing says") {
		t.Errorf("two names of one slug: %v", err)
	}
	away := errors.New("Redis is away")
	refused := func(*record.Record, string) ([]string, error) { return nil, away }
	if _, _, err := rewrite(t, state, "state.json", `{}`, refused, seen); !errors.Is(err, away) {
		t.Errorf("names that cannot be asked for: %v", err)
	}
	if _, _, err := rewrite(t, m.Source("guild"), "guilds/999.json", `{}`, nil,
		set(m, "settings.words", record.Record{Key: "w:123", Value: []byte("x")})); err == nil ||
		!strings.Contains(err.Error(), "another file") {
		t.Error(err)
	}
	full := errors.New("the disk is full")
	_, err = state.Rewrite(failing{full}, strings.NewReader(state1), "state.json", nil, nil, record.Options{})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestMemberWithoutAName: a member whose name is "" stays when another one is changed.
func TestMemberWithoutAName(t *testing.T) {
	t.Parallel()
	out, err := record.EditMembers([]byte(`{"a": 1, "": 2, "b": 3}`), func(name string, value []byte) ([]byte, error) {
		if name == "a" {
			return []byte("9"), nil
		}
		return value, nil
	})
	if err != nil || string(out) != `{"a": 9, "": 2, "b": 3}` {
		t.Errorf("%s %v", out, err)
	}
}
