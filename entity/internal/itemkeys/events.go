package itemkeys

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// Mode describes how an event is sent.
type Mode string

// The modes.
const (
	Publish        Mode = "p" // PUBLISH
	PublishSharded Mode = "s" // SPUBLISH
	Append         Mode = "x" // XADD to a stream
)

// Event represents a message that goes out in the same step as a change.
type Event struct {
	Mode    Mode
	Channel string        // or the key of the stream
	Name    []Part        // of a channel that depends on the item, instead of Channel
	MaxLen  int64         // of the stream, about; 0: any
	Age     time.Duration // of its oldest entry, about; 0: any
	Plain   bool          // the data alone, without an envelope
	Data    []Part
}

// Part represents one field of a message, or a piece of a channel's name.
type Part struct {
	Name    string     // in the message
	Field   string     // of the item; "" for its id
	Key     int        // n for the nth of Spec.Pieces, instead of a field; 0: none of them
	Form    value.Form // how it is written in JSON
	Base64  bool       // bytes, which a message has so; not of a field
	Literal bool       // Name is text as it is
}

// Pieces returns the texts of placeholders of an item's key, as its events carry them.
func (s *Keys) Pieces(id string) []string {
	if s.Spec.Pieces == nil {
		return nil
	}
	return s.Spec.Pieces(s.Key(id))
}

// WrittenEvents returns the events of a write of a whole item.
func (s *Keys) WrittenEvents(id string) []string {
	return append(s.EventTemplates(id, wasNot, s.Spec.OnCreate), s.EventTemplates(id, WasThere, s.Spec.OnUpdate)...)
}

// Known returns the text of a part that the key decides.
func (p *Part) Known(id string, pieces []string) (text string, known bool) {
	switch {
	case p.Literal:
		return p.Name, true
	case p.Key > 0:
		if p.Key > len(pieces) {
			return "", true
		}
		return pieces[p.Key-1], true
	}
	return id, p.Field == ""
}

// Written returns a text as a message has it.
func (p *Part) Written(text string) string {
	if p.Base64 {
		return `"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"`
	}
	if p.Form == value.Quoted {
		return quotedJSON(text)
	}
	return text
}

// fixed reports whether the key of an item decides the name of the channel.
func (e *Event) fixed() bool {
	return !slices.ContainsFunc(e.Name, func(p Part) bool { _, known := p.Known("", nil); return !known })
}

// channel returns the name of a channel that the key of an item decides.
func (e *Event) channel(id string, pieces []string) string {
	name := e.Channel
	for _, p := range e.Name {
		text, _ := p.Known(id, pieces)
		name += text
	}
	return name
}

// streams refuses a stream whose key depends on a field: the key of a stream must be
// known before the script begins, and an update knows only the fields that it writes.
func (s *Keys) streams() error {
	for _, e := range slices.Concat(s.Spec.OnCreate, s.Spec.OnUpdate, s.Spec.OnDelete) {
		if e.Mode == Append && !e.fixed() {
			return &keywright.Error{Class: keywright.Invalid, Entry: s.Entry.Name,
				Err:  fmt.Errorf("the name of a durable channel depends on a field of the item"),
				Hint: "use placeholders of the item's key only"}
		}
	}
	return nil
}

// eventHead says how many texts are before the parts of an event.
const eventHead = 8

// Size returns how many texts an event has.
func Size(event []string) int {
	name, _ := strconv.Atoi(event[6])
	data, _ := strconv.Atoi(event[7])
	return eventHead + 3*(name+data)
}

// AppendEvents takes events into a call: the key of a stream goes to KEYS.
func AppendEvents(keys, args, events []string) (_, _ []string) {
	for len(events) > 0 {
		n := Size(events)
		keys, args = AppendEvent(keys, args, events[:n])
		events = events[n:]
	}
	return keys, args
}

// AppendEvent takes one event into a call.
func AppendEvent(keys, args, event []string) (_, _ []string) {
	args = append(args, event...)
	if Mode(event[1]) == Append {
		keys = append(keys, event[2])
		args[len(args)-len(event)+2] = strconv.Itoa(len(keys))
	}
	return keys, args
}

