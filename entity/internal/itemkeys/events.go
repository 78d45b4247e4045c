package itemkeys

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/message"
	"github.com/keywright/keywright/value"
)

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

// byKey reports whether the key of an item decides the name of the channel.
func byKey(e *message.Event) bool {
	return !slices.ContainsFunc(e.Name, func(p message.Part) bool { _, known := p.Known("", nil); return !known })
}

// channel returns the name of a channel that the key of an item decides.
func channel(e *message.Event, id string, pieces []string) string {
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
		if e.Mode == message.Append && !byKey(&e) {
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
	if message.Mode(event[1]) == message.Append {
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
func (s *Keys) EventTemplates(id, when string, events []message.Event) (out []string) {
	if len(events) == 0 {
		return nil
	}
	pieces := s.Pieces(id)
	for i := range events {
		e := &events[i]
		to, name := e.Channel, e.Name
		if byKey(e) { // the script need not look
			to, name = channel(e, id, pieces), nil
		}
		out = head(e, out, when, to, s.Database, len(name), len(e.Data))
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

// inDatabase returns the member of an envelope that says in which database it was
// published: a channel is shared by all of a server.
func inDatabase(c *keywright.Client) string {
	if db := c.Database(); db >= 0 {
		return `,"db":` + strconv.Itoa(db)
	}
	return ""
}

func head(e *message.Event, out []string, when, to, database string, name, data int) []string {
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
	return append(out, when, string(e.Mode), to, length, age, envelope, strconv.Itoa(name), strconv.Itoa(data))
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
		to := e.Channel
		for _, p := range e.Name {
			text, _ := s.lastKnown(id, pieces, in, &p)
			to += text
		}
		var parts []string
		for _, p := range e.Data {
			if text, known := s.lastKnown(id, pieces, in, &p); known {
				parts = append(parts, Member(p.Name)+p.Written(text), "", "")
			}
		}
		out = append(head(e, out, hadDied, to, s.Database, 0, len(parts)/3), parts...)
	}
	return out
}

// lastKnown returns what a record says of a field.
func (s *Keys) lastKnown(id string, pieces []string, in map[string]string, p *message.Part) (string, bool) {
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
