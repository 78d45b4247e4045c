package infer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/source"
)

// What looks like a section or a bracket in a comment or a text is none, and what cannot
// be added to is refused.
func TestMergeFindsItsPlaces(t *testing.T) {
	var keys []source.Key
	for _, line := range repeat(20, "shop:order:#") {
		keys = append(keys, key(line))
	}
	d := draft(t, keys)
	d.Vars = []infer.Var{{Name: "added", Type: "int"}}
	d.Foreign = []infer.Foreign{{Glob: "celery*", Software: "Celery"}}
	base := "keys:\n  a: {key: \"a:{n}\", type: string, ttl: 1d}\n"
	for _, original := range []string{
		"keywright: 1\nowner: o\nforeign: [\"x:*\"] # {not, this]\nvars: {n: int} # nor }\n" + base,
		"keywright: 1\nowner: o\nforeign: [\n  \"x:*\", # one ]\n  'it''s ]:*' # two\n]\nvars: {\n  n: int,\n  }\n" + base,
		"keywright: 1\nowner: o\nforeign: []\nvars: {n: \"/[a-z#]{2}/\"}\n" + base,
		"keywright: 1\nowner: o\ndoc: \"one\n\nkeys: two\nvars: three\"\nvars:\n  n: int\n" + base,
		"\ufeffvars: {n: int}\nkeywright: 1\nowner: o\nforeign: [] # none yet\n" + base,
	} {
		merged, err := d.Merge([]byte(original))
		if err != nil {
			t.Errorf("%v:\n%s", err, original)
			continue
		}
		ks := loaded(t, merged)
		for _, comment := range []string{" # {not, this]\n", " # one ]\n", " # nor }\n", " # none yet\n", "\ufeff"} {
			if strings.Contains(original, comment) && !strings.Contains(string(merged), comment) {
				t.Errorf("%q is lost:\n%s", comment, merged)
			}
		}
		if len(ks.Keys) < 2 || len(ks.Vars) < 2 || len(ks.Foreign) < 1 || !strings.Contains(string(merged), "celery*") {
			t.Errorf("%d keys, %d vars, %d globs:\n%s", len(ks.Keys), len(ks.Vars), len(ks.Foreign), merged)
		}
	}
	for _, original := range []string{
		"{keywright: 1, owner: o, keys: {a: {key: a, type: set, ttl: 1d}}}\n",
		"keywright: 1\nowner: o\n\"keys\":\n  a: {key: a, type: set, ttl: 1d}\n",
		"keywright: 1\nowner: o\nkeys: {a: {key: a, type: set, ttl: 1d}}\n",
	} {
		if merged, err := d.Merge([]byte(original)); !errors.Is(err, infer.ErrFlow) {
			t.Errorf("%v:\n%s", err, merged)
		}
	}
	split := "keywright: 1\nowner: o\ndoc: \"one\n# two\"\n" + base
	if merged, err := d.Merge([]byte(split)); !errors.Is(err, infer.ErrPlaces) {
		t.Errorf("%v:\n%s", err, merged)
	}
}
