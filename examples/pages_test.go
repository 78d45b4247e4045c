package examples

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
)

// TestDeclarationsAreClean loads and lints every declaration here.
func TestDeclarationsAreClean(t *testing.T) {
	files := []string{"all.yaml", "realworld/keyspace.yaml"}
	for _, team := range teams {
		files = append(files, team+"/keyspace.yaml")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, "/keyspace.yaml"), func(t *testing.T) {
			ks, findings := load.File(os.DirFS("."), file)
			findings = append(findings, lint.Run(ks)...)
			texts := map[string][]byte{}
			for _, f := range findings {
				text, err := os.ReadFile(f.Pos.File)
				if err != nil {
					t.Fatal(err)
				}
				texts[f.Pos.File] = text
			}
			for _, f := range finding.Ignore(findings, texts, lint.Rules(), nil, time.Now()) {
				if f.Severity != finding.Note && !strings.HasPrefix(f.Code, "KW09") { // of rules that are not lint's
					t.Errorf("%s:%d:%d: %s %s", f.Pos.File, f.Pos.Line, f.Pos.Column, f.Code, f.Message)
				}
			}
			if len(ks.Keys) == 0 {
				t.Error("it declares no keys")
			}
		})
	}
}

// TestPagesAreDeclared finds every fact of every page in its declaration.
func TestPagesAreDeclared(t *testing.T) {
	for _, team := range teams {
		t.Run(team, func(t *testing.T) {
			p := loaded(t, team)
			for _, f := range readFacts(t, team) {
				check, ok := checks[f.kind]
				if !ok {
					t.Fatalf("%s/facts.tsv:%d: %q is no kind of fact", team, f.line, f.kind)
				}
				if problem := check(p, f); problem != "" {
					t.Errorf("%s/facts.tsv:%d: %s %s: %s", team, f.line, f.kind, f.example, problem)
				}
				if !f.explained() {
					t.Errorf("%s/facts.tsv:%d: %s differs from the page and the note is empty", team, f.line, f.example)
				}
			}
		})
	}
}

// page represents a declaration ready to be asked.
type page struct {
	ks      *keyspace.Keyspace
	targets []keyspace.Target
	matcher *match.Matcher
}

func loaded(t *testing.T, team string) *page {
	t.Helper()
	ks, findings := load.File(os.DirFS("."), team+"/keyspace.yaml")
	if len(findings) > 0 {
		t.Fatalf("%s: %s", team, findings[0].Message)
	}
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		t.Fatal(err)
	}
	return &page{ks, targets, m}
}

// find returns the declared key that key belongs to, nil without one.
func (p *page) find(key string) *keyspace.Key {
	if i := p.matcher.Match([]byte(key), nil); i != match.None {
		return p.targets[i].Key
	}
	return nil
}

// checks say for each kind of fact whether the declaration has it; "" is yes.
var checks = map[string]func(*page, fact) string{
	"key":          checkKey,
	"ttl":          checkKey,
	"pattern":      checkKey,
	"index":        checkIndex,
	"lock":         func(p *page, f fact) string { return checkConstruct(p, f, keyspace.Lock) },
	"queue":        func(p *page, f fact) string { return checkConstruct(p, f, keyspace.Queue) },
	"channel":      checkChannel,
	"emits":        checkEmits,
	"invalidation": checkInvalidation,
	"cleanup":      func(p *page, f fact) string { return checkGlobs(f, cleanups(p.ks)) },
	"prefix":       func(p *page, f fact) string { return checkGlobs(f, p.ks.Owns) },
	"naming":       checkNaming,
	"script":       checkScript,
	"var":          checkVar,
	"field":        checkField,
	"absent":       checkAbsent,
}

