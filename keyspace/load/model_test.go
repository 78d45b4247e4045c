package load

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Every construct becomes plain keys; the golden part lists them.
func TestConstructs(t *testing.T) {
	const path = "testdata/constructs.txt"
	a := readArchive(t, path)
	ks, findings := File(a.files, "k.yaml")
	if len(findings) > 0 {
		t.Fatal(print(ks.Files, findings))
	}
	for _, c := range keyspace.Constructs() {
		if !slices.ContainsFunc(ks.Entries, func(e *keyspace.Entry) bool { return e.Construct == c }) {
			t.Errorf("there is no %q", c)
		}
	}
	got := describe(ks)
	if *update {
		a.write(t, path, got)
		return
	}
	if diff := cmp.Diff(a.want, got); diff != "" {
		t.Error(diff)
	}
	for _, k := range ks.Keys {
		if k.Derived && !k.Entry.Keys[0].Pattern.SameSlot(k.Pattern) && k.Entry.Order == "" && k.Role != "window" &&
			k.Entry.Construct != keyspace.Entity {
			t.Errorf("%s %s is not in the slot of %s", k.Name, k.Pattern, k.Entry.Keys[0].Pattern)
		}
	}
}

// travels returns what a channel has beyond a pattern and a message.
func travels(c *keyspace.Channel) (text string) {
	if form := c.Form(); form != "pub/sub" {
		text += " as " + form
	}
	if c.Durable != nil {
		text += fmt.Sprintf(" key=%s dead=%s age=%s", c.Key().Pattern, c.Durable.Dead.Pattern, c.Durable.Age)
	}
	if c.ReplyTo != nil {
		text += fmt.Sprintf("%s on %s", fields(" reply", c.Reply), c.ReplyTo.Name)
	}
	if c.Answers != nil {
		text += fmt.Sprintf(" answers=%s caller=%q", c.Answers.Name, c.Caller)
	}
	return text
}

// describe prints the resolved model.
func describe(ks *keyspace.Keyspace) string {
	var b strings.Builder
	for _, e := range ks.Entries {
		fmt.Fprintf(&b, "%s: %s owner=%s%s%s\n", e.Name, e.Type, e.Owner, some(" readers", e.Readers), extras(e))
		for _, k := range e.Keys {
			derived := ""
			if k.Derived {
				derived = " derived"
			}
			fmt.Fprintf(&b, "  %-12s %-6s %-32s ttl=%s%s%s\n", k.Role, k.Kind, k.Pattern, k.TTL, contents(k), derived)
		}
	}
	for _, c := range ks.Channels {
		fmt.Fprintf(&b, "channel %s: %s owner=%s%s%s derived=%t%s\n", c.Name, c.Pattern, c.Owner, some(" readers", c.Readers),
			fields(" message", c.Message), c.Derived, travels(c))
	}
	for _, e := range ks.Events {
		fmt.Fprintf(&b, "event %s: with=%v deletes=%v emits=%v\n", e.Name, e.With, e.Deletes, e.Emits)
	}
	for _, s := range ks.Shapes {
		for _, p := range s.Parts {
			fmt.Fprintf(&b, "shape %q%q{%s} optional=%t type=%v\n", p.Separator, p.Literal, p.Name, p.Optional, p.Type)
		}
	}
	for _, c := range ks.Cleanup {
		fmt.Fprintf(&b, "cleanup %s idle=%v older=%v keep=%d\n", c.Match.Text, c.Idle, c.Older, c.Keep)
	}
	for _, p := range ks.Pressure {
		fmt.Fprintf(&b, "pressure %d%% %s by %s values=%v shorten=%v release=%d%% lease=%s\n", p.At, p.Entry.Name,
			p.Index.Name, p.Values, p.Shorten, p.Release, ks.PressureLease.Name)
	}
	for _, j := range ks.Janitor {
		fmt.Fprintf(&b, "job %s: %s\n", j.Name, j)
	}
	return b.String()
}

func contents(k *keyspace.Key) string {
	out := fields(" json", k.JSON) + fields(" fields", k.Fields)
	for _, part := range []struct {
		name string
		t    *scalar.Type
	}{{"value", k.Value}, {"field", k.Field}, {"item", k.Item}, {"member", k.Member}, {"score", k.Score}} {
		if part.t != nil {
			out += fmt.Sprintf(" %s=%q", part.name, part.t)
		}
	}
	return out
}

