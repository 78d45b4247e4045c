package plan_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

const renamedDeclaration = `keywright: 1
vars: {n: int 1..99, prio: high|low}
foreign: ["bull:*"]
keys:
  user: {key: "usr:{id}", was: ["user:{id}", "app:user:{id}"], type: string, ttl: none}
  hold: {key: "hold:{n}", was: ["lock:{n}"], type: lock, ttl: 10s}
  work: {key: "work:{site}:{prio}", was: ["jobs:{site}:{prio}"], type: queue, order: prio, ttl: none}
  page: {key: "pg:{id}", was: ["page:{id}"], type: cache, ttl: 1h}
  item: {key: "it:{id}", was: ["item:{id}"], type: entity, ttl: 1h, fields: {kind: slug}, index: {kind: "by:{kind}"}}
  safe: {key: "sf:{id}", was: ["safe:{id}"], type: string, value: text encrypted, ttl: none}
  day: {key: "day:{a}:{b}", was: ["d:{a}", "dd:{a}:{b}:{c}"], type: string, ttl: none}
  used: {key: "page:live:{id}", type: string, ttl: none}
`

// newName returns what a rule says of a key.
func newName(rule plan.Rule, name string, kind source.Kind) string {
	d := rule.Decide(&source.Key{Name: []byte(name), Kind: kind})
	switch {
	case !d.Meant:
		return "-"
	case d.Leave != "":
		return string(d.Leave)
	}
	out := d.Step.To
	if d.Step.Last {
		out += " last"
	}
	for what, names := range map[string][]string{" unless works ": d.Step.Busy, " unless there ": d.Step.Absent,
		" or ": d.Step.Rivals} {
		if len(names) > 0 {
			out += what + strings.Join(names, " ")
		}
	}
	return out
}

