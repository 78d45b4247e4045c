package scope

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	yaml "go.yaml.in/yaml/v4"
)

// ReadTTLs reads the named TTLs of one file.
func (s *Scope) ReadTTLs(d *Document) {
	p, ok := d.Props["ttls"]
	if !ok {
		return
	}
	for _, v := range d.Mapping(p.Value, "ttls") {
		if !d.Name(v, "a ttl", true) {
			continue
		}
		if v.Name == "none" || v.Name == "any" {
			d.Report("KW010", d.At(v.Key), "choose another name", "%q has a meaning of its own as a ttl", v.Name)
			continue
		}
		t, ok := d.parseTTL(v.Value)
		if !ok {
			t = Undecided
		}
		t.Name = v.Name
		if known, taken := s.TTLs[v.Name]; taken {
			if known.TTL.Text != t.Text {
				d.Report("KW004", d.At(v.Key), "rename one of them", "the ttl %s is %s at %s:%d", v.Name, known.TTL.Text,
					known.Pos.File, known.Pos.Line)
			}
			continue
		}
		s.TTLs[v.Name] = &keyspace.NamedTTL{Name: v.Name, TTL: t, Pos: d.At(v.Key), Used: !ok}
	}
}

func (d *Document) parseTTL(n *yaml.Node) (keyspace.TTL, bool) {
	text, ok := d.ScalarText(n, "ttl")
	if !ok {
		return keyspace.TTL{}, false
	}
	t, err := keyspace.ParseTTL(text)
	var fault *keyspace.TTLError
	if errors.As(err, &fault) {
		d.Report("KW201", d.Within(n, fault.Offset, fault.Length), fault.Fix, "%s", fault.Message)
		return keyspace.TTL{}, false
	}
	t.Pos = d.At(n)
	return t, true
}

// TTL resolves a `ttl` property: a name or a TTL written in place.
func (s *Scope) TTL(d *Document, n *yaml.Node) keyspace.TTL {
	if named, ok := s.TTLs[n.Value]; ok && n.Kind == yaml.ScalarNode && d.IsText(n, "ttl") {
		named.Used = true
		t := named.TTL
		t.Pos = d.At(n)
		return t
	}
	if first, rest, _ := strings.Cut(n.Value, " "); n.Kind == yaml.ScalarNode && isName(first) && n.Tag == "!!str" &&
		n.Value != "none" && n.Value != "any" {
		s.unknownTTL(d, n, first, rest)
		return keyspace.TTL{Policy: keyspace.TTLAny, Text: "any", Pos: d.At(n)}
	}
	t, ok := d.parseTTL(n)
	if !ok {
		return keyspace.TTL{Policy: keyspace.TTLAny, Text: "any", Pos: d.At(n)}
	}
	return t
}

// isName: a duration begins with a digit, a name does not.
func isName(text string) bool {
	return text != "" && strings.IndexByte("0123456789-+~.", text[0]) < 0
}

func (s *Scope) unknownTTL(d *Document, n *yaml.Node, name, rest string) {
	if _, named := s.TTLs[name]; named || name == "none" || name == "any" {
		d.Report("KW201", d.Within(n, len(name)+1, len(rest)), "declare another one under ttls that says so",
			"nothing may follow %s", name)
		return
	}
	fix := cmp.Or(node.NearKey(&d.Reader, n.Value, s.TTLs, "none", "any"),
		"declare it under ttls, or write a duration like 30s, none or any")
	d.Report("KW201", d.At(n), fix, "%q is neither a duration nor a name from ttls", n.Value)
}

// AtMost returns the TTL of what expires after d.
func AtMost(d time.Duration) keyspace.TTL {
	return keyspace.TTL{Policy: keyspace.TTLExpires, Default: d, Min: d, Max: d, Text: keyspace.FormatDuration(d)}
}

// Undecided is the TTL of what nothing is said about, and of what cannot be read.
var Undecided = keyspace.TTL{Policy: keyspace.TTLAny, Text: "any"}
