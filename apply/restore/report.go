package restore

import (
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
)

// Report says what became of the keys, in all and by entry.
type Report struct {
	journal.Counts
	Entries map[int]*journal.Counts `json:"-"` // by Record.Entry

	LeftOut map[plan.Code]int64 `json:"-"` // of Left, those whose Place said why by a code

	Memory []Memory `json:"memory,omitempty"` // of the servers that were written to, as the run began

	Reasons []Named `json:"reasons,omitempty"` // of the first keys that were left or refused
	More    int64   `json:"more_reasons,omitempty"`
}

// Named represents a key that was not restored, and why.
type Named struct {
	Key    []byte `json:"key"`
	DB     int    `json:"db"`
	Reason string `json:"reason"`
}

// Bounds of Report.Reasons: how many, and the bytes of their keys.
const (
	maxReasons = 100
	maxNamed   = 1 << 20
)

// add changes the counts of all and of an entry.
func (r *restore) add(entry int, change func(*journal.Counts)) {
	if r.report.Entries == nil {
		r.report.Entries = map[int]*journal.Counts{}
	}
	if r.report.Entries[entry] == nil {
		r.report.Entries[entry] = &journal.Counts{}
	}
	change(&r.report.Counts)
	change(r.report.Entries[entry])
}

// name notes why a key was not restored.
func (r *restore) name(key []byte, db int, reason string) {
	if len(r.report.Reasons) == maxReasons || r.named+len(key) > maxNamed {
		r.report.More++
		return
	}
	r.named += len(key)
	r.report.Reasons = append(r.report.Reasons, Named{append([]byte(nil), key...), db, reason})
}

// lost counts records that were not written because the run ended.
func (r *restore) lost(records []record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range records {
		if !records[i].More {
			r.add(records[i].Entry, func(c *journal.Counts) { c.Unknown++ })
		}
	}
}

// outcome describes what became of a key.
type outcome int

const (
	restored outcome = iota
	same
	existing
	expired
	Refused
	Unknown
)

// count notes what became of a record's key.
func (r *restore) count(rec *record, what outcome, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var c journal.Counts
	*[...]*int64{restored: &c.Restored, same: &c.Same, existing: &c.Existing, expired: &c.Expired, Refused: &c.Refused,
		Unknown: &c.Unknown}[what]++
	if what == restored {
		c.Bytes = int64(len(rec.Place.Key)) + rec.bytes
	}
	if rec.replaces {
		c.Replaces++
	}
	r.add(rec.Entry, func(sum *journal.Counts) { sum.Plus(&c) })
	if c.Keys = 1; what != Unknown {
		r.decide(rec.seq, decision{rec.Entry, c})
		if rec.first != rec.seq {
			r.decide(rec.first, decision{})
		}
	}
	if reason != "" {
		r.name(rec.Place.Key, rec.Place.DB, reason)
	}
	if what == existing && r.Existed != nil {
		r.Existed(rec.Place.DB, rec.Place.Key)
	}
	if what == restored && r.Wrote != nil && !r.Plan {
		r.Wrote(rec.Place.DB, rec.Place.Key)
	}
	if p := &r.report; r.Progress != nil {
		r.Progress(p.Restored + p.Same + p.Existing + p.Expired + p.Refused)
	}
}

// decide notes what became of a record. What cannot be noted ends the run.
func (r *restore) decide(seq int64, d decision) {
	if err := r.progress.decide(seq, d); err != nil {
		r.stop(err)
	}
}
