package keyspace

import (
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Ordering is the place of the placeholder that says which keys of a pattern are older:
// the only one that is a time, else the only one that is a whole number. It is -1 where
// there is none, or more than one. A clean-up rule with `older` needs a time, and one
// with `keep` any order.
func Ordering(p *pattern.Pattern) (at int, isTime bool) {
	var times, numbers []int
	for i, place := range p.Placeholders() {
		switch place.Type.Kind {
		case scalar.Timestamp, scalar.UnixS, scalar.UnixMS, scalar.ULID:
			times = append(times, i)
		case scalar.Date:
			if strings.Contains(place.Type.Layout, "YYYY") {
				times = append(times, i)
			}
		case scalar.Int:
			numbers = append(numbers, i)
		}
	}
	switch {
	case len(times) == 1:
		return times[0], true
	case len(times) == 0 && len(numbers) == 1:
		return numbers[0], false
	}
	return -1, false
}