func fields(name string, fields []keyspace.Field) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, fmt.Sprintf("%s:%s", f.Name, f.Type))
	}
	return some(name, parts)
}

func some(name string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	return name + "=[" + strings.Join(values, " ") + "]"
}

func extras(e *keyspace.Entry) string {
	var out string
	for _, p := range e.Was {
		out += " was=" + p.String()
	}
	for _, ix := range e.Index {
		out += fmt.Sprintf(" index(%s)=%s/%s", ix.Name, ix.Field, ix.Score)
	}
	for _, action := range slices.Sorted(maps.Keys(e.Emits)) {
		out += " " + action + "→" + e.Emits[action]
	}
	if e.Notify != nil {
		out += " notify=" + e.Notify.Pattern.String()
	}
	if e.Order != "" || e.Lease > 0 || e.Retry > 0 {
		out += fmt.Sprintf(" order=%s lease=%v retry=%d", e.Order, e.Lease, e.Retry)
	}
	if e.Rate.Count > 0 {
		out += fmt.Sprintf(" rate=%+v %s", e.Rate, e.Method)
	}
	if e.Fresh+e.Absent+e.Cached > 0 {
		out += fmt.Sprintf(" fresh=%v absent=%v cached=%v", e.Fresh, e.Absent, e.Cached)
	}
	if e.MaxLen > 0 {
		out += fmt.Sprintf(" maxlen=%d groups=%v", e.MaxLen, e.Groups)
	}
	if s := e.Script; s != nil {
		out += fmt.Sprintf(" file=%s keys=%v%s returns=%s", s.File, s.Keys, fields(" args", s.Args), s.Returns)
	}
	return out
}

func TestItemsAndLookup(t *testing.T) {
	ks, findings := File(readArchive(t, "testdata/constructs.txt").files, "k.yaml")
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	items, targets := ks.Items()
	m, conflicts, err := match.Compile(items)
	if err != nil || len(items) != len(targets) ||
		!slices.IsSortedFunc(items, func(a, b match.Item) int { return a.Rank - b.Rank }) {
		t.Fatalf("%v, %d items, %d targets", err, len(items), len(targets))
	}
	for _, c := range conflicts {
		if !c.Equal && targets[c.A].Key != nil && targets[c.B].Key != nil {
			t.Logf("conflict %s %s", items[c.A].Pattern, items[c.B].Pattern)
		}
	}
	_ = m
	for _, name := range ks.Names() {
		e, k := ks.Lookup(name)
		switch {
		case e == nil, k == nil && e.Construct != keyspace.Script, k != nil && k.Name != name:
			t.Errorf("Lookup(%q) = %v, %v", name, e, k)
		}
	}
	if e, k := ks.Lookup("queue.job"); e == nil || k == nil || k.Role != "job" {
		t.Errorf("queue.job: %v %v", e, k)
	}
	if e, k := ks.Lookup("nothing"); e != nil || k != nil {
		t.Error("found nothing")
	}
}

