package load

import (
	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

func (l *loader) sectionEvents(d *document) {
	p, ok := d.props["events"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "events") {
		if d.name(v, "an event", false) {
			l.take(d, "event", v)
		}
		what := "the event " + v.name
		e := &keyspace.Event{Name: v.name, Pos: d.at(v.key), At: map[string]keyspace.Pos{}}
		props := d.known(v.value, what, childProperties["events"])
		for name, prop := range props {
			e.At[name] = d.at(prop.value)
		}
		if prop, ok := props["doc"]; ok {
			e.Doc, _ = d.text(prop.value, "doc")
		}
		if prop, ok := props["with"]; ok {
			e.With = d.texts(prop.value, "with")
		}
		e.Deletes = d.names(props, "deletes", what, e.At)
		e.Emits = d.names(props, "emits", what, e.At)
		l.ks.Events = append(l.ks.Events, e)
	}
}

// maxKeep bounds `keep` of a clean-up rule.
const maxKeep = 10_000

// keep reads how many of the newest keys stay.
func keep(d *document, props map[string]property) int {
	n := d.number(props, "keep", 1)
	if n > maxKeep {
		d.report("KW307", d.at(props["keep"].value), "", "keep is at most %d, not %d", maxKeep, n)
		return maxKeep
	}
	return int(n)
}

func (l *loader) sectionCleanup(d *document) {
	p, ok := d.props["cleanup"]
	if !ok {
		return
	}
	if p.value.Kind != yaml.SequenceNode {
		d.wrongKind(p.value, "cleanup", "a list of rules like {match: \"temp:*\", idle: 1d}")
		return
	}
	for _, n := range p.value.Content {
		props := d.known(n, "a cleanup rule", childProperties["cleanup"])
		c := keyspace.Cleanup{Pos: d.at(n)}
		match, ok := props["match"]
		if n.Kind != yaml.MappingNode {
			continue
		}
		if !ok {
			d.report("KW006", d.at(n), `add match: "temp:*"`, "a cleanup rule has no match")
			continue
		}
		if !l.affordsPatterns(d.at(n), 1) {
			return
		}
		if c.Match, ok = d.glob(match.value, "cleanup"); !ok {
			continue
		}
		c.Idle, c.Older = d.duration(props, "idle"), d.duration(props, "older")
		c.Keep = keep(d, props)
		said := 0
		for _, name := range []string{"idle", "older", "keep"} {
			if _, ok := props[name]; ok {
				said++
			}
		}
		if said != 1 {
			d.report("KW006", d.at(n), "add idle: 1d (not used for a day), older: 1d or keep: 7",
				"a cleanup rule says one of idle, older and keep")
		}
		l.ks.Cleanup = append(l.ks.Cleanup, c)
	}
}
