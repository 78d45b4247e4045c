package files

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
)

// maxList says how long a list is drafted: a list is moved as one.
const maxList = 1000

// invent drafts an entry for each place of the files.
func (d *Draft) invent() {
	var taken []*place
	for _, s := range d.sources {
		for _, p := range s.places() {
			inner := slices.ContainsFunc(taken, func(o *place) bool { return p.inside(o) })
			if inner {
				continue
			}
			if d.inventAt(p) {
				taken = append(taken, p)
			}
		}
	}
}

// inventAt drafts an entry for a place; all is whether all of what is there is in it.
func (d *Draft) inventAt(p *place) (all bool) {
	sh := p.node.shape(p.last != nil || p.element)
	switch {
	case sh == empty:
		d.leave(p.said(), "nothing is there that tells its type")
		return true
	case p.element:
		d.list(p)
		return true
	case p.last != nil && p.last.texts.plain < p.last.texts.n: // it is in no key
		d.openHash(p, sh == leaf)
		return true
	case sh == mapping || sh == array || sh == section:
		return false
	case sh == whole && p.node.clean():
		d.fixedHash(p)
	case p.last != nil:
		d.openHash(p, sh == leaf)
	default:
		e := d.entry(p, "string", p.captures)
		e.props = []prop{{"value", p.valueType(sh == leaf)}}
		d.add(p, e, keyspace.StringRecord, prop{"value", "."})
	}
	return true
}

// clean reports whether the members of a record may be fields: none is null or of two kinds.
func (n *node) clean() bool {
	if len(n.members) < 2 || len(n.members) > 64 {
		return false
	}
	for _, name := range n.sorted() {
		m := n.members[name]
		if m.nulls > 0 || m.fractions > 0 || kindOf(m) == "" || !plainMember.MatchString(name) || m.objects+m.arrays > 0 {
			return false
		}
		if name == "__proto__" || name == "constructor" {
			return false
		}
	}
	return true
}

func (p *place) valueType(isLeaf bool) string {
	if isLeaf {
		return p.node.valueType()
	}
	return "json"
}

// entry returns a new one for a place, with these captures in its key.
func (d *Draft) entry(p *place, kind string, captures []*capture) *entry {
	segments := []string{plainName(p.source.name)}
	for _, c := range p.source.captures {
		if slices.Contains(captures, c) {
			segments = append(segments, "{"+d.placeholder(c)+"}")
		}
	}
	words := slices.Clone(segments[:1])
	at := len(p.source.captures)
	for _, step := range p.steps {
		switch {
		case step == "[]":
		case strings.HasPrefix(step, "{"):
			if slices.Contains(captures, p.captures[at]) {
				segments = append(segments, "{"+d.placeholder(p.captures[at])+"}")
			}
			at++
		default:
			segments, words = append(segments, plainName(step)), append(words, plainName(step))
		}
	}
	e := &entry{kind: kind, ttl: "none", key: strings.Join(segments, ":")}
	for i := 2; slices.ContainsFunc(d.Entries, func(o *entry) bool { return o.key == e.key }); i++ {
		e.key = strings.Join(segments, ":") + fmt.Sprintf(":v%d", i)
	}
	e.name = free(plainName(strings.Join(words, "_")), func(n string) bool {
		return slices.ContainsFunc(d.Entries, func(o *entry) bool { return o.name == n })
	})
	d.Entries = append(d.Entries, e)
	return e
}

// placeholder returns the name of a capture in keys, with its type.
func (d *Draft) placeholder(c *capture) string {
	typ := c.texts.typeOf()
	c.in = free(c.name, func(n string) bool { return d.vars[n] != "" && d.vars[n] != typ })
	d.vars[c.in] = typ
	return c.in
}

