package migrate

import (
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/export"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/internal/verify"
)

type (
	// Documents holds the files of a migration as records.
	Documents = sources.Documents
	// PartOf represents a part with what the engine must know of its moves.
	PartOf = sources.PartOf
	// MoveOf describes what the engine must know of a move.
	MoveOf = sources.MoveOf
	// PlanReport describes what an import would do, from the files alone.
	PlanReport = sides.PlanReport
	// MoveCount represents the records of a move.
	MoveCount = sides.MoveCount
	// Coverage describes what of the sources of a part the moves of all parts read.
	Coverage = sides.Coverage
	// Unread counts the values that no move reads, and the places where a path meets another shape than its own.
	Unread = sides.Unread
	// ShadowConfig bounds the comparisons that reads cause. The zero value is a good choice.
	ShadowConfig = shadow.Config
	// ShadowStats holds the comparisons of this process.
	ShadowStats = shadow.Stats
	// Class represents a kind of difference that comparisons have found. It holds no value.
	Class = shadow.Class
	// VerifyOptions describes how a part is verified.
	VerifyOptions = verify.Options
	// VerifyReport describes what a comparison of both sides has found.
	VerifyReport = verify.Report
	// Differing represents a record that differs. Its values are shown as digests.
	Differing = verify.Differing
	// ExportReport describes what an export wrote.
	ExportReport = export.Report
	// PartState represents the phase of a part.
	PartState = disk.PartState
	// ImportReport describes what an import has done.
	ImportReport = store.ImportReport
)

var (
	// ErrTooLarge reports a record with more elements or fields than one step may hold the server for.
	ErrTooLarge = store.ErrTooLarge
	// ErrTooMany is returned by Export where too many records differ, and by List where a key has too many.
	ErrTooMany = sides.ErrTooMany
	// ErrExported reports an export over files that have what was exported of other parts.
	ErrExported = export.ErrExported
	// ErrReplacedMeanwhile reports a file that was written between the comparison and the export.
	ErrReplacedMeanwhile = export.ErrReplacedMeanwhile
	// ErrUnreadable reports a file that was not written, since it could not have been read again.
	ErrUnreadable = sources.ErrUnreadable
	// ErrWrittenMeanwhile reports a file that a program has written into while it was read.
	ErrWrittenMeanwhile = disk.ErrWrittenMeanwhile
	// ErrMarks reports a write when so many records may differ that no more can be marked.
	ErrMarks = marks.ErrMarks
)
