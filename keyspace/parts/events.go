package parts

import (
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Event describes what is sent when an item of an entity changes.
type Event struct {
	Mode   Constant // Publish, PublishSharded or Append
	MaxLen int64
	Age    time.Duration
	Plain  bool

	Fixed bool // the name has no placeholder
	Name  []Piece
	Data  []Piece
}

// Source describes what a piece of an event is filled from.
type Source uint8

// The sources.
const (
	Literal Source = iota // text as it is
	ID                    // the id of the item, which is one placeholder
	OfKey                 // a placeholder in the item's key
	OfField               // a field of the item
)

// Piece represents a field of a message, or a piece of the name of a channel.
type Piece struct {
	From    Source
	Name    string          // in the message
	Element pattern.Element // Literal: it may be the namespace
	Form    Constant        // how it is written in JSON: Quoted, Bare or Inline
	Base64  bool
}

// EventOf returns what is sent on a channel when an item of an entity changes. elems are those
// of the channel's name, with the namespace apart where the caller wants that.
func EventOf(e *keyspace.Entry, c *keyspace.Channel, elems []pattern.Element) Event {
	out := Event{Mode: "Publish", Plain: c.Plain, Fixed: len(c.Pattern.Placeholders()) == 0}
	switch {
	case c.Durable != nil:
		out.Mode, out.MaxLen, out.Age = "Append", c.Durable.MaxLen, c.Durable.Age
	case c.Sharded:
		out.Mode = "PublishSharded"
	}
	own := idOf(e)
	for _, elem := range elems {
		if elem.Placeholder < 0 {
			out.Name = append(out.Name, Piece{Element: elem})
			continue
		}
		place := c.Pattern.Placeholders()[elem.Placeholder]
		out.Name = append(out.Name, piece(e, own, place.Name, place.Type))
	}
	for _, f := range c.Message {
		out.Data = append(out.Data, piece(e, own, f.Name, f.Type))
	}
	return out
}

func piece(e *keyspace.Entry, own []string, name string, t scalar.Type) Piece {
	p := Piece{From: OfField, Name: name, Form: InJSON(t.Kind), Base64: t.Kind == scalar.Bytes}
	switch inKey := e.Keys[0].Pattern.Has(name); {
	case slices.Equal(own, []string{name}):
		p.From = ID
	case inKey:
		p.From = OfKey
	}
	return p
}

// InJSON returns how a value of a kind is written in a JSON object: Quoted, Bare or Inline.
func InJSON(k scalar.Kind) Constant { return Constant(k.InJSON().String()) }
