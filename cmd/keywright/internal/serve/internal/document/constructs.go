package document

import (
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// QueueList describes what the queues hold.
type QueueList struct {
	Items  []QueueRow      `json:"items"`
	Unread []answer.Unread `json:"unread"`
	reply.Page
	Measured
}

// QueueRow represents one queue.
type QueueRow struct {
	Instance string  `json:"instance"` // in URLs: its placeholders, - where it has none
	Waiting  int64   `json:"waiting"`
	Oldest   float64 `json:"oldest_seconds"`
	answer.Queue
}

// RowOfQueue returns a queue in the list of queues.
func RowOfQueue(one answer.Queue) QueueRow {
	row := QueueRow{Instance: InstanceOf(one.Queue), Queue: one}
	for _, l := range one.Lanes {
		row.Waiting, row.Oldest = row.Waiting+l.Jobs, max(row.Oldest, l.Oldest)
	}
	return row
}

// InstanceOf returns a queue of an entry in URLs.
func InstanceOf(of *finding.JSONKey) string {
	if of == nil {
		return "-"
	}
	return string(*of)
}

// QueuePage represents one queue, and its dead jobs by error. What the latest reading could not read has no figures.
type QueuePage struct {
	*QueueRow
	Entry    string          `json:"entry"`
	Instance string          `json:"instance"` // in URLs: its placeholders, - where it has none
	Unread   []answer.Unread `json:"unread"`
	Doc      string          `json:"doc,omitempty"`
	Lease    float64         `json:"lease_seconds"`
	Errors   []DeadGroup     `json:"errors"`       // the most jobs first
	Others   int64           `json:"other_errors"` // dead jobs with an error that is not among them
	Looked
	Read
}

// Looked says how far a search for dead jobs is. It looks at all of them, and goes on when the answer was given.
type Looked struct {
	LookedAt  int64 `json:"looked_at"` // dead jobs, so far
	Since     Stamp `json:"looked_since"`
	Searching bool  `json:"searching"` // not all were looked at yet: ask again
}

// DeadGroup is dead jobs with one error.
type DeadGroup struct {
	Error string `json:"error"`
	Jobs  int64  `json:"jobs"`
}

// DeadList are dead jobs of a queue. Its total are all that match, as far as they were looked at.
type DeadList struct {
	Items []DeadRow `json:"items"` // of the latest 10,000 that match
	Looked
	reply.Page
}

// DeadRow represents a dead job.
type DeadRow struct {
	answer.DeadJob
	At Stamp `json:"at"` // when it was given up
}

// QueueJobs lists jobs of a queue that are in one state. Its total is the latest that was counted.
type QueueJobs struct {
	Items []QueueJob `json:"items"`
	reply.Page
}

// QueueJob represents a job that is not dead.
type QueueJob struct {
	ID   finding.JSONKey `json:"id"`
	Lane string          `json:"lane,omitempty"` // where it waits
	At   Stamp           `json:"at,omitempty"`   // until when its lease lasts, or when it is due
}

// LockList holds the locks that are held or waited for.
type LockList struct {
	Items  []answer.Lock   `json:"items"`
	Unread []answer.Unread `json:"unread"`
	// held locks of which the time left was not read: there are too many
	Untimed int64 `json:"untimed,omitempty"`
	reply.Page
	Measured
}

// EntityList holds the entities.
type EntityList struct {
	Items  []answer.Entity `json:"items"`
	Unread []answer.Unread `json:"unread"`
	reply.Page
	Measured
}

// StreamList holds the streams.
type StreamList struct {
	Items  []answer.Stream `json:"items"`
	Unread []answer.Unread `json:"unread"`
	reply.Page
	Measured
}

// RankingList holds the rankings.
type RankingList struct {
	Items  []answer.Ranking `json:"items"`
	Unread []answer.Unread  `json:"unread"`
	reply.Page
	Measured
}

// CacheList holds the caches.
type CacheList struct {
	Items []CacheRow `json:"items"`
	reply.Page
	Measured
}

// CacheRow represents one cache.
type CacheRow struct {
	Entry     string        `json:"entry"`
	Pattern   string        `json:"pattern"`
	Keys      int64         `json:"keys"`
	Bytes     int64         `json:"bytes"`
	NoTTL     int64         `json:"no_ttl"`
	TTL       *audit.Spread `json:"ttl,omitempty"`
	DeletedBy []string      `json:"deleted_by"` // events
}
