// Package diff lists what differs between two declarations, property by property. It does not judge: what a change
// breaks is said by package breaking.
//
// API: may change until 1.0.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Change represents one difference between two declarations, without a judgement. Old is
// "" for what is new, New for what is gone.
type Change struct {
	Subject  string `json:"subject"`  // "entry item", "channel sold", "event paid", "file"
	Property string `json:"property"` // "ttl", "fields.kind"; "" for the subject itself
	Old      string `json:"old"`
	New      string `json:"new"`
	Renamed  bool   `json:"renamed,omitempty"` // Old and New are names of one thing
}

func (c Change) String() string {
	what := c.Subject
	if c.Property != "" {
		what += "." + c.Property
	}
	switch {
	case c.Renamed:
		return fmt.Sprintf("~ %s: renamed from %s", what, c.Old)
	case c.Old == "":
		return strings.TrimRight(fmt.Sprintf("+ %s: %s", what, c.New), ": ")
	case c.New == "":
		return strings.TrimRight(fmt.Sprintf("- %s: %s", what, c.Old), ": ")
	}
	return fmt.Sprintf("~ %s: %s → %s", what, c.Old, c.New)
}

// Of lists every change, in the order of the new declaration; what is gone
// comes last.
func Of(old, new *keyspace.Keyspace) []Change {
	var out []Change
	out = compare(out, "file", header(old), header(new))
	pairs := pairs.Match(old, new)
	before := map[*keyspace.Entry]*keyspace.Entry{}
	for _, p := range slices.Backward(pairs) {
		before[p.New] = p.Old
	}
	for _, e := range new.Entries {
		was, subject := before[e], "entry "+e.Name
		if was == nil {
			out = append(out, Change{Subject: subject, New: summary(e)})
			continue
		}
		if was.Name != e.Name {
			out = append(out, Change{Subject: subject, Old: was.Name, New: e.Name, Renamed: true})
		}
		out = compare(out, subject, properties(was), properties(e))
	}
	for _, p := range pairs {
		if p.New == nil {
			out = append(out, Change{Subject: "entry " + p.Old.Name, Old: summary(p.Old)})
		}
	}
	out = compareNamed(out, "channel ", channels(old), channels(new))
	return compareNamed(out, "event ", events(old), events(new))
}

func summary(e *keyspace.Entry) string {
	if e.Script != nil {
		return "script " + e.Script.File
	}
	return e.Keys[0].Pattern.String() + ", " + e.Type + ", " + e.TTL.Text
}

// property represents a name and a text; a thing is a list of them.
type property struct{ name, text string }

type facts []property

// add notes a property; what is not said is no property.
func (p *facts) add(name, text string) {
	if text != "" {
		*p = append(*p, property{name, text})
	}
}

// number notes a count that is given.
func (p *facts) number(name string, n int64) {
	if n != 0 {
		p.add(name, fmt.Sprint(n))
	}
}

// duration notes a time that is given.
func (p *facts) duration(name string, d time.Duration) {
	if d != 0 {
		p.add(name, keyspace.FormatDuration(d))
	}
}

// first says what a thing is, in one text.
func (p facts) first() string {
	if len(p) == 0 {
		return "(empty)"
	}
	return p[0].text
}

func header(ks *keyspace.Keyspace) facts {
	var p facts
	p.add("package", ks.Package)
	p.add("doc", ks.Doc)
	p.add("owner", ks.Owner)
	if ks.Cluster {
		p.add("cluster", "true")
	}
	for _, n := range ks.Spaces {
		p.add("namespace", n.Default)
		if n.Names != nil {
			p.add("namespace.names", n.Names.Definition())
		}
	}
	for _, g := range ks.Owns {
		p.add("owns", g.Text)
	}
	for _, g := range ks.Foreign {
		p.add("foreign", g.Text)
	}
	for _, v := range ks.Vars {
		p.add("vars."+v.Name, v.Type.Definition())
		if v.Type.Default != "" {
			p.add("vars."+v.Name+".default", v.Type.Default)
		}
	}
	for _, t := range ks.TTLs {
		p.add("ttls."+t.Name, t.TTL.Text)
	}
	for _, s := range ks.Shapes {
		p.add("shape", s.Text)
	}
	for _, c := range ks.Cleanup {
		p.add("cleanup", fmt.Sprintf("%s idle %v older %v keep %d", c.Match.Text, c.Idle, c.Older, c.Keep))
	}
	for i := range ks.Pressure {
		p.add("pressure", ks.Pressure[i].String())
	}
	for _, j := range ks.Janitor {
		p.add("janitor."+j.Name, j.String())
	}
	for _, m := range ks.Migrations {
		p.migration(m)
	}
	for _, r := range ks.Retired {
		p.add("retired."+r.Section+"."+r.Name, cmp.Or(strings.Join(textsOf(r.Patterns), ", "), r.Name))
	}
	for _, v := range ks.Vars {
		p.retired("vars."+v.Name+".", v.Retired)
	}
	for _, o := range ks.Outputs {
		p.add("gen."+o.Target, o.Folder)
	}
	return p
}

