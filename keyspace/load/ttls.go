package load

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

func (s *scope) sectionTTLs(d *document) {
	p, ok := d.props["ttls"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "ttls") {
		if !d.name(v, "a ttl", true) {
			continue
		}
		if v.name == "none" || v.name == "any" {
			d.report("KW010", d.at(v.key), "choose another name", "%q has a meaning of its own as a ttl", v.name)
			continue
		}
		t, ok := d.parseTTL(v.value)
		if !ok {
			t = undecided
		}
		t.Name = v.name
		if known, taken := s.ttls[v.name]; taken {
			if known.TTL.Text != t.Text {
				d.report("KW004", d.at(v.key), "rename one of them", "the ttl %s is %s at %s:%d", v.name, known.TTL.Text,
					known.Pos.File, known.Pos.Line)
			}
			continue
		}
		s.ttls[v.name] = &keyspace.NamedTTL{Name: v.name, TTL: t, Pos: d.at(v.key), Used: !ok}
	}
}

func (d *document) parseTTL(n *yaml.Node) (keyspace.TTL, bool) {
	text, ok := d.scalarText(n, "ttl")
	if !ok {
		return keyspace.TTL{}, false
	}
	t, err := keyspace.ParseTTL(text)
	var fault *keyspace.TTLError
	if errors.As(err, &fault) {
		d.report("KW201", d.within(n, fault.Offset, fault.Length), fault.Fix, "%s", fault.Message)
		return keyspace.TTL{}, false
	}
	t.Pos = d.at(n)
	return t, true
}

// ttl resolves a `ttl` property: a name or a TTL written in place.
func (s *scope) ttl(d *document, n *yaml.Node) keyspace.TTL {
	if named, ok := s.ttls[n.Value]; ok && n.Kind == yaml.ScalarNode && d.isText(n, "ttl") {
		named.Used = true
		t := named.TTL
		t.Pos = d.at(n)
		return t
	}
	if first, rest, _ := strings.Cut(n.Value, " "); n.Kind == yaml.ScalarNode && isName(first) && n.Tag == "!!str" &&
		n.Value != "none" && n.Value != "any" {
		s.unknownTTL(d, n, first, rest)
		return keyspace.TTL{Policy: keyspace.TTLAny, Text: "any", Pos: d.at(n)}
	}
	t, ok := d.parseTTL(n)
	if !ok {
		return keyspace.TTL{Policy: keyspace.TTLAny, Text: "any", Pos: d.at(n)}
	}
	return t
}

// isName: a duration begins with a digit, a name does not.
func isName(text string) bool {
	return text != "" && strings.IndexByte("0123456789-+~.", text[0]) < 0
}

func (s *scope) unknownTTL(d *document, n *yaml.Node, name, rest string) {
	if _, named := s.ttls[name]; named || name == "none" || name == "any" {
		d.report("KW201", d.within(n, len(name)+1, len(rest)), "declare another one under ttls that says so",
			"nothing may follow %s", name)
		return
	}
	fix := cmp.Or(nearKey(&d.reader, n.Value, s.ttls, "none", "any"),
		"declare it under ttls, or write a duration like 30s, none or any")
	d.report("KW201", d.at(n), fix, "%q is neither a duration nor a name from ttls", n.Value)
}

func atMost(d time.Duration) keyspace.TTL {
	return keyspace.TTL{Policy: keyspace.TTLExpires, Default: d, Min: d, Max: d, Text: keyspace.FormatDuration(d)}
}

// undecided is the TTL of what nothing is said about, and of what cannot be read.
var undecided = keyspace.TTL{Policy: keyspace.TTLAny, Text: "any"}
