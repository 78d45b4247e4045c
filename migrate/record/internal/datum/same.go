package datum

import (
	"time"

	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// SameStored compares two spellings of one value of a type.
func SameStored(k scalar.Kind, a, b string) bool {
	switch k {
	case scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS:
		return SameNumber(a, b)
	case scalar.Bool:
		x, ok1 := key.ParseBool(a)
		y, ok2 := key.ParseBool(b)
		return ok1 && ok2 && x == y
	case scalar.Timestamp:
		return SameInstant(Datum{Kind: Text, Text: a}, Datum{Kind: Text, Text: b})
	}
	return false
}

// SameNumber compares two spellings of a number.
func SameNumber(a, b string) bool {
	x, ok1 := decimal.Parse(a)
	y, ok2 := decimal.Parse(b)
	return ok1 && ok2 && x == y
}

// SameInstant compares two texts or numbers that are times.
func SameInstant(a, b Datum) bool {
	x, ok1 := instantOf(a)
	y, ok2 := instantOf(b)
	return ok1 && ok2 && x.Equal(y)
}

// instantOf reads a time of either form: a number of less than 10^11 is seconds.
func instantOf(d Datum) (time.Time, bool) {
	if d.Kind == Text {
		if t, reason := readISO(d); reason == "" {
			return t.Time, true
		}
	}
	n, ok := decimal.Parse(d.Text)
	if !ok {
		return time.Time{}, false
	}
	if len(n.Digits)+n.Exp <= 11 {
		return unixTime(d.Text, time.Second)
	}
	return unixTime(d.Text, time.Millisecond)
}

// Spelling returns one spelling for all of a stored value that is no JSON.
func Spelling(k scalar.Kind, stored string) string {
	switch k {
	case scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS:
		if d, ok := decimal.Parse(stored); ok {
			return d.String()
		}
	case scalar.Bool:
		if v, ok := key.ParseBool(stored); ok && v {
			return "true"
		} else if ok {
			return "false"
		}
	case scalar.Timestamp:
		if t, err := time.Parse(time.RFC3339Nano, stored); err == nil {
			return t.UTC().Format(time.RFC3339Nano)
		}
	}
	return stored
}
