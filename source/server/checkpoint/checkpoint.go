// Package checkpoint is how far a scan of servers has come, in a form that can be kept, so that a later scan goes on
// there. It neither scans nor keeps anything: the Scanner of package server calls what Checkpoints has.
//
// API: may change until 1.0.
package checkpoint

import (
	"strings"
	"time"

	"github.com/keywright/keywright/connect/topology"
)

// Checkpoints let a scan go on where an earlier one has ended. What the consumer has
// made of the keys by then must be kept together with the position.
type Checkpoints struct {
	From *Position            // where to go on; nil: from the beginning
	Due  func() bool          // asked when the consumer has had keys: is a position wanted now?
	Save func(Position) error // gets one, while the consumer is at rest; an error ends the scan
}

// Position describes how far a scan has come: exactly what the consumer had. It is only
// of use with the same servers, running and not flushed since.
type Position struct {
	Elapsed time.Duration   `json:"elapsed_ns"`        // since the beginning, without the time between the scans
	Keys    int64           `json:"keys"`              // that the consumer had
	Gone    int64           `json:"gone,omitempty"`    // keys that were removed before their facts were read
	Repeats int64           `json:"repeats,omitempty"` // keys that came twice
	Notes   []string        `json:"notes,omitempty"`   // of the summary
	Slots   string          `json:"slots,omitempty"`   // of a cluster: which node has which
	Shards  []ShardPosition `json:"shards"`            // the servers that are read
}

// ShardPosition describes how far a scan of one server has come, and how the server is known
// again.
type ShardPosition struct {
	Address   string            `json:"address"`   // host:port
	Identity  topology.Identity `json:"identity"`  // when the scan began
	Sizes     map[int]int64     `json:"sizes"`     // of its databases, at the beginning
	Databases []Place           `json:"databases"` // none: its scan has not begun
}

// Place describes how far a scan of one database has come.
type Place struct {
	DB      int            `json:"db"`
	Cursor  string         `json:"cursor"`            // of SCAN
	Done    bool           `json:"done,omitempty"`    // the scan of the database has ended
	Had     [][]byte       `json:"had,omitempty"`     // keys from the cursor on that the consumer had
	Looked  int64          `json:"looked,omitempty"`  // keys whose facts were read
	Denied  int64          `json:"denied,omitempty"`  // keys that the user may not read
	Closed  int64          `json:"closed,omitempty"`  // keys whose values or sizes the user may not read
	Endless bool           `json:"endless,omitempty"` // SCAN did not come to an end
	Values  []PlaceInValue `json:"values,omitempty"`  // values of which the consumer had a part
}

// PlaceInValue describes how far a value was read that comes in parts.
type PlaceInValue struct {
	Key    []byte `json:"key"`
	Kind   string `json:"kind"`   // its type
	Cursor string `json:"cursor"` // where its next part begins: a cursor of the server, a place, or an id
	From   int64  `json:"from"`   // elements that the consumer had
}

// NotResumable is returned where a scan cannot go on at a position.
type NotResumable struct {
	Reasons []string // at least one
}

// Error implements error.
func (e *NotResumable) Error() string {
	return "the scan cannot go on where it was: " + strings.Join(e.Reasons, "; ")
}