// retired notes names that are gone for good.
func (p *facts) retired(prefix string, list []keyspace.Retired) {
	for _, r := range list {
		p.add(prefix+"retired", r.Name)
	}
}

func textsOf(patterns []*pattern.Pattern) (out []string) {
	for _, p := range patterns {
		out = append(out, p.String())
	}
	return out
}

func properties(e *keyspace.Entry) facts {
	var p facts
	p.add("doc", e.Doc)
	p.add("type", e.Type)
	p.add("owner", e.Owner)
	p.add("readers", strings.Join(e.Readers, ", "))
	p.add("skip", strings.Join(e.Skip, ", "))
	for _, w := range e.Was {
		p.add("was", w.String())
	}
	p.retired("", e.Retired)
	for i, k := range e.Keys {
		prefix := ""
		if i > 0 {
			prefix = k.Role + "."
		}
		p.key(prefix, k)
	}
	for _, action := range []string{"create", "update", "delete", "expire"} {
		p.add("emits."+action, e.Emits[action])
	}
	p.add("stamps.created", e.Stamps.Created)
	p.add("stamps.updated", e.Stamps.Updated)
	p.add("stamps.version", e.Stamps.Version)
	if e.TTLBy != nil {
		for _, c := range e.TTLBy.Cases {
			p.add("ttl_by."+e.TTLBy.Field+"."+c.Word, keyspace.FormatDuration(c.TTL))
		}
	}
	p.add("order", e.Order)
	p.duration("lease", e.Lease)
	p.number("retry", int64(e.Retry))
	p.duration("timeout", e.Timeout)
	for _, f := range e.Shape {
		p.add("payload."+f.Name, typeText(&f.Type))
	}
	p.duration("gate", e.Gate)
	p.duration("fresh", e.Fresh)
	p.duration("absent", e.Absent)
	p.duration("cached", e.Cached)
	p.add("ties", string(e.Ties))
	p.add("algorithm", string(e.Method))
	p.number("maxlen", e.MaxLen)
	p.add("groups", strings.Join(e.Groups, ", "))
	if e.Rate.Count > 0 {
		p.add("rate", fmt.Sprintf("%d per %s burst %d", e.Rate.Count, keyspace.FormatDuration(e.Rate.Per), e.Rate.Burst))
	}
	if s := e.Script; s != nil {
		p.add("file", s.File)
		p.add("keys", strings.Join(s.Keys, ", "))
		p.fields("args.", s.Args)
		if s.Returns != nil {
			p.add("returns", s.Returns.Definition())
		}
		p.add("effect", string(s.Effect))
		p.add("text", fmt.Sprintf("%d bytes, %x", len(s.Text), checksum(s.Text)))
	}
	return p
}

// checksum tells texts apart (FNV-1a); it is not a secret.
func checksum(text string) uint32 {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}

func (p *facts) key(prefix string, k *keyspace.Key) {
	p.add(prefix+"key", k.Pattern.String())
	p.add(prefix+"kind", string(k.Kind))
	p.add(prefix+"ttl", k.TTL.Text)
	for _, s := range stored.Slots(k, k) {
		if s.Old != nil {
			p.add(prefix+strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(s.Name, "the "), "a "), " ", "-"),
				typeText(s.Old))
		}
	}
	p.fields(prefix+"fields.", k.Fields)
	p.fields(prefix+"value.", k.JSON)
	for _, place := range k.Pattern.Placeholders() {
		p.add(prefix+"{"+place.Name+"}", place.Type.Definition())
	}
}

