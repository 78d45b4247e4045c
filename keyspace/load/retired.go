package load

import "github.com/keywright/keywright/keyspace"

// sectionRetired reads what of the sections keys, channels and events is gone for good.
func (l *loader) sectionRetired(d *document) {
	p, ok := d.props["retired"]
	if !ok {
		return
	}
	props := d.known(p.value, "retired", childProperties["retired"])
	for _, section := range []string{"keys", "channels"} {
		p, ok := props[section]
		if !ok {
			continue
		}
		for _, v := range d.mapping(p.value, section+" of retired") {
			d.name(v, "what is retired", false)
			r := keyspace.Retired{Section: section, Name: v.name, Pos: d.at(v.key)}
			for _, n := range d.list(v.value, "the patterns of "+v.name) {
				if p := l.former(d, n, "the retired pattern of "+v.name); p != nil {
					r.Patterns = append(r.Patterns, p)
				}
			}
			l.ks.Retired = append(l.ks.Retired, r)
		}
	}
	for _, r := range d.retired(props, "events") {
		r.Section = "events"
		l.ks.Retired = append(l.ks.Retired, r)
	}
}
