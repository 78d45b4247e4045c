package reseal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/value/seal"
)

// maxUnknown bounds how many unknown key ids a report names.
const maxUnknown = 20

// cell represents one stored text of a key: it is sealed, or a JSON object with sealed
// members.
type cell struct {
	where  string // field of a hash, index of a list, id of a stream's entry
	field  string // in the place it is sealed for
	line   string // what is before it, and is not sealed
	stored string
	parts  []*Part
}

// look counts what is in a cell, and gives the text that is to take its place;
// parts are those that change. Without any the text is as it was.
func (p *pass) look(t *target, key string, c cell) (text string, parts []*Part) {
	text = c.stored
	for _, part := range c.parts {
		sealed, from, to, there := text, 0, len(text), true
		if part.at.Member != "" {
			if sealed, from, to, there = member(text, part.at.Member); !there {
				continue
			}
		}
		part.Texts++
		raw := text[from:to]
		again, changed := p.renew(part,
			keywright.Place{Schema: t.entry.Schema, Key: key, Field: placeField(c.field, part.at.Member)}, c.where, sealed, raw)
		if !changed {
			continue
		}
		if part.at.Member != "" {
			again = text[:from] + `"` + base64.StdEncoding.EncodeToString([]byte(again)) + `"` + text[to:]
		}
		text, parts = again, append(parts, part)
	}
	return text, parts
}

func placeField(field, member string) string {
	if field == "" || member == "" {
		return field + member
	}
	return field + "." + member
}

// renew counts one sealed text, and seals it again if that is what is to be done.
// raw is what is there if it is not sealed.
func (p *pass) renew(part *Part, at keywright.Place, where, sealed, raw string) (string, bool) {
	id, ok := seal.KeyID(sealed)
	if !ok {
		return p.adopt(part, at, where, sealed, raw)
	}
	plain, err := p.Ring.Open(at, sealed)
	switch {
	case errors.Is(err, seal.ErrUnknownKey):
		if _, named := part.Unknown[id]; !named && len(part.Unknown) >= maxUnknown {
			id = "others"
		}
		part.Unknown[id]++
		part.example(at.Key, where, NotInRing)
	case err != nil:
		part.Forged[id]++
		part.example(at.Key, where, DoesNotOpen)
	case id != p.active && part.Type == "stream":
		part.Keys[id]++
		part.Fixed++
	case id != p.active && p.do == rotates:
		part.Keys[id]++ // as it was found
		again, err := p.Ring.Seal(at, plain)
		return again, err == nil
	default:
		part.Keys[id]++
	}
	return "", false
}

// adopt counts a text that is not sealed, and seals it if it is plain and that is
// what is to be done.
func (p *pass) adopt(part *Part, at keywright.Place, where, stored, raw string) (string, bool) {
	part.NotSealed++
	plain := seal.IsPlain(stored) && (part.at.Member == "" || json.Valid([]byte(raw)))
	if !plain || part.Type == "stream" { // entries of streams cannot be changed
		part.example(at.Key, where, NotSealed)
		return "", false
	}
	if !readable(part.at, raw) {
		part.Misfits++
		part.example(at.Key, where, NotAsTyped)
		return "", false
	}
	part.Plain++
	if p.do != adopts {
		part.example(at.Key, where, NotSealed)
		return "", false
	}
	again, err := p.Ring.Seal(at, raw)
	return again, err == nil
}

// readable reports whether a reader of the declared type can read a plain text. What
// only narrows the type (a range, a length, words) is not looked at, as readers do
// not look at it.
func readable(at keyspace.SealedPart, raw string) bool {
	t := at.Type
	t.HasMin, t.HasMax = false, false
	if at.Member == "" {
		return parses(t, raw)
	}
	switch t.Kind {
	case scalar.JSON:
		return true
	case scalar.Int, scalar.Float, scalar.Bool, scalar.UnixS, scalar.UnixMS:
		return parses(t, raw)
	}
	var text string
	if json.Unmarshal([]byte(raw), &text) != nil {
		return false
	}
	if t.Kind == scalar.Bytes {
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil
	}
	return parses(t, text)
}

// parsed lists the kinds of which not every text is a value to a reader.
var parsed = map[scalar.Kind]bool{
	scalar.Int: true, scalar.Float: true, scalar.Bool: true, scalar.Date: true, scalar.Timestamp: true, scalar.UnixS: true,
	scalar.UnixMS: true, scalar.JSON: true,
}

func parses(t scalar.Type, text string) bool { return !parsed[t.Kind] || t.Is([]byte(text)) }

// member finds a sealed member of a JSON object: its bytes, and where its JSON is. A member that is no text or no
// base64 is returned unchanged: it is not sealed. Of two with one name the last one counts, as when the object is
// read.
func member(object, name string) (sealed string, from, to int, there bool) {
	decode := json.NewDecoder(bytes.NewReader([]byte(object)))
	if first, err := decode.Token(); err != nil || first != json.Delim('{') {
		return object, 0, 0, true // no object: not sealed
	}
	for decode.More() {
		key, err := decode.Token()
		var raw json.RawMessage
		if err == nil {
			err = decode.Decode(&raw)
		}
		if err != nil {
			return object, 0, 0, true
		}
		if key != name {
			continue
		}
		there = string(raw) != "null"
		to = int(decode.InputOffset())
		from, sealed = to-len(raw), string(raw)
		var text string
		if json.Unmarshal(raw, &text) == nil {
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				sealed = string(b)
			}
		}
	}
	return sealed, from, to, there
}