// The same files give the same model and the same findings, whatever order maps
// are walked in.
func TestDeterministic(t *testing.T) {
	files := []fstest.MapFS{readArchive(t, "testdata/constructs.txt").files,
		readArchive(t, "testdata/faults/entity.txt").files, readArchive(t, "testdata/faults/references.txt").files}
	same := cmp.Options{cmpopts.IgnoreUnexported(pattern.Pattern{}),
		cmp.Comparer(func(a, b *pattern.Pattern) bool { return a.String() == b.String() })}
	for _, fsys := range files {
		ks, findings := File(fsys, "k.yaml")
		for range 20 {
			again, findingsAgain := File(fsys, "k.yaml")
			if diff := cmp.Diff(findings, findingsAgain); diff != "" {
				t.Fatal(diff)
			}
			if a, b := describe(ks), describe(again); a != b {
				t.Fatal(cmp.Diff(a, b))
			}
			if diff := cmp.Diff(ks.Vars, again.Vars, same); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// An imported file keeps its own default owner; vars and ttls are shared.
func TestImports(t *testing.T) {
	ks, findings := File(fstest.MapFS{
		"all.yaml":      {Data: []byte("keywright: 1\npackage: all\nowner: platform\nimports: [a/k.yaml, b/k.yaml]\nkeys: {own: {key: o, type: string, ttl: long}}\n")},
		"a/k.yaml":      {Data: []byte("keywright: 1\npackage: a\nowner: team_a\nvars: {id: uuid}\nowns: [\"a:*\"]\nkeys: {one: {key: \"a:{id}\", type: cache, value: json schema.json, ttl: long}}\n")},
		"a/schema.json": {Data: []byte("{}")},
		"b/k.yaml":      {Data: []byte("keywright: 1\nvars: {id: uuid}\nttls: {long: 7d}\ncluster: true\nkeys: {two: {key: \"b:{id}\", type: string, ttl: long}}\n")},
	}, "all.yaml")
	if len(findings) > 0 {
		t.Fatal(print(ks.Files, findings))
	}
	want := "own: string owner=platform\none: cache owner=team_a\ntwo: string owner=\n"
	var got strings.Builder
	for _, e := range ks.Entries {
		fmt.Fprintf(&got, "%s: %s owner=%s\n", e.Name, e.Type, e.Owner)
	}
	if got.String() != want || ks.Package != "all" || !ks.Cluster || len(ks.Files) != 3 || len(ks.Owns) != 1 ||
		len(ks.Vars) != 1 {
		t.Errorf("%s%+v", got.String(), ks)
	}
	if file := ks.Keys[1].Value.File; file != "a/schema.json" {
		t.Errorf("the schema is %s", file)
	}
}

// Every rule of the loader is broken by some test, and nothing but rules is
// reported.
func TestEveryRuleHasATest(t *testing.T) {
	broken := map[string]bool{}
	note := func(findings []finding.Finding) {
		for _, f := range findings {
			broken[f.Code] = true
			if !slices.ContainsFunc(Rules(), func(r finding.Rule) bool { return r.Code == f.Code && r.Severity == f.Severity }) {
				t.Errorf("%s is no rule of the loader: %s", f.Code, f.Message)
			}
		}
	}
	for _, path := range archives(t, "testdata/faults/*.txt") {
		a := readArchive(t, path)
		_, findings := File(a.files, a.names[0])
		note(findings)
	}
	for _, test := range syntaxFaults {
		_, findings := load(test.text)
		note(findings)
	}
	for _, r := range Rules() {
		if !broken[r.Code] {
			t.Errorf("no test breaks %s %s", r.Code, r.Name)
		}
		if r.Name == "" || r.Summary == "" || r.Explain == "" || r.Fix == "" {
			t.Errorf("%s lacks a text", r.Code)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, path := range append(archives(f, "testdata/faults/*.txt"), "testdata/constructs.txt") {
		a := readArchive(f, path)
		f.Add(a.files[a.names[0]].Data)
	}
	for _, path := range archives(f, "../../examples/*/keyspace.yaml") {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, test := range syntaxFaults {
		if len(test.text) < 1000 {
			f.Add([]byte(test.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ks, findings := File(fstest.MapFS{"k.yaml": {Data: text}}, "k.yaml")
		lines := strings.Split(string(text), "\n")
		for i, x := range findings {
			if x.Message == "" || x.Pos.File != "k.yaml" || x.Pos.Line > len(lines)+1 {
				t.Fatalf("%+v", x)
			}
			if i > 0 && (findings[i-1].Pos.Line > x.Pos.Line) {
				t.Fatalf("not sorted: %+v before %+v", findings[i-1], x)
			}
			if x.Pos.EndColumn != 0 && x.Pos.EndColumn <= x.Pos.Column {
				t.Fatalf("ends before it begins: %+v", x)
			}
		}
		if len(findings) > 0 {
			return
		}
		for _, k := range ks.Keys {
			if k.Pattern == nil || k.Entry == nil || k.Kind == "" {
				t.Fatalf("an incomplete key without a finding: %+v", k)
			}
			if again, err := keyspace.ParseTTL(k.TTL.Text); err != nil || again.Text != k.TTL.Text {
				t.Fatalf("the ttl %+v does not read back: %v", k.TTL, err)
			}
		}
	})
}
