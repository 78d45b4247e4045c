// Package history keeps figures over time: of each target, entry by entry, how many keys
// and bytes there were and how many violations of which rule. Points are kept as they
// came for a week, one an hour for a hundred days, and one a day for 400 days.
//
// Of an hour or a day the keys and bytes are those of its last point, and the violations
// the most that a point of it had: one that was there for minutes is not lost.
//
// Store is the interface. The command line keeps it in a file, keywrightd in SQLite and PostgreSQL; package chunk is
// the form that they share, historytest shows a store right, and link is a store in another process.
package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Point represents the figures of one entry at one time.
type Point struct {
	At         time.Time
	Keys       int64
	Bytes      int64
	Violations map[string]int64 // by code; a code that is not there has none
}

// Total returns how many violations there are, of all codes.
func (p *Point) Total() (n int64) {
	for _, v := range p.Violations {
		n += v
	}
	return n
}

// Step represents the distance of points.
type Step string

// The steps.
const (
	Raw  Step = "raw" // as they came
	Hour Step = "hour"
	Day  Step = "day"
)

// Kept is for how long points of a step are kept.
var Kept = map[Step]time.Duration{Raw: 8 * 24 * time.Hour, Hour: 100 * 24 * time.Hour, Day: 400 * 24 * time.Hour}

// StepFor returns the finest step that has all of the time from a moment on, and not more
// than about a thousand points of it.
func StepFor(from, now time.Time) Step {
	switch age := now.Sub(from); {
	case age <= 7*24*time.Hour:
		return Raw
	case age <= 45*24*time.Hour:
		return Hour
	}
	return Day
}

// Limits of a store; what is beyond them is refused.
const (
	MaxEntries = 11_000 // of a declaration, and the rows that are no entry
	MaxCodes   = 64     // of one point
	MaxName    = 512    // bytes of the name of a target, an entry or a code
	MaxPoints  = 20_000 // of one answer
)

var (
	// ErrInUse is returned by Open when another process has the store.
	ErrInUse = errors.New("another process has the history open")
	// ErrTooMany reports an answer or a point beyond the limits.
	ErrTooMany = errors.New("too much for one answer of the history")
	// ErrOrder is returned by Append for a time that is not after the last one.
	ErrOrder = errors.New("the history has a later point already")
)

// Damaged represents a store that is not what was written. It was put aside.
type Damaged struct {
	Path  string
	Aside string // the name that it has now; "": it could not be renamed
	Err   error
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("the history %s is damaged; it was put aside as %s: %v", d.Path, d.Aside, d.Err)
}

// Unwrap gives the reason.
func (d *Damaged) Unwrap() error { return d.Err }

// Check refuses what a store does not take.
func Check(target string, at time.Time, points map[string]Point) error {
	if at.Unix() < 0 || target == "" || len(target) > MaxName || len(points) > MaxEntries {
		return ErrTooMany
	}
	for name, p := range points {
		if name == "" || len(name) > MaxName || strings.IndexByte(name, 0) >= 0 || len(p.Violations) > MaxCodes {
			return ErrTooMany
		}
		for code := range p.Violations {
			if len(code) > MaxName {
				return ErrTooMany
			}
		}
	}
	return nil
}

// Query asks for points.
type Query struct {
	Target   string
	Entry    string
	Step     Step
	From, To time.Time // both included
}

// Store keeps points. Its methods may be called by several goroutines.
type Store interface {
	// Append adds the points of one time: of all entries at once, or of none. Points of
	// a time that the store has already, or that is before it, are ErrOrder.
	Append(ctx context.Context, target string, at time.Time, points map[string]Point) error
	// Range gives the points of one entry, the earliest first.
	Range(ctx context.Context, q Query) ([]Point, error)
	// At gives each entry's last point that is not after a time, of a step. Entries that
	// have none are left out, and so may be those whose last point is days before it.
	At(ctx context.Context, target string, step Step, at time.Time) (map[string]Point, error)
	// First is the time of the first point that is kept of a target, of any step; the zero time: it
	// has none.
	First(ctx context.Context, target string) (time.Time, error)
	// Prune deletes what is kept for long enough.
	Prune(ctx context.Context, now time.Time) error
	Close() error
}

// Turns represents a store that several programs share, and that sees that one of them at a time audits a target.
type Turns interface {
	// Turn waits until no other program has the turn, and takes it until end is called or the program ends.
	Turn(ctx context.Context, target string) (end func(), err error)
}
