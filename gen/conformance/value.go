package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/scalar"
)

// Bytes represents a text of bytes: a JSON string if it is UTF-8, else {"hex": "…"}.
type Bytes string

type hexed struct {
	Hex *string `json:"hex"`
}

// MarshalJSON writes the bytes.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(b)) {
		return json.Marshal(string(b))
	}
	return hexJSON(string(b))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*b = Bytes(s)
		return nil
	}
	var h hexed
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	if h.Hex == nil {
		return errors.New(`bytes are a string or {"hex": "…"}`)
	}
	raw, err := hex.DecodeString(*h.Hex)
	*b = Bytes(raw)
	return err
}

func hexJSON(text string) ([]byte, error) {
	digits := hex.EncodeToString([]byte(text))
	return json.Marshal(hexed{&digits})
}

// Value represents the value of a placeholder as it is in a key, and what kind it
// is. In JSON it is what a program has in hand: a number (a string of digits if
// it is not exact as a 64-bit float), true or false, {"hex": "…"} for bytes, a
// string for everything else.
type Value struct {
	Text string
	Kind scalar.Kind
}

// MarshalJSON writes the value.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.Kind {
	case scalar.Int, scalar.UnixS, scalar.UnixMS:
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil || n <= -1<<53 || n >= 1<<53 {
			return json.Marshal(v.Text)
		}
		return []byte(v.Text), nil
	case scalar.Bool:
		return []byte(v.Text), nil
	case scalar.Bytes:
		return hexJSON(v.Text)
	}
	return json.Marshal(v.Text)
}

// UnmarshalJSON reads the text of the value; the kind is not in it.
func (v *Value) UnmarshalJSON(text []byte) error {
	if text[0] != '"' && text[0] != '{' {
		v.Text = string(text)
		return nil
	}
	var b Bytes
	err := b.UnmarshalJSON(text)
	v.Text = string(b)
	return err
}

// held reports whether a program can have the text in hand as a value of the
// kind: there is no number 05, and no string that is not text.
func held(kind scalar.Kind, text string) bool {
	switch kind {
	case scalar.Int, scalar.UnixS, scalar.UnixMS:
		return spelledOnce(text)
	case scalar.Bool:
		return text == "true" || text == "false"
	case scalar.Bytes:
		return true
	}
	return utf8.ValidString(text)
}

// spelledOnce reports whether a text is a whole number in its only spelling.
func spelledOnce(text string) bool {
	digits := text
	if len(text) > 0 && text[0] == '-' {
		digits = text[1:]
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text == "0" || digits != "" && digits[0] != '0'
}
