package load

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	yaml "go.yaml.in/yaml/v4"
)

func (l *loader) sectionEvents(d *scope.Document) {
	p, ok := d.Props["events"]
	if !ok {
		return
	}
	for _, v := range d.Mapping(p.Value, "events") {
		if d.Name(v, "an event", false) {
			l.Take(d, "event", v)
		}
		what := "the event " + v.Name
		e := &keyspace.Event{Name: v.Name, Pos: d.At(v.Key), At: map[string]keyspace.Pos{}}
		props := d.Known(v.Value, what, scope.Properties["events"])
		for name, prop := range props {
			e.At[name] = d.At(prop.Value)
		}
		if prop, ok := props["doc"]; ok {
			e.Doc, _ = d.Text(prop.Value, "doc")
		}
		if prop, ok := props["with"]; ok {
			e.With = d.Texts(prop.Value, "with")
		}
		e.Deletes = d.Names(props, "deletes", what, e.At)
		e.Emits = d.Names(props, "emits", what, e.At)
		l.KS.Events = append(l.KS.Events, e)
	}
}

// maxKeep bounds `keep` of a clean-up rule.
const maxKeep = 10_000

// keep reads how many of the newest keys stay.
func keep(d *scope.Document, props map[string]node.Property) int {
	n := d.Number(props, "keep", 1)
	if n > maxKeep {
		d.Report("KW307", d.At(props["keep"].Value), "", "keep is at most %d, not %d", maxKeep, n)
		return maxKeep
	}
	return int(n)
}

func (l *loader) sectionCleanup(d *scope.Document) {
	p, ok := d.Props["cleanup"]
	if !ok {
		return
	}
	if p.Value.Kind != yaml.SequenceNode {
		d.WrongKind(p.Value, "cleanup", "a list of rules like {match: \"temp:*\", idle: 1d}")
		return
	}
	for _, n := range p.Value.Content {
		props := d.Known(n, "a cleanup rule", scope.Properties["cleanup"])
		c := keyspace.Cleanup{Pos: d.At(n)}
		match, ok := props["match"]
		if n.Kind != yaml.MappingNode {
			continue
		}
		if !ok {
			d.Report("KW006", d.At(n), `add match: "temp:*"`, "a cleanup rule has no match")
			continue
		}
		if !l.AffordsPatterns(d.At(n), 1) {
			return
		}
		if c.Match, ok = d.Glob(match.Value, "cleanup"); !ok {
			continue
		}
		c.Idle, c.Older = d.Duration(props, "idle"), d.Duration(props, "older")
		c.Keep = keep(d, props)
		said := 0
		for _, name := range []string{"idle", "older", "keep"} {
			if _, ok := props[name]; ok {
				said++
			}
		}
		if said != 1 {
			d.Report("KW006", d.At(n), "add idle: 1d (not used for a day), older: 1d or keep: 7",
				"a cleanup rule says one of idle, older and keep")
		}
		l.KS.Cleanup = append(l.KS.Cleanup, c)
	}
}
