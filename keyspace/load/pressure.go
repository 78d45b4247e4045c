package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// mostValues says how many values a range of a pressure rule may have.
const mostValues = 100

// sectionPressure reads the rules of all files, when all entries are known.
func (l *loader) sectionPressure() {
	for _, d := range l.Docs {
		p, ok := d.Props["pressure"]
		if !ok {
			continue
		}
		if p.Value.Kind != yaml.SequenceNode {
			d.WrongKind(p.Value, "pressure", "a list of rules like {at: 80%, entry: item, where: {priority: 1}, shorten: to 5m}")
			continue
		}
		for _, n := range p.Value.Content {
			if r, ok := l.pressure(d, n); ok {
				l.KS.Pressure = append(l.KS.Pressure, r)
			}
		}
	}
	if len(l.KS.Pressure) > 0 && l.KS.Pressure[0].Entry != nil && len(l.KS.Pressure[0].Entry.Keys) > 0 {
		l.pressureLease(l.KS.Pressure[0].Entry)
	}
}

func (l *loader) pressure(d *scope.Document, n *yaml.Node) (r keyspace.Pressure, ok bool) {
	before := len(l.Findings)
	props := d.Known(n, "a pressure rule", scope.Properties["pressure"])
	if n.Kind != yaml.MappingNode {
		return r, false
	}
	r = keyspace.Pressure{Pos: d.At(n), Places: map[string]keyspace.Pos{}}
	for name, p := range props {
		r.Places[name] = d.At(p.Value)
	}
	for _, need := range []struct{ name, example string }{{"at", "80%"}, {"entry", "the name of an entity"},
		{"where", "{priority: 1}"}} {
		if _, there := props[need.name]; !there {
			d.Report("KW006", r.Pos, "add "+need.name+": "+need.example, "a pressure rule has no %s", need.name)
		}
	}
	if p, there := props["at"]; there {
		r.At = percent(d, p.Value, "at", p.Value.Value, "80%")
	}
	pressureAction(d, &r, props)
	if e, there := props["entry"]; there && l.pressureEntry(d, &r, e.Value) {
		if where, there := props["where"]; there {
			pressureWhere(d, &r, where.Value)
		}
	}
	return r, len(l.Findings) == before
}

// pressureAction reads `shorten: to 5m` or `release: to 85%`.
func pressureAction(d *scope.Document, r *keyspace.Pressure, props map[string]node.Property) {
	shorten, shortens := props["shorten"]
	release, releases := props["release"]
	if shortens == releases {
		d.Report("KW006", r.Pos, "add shorten: to 5m (the lifetime that is left) or release: to 85% (of maxmemory)",
			"a pressure rule says either shorten or release")
		return
	}
	if shortens {
		if text, ok := behindTo(d, shorten.Value, "shorten", "to 5m"); ok {
			var err error
			if r.Shorten, err = keyspace.ParseDuration(text); err != nil {
				d.Report("KW307", d.At(shorten.Value), "as in to 5m", "shorten: %v", err)
			}
		}
		return
	}
	if text, ok := behindTo(d, release.Value, "release", "to 85%"); ok {
		if r.Release = percent(d, release.Value, "release", text, "to 85%"); r.Release > r.At && r.At > 0 {
			d.Report("KW309", d.At(release.Value), fmt.Sprintf("to less than %d%%", r.At),
				"releasing begins at %d%% and ends at %d%%", r.At, r.Release)
		}
	}
}

// behindTo returns what is after the word to.
func behindTo(d *scope.Document, n *yaml.Node, what, example string) (string, bool) {
	text, ok := d.ScalarText(n, what)
	if !ok {
		return "", false
	}
	rest, ok := strings.CutPrefix(text, "to ")
	if !ok {
		d.Report("KW307", d.At(n), "as in "+example, "%s: %q does not say to what", what, text)
	}
	return strings.TrimSpace(rest), ok
}

// percent reads a whole percentage below a hundred.
func percent(d *scope.Document, n *yaml.Node, what, text, example string) int {
	if n.Kind != yaml.ScalarNode {
		d.WrongKind(n, what, "a percentage like 80%")
		return 0
	}
	digits, ok := strings.CutSuffix(text, "%")
	p, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || p < 1 || p > 99 {
		d.Report("KW307", d.At(n), "as in "+example, "%s: %q is no whole percentage from 1%% to 99%%", what, text)
		return 0
	}
	return int(p)
}

func (l *loader) pressureEntry(d *scope.Document, r *keyspace.Pressure, n *yaml.Node) bool {
	if r.Entry = l.EntryNamed(d, n, "entry"); r.Entry == nil {
		return false
	}
	if r.Entry.Construct != keyspace.Entity {
		d.Report("KW309", d.At(n), "name an entity",
			"%s is a %s; under pressure the items of an entity go, with their entries in indexes", r.Entry.Name, r.Entry.Type)
		return false
	}
	return true
}

