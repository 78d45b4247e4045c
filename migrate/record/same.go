package record

import (
	"time"

	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// sameStored compares two spellings of one value of a type.
func sameStored(k scalar.Kind, a, b string) bool {
	switch k {
	case scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS:
		return sameNumber(a, b)
	case scalar.Bool:
		x, ok1 := key.ParseBool(a)
		y, ok2 := key.ParseBool(b)
		return ok1 && ok2 && x == y
	case scalar.Timestamp:
		return sameInstant(datum{kind: text, text: a}, datum{kind: text, text: b})
	}
	return false
}

func sameNumber(a, b string) bool {
	x, ok1 := decimal.Parse(a)
	y, ok2 := decimal.Parse(b)
	return ok1 && ok2 && x == y
}

// sameInstant compares two texts or numbers that are times.
func sameInstant(a, b datum) bool {
	x, ok1 := instantOf(a)
	y, ok2 := instantOf(b)
	return ok1 && ok2 && x.Equal(y)
}

// instantOf reads a time of either form: a number of less than 10^11 is seconds.
func instantOf(d datum) (time.Time, bool) {
	if d.kind == text {
		if t, reason := readISO(d); reason == "" {
			return t.time, true
		}
	}
	n, ok := decimal.Parse(d.text)
	if !ok {
		return time.Time{}, false
	}
	if len(n.Digits)+n.Exp <= 11 {
		return unixTime(d.text, time.Second)
	}
	return unixTime(d.text, time.Millisecond)
}
