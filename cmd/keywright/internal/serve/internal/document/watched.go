package document

import (
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// NowList says what is wrong now, the worst first.
type NowList struct {
	Quiet bool     `json:"quiet"` // nothing is known to be wrong, and everything that is watched is known
	Items []NowRow `json:"items"`
	Left  int64    `json:"left_out"` // that are not in the list: there are too many
	// targets of which nothing can be said yet: they have not been read
	Starting []string   `json:"starting"`
	NotKnown []NotKnown `json:"not_known"` // the parts of targets of which not all is known: it is not quiet
	reply.Page
}

// NotKnown represents a part of a target of which not all is known: the latest attempt did not read it, it is old, or
// something in it was left unread; or all of a target that cannot be watched.
type NotKnown struct {
	Target string `json:"target"`
	Part   string `json:"part" enum:"target,audit,server,shards,queues,streams,locks,entities,rankings,migrations"`
	Why    string `json:"why"`
}

// NowRow represents something that is wrong now.
type NowRow struct {
	alert.Condition
	Since  Stamp `json:"since"`
	Silent bool  `json:"silenced"` // webhooks are not called for it
}

// JobList holds the jobs of the janitor, and what became of them.
type JobList struct {
	Items []JobRow `json:"items"`
	reply.Page
}

// JobRow represents a job of the janitor, and what became of it.
type JobRow struct {
	Target string `json:"target"`
	Name   string `json:"name"`
	Doc    string `json:"doc,omitempty"`
	Do     string `json:"do" enum:"audit,sweep,clean,ttl,backup"`
	When   string `json:"when"` // what it does and when, in words
	State  string `json:"state" enum:"idle,running,waiting,failed"`
	Next   Stamp  `json:"next,omitempty"`  // when it is due
	Since  Stamp  `json:"since,omitempty"` // with running
	// with waiting: why it is not done although it is due
	Reason   string `json:"reason,omitempty" enum:"away,memory,load,elsewhere,busy"`
	Why      string `json:"why,omitempty"`       // the same in words
	Ended    Stamp  `json:"last_run,omitempty"`  // when the latest run ended; absent: there was none
	Good     Stamp  `json:"last_good,omitempty"` // when the latest run ended that did what it should
	Did      string `json:"did,omitempty"`       // by the latest run, or why that failed
	Other    bool   `json:"elsewhere"`           // another program did the latest run
	Runs     int64  `json:"runs"`
	Failed   int64  `json:"failed"`   // of the runs
	Failures int64  `json:"failures"` // since the latest good run
}

// RowOfJob returns a job of the janitor in the list of jobs.
func RowOfJob(target string, j observe.Job, now time.Time) JobRow {
	row := JobRow{target, j.Name, j.Doc, j.Do, j.When, "idle", StampOf(j.Next), StampOf(j.Running), j.Waits, j.Why,
		StampOf(j.Ended), StampOf(j.Good), j.Did, j.Other, j.Runs, j.Failed, j.Failures}
	switch {
	case !j.Running.IsZero():
		row.State = "running"
	case j.Waits != "":
		row.State = "waiting"
	case j.Failures > 0:
		row.State = "failed"
	case !j.Next.IsZero() && j.Next.Before(now):
		row.State, row.Reason, row.Why = "waiting", "busy", "it is due: the jobs of one server are done one after the other"
	}
	return row
}

// MigrationList describes where each part of each migration is.
type MigrationList struct {
	Measured
	Items []MigrationRow `json:"items"`
	reply.Page
}

// MigrationRow represents a part of a migration: without a phase where nothing of the migration is on this machine.
type MigrationRow struct {
	Migration string `json:"migration"`
	phases.MigrationPart
	Unfit []string `json:"unfit,omitempty"` // what the server lacks to be the only place of the records
}
