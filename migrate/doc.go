// Package migrate moves the records of JSON files to Redis, part by part and phase by
// phase, while several processes read and write them. Package phase has the phases, and
// package record says which records a document has.
//
// A Migration is the place of a process in it: Read, Write and Delete do with a record
// what the phase of its part says, Advance and Rollback change the phase, Replay makes
// equal what may differ.
//
// # What holds, and why
//
// Three rules hold at any kill -9, with lost replies, a full disk and a server that is away:
//
//   - a write that was acknowledged is on the side that decides, and stays there when
//     another phase makes the other side decide;
//   - when the marks have been replayed both sides have the same records;
//   - no process writes with an epoch that is over.
//
// A write puts a mark on the disk first: the identity of the record, and no value. Then it
// writes the side that decides, then the other, and then the mark is over. Whatever ends
// it in between leaves the mark. A replay does not repeat the write: it reads the record
// where the phase says, and brings the other side to that. So it needs no order, and may
// be done twice.
//
// Bringing a record from Redis to a file: under the lock of the file it is read from Redis,
// and written. The last that has the lock reads last, and every write of Redis is followed
// by such a step, or has a mark. Bringing one from a file to Redis has no lock, since a
// script of a process that has died may arrive late. A ticket is taken from Redis first,
// then the file is read, then a script writes Redis, if no later ticket has written this
// record. What was committed before the latest ticket was given is in what its holder has
// read. Tickets are times of the server in microseconds; one of more than an hour is
// refused, so that those of records need not be kept for longer.
//
// Where Redis decides, a script that arrives late would change a record after its mark
// was replayed. So each process writes by a name that Redis knows. The name of a process
// that has died is removed before its marks are replayed, and a process whose reply was
// lost takes another name before it replays its own.
//
// The phase and the epoch of a part are in a file beside the sources, and that file
// decides. Redis has the epoch, too. Writes look at the epoch in the same step: under the
// lock of the file, or in the script. A change of phase closes the part in that file, waits
// until no process holds the part's lock, gives Redis the epoch of the change, replays all
// marks, gives Redis the next epoch, and opens the part with it. No process has an epoch
// between the first step and the last, so that no two write with different ones. A change
// that was interrupted is undone by the next process that waits for it, with an epoch that
// nothing of the change has carried. If Redis is away then, and the files decide, the
// part is opened and Redis gets the epoch later.
//
// Redis has lost data when its epoch is lower than that of the file, or its last ticket is
// lower than one that a process has seen: after a flush, an older backup, a failover
// without the last writes. Its scripts do nothing then (ErrLost) until Repair.
//
// The walks of package phase and the kills of this package's tests are the evidence.
//
// # What it does not do
//
// A program that writes the files without this package is not seen. The locks are those of
// one machine: the folder of the sources must be a local disk. A cluster is refused, since
// the epoch must be in the same step as the record. Entities and queues have their
// own steps on the server, and are not written to both sides.
//
// API: may change until 1.0.
package migrate

import (
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/export"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/members"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/step"
)

type (
	// Documents holds the files of a migration as records.
	Documents = documents.Documents
	// PartOf represents a part with what the engine must know of its moves.
	PartOf = documents.PartOf
	// MoveOf describes what the engine must know of a move.
	MoveOf = documents.MoveOf
	// PlanReport describes what an import would do, from the files alone.
	PlanReport = step.PlanReport
	// MoveCount represents the records of a move.
	MoveCount = step.MoveCount
	// Coverage describes what of the sources of a part the moves of all parts read.
	Coverage = step.Coverage
	// Unread counts the values that no move reads, and the places where a path meets another shape than its own.
	Unread = step.Unread
	// ShadowConfig bounds the comparisons that reads cause. The zero value is a good choice.
	ShadowConfig = step.ShadowConfig
	// ShadowStats holds the comparisons of this process.
	ShadowStats = step.ShadowStats
	// Class represents a kind of difference that comparisons have found. It holds no value.
	Class = step.Class
	// VerifyOptions describes how a part is verified.
	VerifyOptions = step.VerifyOptions
	// VerifyReport describes what a comparison of both sides has found.
	VerifyReport = step.VerifyReport
	// Differing represents a record that differs. Its values are shown as digests.
	Differing = step.Differing
	// ImportOptions describe how the records of a part come to Redis.
	ImportOptions = step.ImportOptions
	// ExportReport describes what an export wrote.
	ExportReport = step.ExportReport
	// PartState represents the phase of a part.
	PartState = phase.PartState
	// ImportReport describes what an import has done.
	ImportReport = step.ImportReport
	// Process represents a process that takes part.
	Process = step.Process
	// RefusedError represents records of Redis that no file can have, so that the files cannot decide.
	RefusedError = step.RefusedError
	// Unconfirmed represents a change that live processes have not confirmed in time.
	Unconfirmed = step.Unconfirmed
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
	// ErrDamaged reports a file of the engine that is not as it was written.
	ErrDamaged = disk.ErrDamaged
	// ErrUnseen reports a file of the engine that cannot be read, and without which it is not known whether Redis has
	// lost data.
	ErrUnseen = members.ErrUnseen
	// ErrUnreadable reports a file that was not written, since it could not have been read again.
	ErrUnreadable = sources.ErrUnreadable
	// ErrWrittenMeanwhile reports a file that a program has written into while it was read.
	ErrWrittenMeanwhile = disk.ErrWrittenMeanwhile
	// ErrMarks reports a write when so many records may differ that no more can be marked.
	ErrMarks = marks.ErrMarks
)
