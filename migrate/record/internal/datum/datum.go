// Package datum converts single values: what a document has becomes what is stored under a type, and back, as the terms
// of a move say. It knows no record and no document.
package datum

import (
	"strconv"
	"time"

	"github.com/keywright/keywright/migrate/record/internal/decimal"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// kind describes what a value of a document is.
type kind uint8

const (
	Nothing  kind = iota // no member of this name
	null                 // null
	Text                 // a text
	Number               // a number; text has its digits as they are written
	boolean              // true or false, in text
	Compound             // an object or array, in raw
	Instant              // a time that a conversion has read
	octets               // bytes that a conversion has read, in text
	Spelled              // a text that spells the number, boolean or time that is stored
)

// kindNames lists the kinds as reasons call them.
var kindNames = [...]string{"nothing", "null", "a text", "a number", "true or false", "an object or array", "a time",
	"bytes", "a text"}

// Datum represents one value on its way between a document and a key.
type Datum struct {
	Kind kind
	Text string
	Raw  []byte // as it is in the document
	Time time.Time
}

// Of reads a value that has been checked; nil is nothing.
func Of(raw []byte) Datum {
	if len(raw) == 0 {
		return Datum{}
	}
	switch raw[0] {
	case '"':
		return Datum{Kind: Text, Text: jsontext.TextOf(raw), Raw: raw}
	case '{', '[':
		return Datum{Kind: Compound, Raw: raw}
	case 'n':
		return Datum{Kind: null, Raw: raw}
	case 't', 'f':
		return Datum{Kind: boolean, Text: string(raw), Raw: raw}
	}
	return Datum{Kind: Number, Text: string(raw), Raw: raw}
}

// JSON returns the datum as it is written in a document; nil for nothing.
func (d Datum) JSON() []byte {
	switch d.Kind {
	case Nothing:
		return nil
	case Text, Spelled:
		return jsontext.Quote(nil, d.Text)
	case Compound:
		return d.Raw
	case null:
		return []byte("null")
	case Instant:
		return jsontext.Quote(nil, d.Time.UTC().Format(time.RFC3339Nano))
	}
	return []byte(d.Text)
}

// wholeDigits returns a number without a fraction, as decimal digits.
func wholeDigits(digits string) (string, bool) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	d, ok := decimal.Parse(digits)
	if !ok || d.Exp < 0 || len(d.Digits)+d.Exp > 400 {
		return "", false
	}
	return d.Plain(), true
}
