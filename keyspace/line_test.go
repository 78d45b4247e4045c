package keyspace_test

import (
	"fmt"
	"testing"

	"github.com/keywright/keywright/keyspace"
)

// TestLines: jobs and pressure rules are said in one line.
func TestLines(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": `keys:
  e:
    key: e:{id}
    type: entity
    ttl: 1h
    fields: {pri: int 1..9, at: unix_s}
    index: {pri+at: "ei:{pri}"}
janitor:
  back: {do: backup, keep: 7, cron: "0 2 * * *"}
  sweep: {do: sweep, entry: e, every: 90s}
pressure:
  - {at: 80%, entry: e, where: {pri: 1..2}, shorten: to 90s}
  - {at: 90%, entry: e, where: {pri: "3"}, release: to 85%}
`})
	var got []string
	for _, j := range ks.Janitor {
		got = append(got, j.String())
	}
	for i := range ks.Pressure {
		got = append(got, ks.Pressure[i].String())
	}
	same(t, "lines", got, []string{"backup keep 7, cron 0 2 * * * (UTC)", "sweep e, every 90s",
		"at 80% e where pri is 1, then 2: shorten to 90s", "at 90% e where pri is 3: release to 85%"})
}

const migrations = `vars: {g: int, hash: hex}
%s
keys:
  persona: {key: "bot:p:{g}", type: string, value: text, ttl: none}
  feeds: {key: "bot:f:{g}", type: hash, field: text, value: json, ttl: 2d}
  tags: {key: "bot:t:{g}", type: set, member: text, ttl: none}
  stories: {key: "bot:h:{g}", type: zset, member: hash, score: unix_s, ttl: none}
  bare: {key: "bot:b:{g}", type: zset, member: hash, ttl: none}
  jobs: {key: "bot:q", type: queue, value: text, ttl: none}
migrations:
  files:
    sources: {state: {file: "state-{g}.json"}, lines: {file: l.json, format: lines}}
    parts:
      one:
        moves:
          - {from: "state:/{name}/persona", to: persona, value: ., except: {name: [a, b]}}
          - {from: "state:/feeds/{name}", to: feeds, field: "{name}", value: ., ttl: {from: iso8601(.at), over: skip}}
      two:
        moves:
          - {from: "state:/tags/[]", to: tags, member: .}
          - {from: "state:/stories/[]", to: stories, member: .hash, score: iso8601(.at)}
          - {from: "state:/bare/[]", to: bare, member: .hash, score: .n}
          - {from: "lines:/[]", to: jobs, value: .v, tries: .t}
`

// TestMigrations: names find parts and moves, the types of what a move stores are those of its entry, and everything
// that decides which record a move makes is a fact of it.
func TestMigrations(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": fmt.Sprintf(migrations, "")})
	m := ks.Migration("files")
	if m == nil || ks.Migration("file") != nil || m.Part("one") != m.Parts[0] || m.Part("two") != m.Parts[1] ||
		m.Part("") != nil || m.ID() != "files" {
		t.Fatalf("%+v", m)
	}
	var moves, types, facts []string
	for _, p := range m.Parts {
		for _, mv := range p.Moves {
			moves = append(moves, fmt.Sprintf("%s: %s, %q", mv.Name, mv, mv.Captures()))
			line := mv.Name + ":"
			for _, name := range []string{"field", "member", "score", "value", "tries"} {
				if typ := mv.Types()[name]; typ != nil {
					line += " " + name + " " + typ.Definition()
				}
			}
			types = append(types, line)
			for _, f := range mv.Facts() {
				if f.Pos.File != "k.yaml" || f.Pos.Line < 12 {
					t.Errorf("%s is at %v", f.Name, f.Pos)
				}
				if p.Name == "one" || mv.To.Name == "jobs" {
					facts = append(facts, mv.To.Name+": "+f.Name+" is "+f.Value)
				}
			}
		}
	}
	same(t, "moves", moves, []string{`one.persona: state:/{name}/persona to persona, ["g" "name"]`,
		`one.feeds: state:/feeds/{name} to feeds, ["g" "name"]`, `two.tags: state:/tags/[] to tags, ["g"]`,
		`two.stories: state:/stories/[] to stories, ["g"]`, `two.bare: state:/bare/[] to bare, ["g"]`,
		`two.jobs: lines:/[] to jobs, []`})
	same(t, "types", types, []string{"one.persona: score float value text tries int",
		"one.feeds: field text score float value json tries int", "two.tags: member text score float tries int",
		"two.stories: member hex score unix_s tries int", "two.bare: member hex score float tries int",
		"two.jobs: member text score float value text tries int"})
	same(t, "facts", facts, []string{"persona: the file is state-{g}.json", "persona: the format of the file is json",
		"persona: from is /{name}/persona.", "persona: to is persona", "persona: {g} is {g}", "persona: value is .",
		"persona: what is left out by {name} is a, b", "feeds: the file is state-{g}.json",
		"feeds: the format of the file is json", "feeds: from is /feeds/{name}.", "feeds: to is feeds", "feeds: {g} is {g}",
		"feeds: field is {name}", "feeds: value is .", "feeds: ttl from is iso8601(.at)", "feeds: what is over is skip",
		"jobs: the file is l.json", "jobs: the format of the file is lines", "jobs: from is /[].", "jobs: to is jobs",
		"jobs: value is .v", "jobs: tries is .t"})
}

// TestMigrationsInNamespaces: a migration has phases of its own in a namespace that is not the declared one, and the
// keys in which it keeps them are no keys of the declaration.
func TestMigrationsInNamespaces(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": fmt.Sprintf(migrations, "namespace: bot")})
	for name, want := range map[string]string{"bot": "files", "test": "test.files"} {
		ks.Spaces[0].Name = name
		if got := ks.Migration("files").ID(); got != want {
			t.Errorf("in %s it is %s, not %s", name, got, want)
		}
		var foreign []string
		_, targets := ks.Items()
		for _, of := range targets {
			if of.Foreign != nil {
				foreign = append(foreign, of.Foreign.Text)
			}
		}
		same(t, "keys in "+name, foreign, []string{keyspace.MigrationKeys + want, keyspace.MigrationKeys + want + ":*"})
	}
}

// TestRetired: what is retired is found by its section and name.
func TestRetired(t *testing.T) {
	list := []keyspace.Retired{{Section: "keys", Name: "a"}, {Name: "a"}, {Section: "channels", Name: "a"}, {Name: "b"}}
	for i, c := range []struct{ section, name string }{{"keys", "a"}, {"", "a"}, {"channels", "a"}, {"", "b"}} {
		if got := keyspace.FindRetired(list, c.section, c.name); got != &list[i] {
			t.Errorf("%s %s is %+v", c.section, c.name, got)
		}
	}
	if got := keyspace.FindRetired(list, "events", "a"); got != nil || keyspace.FindRetired(nil, "", "") != nil {
		t.Error(got)
	}
	for name, want := range map[string]bool{"default": true, "keywright": true, "replica-user": true, "shop": false,
		"": false, "Default": false} {
		if keyspace.ReservedUser(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
	if got := (keyspace.TTL{Text: "1d", Name: "day"}).String() + (keyspace.TTL{Text: "1h"}).String(); got != "day (1d)1h" {
		t.Error(got)
	}
}
