package githubbroker

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limited is returned while GitHub is not to be asked. It is no fault of the request: the
// same one may be made after Until.
//
// The client waits for nothing itself. Its caller holds the lock of the sync, and an hour
// is too long to hold it: the caller gives it back and comes again.
type Limited struct {
	Until  time.Time
	Reason string
}

func (l *Limited) Error() string {
	return fmt.Sprintf("GitHub is not asked before %s: %s", l.Until.UTC().Format(time.RFC3339), l.Reason)
}

// limits describes what is known of the time until which GitHub is not to be asked.
type limits struct {
	until  time.Time // by the local clock
	reason string
	inRow  int // refusals by the secondary limit without a time, one after the other
}

const (
	leastPause = time.Minute   // after a refusal that names no time: GitHub's documentation asks for it
	mostPause  = 2 * time.Hour // whatever a header says: a limit is over after an hour
)

func (l *limits) check() error {
	if time.Now().Before(l.until) {
		return &Limited{l.until, l.reason}
	}
	return nil
}

// learn reads the limits of an answer. It gives an error if the answer is a refusal by one.
func (l *limits) learn(r *http.Response, err error) error {
	refused := r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusTooManyRequests
	secondary := refused && err != nil && strings.Contains(err.Error(), "secondary rate limit")
	used := r.Header.Get("X-RateLimit-Remaining") == "0"
	pause, named := after(r.Header)
	switch {
	case refused && named: // either limit
		l.stop(pause, "it said for how long")
	case used && (refused || r.StatusCode < http.StatusBadRequest): // the last one that was allowed, or one after it
		l.stop(reset(r.Header), "the requests of this hour are used up")
		if !refused {
			return nil
		}
	case secondary || r.StatusCode == http.StatusTooManyRequests:
		l.stop(leastPause<<min(l.inRow, 10), "it was asked too fast")
		l.inRow++
	default:
		l.inRow = 0
		return nil
	}
	return l.check()
}

func (l *limits) stop(pause time.Duration, reason string) {
	l.until, l.reason = time.Now().Add(min(max(pause, time.Second), mostPause)), reason
}

// after returns the pause that a refusal asks for.
func after(h http.Header) (time.Duration, bool) {
	seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 32)
	return time.Duration(seconds) * time.Second, err == nil
}

// reset returns how long the limit lasts, by GitHub's own clock where the answer tells it.
func reset(h http.Header) time.Duration {
	seconds, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return leastPause
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return time.Unix(seconds, 0).Sub(now) + time.Second
}
