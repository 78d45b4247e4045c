// Package message is the messages that an entity sends in the same step as a change of an item: where each goes, and
// which fields of the item it has. It sends none: the stores of package entity do, and the declaration says which.
//
// API: may change until 1.0.
package message

import (
	"encoding/base64"
	"fmt"
	"time"

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
	Key     int        // n for the nth of entity.Spec.Pieces, instead of a field; 0: none of them
	Form    value.Form // how it is written in JSON
	Base64  bool       // bytes, which a message has so; not of a field
	Literal bool       // Name is text as it is
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