// pressureWhere reads `where: {priority: 1..3}`.
func pressureWhere(d *scope.Document, r *keyspace.Pressure, n *yaml.Node) {
	fields := d.Mapping(n, "where")
	if len(fields) != 1 {
		if n.Kind == yaml.MappingNode {
			d.Report("KW309", d.At(n), "as in where: {priority: 1}", "where names one field of %s, not %d", r.Entry.Name,
				len(fields))
		}
		return
	}
	name := fields[0].Name
	i := slices.IndexFunc(r.Entry.Index, func(ix keyspace.Index) bool { return ix.Field == name && ix.Score != "" })
	if i < 0 {
		var known []string
		for _, ix := range r.Entry.Index {
			if ix.Field != "" && ix.Score != "" {
				known = append(known, ix.Field)
			}
		}
		fix := d.Near(name, known)
		if fix == "" {
			fix = fmt.Sprintf("add to its index: %s+created: \"…{%s}\"", name, name)
		}
		d.Report("KW309", d.At(fields[0].Key), fix,
			"%s has no index with a zset per %s, so it is not known which of them go first", r.Entry.Name, name)
		return
	}
	r.Index = r.Entry.Index[i]
	for _, p := range r.Index.Key.Pattern.Placeholders() {
		if p.Name != name {
			d.Report("KW309", d.At(fields[0].Key), fmt.Sprintf("add an index whose only placeholder is {%s}", name),
				"the index %s of %s is kept per {%s}, and not all of those are known", r.Index.Name, r.Entry.Name, p.Name)
		}
	}
	r.Values = pressureValues(d, r, fields[0])
}

func pressureValues(d *scope.Document, r *keyspace.Pressure, v node.Property) []string {
	text, ok := d.ScalarText(v.Value, v.Name)
	if !ok {
		return nil
	}
	at := slices.IndexFunc(r.Entry.Keys[0].Fields, func(f keyspace.Field) bool { return f.Name == v.Name })
	t := r.Entry.Keys[0].Fields[at].Type
	values := strings.Split(text, "|")
	if low, high, ranged := strings.Cut(text, ".."); ranged && t.Kind == scalar.Int {
		values = rangeOf(low, high)
	}
	for i, value := range values {
		if !t.Is([]byte(value)) || slices.Contains(values[:i], value) {
			values = nil
			break
		}
	}
	if len(values) == 0 {
		d.Report("KW309", d.At(v.Value),
			fmt.Sprintf("a value, several as in 2|1, or of a number a range like 1..3 of at most %d", mostValues),
			"%q are no values of %s, which is %s", text, v.Name, t.Definition())
	}
	return values
}

// rangeOf returns the numbers from low to high, none if that is no range.
func rangeOf(low, high string) (values []string) {
	a, err1 := strconv.ParseInt(low, 10, 64)
	b, err2 := strconv.ParseInt(high, 10, 64)
	if err1 != nil || err2 != nil || a > b || uint64(b)-uint64(a) >= mostValues {
		return nil
	}
	for n := a; ; n++ {
		if values = append(values, strconv.FormatInt(n, 10)); n == b {
			return values
		}
	}
}

// pressureLease is the key under which processes agree on who acts: one for all
// rules, beside the first entity they name. It is never used together with
// another key.
func (l *loader) pressureLease(e *keyspace.Entry) {
	base := e.Keys[0].Pattern
	for _, p := range base.Placeholders() {
		base = base.Without(p.Name)
	}
	// a placeholder is all there is
	if plain, err := pattern.Parse(e.Name, nil); err == nil && len(base.Placeholders()) > 0 {
		base = plain
	}
	derived, err := base.DeriveIn(e.Namespace.InEffect(), "pressure")
	if err != nil {
		l.Anywhere().Report("KW105", e.Pos, "shorten its key",
			"the key of who acts under pressure cannot be derived from that of %s: %v", e.Name, err)
		return
	}
	k := &keyspace.Key{Entry: e, Role: "pressure", Name: e.Name + ".pressure", Pattern: derived, Kind: keyspace.String,
		TTL: scope.AtMost(pressureTTL), Derived: true, Value: &scalar.Type{}, Pos: e.Pos,
		Doc: "Which process acts when memory is short."}
	i := slices.Index(l.KS.Keys, e.Keys[len(e.Keys)-1]) + 1
	e.Keys, l.KS.Keys = append(e.Keys, k), slices.Insert(l.KS.Keys, i, k)
	l.KS.PressureLease = k
}

// pressureTTL bounds the lease of who acts.
const pressureTTL = 10 * time.Minute