// What was declares goes to the declared names with all that is derived, and what cannot
// is named.
func TestRenameFormer(t *testing.T) {
	ks := loaded(t, renamedDeclaration)
	pairs, err := plan.Former(ks)
	must(t, err)
	rule, err := plan.NewRename(ks, pairs, plan.RenameOptions{})
	must(t, err)
	for name, want := range map[string]string{
		"user:7":           "usr:7 or app:user:7",
		"app:user:7":       "usr:7 or user:7",
		"usr:7":            "-",
		"lock:7":           "live-lease",
		"lock:100":         "not-readable",
		"{lock:7}:fence":   "{hold:7}:fence unless there lock:7 {lock:7}:waiters {lock:7}:shared",
		"{lock:7}:waiters": "live-lease",
		"jobs:a:high":      "work:a:high last unless works {jobs:a}:leases {jobs:a}:workers",
		"{jobs:a}:job:x":   "{work:a}:job:x unless works {jobs:a}:leases {jobs:a}:workers",
		"{jobs:a}:dead":    "{work:a}:dead last unless works {jobs:a}:leases {jobs:a}:workers",
		"{jobs:a}:workers": "live-lease",
		"page:7":           "pg:7",
		"page:live:7":      "-",
		"{page:7}:fill":    "live-lease",
		"item:7":           "it:7",
		"safe:7":           "sealed-to-name",
		"d:7":              "new-placeholder",
		"dd:1:2:3":         "lost-placeholder",
		"bull:1":           "-",
		"user:7:8":         "-",
	} {
		if got := newName(rule, name, source.Unknown); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := newName(rule, "user:7", source.Hash); got != "other-type" {
		t.Error(got)
	}
	narrowed, err := plan.NewRename(ks, pairs, plan.RenameOptions{Request: selection.Request{
		Entries: []string{"work"}, Where: []selection.Condition{{Placeholder: "prio", Value: "high"}}}})
	must(t, err)
	if got := newName(narrowed, "jobs:a:high", 0) + newName(narrowed, "jobs:a:low", 0) + newName(narrowed, "user:7",
		0); got != "part-of-queue--" {
		t.Error(got)
	}
}

// --map takes the types of the declared pattern, and refuses what would be renamed twice.
func TestRenameMapped(t *testing.T) {
	ks := loaded(t, renamedDeclaration)
	for text, want := range map[string]map[string]string{
		"account:{id}=usr:{id}": {"account:7": "usr:7", "account:7:8": "-", "account:": "-"},
		"usr:{id}=account:{id}": {"usr:7": "account:7"},
		"old:{n}=hold:{n}": {
			"{old:7}:fence": "{hold:7}:fence unless there old:7 {old:7}:waiters {old:7}:shared", "old:7": "live-lease",
			"old:100": "not-readable"},
		"n:{x}=day:1:{x}":                    {"n:1": "day:1:1"},
		"n:{x}=work:1:{x}":                   {"n:high": "part-of-construct"},
		"bull:{x}=cow:{x}":                   {"bull:1": "foreign"},
		"{jobs:a}:{x}=x:{x}":                 nil,
		"a:{x}=b:{n}":                        {"a:1": "lost-placeholder"},
		"work:{site}:{prio}=w:{site}:{prio}": {"{work:a}:job:x": "{w:a}:job:x unless works {work:a}:leases {work:a}:workers"},
	} {
		pairs, err := plan.Mapped(ks, []string{text})
		if want == nil {
			if err == nil {
				t.Errorf("%s is read", text)
			}
			continue
		}
		must(t, err)
		rule, err := plan.NewRename(ks, pairs, plan.RenameOptions{})
		must(t, err)
		for name, to := range want {
			if got := newName(rule, name, source.Unknown); got != to {
				t.Errorf("%s: %s: %s, want %s", text, name, got, to)
			}
		}
	}
	for _, texts := range [][]string{{"a:{x}"}, {"a:{x}="}, {"=a:{x}"}, {"a:{x}=a:{x}{"}, {"a:{x}=b:{x}", "b:{x}=c:{x}"},
		{"a:{x}=b:{x}", "c:1{x}=b:1{x}"},
		{"a:{x}=a:1{x}"}} {
		if _, err := plan.Mapped(ks, texts); err == nil {
			t.Errorf("%q is read", texts)
		}
	}
}

// TestRenameTellsOfHashTags: of a name that had a hash tag and gets none, but for what is derived, which has one
// always.
func TestRenameTellsOfHashTags(t *testing.T) {
	ks := loaded(t, renamedDeclaration)
	for text, want := range map[string]string{"{#{x}}:a=b:{x}": "{#{x}}:a", "{#{x}}:a={#b:{x}}:a": "", "a:{x}=b:{x}": "",
		"old:{n}=hold:{n}": ""} {
		pairs, err := plan.Mapped(ks, []string{text})
		must(t, err)
		if got := strings.Join(pairs.WithoutTag(), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A namespace goes to another one with all that is derived; an undo gives each key the name
// that it had.
func TestRenameNamespace(t *testing.T) {
	text := `keywright: 1
namespace: {default: app, names: app|app-eu}
owns: ["app:*"]
vars: {n: int}
keys:
  user: {key: "app:user:{id}", was: ["app:u:{id}"], type: string, ttl: none}
  hold: {key: "app:hold:{n}", type: lock, ttl: 10s}
`
	from, to := loaded(t, text), loadIn(t, text, map[string]string{"app": "app-eu"})
	pairs, err := plan.Moved(from, to)
	must(t, err)
	rule, err := plan.NewRename(to, pairs, plan.RenameOptions{})
	must(t, err)
	if rule.Glob() != "app:*" {
		t.Error(rule.Glob())
	}
	for name, want := range map[string]string{"app:user:7": "app-eu:user:7", "app-eu:user:7": "-", "app:stray": "-",
		"app:{app:hold:7}:fence": "app-eu:{app-eu:hold:7}:fence unless there app:hold:7 app:{app:hold:7}:waiters " +
			"app:{app:hold:7}:shared"} {
		if got := newName(rule, name, source.String); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	undo, err := plan.NewUndo(to, pairs, false)
	must(t, err)
	for name, old := range map[string]string{"app-eu:user:7": "app:user:7", "app-eu:user:8": "app:user:9"} {
		undo.Known([]byte(old))
		if got, want := newName(undo, name, 0),
			map[bool]string{true: old, false: "not-readable"}[name[len(name)-1] == old[len(old)-1]]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

var must = expect.NoError

func loadIn(t testing.TB, text string, names map[string]string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.In(fstest.MapFS{"keyspace.yaml": {Data: []byte(text)}}, "keyspace.yaml", names)
	if finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	return ks
}