func checkKey(p *page, f fact) string {
	k := p.find(f.example)
	switch {
	case k == nil:
		return "it is not declared"
	case k.Name != f.entry:
		return "it belongs to " + k.Name + ", not " + f.entry
	case string(k.Kind) != f.kindOf:
		return "it is declared as " + string(k.Kind) + ", not " + f.kindOf
	case f.ttl != "" && k.TTL.Text != f.ttl:
		return "its TTL is declared as " + k.TTL.Text + ", not " + f.ttl
	}
	return ""
}

func checkIndex(p *page, f fact) string {
	if k := p.find(f.example); k != nil && !strings.HasPrefix(k.Role, "index.") {
		return "it is no index"
	}
	return checkKey(p, f)
}

func checkConstruct(p *page, f fact, c keyspace.Construct) string {
	if k := p.find(f.example); k != nil && k.Entry.Construct != c {
		return "it is no " + string(c)
	}
	return checkKey(p, f)
}

func checkChannel(p *page, f fact) string {
	for _, c := range p.ks.Channels {
		if c.Name != f.entry {
			continue
		}
		if _, ok := c.Pattern.Match([]byte(f.example)); !ok {
			return "channel " + c.Name + " is " + c.Pattern.String()
		}
		return ""
	}
	return "there is no channel " + f.entry
}

func checkEmits(p *page, f fact) string {
	source, channel, _ := strings.Cut(f.entry, ">")
	name, change, _ := strings.Cut(source, " ")
	if e, _ := p.ks.Lookup(name); e == nil || e.Emits[change] != channel {
		return name + " does not emit " + channel + " on " + change
	}
	f.entry = channel
	return checkChannel(p, f)
}

func checkInvalidation(p *page, f fact) string {
	event, target, _ := strings.Cut(f.entry, ">")
	if k := p.find(f.example); k == nil || k.Name != target {
		return target + " does not declare it"
	}
	for _, e := range p.ks.Events {
		if e.Name == event && slices.Contains(e.Deletes, target) {
			return ""
		}
	}
	return "event " + event + " does not delete " + target
}

func cleanups(ks *keyspace.Keyspace) []keyspace.Glob {
	var out []keyspace.Glob
	for _, c := range ks.Cleanup {
		out = append(out, c.Match)
	}
	return out
}

func checkGlobs(f fact, globs []keyspace.Glob) string {
	for _, g := range globs {
		if g.Text != f.entry {
			continue
		}
		if _, ok := pattern.Overlap(g.Pattern, pattern.MustParse(strings.NewReplacer("{", `\{`, "}",
			`\}`).Replace(f.example), nil)); !ok {
			return g.Text + " does not match it"
		}
		return ""
	}
	return f.entry + " is not declared"
}

func checkNaming(p *page, f fact) string {
	for _, shape := range p.ks.Shapes {
		if shape.Text == f.entry {
			return ""
		}
	}
	return "the shape is not " + f.entry
}

func checkScript(p *page, f fact) string {
	if e, _ := p.ks.Lookup(f.entry); e == nil || e.Script == nil {
		return "there is no script " + f.entry
	}
	return ""
}

func checkVar(p *page, f fact) string {
	for _, v := range p.ks.Vars {
		if v.Name == f.example && v.Type.Definition() == f.kindOf {
			return ""
		}
	}
	return "there is no var " + f.example + ": " + f.kindOf
}

// checkAbsent: nothing declares it, and the note says why.
func checkAbsent(p *page, f fact) string {
	switch k := p.find(f.example); {
	case k != nil:
		return "it belongs to " + k.Name
	case f.note == "":
		return "there is no note"
	}
	return ""
}

// checkField: the entry has the field; without an entry no key has it, and the
// note says why.
func checkField(p *page, f fact) string {
	for _, k := range p.ks.Keys {
		has := slices.ContainsFunc(k.Fields, func(field keyspace.Field) bool { return field.Name == f.example })
		switch {
		case f.entry == k.Name && has:
			return ""
		case f.entry == "" && has:
			return k.Name + " has it"
		}
	}
	if f.entry == "" && f.note != "" {
		return ""
	}
	return f.entry + " has no such field, or there is no note"
}
