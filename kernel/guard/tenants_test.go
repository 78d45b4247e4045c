package guard_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// TestOtherTenants: keys of a namespace that the program has not chosen are not its own,
// however the declaration says which there are. What foreign names is.
func TestOtherTenants(t *testing.T) {
	for _, names := range []string{"slug", "app|other", ""} {
		text := "keywright: 1\nnamespace: {default: app, names: " + names + "}\nforeign: [\"bull:*\"]\nkeys:\n  a: {key: \"app:a:{i}\", type: string, ttl: none}\nvars: {i: int}\n"
		if names == "" {
			text = strings.Replace(text, ", names: ", "", 1)
		}
		ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
		if finding.Count(found).Errors > 0 {
			t.Fatal(found)
		}
		g, err := guard.New(ks, guard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		undeclared := map[string]bool{"app:a:1": false, "bull:x": false, "app:b": true, "other:a:1": true,
			"other:nothing": true}
		for key, want := range undeclared {
			got := false
			for _, v := range g.Check("SET", key, "x") {
				got = got || v.Problem == guard.Undeclared
			}
			if got != want {
				t.Errorf("names: %q: SET %s: undeclared %t", names, key, got)
			}
		}
	}
}

// The keys that a declared migration keeps its epochs in are its own.
func TestMigrations(t *testing.T) {
	ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte(`keywright: 1
keys: {persona: {key: "p:{g}", type: string, value: text, ttl: none}}
vars: {g: slug}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts: {all: {moves: [{from: "state:/{g}", to: persona, value: .}]}}
`)}}, "k.yaml")
	if finding.Count(findings).Errors > 0 {
		t.Fatal(findings)
	}
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, declared := range map[string]bool{"keywright:migrate:files": true, "keywright:migrate:files:tickets": true,
		"keywright:migrate:file": false, "keywright:migrate:files2": false, "keywright:migrate:": false} {
		if found := g.Check("HMGET", key, "x"); (len(found) == 0) != declared {
			t.Errorf("%s: %v", key, found)
		}
	}
}
