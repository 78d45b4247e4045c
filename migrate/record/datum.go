package record

import (
	"strconv"
	"time"

	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// kind describes what a value of a document is.
type kind uint8

const (
	nothing  kind = iota // no member of this name
	null                 // null
	text                 // a text
	number               // a number; text has its digits as they are written
	boolean              // true or false, in text
	compound             // an object or array, in raw
	instant              // a time that a conversion has read
	octets               // bytes that a conversion has read, in text
	spelled              // a text that spells the number, boolean or time that is stored
)

// kindNames lists the kinds as reasons call them.
var kindNames = [...]string{"nothing", "null", "a text", "a number", "true or false", "an object or array", "a time",
	"bytes", "a text"}

// datum represents one value on its way between a document and a key.
type datum struct {
	kind kind
	text string
	raw  []byte // as it is in the document
	time time.Time
}

// datumOf reads a value that has been checked; nil is nothing.
func datumOf(raw []byte) datum {
	if len(raw) == 0 {
		return datum{}
	}
	switch raw[0] {
	case '"':
		return datum{kind: text, text: textOf(raw), raw: raw}
	case '{', '[':
		return datum{kind: compound, raw: raw}
	case 'n':
		return datum{kind: null, raw: raw}
	case 't', 'f':
		return datum{kind: boolean, text: string(raw), raw: raw}
	}
	return datum{kind: number, text: string(raw), raw: raw}
}

// json returns the datum as it is written in a document; nil for nothing.
func (d datum) json() []byte {
	switch d.kind {
	case nothing:
		return nil
	case text, spelled:
		return quote(nil, d.text)
	case compound:
		return d.raw
	case null:
		return []byte("null")
	case instant:
		return quote(nil, d.time.UTC().Format(time.RFC3339Nano))
	}
	return []byte(d.text)
}

// whole returns a number without a fraction, as decimal digits.
func whole(digits string) (string, bool) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	d, ok := decimal.Parse(digits)
	if !ok || d.Exp < 0 || len(d.Digits)+d.Exp > 400 {
		return "", false
	}
	return d.Plain(), true
}
