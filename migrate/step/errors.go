package step

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/migrate/record"
)

// MaxListed bounds the records that a report or an error names.
const MaxListed = 100

// RefusedError represents records of Redis that no file can have, so that the files cannot decide.
type RefusedError struct {
	Count   int64
	Rejects []*record.Reject // at most MaxListed
}

// refusalsSaid bounds the records that the text of a RefusedError names.
const refusalsSaid = 10

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d records of Redis cannot be in a file: ", e.Count)
	for i, bad := range e.Rejects[:min(len(e.Rejects), refusalsSaid)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(bad.Error())
	}
	if more := e.Count - refusalsSaid; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Add counts one more.
func (e *RefusedError) Add(bad *record.Reject) {
	if e.Count++; len(e.Rejects) < MaxListed {
		e.Rejects = append(e.Rejects, bad)
	}
}

// Unwrap gives the first.
func (e *RefusedError) Unwrap() error { return e.Rejects[0] }

// Unconfirmed represents a change that live processes have not confirmed in time.
type Unconfirmed struct {
	Part      string
	Epoch     uint64
	Processes []string
	Err       error // why it was no longer waited for
}

func (e *Unconfirmed) Error() string {
	return fmt.Sprintf("part %s: epoch %d is not confirmed by %s", e.Part, e.Epoch, strings.Join(e.Processes, ", "))
}

// Unwrap gives why it was no longer waited for.
func (e *Unconfirmed) Unwrap() error { return e.Err }
