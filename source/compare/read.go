package compare

import (
	"context"

	"github.com/keywright/keywright/source"
)

// Reading yields whole values, as server.Snapshot.Contents does.
type Reading func(ctx context.Context, each func([]source.Content) error) (source.Summary, error)

// Once represents a Side that is read once: a snapshot.
type Once struct {
	Read  Reading
	Taken func() int64 // its moment, in Unix milliseconds; asked after it was read
}

// All reads it.
func (o *Once) All(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
	return o.Read(ctx, each)
}

// Now returns its moment.
func (o *Once) Now() int64 { return o.Taken() }
