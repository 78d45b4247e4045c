package observe

import (
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// State describes what is known of a target.
type State struct {
	Began   time.Time // when it was first looked at
	Audit   *Audit    // the latest whole one; nil: none yet
	Partial *Audit    // the latest one that was not whole, if it is later than Audit
	Failed  *Failure  // of the latest attempt, if it gave no report at all
	Audits  Mark      // of the latest whole one
	Running *Running  // the audit under way
	Back    time.Time // since when the server answers after it did not; zero: it always did, or never
	Unkept  string    // why history could not be written; "": it was

	Server    Reading[doctor.Diagnosis]
	Shards    Reading[[]Shard]
	Queues    Reading[answer.Queues]
	Locks     Reading[answer.Locks]
	Entities  Reading[answer.Entities]
	Rankings  Reading[answer.Rankings]
	Streams   Reading[answer.Streams]
	Moves     Reading[[]phases.Migration]
	Instances map[string]Found // of constructs, by entry: as of the audit
	Searched  bool             // there was no audit: Instances were searched for
	Runs      []Run            // plans, the newest first
	Jobs      []Job            // of the janitor, in the order of the declaration; nil: it does not run here
}

// Away returns why the server does not answer: the first of the attempts that have failed since something was read of
// it. nil: what was tried last has been read. A part that fails while others are read is no server that is away.
func (s *State) Away() (first *Failure) {
	var read time.Time
	marks := []*Mark{&s.Audits, &s.Server.Mark, &s.Shards.Mark, &s.Queues.Mark, &s.Streams.Mark, &s.Locks.Mark,
		&s.Entities.Mark, &s.Rankings.Mark} // migrations are files, too
	for _, m := range marks {
		if m.At.After(read) {
			read = m.At
		}
	}
	for _, m := range marks {
		if f := m.Failed; f != nil && f.Since.After(read) && (first == nil || f.Since.Before(first.Since)) {
			first = f
		}
	}
	return first
}

// Shown returns the audit to show: the latest whole one; where there is none, what there is.
func (s *State) Shown() *Audit {
	if s.Audit != nil {
		return s.Audit
	}
	return s.Partial
}

// Sparse reports whether there may be constructs that no audit has seen.
func (s *State) Sparse() bool { return !s.Searched && (s.Audit == nil || s.Audit.Report.Sampled) }

// Failure represents an attempt that failed.
type Failure struct {
	At    time.Time
	What  string
	Since time.Time // of the first of the attempts that have failed one after the other
}

// failed returns the failure of an attempt, after the one before it; nil: that one succeeded.
func failed(before *Failure, now time.Time, err error) *Failure {
	f := &Failure{now, finding.Printable(err.Error()), now}
	if before != nil {
		f.Since = before.Since
	}
	return f
}

// Running represents an audit under way.
type Running struct {
	Since time.Time
	source.Progress
}

// Audit represents an audit and what was kept of the keys beside its report.
type Audit struct {
	At     time.Time // when it ended
	Report *audit.Report
	Shapes map[string]*Shape // of declared keys, by their names
	Groups []Group           // undeclared keys
	Others Others            // undeclared keys in no group
}

// Whole reports whether it has seen all that it was to look at: all keys, or a sample.
func (a *Audit) Whole() bool { return a.Report.Complete }

// All reports whether it is of all keys: whole, and no sample.
func (a *Audit) All() bool { return a.Whole() && !a.Report.Sampled }

// Shard represents a server that holds keys, as it is now. A figure that its INFO does not tell is absent, and
// no zero. Its JSON names are stable.
type Shard struct {
	Address   string `json:"address"`
	Role      string `json:"role"`
	Version   string `json:"version"`
	Keys      *int64 `json:"keys,omitempty"`
	Memory    *int64 `json:"memory,omitempty"`
	MaxMemory *int64 `json:"max_memory,omitempty"` // 0: no limit
	Clients   *int64 `json:"clients,omitempty"`
	Commands  *int64 `json:"ops,omitempty"` // per second
	Replicas  int    `json:"replicas"`      // that are in step with it
	// of them and those that are not; where some are gone, as many as there were while it was watched
	Expected int `json:"replicas_expected"`

	Away  string    `json:"away,omitempty"` // why it does not answer: then its figures are not known
	Since time.Time `json:"-"`              // since when it is away; zero: since before it was watched
}
