package keyspace

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Lack represents something that a message, or the name of its channel, needs and that its
// sender does not have.
type Lack struct {
	Text string
	Fix  string
}

// Lacks gives what an entity lacks to announce an action on a channel. A message is
// filled from the placeholders of the entity's key and from its fields. When an item has
// expired there are the placeholders and the fields with an index key per value.
func (e *Entry) Lacks(action string, ch *Channel) (lacks []Lack) {
	what, fix := e.Name+" announces on "+ch.Name, "name a field of "+e.Name
	always := func(name string) bool { f := e.field(name); return f != nil && !f.Type.Optional }
	known := func(name string) bool { return e.placeholder(name) || always(name) }
	if action == "expire" {
		what, fix = what+" when it has expired and is gone", "name the id or a field with an index key per value"
		known = func(name string) bool { return e.placeholder(name) || e.indexed(name) && always(name) }
	}
	lacks = ch.lacks(what, fix, known)
	for _, p := range ch.Pattern.Placeholders() {
		if ch.Durable != nil && action != "expire" && !e.placeholder(p.Name) && always(p.Name) {
			lacks = append(lacks,
				Lack{what + fmt.Sprintf(
					", a stream whose key depends on %s: an item can change that, and the step that changes it must know "+
						"the key before", p.Name),
					"use placeholders of the key of " + e.Name + " only"})
		}
	}
	for _, m := range ch.Message {
		if f := e.field(m.Name); f != nil && (f.Type.Encrypted || m.Type.Encrypted) {
			lacks = append(lacks,
				Lack{what + fmt.Sprintf(
					" with %s, which is encrypted: it is sealed for the key of the item, and does not open elsewhere", m.Name),
					"leave it out of the message"})
		}
	}
	return append(lacks, e.unlike(what, ch)...)
}

// unlike gives the parts of a message that are of another type than what they are filled
// from. Text takes all but bytes. Bytes are base64 in a message: a script that announces a
// field has no time to make that.
func (e *Entry) unlike(what string, ch *Channel) (lacks []Lack) {
	for _, m := range ch.Message {
		from, ofKey := e.source(m.Name)
		switch {
		case from == nil, from.Encrypted:
		case from.Kind == scalar.Bytes && !ofKey:
			lacks = append(lacks,
				Lack{what + fmt.Sprintf(" with %s, which is bytes of any length", m.Name), "leave it out of the message"})
		case from.Kind != m.Type.Kind && (m.Type.Kind != scalar.Text || from.Kind == scalar.Bytes),
			from.Layout != m.Type.Layout && m.Type.Kind == scalar.Date:
			lacks = append(lacks,
				Lack{what + fmt.Sprintf(" with %s, which is %s, and the message says %s", m.Name, from.Definition(),
					m.Type.Definition()), "give both the same type"})
		}
	}
	return lacks
}

// source returns the type of what fills a part of a message, nil if nothing does.
func (e *Entry) source(name string) (t *scalar.Type, ofKey bool) {
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		if p.Name == name {
			return &p.Type, true
		}
	}
	if f := e.field(name); f != nil {
		return &f.Type, false
	}
	return nil, false
}

// Lacks gives what an event lacks to be announced on a channel.
func (ev *Event) Lacks(ch *Channel) []Lack {
	return ch.lacks("the event "+ev.Name+" announces on "+ch.Name, "add it to with",
		func(name string) bool { return slices.Contains(ev.With, name) })
}

// lacks gives what is needed and not known.
func (c *Channel) lacks(what, fix string, known func(name string) bool) (lacks []Lack) {
	for _, m := range c.Message {
		if !m.Type.Optional && !known(m.Name) {
			lacks = append(lacks,
				Lack{what + fmt.Sprintf(", but does not always have %s for the message", m.Name), fix + ", or make it optional"})
		}
	}
	for _, p := range c.Pattern.Placeholders() {
		if !known(p.Name) {
			lacks = append(lacks,
				Lack{what + fmt.Sprintf(", but does not always have %s for the name of the channel, %s", p.Name, c.Pattern), fix})
		}
	}
	return lacks
}

func (e *Entry) placeholder(name string) bool {
	return slices.ContainsFunc(e.Keys[0].Pattern.Placeholders(),
		func(p pattern.Placeholder) bool { return p.Name == name })
}

func (e *Entry) field(name string) *Field {
	i := slices.IndexFunc(e.Keys[0].Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Keys[0].Fields[i]
}

// indexed reports whether some index has a key per value of a field: it is known as long
// as the item is in the index.
func (e *Entry) indexed(name string) bool {
	return slices.ContainsFunc(e.Index, func(ix Index) bool { return ix.Field == name })
}
