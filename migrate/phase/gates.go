package phase

import (
	"fmt"
	"time"
)

// Gate represents a condition of a change of phase.
type Gate uint8

// The gates.
const (
	Marks     Gate = iota // no record may differ without having been compared since
	Imported              // every record of the files has been imported
	Verified              // the last comparison in both directions has found no difference
	RoundTrip             // files → Redis → files gives every record again
	Compared              // so many reads have been compared
	Unequal               // at most so many classes of them were different
	For                   // the phase has lasted so long
	Backup                // a backup that was verified is no older than this
	Fit                   // the server may be the authority
	Covered               // a move reads all that the files have, or the declaration ignores it
)

var gateNames = [...]string{"marks", "imported", "verified", "round-trip", "compared", "unequal", "for",
	"backup", "fit", "covered"}

// String implements fmt.Stringer.
func (g Gate) String() string { return gateNames[g] }

// Limits holds the declared limits of the gates of a part. The zero value of Compared,
// For and Backup asks for nothing.
type Limits struct {
	Compared int64         // at least so many comparisons; 0: none are asked for
	Unequal  int64         // at most so many of them unequal; 0: none
	For      time.Duration // the phase has lasted for so long; 0: it is not asked for
	Marks    int64         // at most so many records that may differ; up to 1,000 are replayed by the change itself
	Backup   time.Duration // a verified backup is at most so old; 0: none is asked for
}

// Facts describes what is known of a part when it is to change its phase.
type Facts struct {
	Marks     int64         // records that may differ
	Oldest    time.Duration // age of the oldest mark
	Compared  int64         // reads compared since the phase began
	Unequal   int64         // classes of differences that were confirmed and are open
	In        time.Duration // since when the phase lasts
	Imported  bool
	Verified  bool // by the last comparison since the phase began
	RoundTrip bool
	Backup    time.Duration // age of the last verified backup; negative: there is none
	Unfit     []string      // what the server lacks

	Looked      bool  // the files were read for what no move reads
	Unread      int64 // values of them
	UnreadBytes int64
	Misshapen   int64 // values of another shape than a path of a move has there

	Unanswered error // why it could not be asked all of that
}

// Closed represents a gate that does not open.
type Closed struct {
	Gate Gate
	Has  string
	Want string
}

// String implements fmt.Stringer.
func (c Closed) String() string { return fmt.Sprintf("%s: is %s, must be %s", c.Gate, c.Has, c.Want) }

// Check gives every gate between two phases that does not open.
func Check(from, to Phase, l Limits, f Facts) []Closed {
	gates := Of(from).Forward
	if to < from {
		gates = Of(from).Back
	}
	var out []Closed
	for _, g := range gates {
		if has, want, ok := checks[g](l, f); !ok {
			out = append(out, Closed{g, has, want})
		}
	}
	return out
}

// checks says of each gate what there is, what must be, and whether it opens.
var checks = [...]func(Limits, Facts) (has, want string, ok bool){
	Marks:     func(l Limits, f Facts) (string, string, bool) { return atMost(f.Marks, l.Marks) },
	Imported:  func(_ Limits, f Facts) (string, string, bool) { return done(f.Imported) },
	Verified:  func(_ Limits, f Facts) (string, string, bool) { return done(f.Verified) },
	RoundTrip: func(_ Limits, f Facts) (string, string, bool) { return done(f.RoundTrip) },
	Unequal:   func(l Limits, f Facts) (string, string, bool) { return atMost(f.Unequal, l.Unequal) },
	Compared: func(l Limits, f Facts) (string, string, bool) {
		return fmt.Sprint(f.Compared), fmt.Sprintf("%d or more", l.Compared), f.Compared >= l.Compared
	},
	For: func(l Limits, f Facts) (string, string, bool) {
		return f.In.Round(time.Second).String(), l.For.String() + " or more", f.In >= l.For
	},
	Backup: func(l Limits, f Facts) (string, string, bool) {
		has := "none"
		if f.Backup >= 0 {
			has = f.Backup.Round(time.Second).String() + " old"
		}
		return has, "at most " + l.Backup.String() + " old", l.Backup == 0 || f.Backup >= 0 && f.Backup <= l.Backup
	},
	Fit: func(_ Limits, f Facts) (string, string, bool) {
		return fmt.Sprint(f.Unfit), "nothing that the server lacks", len(f.Unfit) == 0
	},
	Covered: func(_ Limits, f Facts) (string, string, bool) {
		if !f.Looked {
			return done(false)
		}
		has := fmt.Sprintf("%d values of %d bytes that no move reads, %d of another shape", f.Unread, f.UnreadBytes,
			f.Misshapen)
		return has, "none", f.Unread == 0 && f.Misshapen == 0
	},
}

func atMost(has, most int64) (string, string, bool) {
	return fmt.Sprint(has), fmt.Sprintf("at most %d", most), has <= most
}

func done(is bool) (string, string, bool) {
	if is {
		return "done", "done", true
	}
	return "not done", "done", false
}
