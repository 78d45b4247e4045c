package scalar

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Form describes how the values of a type are written in a JSON object.
type Form uint8

// The forms.
const (
	Quoted Form = iota // as a JSON string
	Bare               // as a number, true or false
	Inline             // as the JSON it is
)

// String returns the name of the form.
func (f Form) String() string { return [...]string{"Quoted", "Bare", "Inline"}[f] }

// forms lists those of the kinds that are no JSON strings.
var forms = map[Kind]Form{Int: Bare, Float: Bare, Bool: Bare, UnixS: Bare, UnixMS: Bare, JSON: Inline}

// ValidJSON reports whether a text is JSON, which is UTF-8: readers in some languages refuse
// other bytes, and those in Go would take the replacement character for each.
func ValidJSON(text []byte) bool { return utf8.Valid(text) && json.Valid(text) }

// InJSON returns how the values of a kind are written in a JSON object.
func (k Kind) InJSON() Form { return forms[k] }

// CheckJSON says why a member of a JSON object is not of this type; nil if it is. It
// judges by the form, as generated code reads it: "1" is no int, and 1 no text. Like
// Check it does not look into an encrypted value, and never repeats the value.
func (t Type) CheckJSON(member []byte) error {
	form := t.Kind.InJSON()
	if t.Encrypted || form == Inline {
		return t.Check(member)
	}
	text, quoted := Unquoted(member)
	if quoted != (form == Quoted) {
		return fmt.Errorf("a JSON %s, not %s", jsonWord(member), t.Describe())
	}
	if t.Kind == Bytes {
		if _, err := Base64(text); err != nil {
			return errors.New("not base64")
		}
		return nil
	}
	return t.Check(text)
}

// Unquoted returns the text of a JSON string, and whether the JSON is one; what is none stays
// as it is.
func Unquoted(member []byte) (text []byte, quoted bool) {
	if len(member) == 0 || member[0] != '"' {
		return member, false
	}
	var s string
	if json.Unmarshal(member, &s) != nil {
		return member, false
	}
	return []byte(s), true
}

// Base64 reads bytes in a JSON string: the standard alphabet, padded, in one line.
func Base64(text []byte) ([]byte, error) {
	for _, c := range text {
		if c == '\n' || c == '\r' {
			return nil, errors.New("a line break in base64")
		}
	}
	return base64.StdEncoding.AppendDecode(nil, text)
}

// jsonWord returns what JSON calls a value.
func jsonWord(member []byte) string {
	word := "number"
	if len(member) > 0 {
		switch member[0] {
		case '"':
			word = "string"
		case '{':
			word = "object"
		case '[':
			word = "array"
		case 't', 'f':
			word = "boolean"
		case 'n':
			word = "null"
		}
	}
	return word
}