// typeText returns a type, with the var of an enum: generated code has a type of its name.
func typeText(t *scalar.Type) string {
	if t.Kind == scalar.Enum && t.Var != "" {
		return t.Definition() + " (" + t.Var + ")"
	}
	return t.Definition()
}

func (p *facts) fields(prefix string, fields []keyspace.Field) {
	for _, f := range fields {
		p.add(prefix+f.Name, typeText(&f.Type))
	}
}

func channels(ks *keyspace.Keyspace) map[string]facts {
	out := map[string]facts{}
	for _, c := range ks.Channels {
		var p facts
		p.add("channel", c.Pattern.String())
		p.add("doc", c.Doc)
		p.add("owner", c.Owner)
		p.add("readers", strings.Join(c.Readers, ", "))
		p.fields("message.", c.Message)
		p.add("form", c.Form())
		p.fields("reply.", c.Reply)
		p.retired("", c.Retired)
		out[c.Name] = p
	}
	return out
}

func events(ks *keyspace.Keyspace) map[string]facts {
	out := map[string]facts{}
	for _, e := range ks.Events {
		var p facts
		p.add("doc", e.Doc)
		p.add("with", strings.Join(e.With, ", "))
		p.add("deletes", strings.Join(e.Deletes, ", "))
		p.add("emits", strings.Join(e.Emits, ", "))
		out[e.Name] = p
	}
	return out
}

func compareNamed(out []Change, kind string, old, new map[string]facts) []Change {
	var names []string
	for name := range new {
		names = append(names, name)
	}
	for name := range old {
		if _, ok := new[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, had := old[name]
		after, has := new[name]
		switch {
		case !had:
			out = append(out, Change{Subject: kind + name, New: after.first()})
		case !has:
			out = append(out, Change{Subject: kind + name, Old: before.first()})
		default:
			out = compare(out, kind+name, before, after)
		}
	}
	return out
}

// compare lists what differs. Properties that may come several times (owns, was)
// are compared as sets.
func compare(out []Change, subject string, old, new facts) []Change {
	for _, n := range new {
		if slices.Contains(old, n) {
			continue
		}
		i := slices.IndexFunc(old, func(o property) bool { return o.name == n.name && !slices.Contains(new, o) })
		change := Change{Subject: subject, Property: n.name, New: n.text}
		if i >= 0 && count(new, n.name) == 1 && count(old, n.name) == 1 {
			change.Old = old[i].text
		}
		out = append(out, change)
	}
	for _, o := range old {
		if slices.Contains(new, o) || count(new, o.name) == 1 && count(old, o.name) == 1 {
			continue
		}
		out = append(out, Change{Subject: subject, Property: o.name, Old: o.text})
	}
	return out
}

func count(p facts, name string) (n int) {
	for _, x := range p {
		if x.name == name {
			n++
		}
	}
	return n
}

// migration adds the facts of a migration to a plain diff.
func (p *facts) migration(m *keyspace.Migration) {
	name := "migrations." + m.Name
	p.add(name+".doc", m.Doc)
	var parts []string
	for _, part := range m.Parts {
		parts = append(parts, part.Name)
		g := part.Gates
		p.add(name+"."+part.Name+".gates",
			fmt.Sprintf("compared %d unequal %d for %v marks %d backup %v", g.Compared, g.Unequal, g.For, g.Marks, g.Backup))
		for _, mv := range part.Moves {
			for _, f := range mv.Facts() {
				p.add(name+"."+mv.Name+" "+f.Name, f.Value)
			}
		}
	}
	p.add(name+".parts", strings.Join(parts, ", "))
	for _, i := range m.Ignore {
		p.add(name+".ignore "+i.String(), i.Reason)
	}
	for _, r := range m.Compare {
		text := r.Entry.Name + " " + strings.Join(r.Field, ".") + " as " + string(r.As)
		if r.As == keyspace.CompareIgnore {
			text += " until " + r.Until.Format(time.DateOnly) + " by " + r.Owner
		}
		p.add(name+".compare", text)
	}
}
