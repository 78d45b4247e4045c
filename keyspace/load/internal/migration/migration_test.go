package migration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load/internal/construct"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
)

// keys are the entries that the migrations of these tests move to.
const keys = `
keys:
  name: {key: "name:{id}", type: string, value: text, ttl: none}
  end: {key: "end:{id}", type: string, value: text, ttl: 1h}
  at: {key: "at:{id}", type: string, value: unix_s, ttl: none}
  raw: {key: "raw:{id}", type: string, value: bytes, ttl: none}
  user: {key: "user:{id}", type: hash, fields: {name: text, age: int}, ttl: none}
  tags: {key: "tags:{id}", type: set, member: text, ttl: none}
  rank: {key: "rank", type: zset, member: text, ttl: none}
  log: {key: "log:{id}", type: list, member: text, ttl: none}
  open: {key: "open", type: hash, field: text, value: text, ttl: none}
  gate: {key: "gate:{id}", type: lock, ttl: 10s}
`

// loaded reads the migrations of a text below the keys above. The text is the content of one migration, m.
func loaded(t testing.TB, migration string) (*scope.Scope, []*keyspace.Migration) {
	t.Helper()
	text := keys + "migrations:\n  m:\n    " + strings.ReplaceAll(strings.TrimSpace(migration), "\n", "\n    ")
	s := scope.New(fstest.MapFS{}, nil, scope.MaxStates)
	d := &scope.Document{Reader: node.Reader{File: "k.yaml", Lines: strings.Split(text, "\n"), Out: &s.Findings},
		Props: map[string]node.Property{}}
	root := d.Parse([]byte(text))
	if root == nil {
		t.Fatalf("%s\n%v", text, s.Findings)
	}
	for _, p := range d.Mapping(root, "the file") {
		d.Props[p.Name] = p
	}
	s.Docs = append(s.Docs, d)
	construct.ReadKeys(s, d)
	if len(s.Findings) > 0 {
		t.Fatalf("the keys: %v", s.Findings)
	}
	Read(s, d)
	return s, s.KS.Migrations
}

