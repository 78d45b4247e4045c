package record

import (
	"math"
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// store returns a value as it is stored in a slot. There is none for nothing; the
// reason is "" if it could be.
func (s *slot) store(d datum) (stored string, there bool, reason string) {
	if d.kind == nothing {
		return "", false, ""
	}
	stored, reason = s.form(d)
	if reason == "" && !s.free && !s.check([]byte(stored)) {
		reason = "is not " + s.typ.Describe()
	}
	return stored, reason == "", reason
}

// form returns a value in the spelling of the type.
func (s *slot) form(d datum) (string, string) {
	switch s.typ.Kind {
	case scalar.JSON:
		if d.kind == compound {
			return string(compact(d.raw)), ""
		}
		if d.kind == spelled {
			d.kind = text
		}
		return string(d.json()), ""
	case scalar.Int:
		return formNumber(d, func(digits string) (string, string) {
			n, ok := whole(digits)
			if !ok {
				return "", "is no whole number"
			}
			return n, ""
		})
	case scalar.Float:
		return formNumber(d, formFloat)
	case scalar.UnixS, scalar.UnixMS:
		return formUnix(d, s.typ.Kind)
	case scalar.Timestamp:
		if d.kind == instant {
			return d.time.UTC().Format(time.RFC3339Nano), ""
		}
	case scalar.Bool:
		if d.kind == boolean || d.kind == spelled {
			return d.text, ""
		}
		if d.kind == text {
			return "", "is a text; text(…) reads what it spells"
		}
	case scalar.Bytes:
		if d.kind == octets {
			return d.text, ""
		}
	}
	if d.kind == text || d.kind == spelled {
		return d.text, ""
	}
	if d.kind == number {
		return "", "is a number, and " + s.typ.Kind.String() + " is a text; number(…) takes its digits"
	}
	return "", "is " + kindNames[d.kind] + ", not " + s.typ.Describe()
}

func formNumber(d datum, write func(string) (string, string)) (string, string) {
	switch d.kind {
	case number:
		return write(d.text)
	case spelled:
		if _, ok := numberForm([]byte(d.text)); !ok {
			return "", "spells no number"
		}
		return write(d.text)
	case text:
		return "", "is a text; text(…) reads the number that it spells"
	}
	return "", "is " + kindNames[d.kind] + ", not a number"
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

func formUnix(d datum, k scalar.Kind) (string, string) {
	if d.kind != instant {
		return formNumber(d, func(digits string) (string, string) {
			n, ok := whole(digits)
			if !ok {
				return "", "is no whole number; unix_s(…) and unix_ms(…) read fractions"
			}
			return n, ""
		})
	}
	if k == scalar.UnixS {
		return strconv.FormatInt(d.time.Unix(), 10), ""
	}
	return strconv.FormatInt(d.time.UnixMilli(), 10), ""
}

// load returns a stored value as a datum: what store was given, as far as that is
// known. JSON has been checked.
func (s *slot) load(stored string) (datum, string) {
	switch s.typ.Kind {
	case scalar.JSON:
		return datumOf(trim([]byte(stored))), ""
	case scalar.Int, scalar.Float:
		d, ok := decimal.Parse(stored)
		if !ok {
			return datum{}, "is no number"
		}
		return datum{kind: number, text: d.String()}, ""
	case scalar.UnixS, scalar.UnixMS:
		unit := time.Second
		if s.typ.Kind == scalar.UnixMS {
			unit = time.Millisecond
		}
		t, ok := unixTime(stored, unit)
		if !ok {
			return datum{}, "is no Unix time"
		}
		if s.term.Instant() {
			return datum{kind: instant, time: t}, ""
		}
		n, ok := whole(stored)
		if !ok {
			return datum{}, "is no whole number"
		}
		return datum{kind: number, text: n}, ""
	case scalar.Timestamp:
		if s.term.Instant() {
			t, err := time.Parse(time.RFC3339Nano, stored)
			if err != nil {
				return datum{}, "is no RFC 3339 timestamp"
			}
			return datum{kind: instant, time: t}, ""
		}
	case scalar.Bool:
		v, ok := key.ParseBool(stored)
		if !ok {
			return datum{}, "is neither true nor false"
		}
		return datum{kind: boolean, text: strconv.FormatBool(v)}, ""
	case scalar.Bytes:
		return datum{kind: octets, text: stored}, ""
	}
	return datum{kind: text, text: stored}, ""
}

// slot represents one part of a record: the term that it is taken from, and the type that
// it is stored in.
type slot struct {
	name  string
	term  route.Term
	typ   scalar.Type
	check func([]byte) bool
	free  bool // whatever has the form is of the type
}

func newSlot(name string, t *route.Term, typ *scalar.Type) *slot {
	if t == nil {
		return nil
	}
	s := &slot{name: name, term: *t}
	if typ != nil {
		s.typ = *typ
	}
	s.check = s.typ.Prepared()
	s.free = s.typ.Kind == scalar.JSON || s.typ.Kind == scalar.Bytes || s.typ.Kind == scalar.Text && s.typ.Max == 0
	return s
}
