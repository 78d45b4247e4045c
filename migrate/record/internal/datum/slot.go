package datum

import (
	"math"
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// Store returns a value as it is stored in a slot. There is none for nothing; the
// reason is "" if it could be.
func (s *Slot) Store(d Datum) (stored string, there bool, reason string) {
	if d.Kind == Nothing {
		return "", false, ""
	}
	stored, reason = s.form(d)
	if reason == "" && !s.Free && !s.Check([]byte(stored)) {
		reason = "is not " + s.Type.Describe()
	}
	return stored, reason == "", reason
}

// form returns a value in the spelling of the type.
func (s *Slot) form(d Datum) (string, string) {
	switch s.Type.Kind {
	case scalar.JSON:
		if d.Kind == Compound {
			return string(jsontext.Compact(d.Raw)), ""
		}
		if d.Kind == Spelled {
			d.Kind = Text
		}
		return string(d.JSON()), ""
	case scalar.Int:
		return formNumber(d, func(digits string) (string, string) {
			n, ok := wholeDigits(digits)
			if !ok {
				return "", "is no whole number"
			}
			return n, ""
		})
	case scalar.Float:
		return formNumber(d, formFloat)
	case scalar.UnixS, scalar.UnixMS:
		return formUnix(d, s.Type.Kind)
	case scalar.Timestamp:
		if d.Kind == Instant {
			return d.Time.UTC().Format(time.RFC3339Nano), ""
		}
	case scalar.Bool:
		if d.Kind == boolean || d.Kind == Spelled {
			return d.Text, ""
		}
		if d.Kind == Text {
			return "", "is a text; text(…) reads what it spells"
		}
	case scalar.Bytes:
		if d.Kind == octets {
			return d.Text, ""
		}
	}
	if d.Kind == Text || d.Kind == Spelled {
		return d.Text, ""
	}
	if d.Kind == Number {
		return "", "is a number, and " + s.Type.Kind.String() + " is a text; number(…) takes its digits"
	}
	return "", "is " + kindNames[d.Kind] + ", not " + s.Type.Describe()
}

func formNumber(d Datum, write func(string) (string, string)) (string, string) {
	switch d.Kind {
	case Number:
		return write(d.Text)
	case Spelled:
		if _, ok := jsontext.NumberForm([]byte(d.Text)); !ok {
			return "", "spells no number"
		}
		return write(d.Text)
	case Text:
		return "", "is a text; text(…) reads the number that it spells"
	}
	return "", "is " + kindNames[d.Kind] + ", not a number"
}

// formFloat keeps every digit, or refuses.
func formFloat(digits string) (string, string) {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) {
		return "", "is beyond the range of a float"
	}
	stored := string(key.AppendFloat(nil, f))
	was, ok1 := decimal.Parse(digits)
	is, ok2 := decimal.Parse(stored)
	if !ok1 || !ok2 || was != is {
		return "", "has more digits than a float keeps"
	}
	return stored, ""
}

func formUnix(d Datum, k scalar.Kind) (string, string) {
	if d.Kind != Instant {
		return formNumber(d, func(digits string) (string, string) {
			n, ok := wholeDigits(digits)
			if !ok {
				return "", "is no whole number; unix_s(…) and unix_ms(…) read fractions"
			}
			return n, ""
		})
	}
	if k == scalar.UnixS {
		return strconv.FormatInt(d.Time.Unix(), 10), ""
	}
	return strconv.FormatInt(d.Time.UnixMilli(), 10), ""
}

// Load returns a stored value as a datum: what store was given, as far as that is
// known. JSON has been checked.
func (s *Slot) Load(stored string) (Datum, string) {
	switch s.Type.Kind {
	case scalar.JSON:
		return Of(jsontext.Trim([]byte(stored))), ""
	case scalar.Int, scalar.Float:
		d, ok := decimal.Parse(stored)
		if !ok {
			return Datum{}, "is no number"
		}
		return Datum{Kind: Number, Text: d.String()}, ""
	case scalar.UnixS, scalar.UnixMS:
		unit := time.Second
		if s.Type.Kind == scalar.UnixMS {
			unit = time.Millisecond
		}
		t, ok := unixTime(stored, unit)
		if !ok {
			return Datum{}, "is no Unix time"
		}
		if s.Term.Instant() {
			return Datum{Kind: Instant, Time: t}, ""
		}
		n, ok := wholeDigits(stored)
		if !ok {
			return Datum{}, "is no whole number"
		}
		return Datum{Kind: Number, Text: n}, ""
	case scalar.Timestamp:
		if s.Term.Instant() {
			t, err := time.Parse(time.RFC3339Nano, stored)
			if err != nil {
				return Datum{}, "is no RFC 3339 timestamp"
			}
			return Datum{Kind: Instant, Time: t}, ""
		}
	case scalar.Bool:
		v, ok := key.ParseBool(stored)
		if !ok {
			return Datum{}, "is neither true nor false"
		}
		return Datum{Kind: boolean, Text: strconv.FormatBool(v)}, ""
	case scalar.Bytes:
		return Datum{Kind: octets, Text: stored}, ""
	}
	return Datum{Kind: Text, Text: stored}, ""
}

// Slot represents one part of a record: the term that it is taken from, and the type that
// it is stored in.
type Slot struct {
	Name  string
	Term  route.Term
	Type  scalar.Type
	Check func([]byte) bool
	Free  bool // whatever has the form is of the type
}

// NewSlot returns the slot of a term, nil for none.
func NewSlot(name string, t *route.Term, typ *scalar.Type) *Slot {
	if t == nil {
		return nil
	}
	s := &Slot{Name: name, Term: *t}
	if typ != nil {
		s.Type = *typ
	}
	s.Check = s.Type.Prepared()
	s.Free = s.Type.Kind == scalar.JSON || s.Type.Kind == scalar.Bytes || s.Type.Kind == scalar.Text && s.Type.Max == 0
	return s
}