// said writes the findings in the order of their places, each "code message [fix]".
func said(s *scope.Scope) string {
	finding.Sort(s.Findings)
	var out []string
	for _, f := range s.Findings {
		line := f.Code + " " + f.Message
		if f.Fix != "" {
			line += " [" + f.Fix + "]"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// moving is a migration with one move.
func moving(move string) string {
	return "sources: {s: {file: \"s.json\"}, g: {file: \"g-{guild}.json\", format: lines}}\n" +
		"parts:\n  p:\n    moves:\n      - " + move
}

// moves writes what the moves of a migration are made of.
func moves(m *keyspace.Migration) string {
	var out []string
	for _, p := range m.Parts {
		for _, mv := range p.Moves {
			text := fmt.Sprintf("%s %s: %s", mv.Name, mv.Kind, mv.From)
			for _, b := range slices.Concat(mv.With, mv.Fields) {
				text += fmt.Sprintf(" %s=%s", b.Name, b.Term)
			}
			if mv.Value != nil {
				text += " value=" + mv.Value.String()
			}
			if mv.Member != nil {
				text += " member=" + mv.Member.String()
			}
			if mv.Score != nil {
				text += " score=" + mv.Score.String()
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// TestMoves: what each kind of move is read as, and all that is said of one that cannot be.
func TestMoves(t *testing.T) {
	for _, c := range []struct{ move, want, said string }{
		{`{from: "s:/names/{id}", to: name, value: .}`,
			"p.name string: /names/{id} id={id} value=.",
			""},
		{`{from: "s:/users/{id}", to: user}`,
			"p.user hash: /users/{id} id={id} name=.name age=.age",
			""},
		{`{from: "s:/users/{id}", to: user, fields: {age: text(.years)}}`,
			"p.user hash: /users/{id} id={id} name=.name age=text(.years)",
			""},
		{`{from: "s:/users/{key}", to: user, with: {id: "lower({key})"}}`,
			"p.user hash: /users/{key} id=lower({key}) name=.name age=.age",
			""},
		{`{from: "s:/tags/{id}/[]", to: tags, member: .}`,
			"p.tags member: /tags/{id}/[] id={id} member=.",
			""},
		{`{from: "s:/logs/{id}/[]", to: log, member: .}`,
			"p.log element: /logs/{id}/[] id={id} member=.",
			""},
		{`{from: "s:/rank/{who}", to: rank, member: "{who}", score: .}`,
			"p.rank scored: /rank/{who} member={who} score=.",
			""},
		{`{from: "s:/open/{f}", to: open, field: "{f}", value: .}`,
			"p.open field: /open/{f} value=.",
			""},
		{`{from: "g:/{id}", to: name, value: "{guild}"}`,
			"p.name string: /{id} id={id} value={guild}",
			""},
		{`{from: "s:/ends/{id}", to: end, value: .text, ttl: {from: iso8601(.at), over: skip}}`,
			"p.end string: /ends/{id} id={id} value=.text",
			""},
		{`{to: name, value: .}`,
			"",
			"KW006 a move has no from [add from: state:/guilds/{guild_id}]"},
		{`{from: "s:/names/{id}", value: .}`,
			"",
			"KW006 a move has no to [add to: the name of an entry]"},
		{`{from: "s:/names/{id}", to: nmae, value: .}`,
			"",
			`KW301 there is no entry "nmae" [did you mean name?]`},
		{`{from: "s:/names/{id}", to: gate}`,
			"",
			"KW311 nothing can be moved to gate, which is a lock [name an entry that holds data]"},
		{`{from: "t:/names/{id}", to: name, value: .}`,
			"",
			`KW301 there is no source "t" [declare it under sources]`},
		{`{from: "/names/{id}", to: name, value: .}`,
			"",
			`KW310 from: "/names/{id}" does not say from which source [as in state:/guilds/{guild_id}]`},
		{`{from: "s:/names/{id", to: name, value: .}`,
			"",
			"KW310 from: a step is a name, {capture}, {#place} or [] as a whole [write ~2 for a literal { " +
				"and ~3 for a literal []"},
		{`{from: "s:/names/{who}", to: name, value: .}`,
			"p.name string: /names/{who} value=.",
			"KW312 nothing says what {id} of name is [capture it, as in /{id}, or say it: with: {id: .…}]"},
		{`{from: "g:/{guild}/{id}", to: name, value: .}`,
			"",
			"KW310 from: {guild} is captured twice, by the file of g and by the path [give one of them " +
				"another name]"},
		{`{from: "s:/names/{id}", to: name}`,
			"p.name string: /names/{id} id={id}",
			"KW311 a move to name, which is a string, has no value [add value: .]"},
		{`{from: "s:/names/{id}", to: name, value: ., member: .}`,
			"p.name string: /names/{id} id={id} value=.",
			"KW311 a move to name, which is a string, has no member [remove it; here it is value]"},
		{`{from: "s:/names/{id}", to: name, value: "{di}"}`,
			"p.name string: /names/{id} id={id}",
			"KW312 value: from captures no {di} [did you mean id?]"},
		{`{from: "s:/names/{id}", to: name, value: "lower("}`,
			"p.name string: /names/{id} id={id}",
			"KW310 value: a term is missing [as in .posted_at, {name}, iso8601(.posted_at)]"},
		{`{from: "s:/names/{id}", to: name, value: iso8601(.)}`,
			"p.name string: /names/{id} id={id} value=iso8601(.)",
			"KW311 iso8601 gives what is stored as unix_s, and the value of name is text [declare it as one " +
				"of unix_s, unix_ms, timestamp]"},
		{`{from: "s:/names/{id}", to: at, value: iso8601(.)}`,
			"p.at string: /names/{id} id={id} value=iso8601(.)",
			""},
		{`{from: "s:/raw/{id}", to: raw, value: .b}`,
			"p.raw string: /raw/{id} id={id} value=.b",
			"KW311 JSON has no bytes, and the value of raw is bytes [say how they are written: base64(.b)]"},
		{`{from: "s:/raw/{id}", to: raw, value: base64(.b)}`,
			"p.raw string: /raw/{id} id={id} value=base64(.b)",
			""},
		{`{from: "s:/users/{id}", to: user, fields: {aeg: .}}`,
			"p.user hash: /users/{id} id={id} name=.name age=.age",
			`KW311 user has no field "aeg" [did you mean age?]`},
		{`{from: "s:/users/{id}", to: user, with: {di: .x}}`,
			"p.user hash: /users/{id} id={id} name=.name age=.age",
			"KW312 the key of user has no {di} [did you mean id?]"},
		{`{from: "s:/logs/{id}", to: log, member: .}`,
			"p.log element: /logs/{id} id={id} member=.",
			"KW311 the records of log are in an order, and the path does not end in an array [end it with " +
				"/[]]"},
		{`{from: "s:/logs/[]/{id}/[]", to: log, member: .}`,
			"p.log element: /logs/[]/{id}/[] id={id} member=.",
			"KW311 one log would be filled from several arrays [use /{#place}, and the place in the key]"},
		{`{from: "s:/names/{id}", to: name, value: ., ttl: {until: unix_s(.e)}}`,
			"p.name string: /names/{id} id={id} value=.",
			"KW313 name has ttl: none, so its keys do not end at a time [remove it, or give the entry a ttl]"},
		{`{from: "s:/ends/{id}", to: end, value: .t, ttl: {until: .e}}`,
			"p.end string: /ends/{id} id={id} value=.t",
			"KW313 until of a ttl is a time, and nothing says that .e is one [say how the time is written: " +
				"iso8601(.e), unix_s(.e) or unix_ms(.e)]"},
		{`{from: "s:/ends/{id}", to: end, value: .t, ttl: {until: unix_s(.e), from: unix_s(.e)}}`,
			"p.end string: /ends/{id} id={id} value=.t",
			"KW006 the ttl of a move says either from or until [add from: (the time from which the declared " +
				"ttl counts) or until: (the time at which it ends)]"},
		{`{from: "s:/ends/{id}", to: end, value: .t, ttl: 5m}`,
			"p.end string: /ends/{id} id={id} value=.t",
			"KW005 the ttl of a move must be a mapping like {from: iso8601(.posted_at)} or {until: " +
				`unix_s(.ends_at)}, not "5m"`},
		{`{from: "s:/names/{id}", to: name, value: ., except: {id: [a, b]}}`,
			"p.name string: /names/{id} id={id} value=.",
			""},
		{`{from: "s:/names/{id}", to: name, value: ., except: {di: [a]}}`,
			"p.name string: /names/{id} id={id} value=.",
			"KW312 except: from captures no {di} [did you mean id?]"},
		{`{from: "s:/names/{id}", to: name, value: ., kept: {id: open}}`,
			"p.name string: /names/{id} id={id} value=.",
			""},
		{`{from: "s:/names/{id}", to: name, value: ., kept: {id: user}}`,
			"p.name string: /names/{id} id={id} value=.",
			"KW311 user keeps no {id}: it is no hash with open fields [name a hash whose fields are these " +
				"texts]"},
		{`{from: "s:/names/{id}", to: name, value: ., kept: {id: .id, x: open}}`,
			"p.name string: /names/{id} id={id} value=.",
			"KW312 kept: from captures no {x} [remove it]"},
		{`{from: "s:/open/{f}", to: open, field: ., value: .v}`,
			"p.open field: /open/{f} value=.v",
			"KW311 the whole record cannot be the name of its field [name a member or a capture]"},
		{`s`,
			"",
			`KW005 a move must be a mapping with from and to, not "s"`},
	} {
		s, list := loaded(t, moving(c.move))
		if got := moves(list[0]); got != c.want || said(s) != c.said {
			t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", c.move, got, said(s), c.want, c.said)
		}
	}
}

// TestMigrations: what a migration has beside its moves: sources, gates, rules of comparison, what stays.
func TestMigrations(t *testing.T) {
	const one = "sources: {s: {file: s.json}}\nparts: {p: {moves: [{from: \"s:/u/{id}\", to: user}]}}\n"
	for _, c := range []struct{ text, said string }{
		{one, ""},
		{"x",
			`KW005 the migration m must be a mapping with sources and parts, not "x"`},
		{"doc: x",
			"KW006 the migration m has no parts [add parts: {history: {moves: […]}}]\n" +
				"KW006 the migration m has no sources [add sources: {state: {file: app_state.json}}]"},
		{"sources: {s: {format: json}}\nparts: {p: {}}",
			"KW006 the source s has no file [add file: s.json]\n" +
				"KW006 the part p has no moves [add moves: a list like - {from: …, to: …}]"},
		{"sources: {s: s.json}\nparts: {p: [1]}",
			`KW005 the source s must be a mapping like {file: app_state.json}, not "s.json"` + "\n" +
				"KW005 the part p must be a mapping with moves, not a list"},
		{"sources: {s: {file: \"a/{b\"}}\nparts: {p: {moves: 5}}",
			"KW310 the file of s: a capture is {name} [letters, digits and _, not beginning with a digit]\n" +
				`KW005 the moves of p must be a list of moves like {from: "state:/guilds/{guild_id}", to: ` +
				`guild}, not "5"`},
		{"sources: {s: {file: s.json, format: xml}}\nparts: {p: {moves: []}}",
			`KW301 "xml" is nothing that format knows [one of: json, lines]`},
		{one + "gates: {compared: 5, unequal: 0, for: none, backup: 2h, marks: 7}", ""},
		{one + "gates: {compared: -1, for: x}",
			`KW307 compared must be a whole number of at least 0, not "-1"` + "\n" +
				`KW307 for: "x" is not a duration [write a duration like 30s, 15m, 24h or 7d]`},
		{one + "gates: 5",
			`KW005 the gates of m must be a mapping like {compared: 1000, unequal: 0, for: 1h}, not "5"`},
		{one + "compare: [{entry: user, field: .name, as: set}]", ""},
		{one + "compare: [{entry: user, field: \".list[].name\", as: ignore, owner: me, until: 2027-01-31}]", ""},
		{one + "compare: [{entry: user, field: .name, as: ignore}]",
			"KW006 a rule of compare has no owner [add owner: who answers for it]\n" +
				"KW006 a rule of compare has no until [add until: 2027-01-31, the first day on which it is " +
				"compared again]"},
		{one + "compare: [{entry: usr, field: name, as: x}]",
			`KW301 there is no entry "usr" [did you mean user?]` + "\n" +
				"KW310 field: a term begins with . (the record), { (a capture) or a conversion [as in " +
				".posted_at, {name}, iso8601(.posted_at)]\n" +
				`KW301 "x" is nothing that as knows [one of: set, instant, ignore]`},
		{one + "compare: [{entry: user, field: \"{id}\", as: set, until: soon}]",
			`KW310 field: "{id}" is no member of the record [as in .article.tags]` + "\n" +
				`KW307 until: "soon" is no date [as in 2027-01-31]`},
		{one + "compare: {entry: user}",
			"KW005 compare must be a list of rules like {entry: item, field: .tags, as: set}, not a mapping"},
		{one + "ignore: [{from: \"s:/cache\", reason: made again}]", ""},
		{one + "ignore: [{from: \"s:/cache\"}, 5]",
			"KW006 what is ignored has no reason [add reason: why it may stay]\n" +
				`KW005 what is ignored must be a mapping of names to values, not "5"`},
		{one + "ignore: {from: x}",
			`KW005 ignore must be a list like - {from: "state:/cache", reason: it is made again}, not a ` +
				"mapping"},
	} {
		s, _ := loaded(t, c.text)
		if said(s) != c.said {
			t.Errorf("%s:\n%s\nwant\n%s", c.text, said(s), c.said)
		}
	}
}
