package infer

import (
	"encoding/json"
	"slices"

	"github.com/keywright/keywright/source"
)

// spelled describes how many members of one name in JSON objects have which form. All are 0 where
// the fields are those of hashes.
type spelled struct {
	nulls, texts, numbers, bools int
	nested                       int // objects and arrays
}

func (f *spelled) merge(o *spelled) {
	f.nulls, f.texts, f.numbers, f.bools = f.nulls+o.nulls, f.texts+o.texts, f.numbers+o.numbers, f.bools+o.bools
	f.nested += o.nested
}

// object looks into a string that is a JSON object.
func (c *content) object(v *source.Value) {
	if v.Partial || len(v.Str) < 2 || v.Str[0] != '{' || len(v.Str) > 64<<10 {
		return
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(v.Str, &object) != nil {
		return
	}
	c.objects++
	c.fields.values++
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := c.fields.get(name)
		if f == nil {
			return
		}
		f.n++
		f.member(object[name])
	}
}

// member takes one member of an object.
func (f *field) member(raw json.RawMessage) {
	var s string
	switch raw[0] {
	case 'n':
		f.forms.nulls++
	case '"':
		if json.Unmarshal(raw, &s) == nil {
			f.forms.texts++
			f.add([]byte(s))
		}
	case '{', '[':
		f.forms.nested++
	case 't', 'f':
		f.forms.bools++
	default:
		f.forms.numbers++
		f.add(raw)
	}
}

// The forms of texts that are JSON strings, and those of JSON numbers.
const (
	textLooks   = lookUUID | lookULID | lookTimestamp | lookDate | lookHex | lookText
	numberForms = lookSeconds | lookMillis | lookInt
)

// typ returns the type of the field, as a declaration writes it: for a member of JSON objects
// the form decides, since "1" is read as no number there, and 1 as no text.
func (f *field) typ() string {
	if f.forms == (spelled{nulls: f.forms.nulls}) { // of hashes, or null in all objects
		return f.sketch.typ(enoughWords)
	}
	switch f.n - f.forms.nulls {
	case f.forms.texts:
		if typ := f.among(enoughWords, textLooks); typ != "" {
			return typ
		}
		return "text"
	case f.forms.numbers:
		if typ := f.among(0, numberForms); typ != "" {
			return typ
		}
		return "float"
	case f.forms.bools:
		return "bool"
	}
	return "json"
}

// enoughWords says how many values make an enumeration of a few words.
const enoughWords = 30