// When an event of a write is sent.
const (
	WasThere = "old"
	wasNot   = "new"
	hadDied  = "dead"
)

// EventTemplates returns events that the script fills in from the item.
func (s *Keys) EventTemplates(id, when string, events []Event) (out []string) {
	if len(events) == 0 {
		return nil
	}
	pieces := s.Pieces(id)
	for i := range events {
		e := &events[i]
		channel, name := e.Channel, e.Name
		if e.fixed() { // the script need not look
			channel, name = e.channel(id, pieces), nil
		}
		out = e.head(out, when, channel, s.Database, len(name), len(e.Data))
		for _, p := range name {
			if text, known := p.Known(id, pieces); known {
				out = append(out, text, "", "")
			} else {
				out = append(out, "", p.Field, "r")
			}
		}
		for _, p := range e.Data {
			if text, known := p.Known(id, pieces); known {
				out = append(out, Member(p.Name)+p.Written(text), "", "")
			} else {
				out = append(out, Member(p.Name), p.Field, forms[p.Form])
			}
		}
	}
	return out
}

var forms = [...]string{value.Quoted: "q", value.Bare: "b", value.Inline: "i"}

// Member returns the name of a field in a JSON object, with its colon.
func Member(name string) string {
	text, _ := value.Marshal(name)
	return string(text) + ":"
}

// quotedJSON returns a text as cjson.encode writes it, so that a message is the same
// whether the script made it or not: what is no UTF-8 stays as it is.
func quotedJSON(text string) string {
	out := append(make([]byte, 0, len(text)+2), '"')
	for i := range len(text) {
		c := text[i]
		if escape, ok := escapes[c]; ok {
			out = append(out, '\\', escape)
		} else if c < ' ' || c == 0x7f {
			out = fmt.Appendf(out, `\u%04x`, c)
		} else {
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// inDatabase returns the member of an envelope that says in which database it was
// published: a channel is shared by all of a server.
func inDatabase(c *keywright.Client) string {
	if db := c.Database(); db >= 0 {
		return `,"db":` + strconv.Itoa(db)
	}
	return ""
}

func (e *Event) head(out []string, when, channel, database string, name, data int) []string {
	length, age, envelope := "", "", "e"+database
	if e.MaxLen > 0 {
		length = strconv.FormatInt(e.MaxLen, 10)
	}
	if e.Age > 0 {
		age = strconv.FormatInt(e.Age.Milliseconds(), 10)
	}
	if e.Plain {
		envelope = "p"
	}
	return append(out, when, string(e.Mode), channel, length, age, envelope, strconv.Itoa(name), strconv.Itoa(data))
}

// ExpiredEvents returns the events of an item that has expired: what is known of it is its
// id and its record.
func (s *Keys) ExpiredEvents(id, record string) (out []string) {
	if len(s.Spec.OnExpire) == 0 {
		return nil
	}
	in, pieces := s.valuesByIndex(record), s.Pieces(id)
	for i := range s.Spec.OnExpire {
		e := &s.Spec.OnExpire[i]
		channel := e.Channel
		for _, p := range e.Name {
			text, _ := s.lastKnown(id, pieces, in, &p)
			channel += text
		}
		var parts []string
		for _, p := range e.Data {
			if text, known := s.lastKnown(id, pieces, in, &p); known {
				parts = append(parts, Member(p.Name)+p.Written(text), "", "")
			}
		}
		out = append(e.head(out, hadDied, channel, s.Database, 0, len(parts)/3), parts...)
	}
	return out
}

// lastKnown returns what a record says of a field.
func (s *Keys) lastKnown(id string, pieces []string, in map[string]string, p *Part) (string, bool) {
	if text, known := p.Known(id, pieces); known {
		return text, true
	}
	for i := range s.Spec.Indexes {
		if ix := &s.Spec.Indexes[i]; ix.Field == p.Field {
			if text, ok := in[ix.Name]; ok {
				return text, true
			}
		}
	}
	return "", false
}
