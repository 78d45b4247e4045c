package infer

import (
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/infer/internal/tree"
)

// steps lists the TTLs that people write, in seconds: also those that are no round
// number of a larger unit.
var steps = []int64{
	1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 2700,
	hour, 3 * hour / 2, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 8 * hour, 12 * hour, 18 * hour,
	day24, 3 * day24 / 2, 2 * day24, 3 * day24, 4 * day24, 5 * day24, 7 * day24, 10 * day24, 14 * day24, 15 * day24,
	21 * day24,
	28 * day24, 30 * day24, 31 * day24, 45 * day24, 60 * day24, 90 * day24, 92 * day24, 100 * day24, 120 * day24,
	180 * day24, 365 * day24, 730 * day24, 1095 * day24, 1825 * day24, 3650 * day24,
}

const (
	hour  = 3600
	day24 = 24 * hour
)

// spread is how far the middle of many TTLs is below the longest before they
// are taken for chosen, and not for one TTL of which some is used up.
const (
	spread   = 5
	manyTTLs = 30
	// outlier: of so many keys, TTLs that much longer than the others' are slips
	outlier    = 8
	enoughTTLs = 500
)

// ttlText returns the TTL of an entry, as a declaration writes it: one that all of its
// keys keep. What is probably meant is a guess beside it.
func ttlText(t *tree.TTLs, e *Entry) string {
	switch {
	case t.Some == 0:
		return "none"
	case t.None > t.Some:
		e.guess("%d of %d keys expire, the others never do: decide on one", t.Some, t.None+t.Some)
		return "any"
	case t.None > 0:
		e.guess("%d of %d keys never expire, the others within %s: do they leak?", t.None, t.None+t.Some,
			duration(roundTTL(t.Max)))
		return "any"
	}
	longest := roundTTL(t.Max)
	usual := roundTTL(t.Below(0.9))
	few := roundTTL(t.Below(1 - path.Slip/2))
	outliers := t.Some >= enoughTTLs && few*outlier <= longest
	if outliers {
		e.guess("a few keys have a TTL of up to %s, the others of %s at most", duration(longest), duration(few))
		usual = few
	}
	if outliers || t.Some >= manyTTLs && t.Below(0.5)*spread < longest {
		if least := roundTTL(max(t.Min, time.Second)); least < usual && usual < longest {
			if !outliers {
				e.guess("TTLs differ widely: the bounds are what was seen")
			}
			return fmt.Sprintf("%s in %s..%s", duration(usual), duration(min(least, time.Minute)), duration(longest))
		}
	}
	return duration(longest)
}

// roundTTL returns the next TTL that people write.
func roundTTL(d time.Duration) time.Duration {
	for _, s := range steps {
		if s := time.Duration(s) * time.Second; d <= s {
			return s
		}
	}
	const year = 365 * 24 * time.Hour
	return (min(d, 289*year) + year - 1) / year * year // a declaration may say 290 years at most
}

// duration writes a TTL in its largest unit.
func duration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(max(d/time.Second, 1)), 10) + "s"
}
