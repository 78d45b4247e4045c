package content

import (
	"encoding/json"
	"slices"

	"github.com/keywright/keywright/source"
)

// spelled describes how many members of one name in JSON objects have which form. All are 0 where
// the fields are those of hashes.
type spelled struct {
	Nulls, texts, numbers, bools int
	nested                       int // objects and arrays
}

func (f *spelled) merge(o *spelled) {
	f.Nulls, f.texts, f.numbers, f.bools = f.Nulls+o.Nulls, f.texts+o.texts, f.numbers+o.numbers, f.bools+o.bools
	f.nested += o.nested
}

// object looks into a string that is a JSON object.
func (c *Content) object(v *source.Value) {
	if v.Partial || len(v.Str) < 2 || v.Str[0] != '{' || len(v.Str) > 64<<10 {
		return
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(v.Str, &object) != nil {
		return
	}
	c.Objects++
	c.Fields.Values++
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := c.Fields.get(name)
		if f == nil {
			return
		}
		f.N++
		f.member(object[name])
	}
}

// member takes one member of an object.
func (f *field) member(raw json.RawMessage) {
	var s string
	switch raw[0] {
	case 'n':
		f.Forms.Nulls++
	case '"':
		if json.Unmarshal(raw, &s) == nil {
			f.Forms.texts++
			f.add([]byte(s))
		}
	case '{', '[':
		f.Forms.nested++
	case 't', 'f':
		f.Forms.bools++
	default:
		f.Forms.numbers++
		f.add(raw)
	}
}

// The forms of texts that are JSON strings, and those of JSON numbers.
const (
	textLooks   = lookUUID | lookULID | lookTimestamp | lookDate | lookHex | lookText
	numberForms = lookSeconds | lookMillis | lookInt
)

// Type returns the type of the field, as a declaration writes it: for a member of JSON objects
// the form decides, since "1" is read as no number there, and 1 as no text.
func (f *field) Type() string {
	if f.Forms == (spelled{Nulls: f.Forms.Nulls}) { // of hashes, or null in all objects
		return f.sketch.Type(enoughWords)
	}
	switch f.N - f.Forms.Nulls {
	case f.Forms.texts:
		if typ := f.among(enoughWords, textLooks); typ != "" {
			return typ
		}
		return "text"
	case f.Forms.numbers:
		if typ := f.among(0, numberForms); typ != "" {
			return typ
		}
		return "float"
	case f.Forms.bools:
		return "bool"
	}
	return "json"
}

// enoughWords says how many values make an enumeration of a few words.
const enoughWords = 30
