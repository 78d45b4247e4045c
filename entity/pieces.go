package entity

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// pieces returns the texts of placeholders of an item's key, as its events carry them.
func (s *core) pieces(id string) []string {
	if s.spec.Pieces == nil {
		return nil
	}
	return s.spec.Pieces(s.key(id))
}

// written returns the events of a write of a whole item.
func (s *core) written(id string) []string {
	return append(s.templates(id, wasNot, s.spec.OnCreate), s.templates(id, wasThere, s.spec.OnUpdate)...)
}

// known returns the text of a part that the key decides.
func (p *Part) known(id string, pieces []string) (text string, known bool) {
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

// written returns a text as a message has it.
func (p *Part) written(text string) string {
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
	return !slices.ContainsFunc(e.Name, func(p Part) bool { _, known := p.known("", nil); return !known })
}

// channel returns the name of a channel that the key of an item decides.
func (e *Event) channel(id string, pieces []string) string {
	name := e.Channel
	for _, p := range e.Name {
		text, _ := p.known(id, pieces)
		name += text
	}
	return name
}

// streams refuses a stream whose key depends on a field: the key of a stream must be
// known before the script begins, and an update knows only the fields that it writes.
func (s *core) streams() error {
	for _, e := range slices.Concat(s.spec.OnCreate, s.spec.OnUpdate, s.spec.OnDelete) {
		if e.Mode == Append && !e.fixed() {
			return &keywright.Error{Class: keywright.Invalid, Entry: s.entry.Name,
				Err:  fmt.Errorf("the name of a durable channel depends on a field of the item"),
				Hint: "use placeholders of the item's key only"}
		}
	}
	return nil
}