func (d *Draft) add(p *place, e *entry, kind keyspace.RecordKind, props ...prop) *move {
	mv := &move{place: p, from: p.from(), to: e.name, kind: kind, props: props}
	var with []prop
	for _, c := range p.captures {
		if c.in != "" && c.in != c.name && strings.Contains(e.key, "{"+c.in+"}") {
			with = append(with, prop{c.in, "{" + c.name + "}"})
		}
	}
	if len(with) > 0 {
		mv.maps = append(mv.maps, mapped{"with", with})
	}
	d.Moves = append(d.Moves, mv)
	return mv
}

// openHash is a hash whose fields are what the path captures last.
func (d *Draft) openHash(p *place, isLeaf bool) {
	e := d.entry(p, "hash", p.captures[:len(p.captures)-1])
	field := p.last.texts.typeOf()
	e.props = []prop{{"field", field}, {"value", p.valueType(isLeaf)}}
	d.add(p, e, keyspace.FieldRecord, prop{"field", "{" + p.last.name + "}"}, prop{"value", "."})
}

// fixedHash is a hash with the members of a record as its fields.
func (d *Draft) fixedHash(p *place) {
	e := d.entry(p, "hash", p.captures)
	for _, name := range p.node.sorted() {
		typ := p.node.members[name].valueType()
		if p.node.members[name].total() < p.node.objects {
			typ += " optional"
		}
		e.fields = append(e.fields, prop{name, typ})
	}
	mv := d.add(p, e, keyspace.HashRecord)
	if _, term := p.node.ends(); term != "" && p.node.lives == p.node.objects {
		e.ttl = upTo(p.node.life)
		e.note = "the TTL is the longest time between a record's begin and its end, as it says them"
		mv.maps = append(mv.maps, mapped{"ttl", []prop{{"until", term}, {"over", "skip"}}})
	}
}

// list is a list of the elements of an array; or a hash of them where they are too many and one
// member tells them apart.
func (d *Draft) list(p *place) {
	typ := "json"
	if p.node.shape(true) == leaf {
		typ = p.node.valueType()
	}
	id := p.node.identity(nil)
	switch {
	case slices.ContainsFunc(p.captures, func(c *capture) bool { return c.texts.plain < c.texts.n }):
		d.leave(p.said(), "a name on its way cannot be in a key")
	case p.array.longest <= maxList:
		e := d.entry(p, "list", p.captures)
		e.props = []prop{{"member", typ}}
		d.add(p, e, keyspace.ElementRecord, prop{"member", "."})
	case id != "":
		e := d.entry(p, "hash", p.captures)
		e.props = []prop{{"field", p.node.members[id].texts.typeOf()}, {"value", "json"}}
		e.note = "an array, by " + id + ": a hash has no order"
		d.add(p, e, keyspace.FieldRecord, prop{"field", member(id)}, prop{"value", "."})
	case typ == "text" && !p.array.twice:
		e := d.entry(p, "set", p.captures)
		e.props = []prop{{"member", typ}}
		e.note = "an array with no text twice: a set has no order"
		d.add(p, e, keyspace.MemberRecord, prop{"member", "."})
	default:
		d.leave(p.said(), fmt.Sprintf("an array of %d elements that nothing tells apart; a list is moved as one, up to 4,000",
			p.array.longest))
	}
}

// identity returns the member that tells the elements of an array apart, "" if there is none.
func (n *node) identity(fits func(*node) bool) string {
	names := []string{}
	for name, is := range n.unique {
		m := n.members[name]
		if is && m != nil && m.texts.n == n.objects && m.texts.n > 0 && (fits == nil || fits(m)) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if (a == "id") != (b == "id") {
			if a == "id" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return append(names, "")[0]
}

// upTo returns a duration as a person would write it, not shorter.
func upTo(d time.Duration) string {
	for _, unit := range []struct {
		is   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= 2*unit.is || d == unit.is {
			return fmt.Sprintf("%d%s", (d+unit.is-1)/unit.is, unit.name)
		}
	}
	return fmt.Sprintf("%ds", (d+time.Second-1)/time.Second)
}
