package load

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
)

// sectionRetired reads what of the sections keys, channels and events is gone for good.
func (l *loader) sectionRetired(d *scope.Document) {
	p, ok := d.Props["retired"]
	if !ok {
		return
	}
	props := d.Known(p.Value, "retired", scope.Properties["retired"])
	for _, section := range []string{"keys", "channels"} {
		p, ok := props[section]
		if !ok {
			continue
		}
		for _, v := range d.Mapping(p.Value, section+" of retired") {
			d.Name(v, "what is retired", false)
			r := keyspace.Retired{Section: section, Name: v.Name, Pos: d.At(v.Key)}
			for _, n := range d.List(v.Value, "the patterns of "+v.Name) {
				if p := l.Former(d, n, "the retired pattern of "+v.Name); p != nil {
					r.Patterns = append(r.Patterns, p)
				}
			}
			l.KS.Retired = append(l.KS.Retired, r)
		}
	}
	for _, r := range d.Retired(props, "events") {
		r.Section = "events"
		l.KS.Retired = append(l.KS.Retired, r)
	}
}
