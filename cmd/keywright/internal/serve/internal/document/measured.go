// Package document has the documents that the API of `keywright serve` answers with, and makes them of what is
// observed of targets: an overview, the rows of an audit, an entry, constructs, plans, figures over time.
//
// It knows no HTTP, and asks no server.
package document

import (
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/keyspace/finding"
)

// Writer makes the documents of what is known of targets.
type Writer struct {
	Rules   map[string]finding.Rule // by code
	History history.Store           // nil: none is kept
	Now     func() time.Time
}

// Stamp represents a time as answers have it: RFC 3339 in UTC with milliseconds.
type Stamp string

// StampOf returns a time as answers have it; "" for none.
func StampOf(t time.Time) Stamp {
	if t.IsZero() {
		return ""
	}
	return Stamp(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Measured says when what an answer has was read, and what it is worth.
type Measured struct {
	Read
	Running *RunningNow `json:"running,omitempty"` // the audit that is under way
}

// Read says when something was read, and what it is worth.
type Read struct {
	At      Stamp   `json:"at,omitempty"`      // when it was read; absent: it never was
	Every   float64 `json:"every_seconds"`     // from one reading to the next; 0: it is read once
	Stale   bool    `json:"stale"`             // it is older than twice that, or the server is away
	Partial string  `json:"partial,omitempty"` // why it is not all; absent: it is
	Failed  *Failed `json:"failed,omitempty"`  // of the latest attempt, where it failed
}

// Failed represents an attempt that failed.
type Failed struct {
	At   Stamp  `json:"at"`
	What string `json:"what"`
}

// RunningNow represents an audit that is under way.
type RunningNow struct {
	Since  Stamp `json:"since"`
	Keys   int64 `json:"keys"`     // read so far
	Total  int64 `json:"expected"` // 0: not known
	Paused bool  `json:"paused"`
}

// Measured returns what an audit is worth now.
func (w *Writer) Measured(t *observe.Target, st *observe.State) (m Measured) {
	if r := st.Running; r != nil {
		m.Running = &RunningNow{StampOf(r.Since), r.Keys, r.Total, r.Paused}
	}
	if f := st.Failed; f != nil {
		m.Failed, m.Stale = &Failed{StampOf(f.At), f.What}, true
	}
	a := st.Shown()
	if a == nil {
		return m
	}
	m.At = StampOf(a.At)
	switch {
	case !a.Whole():
		m.Partial = finding.Printable(a.Report.Incomplete.String())
	case !a.All():
		m.Partial = a.Sample()
	}
	if p := st.Partial; p != nil && p != a {
		m.Failed = &Failed{StampOf(p.At), "the audit was not whole: " +
			finding.Printable(p.Report.Incomplete.String())}
	}
	if t.Server != nil {
		m.Every = t.Every.Seconds()
		took := time.Duration(a.Report.Seconds * float64(time.Second))
		m.Stale = m.Stale || st.Away() != nil || w.Now().Sub(a.At) > 2*t.Every+took
	}
	return m
}

// Reading returns what a reading is worth now.
func (w *Writer) Reading(began time.Time, m observe.Mark) (out Measured) {
	out.At, out.Every, out.Stale = StampOf(m.At), m.Every.Seconds(), m.Stale(began, w.Now())
	if m.Failed != nil {
		out.Failed = &Failed{StampOf(m.Failed.At), m.Failed.What}
	}
	return out
}
