package migrate

import (
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
)

type (
	// Documents holds the files of a migration as records.
	Documents = sources.Documents
	// PartOf represents a part with what the engine must know of its moves.
	PartOf = sources.PartOf
	// MoveOf describes what the engine must know of a move.
	MoveOf = sources.MoveOf
	// PartState represents the phase of a part.
	PartState = disk.PartState
	// ImportReport describes what an import has done.
	ImportReport = store.ImportReport
)

var (
	// ErrTooLarge reports a record with more elements or fields than one step may hold the server for.
	ErrTooLarge = store.ErrTooLarge
	// ErrUnreadable reports a file that was not written, since it could not have been read again.
	ErrUnreadable = sources.ErrUnreadable
	// ErrWrittenMeanwhile reports a file that a program has written into while it was read.
	ErrWrittenMeanwhile = disk.ErrWrittenMeanwhile
	// ErrMarks reports a write when so many records may differ that no more can be marked.
	ErrMarks = marks.ErrMarks
)
