package limit

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/keywright/keywright"
)

// Rule describes what a limit allows. GCRA, Sliding and Fixed make one.
type Rule struct {
	algorithm *algorithm
	limit     int64         // what one call may ask for at most
	args      []string      // of the script, after n
	needs     time.Duration // how long the key must be able to live
	err       error
}

// algorithm represents one script, to count with and to look with.
type algorithm struct {
	name        string
	allow, peek *keywright.Script
	bounded     bool // it takes the greatest TTL that the declaration allows
}

func newAlgorithm(name string, bounded bool) *algorithm {
	text := parts.Script(name)
	name = "limit " + name
	return &algorithm{name, keywright.NewScript(name, text), keywright.NewReadOnlyScript(name+" peek", text), bounded}
}

var (
	gcra    = newAlgorithm("gcra", true)
	sliding = newAlgorithm("sliding", false)
	fixed   = newAlgorithm("fixed", false)
)

// GCRA lets limit through per time, evenly, and burst at once; 0: limit. In any
// span of length L at most burst + L/per·limit pass: a burst and what flows in
// meanwhile. It is the cheapest, its key is a text of 19 bytes, and it tells
// the wait exactly. The time per one is rounded up to a whole microsecond; where
// that makes a limit stricter by more than 1 % the rule is an error.
func GCRA(limit int64, per time.Duration, burst int64) Rule {
	if burst == 0 {
		burst = limit
	}
	r := Rule{algorithm: gcra, limit: burst}
	if r.err = plausible(limit, per); r.err == nil && burst < 1 {
		r.err = fmt.Errorf("a burst of %d lets nothing through", burst)
	}
	if r.err != nil {
		return r
	}
	each := 1 + (per.Microseconds()-1)/limit
	if float64(each)*float64(limit) > 1.01*float64(per.Microseconds()) {
		r.err = fmt.Errorf("%d per %v cannot be expressed in whole microseconds within 1 %%", limit, per)
	}
	if float64(each)*float64(burst) > maxSpan {
		r.err = fmt.Errorf("a burst of %d at %d per %v reaches too far ahead", burst, limit, per)
		return r
	}
	r.needs = max(time.Duration(float64(per)*float64(burst)/float64(limit)).Truncate(time.Millisecond), time.Millisecond)
	r.args = formatAll(each, each*burst)
	return r
}

// maxSpan is a hundred years in us: sums with it stay exact in Lua.
const maxSpan = 100 * 366 * 24 * 3600 * 1e6

// slices says how many buckets a window has.
const slices = 60

// Sliding lets at most limit through in any span of length per, whenever it
// begins. It counts in 60 buckets, and one that is partly in the window counts
// whole: so it may say no up to a 60th of per too early, and never yes too
// often. Its key is a string of 258 bytes, which must be able to live for
// 61/60 of per and two milliseconds.
func Sliding(limit int64, per time.Duration) Rule {
	r := Rule{algorithm: sliding, limit: limit, err: plausible(limit, per)}
	if r.err == nil && limit > math.MaxUint32 {
		r.err = fmt.Errorf("a limit of %d does not fit in the 32 bits of a bucket", limit)
	}
	width := (per.Microseconds() + slices - 1) / slices
	r.needs = time.Duration((slices+1)*width)*time.Microsecond + 2*time.Millisecond
	r.args = formatAll(limit, width)
	return r
}

// Fixed lets limit through in a window of length per, which the first one opens.
// It is for quotas ("1000 a day"), not for protection: up to twice the limit can
// pass around the edge of two windows, limit at the end of the one and limit at
// the beginning of the next. Its key is a plain number, exact up to
// 2^63 - 1. per is rounded up to a whole millisecond.
func Fixed(limit int64, per time.Duration) Rule {
	ms := (per + time.Millisecond - 1) / time.Millisecond
	return Rule{algorithm: fixed, limit: limit, args: formatAll(limit, int64(ms)), needs: ms * time.Millisecond,
		err: plausible(limit, per)}
}

func plausible(limit int64, per time.Duration) error {
	switch {
	case limit < 1:
		return fmt.Errorf("a limit of %d lets nothing through", limit)
	case per < time.Millisecond:
		return fmt.Errorf("%v is no window; the shortest is 1ms", per)
	}
	return nil
}

func formatAll(ns ...int64) []string {
	texts := make([]string, len(ns))
	for i, n := range ns {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return texts
}

// fits holds the rule against the declared TTL.
func (r *Rule) fits(e *keywright.Entry) error {
	switch {
	case r.err != nil:
		return r.err
	case e.TTL.Policy == keywright.Forever:
		return fmt.Errorf("the declaration says that the key never expires, and a limit must")
	case e.TTL.Policy == keywright.Expires && e.TTL.Max < r.needs:
		return fmt.Errorf("the key must live for up to %v, and the declaration allows %s", r.needs, e.TTL.Text)
	}
	return nil
}

// bound returns the greatest TTL in ms that the declaration allows.
func bound(e *keywright.Entry) int64 {
	if e.TTL.Policy != keywright.Expires {
		return maxSpan
	}
	return e.TTL.Max.Milliseconds()
}
