package portable

import (
	"math"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Part represents one thing that is stored under a key or sent on a channel, with a type
// and a codec of its own.
type Part struct {
	Attribute string // "value", "payload", "member", "score", "fields", "field", "item", "message"
	Doc       string
	Type      scalar.Type // unless Object or Fields is set
	Object    []Member    // a JSON object
	Fields    []Member    // the fields of a hash or of an entry of a stream
}

// Member represents a field of an object, a hash or a stream.
type Member struct {
	Name string
	Type scalar.Type
	Data []Member // json: an object with these members, nil for any JSON
}

// Parts returns what is stored under a key.
func Parts(k *keyspace.Key) (parts []Part) {
	scalars := func(attribute, doc string, t *scalar.Type) {
		if t != nil {
			parts = append(parts, Part{Attribute: attribute, Doc: doc, Type: *t})
		}
	}
	objects := func(attribute, doc string, fields []keyspace.Field) {
		if len(fields) > 0 {
			parts = append(parts, Part{Attribute: attribute, Doc: doc, Object: members(fields)})
		}
	}
	switch {
	case k.Headed && len(k.Entry.Shape) > 0:
		objects("payload", "The payload of a job, a JSON object.", k.Entry.Shape)
	case k.Headed:
		scalars("payload", "The payload of a job", k.Value)
	case len(k.JSON) > 0:
		objects("value", "The value, a JSON object.", k.JSON)
	default:
		scalars("value", "Value", k.Value)
	}
	scalars("member", "Element", k.Member)
	scalars("score", "Score", k.Score)
	if len(k.Fields) > 0 {
		fields := Part{Attribute: "fields", Doc: "The fields.", Fields: members(k.Fields)}
		if c := k.Entry.Topic; c != nil && k.Role == "" {
			fields.carry(c)
		}
		parts = append(parts, fields)
	}
	scalars("field", "Name of a field", k.Field)
	scalars("item", "Value of a field", k.Item)
	return parts
}

// carry says of the member data what is declared of the messages of a channel.
func (p *Part) carry(c *keyspace.Channel) {
	for _, list := range [][]Member{p.Object, p.Fields} {
		for i := range list {
			if list[i].Name == "data" && len(c.Message) > 0 {
				list[i].Data = members(c.Message)
			}
		}
	}
}

// Message returns what is sent on a channel: the envelope and the data in it, or the
// data alone.
func Message(c *keyspace.Channel) Part {
	p := Part{Attribute: "message", Doc: "A message on " + c.Pattern.String() + ", as JSON.",
		Type: scalar.Type{Kind: scalar.JSON}}
	if c.Plain {
		p.Object = members(c.Message)
		return p
	}
	optional := func(kind scalar.Kind) scalar.Type { return scalar.Type{Kind: kind, Optional: true} }
	p.Object = []Member{
		{Name: "timestamp", Type: scalar.Type{Kind: scalar.UnixMS}},
		// none in an answer that is an error
		{Name: "data", Type: scalar.Type{Kind: scalar.JSON, Optional: c.Answers != nil}},
		{Name: "db", Type: optional(scalar.Int)},
	}
	switch {
	case c.Request:
		p.Object = append(p.Object, Member{Name: "id", Type: optional(scalar.Text)},
			Member{Name: "replyTo", Type: optional(scalar.Text)})
	case c.Answers != nil:
		p.Object = append(p.Object, Member{Name: "id", Type: optional(scalar.Text)},
			Member{Name: "error", Type: optional(scalar.Text)})
	}
	p.carry(c)
	return p
}

func members(fields []keyspace.Field) []Member {
	out := make([]Member, len(fields))
	for i, f := range fields {
		out[i] = Member{Name: f.Name, Type: f.Type}
	}
	return out
}

// Range returns what an int may be when it is written, as decimals of 64 bits.
func Range(t scalar.Type) (low, high string) {
	low, high = strconv.FormatInt(math.MinInt64, 10), strconv.FormatInt(math.MaxInt64, 10)
	if t.HasMin {
		low = bound(true, t.Low)
	}
	if t.HasMax {
		high = bound(true, t.High)
	}
	return low, high
}

// Exact reports whether all values of an int are exact as a 64-bit float.
func Exact(t scalar.Type) bool {
	low, high := Range(t)
	return (&Place{Low: low, High: high}).Safe()
}

// Matched returns the automaton of a type whose stored values it decides, and whether
// the empty text is one of them.
func Matched(t scalar.Type) (table string, empty bool) {
	l, err := t.Value()
	if err != nil || l == nil {
		return "", false
	}
	return Pack(pattern.TableOf(l)), l.Accepts("")
}

// Notifies returns the channels of the constructs themselves, as a queue's that tells
// its workers: what is sent there is no message of the declaration's.
func Notifies(ks *keyspace.Keyspace) map[*keyspace.Channel]bool {
	own := map[*keyspace.Channel]bool{}
	for _, e := range ks.Entries {
		own[e.Notify] = true
	}
	return own
}
