// Package keywright is what a program uses of the runtime: it opens a Client, groups
// operations in a Batch or a transaction, gives it Options and Hooks, and asks what
// kind of error an operation returned. The entries of a declaration, with their keys,
// TTLs and types, are in the package that `keywright gen go` makes; the operations of
// each Redis type are in typed, and each construct has a package of its own.
//
// What is named here is defined in kernel, where the methods are documented: `go doc
// kernel.Client`. The names here are for programs and keep their meaning; kernel is for
// the packages of constructs.
//
// It is a thin layer over rueidis (automatic pipelining, client-side caching,
// cluster, sentinel) and not a general client: there is no way to write a key
// without its declared TTL here.
//
// What is retried: reads and scripts that are known to be idempotent, after any
// transient failure; other writes only after a reply that proves that they were
// not applied (LOADING, READONLY, CLUSTERDOWN, TRYAGAIN, MASTERDOWN). A write
// whose reply was lost is never sent again; its error says UnknownOutcome.
//
// API: may change until 1.0.
package keywright

import (
	"context"
	"time"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
)

// The client.
type (
	// Client represents a connection to a server, a cluster, or a primary that sentinels
	// name. It is safe for concurrent use.
	Client = kernel.Client
	// Options holds the options of a client. The zero value is a good choice.
	Options = kernel.Options
	// Sealer seals what is declared encrypted, and opens it. Package seal has one.
	Sealer = kernel.Sealer
	// Place describes where a sealed text is: what was sealed for one place does not open at
	// another.
	Place = kernel.Place
	// Listener receives the messages of one channel, or of those a pattern names.
	Listener = kernel.Listener

	// Health describes how the servers of a client are doing.
	Health = kernel.Health
	// ServerHealth describes how one server is doing.
	ServerHealth = kernel.ServerHealth
)

// Open connects: redis://[user:password@]host:port/db, rediss:// with TLS,
// unix:///path, redis+cluster://host:port,…, redis+sentinel://host:port,…/name.
// An empty url is taken from the environment (Options.Getenv), else
// redis://127.0.0.1:6379. It fails when the server cannot be reached now; later
// a lost connection is made again, with backoff and jitter per address.
func Open(ctx context.Context, url string, o Options) (*Client, error) {
	return kernel.Open(ctx, url, o)
}

// What is declared.
type (
	// Entry describes what the runtime knows of one declared key. Generated code has one per
	// key, as a variable.
	Entry = kernel.Entry
	// TTL represents the policy that the declaration gives an entry.
	TTL = kernel.TTL
	// Policy says whether keys of an entry expire.
	Policy = kernel.Policy
	// Effect describes what an operation does to its key.
	Effect = kernel.Effect
	// Script represents a Lua script.
	Script = kernel.Script
	// WriteOption represents a choice of one write.
	WriteOption = kernel.WriteOption
)

// The policies.
const (
	Undecided = kernel.Undecided // ttl: any
	Expires   = kernel.Expires
	Forever   = kernel.Forever // ttl: none
)

// The effects. They decide what may be retried.
const (
	Reads      = kernel.Reads
	Writes     = kernel.Writes     // sent once, unless the reply proves that it was not applied
	Idempotent = kernel.Idempotent // a write that has the same result when it is applied twice
)

// ExpiresIn asks for a TTL of d instead of the declared default. Outside of the
// declared bounds the write is an error and nothing is sent.
func ExpiresIn(d time.Duration) WriteOption { return kernel.ExpiresIn(d) }

// NewScript makes a script. The name is for errors and hooks. The text may be a function that makes it when the script
// is first used.
func NewScript[T kernel.ScriptText](name string, text T) *Script { return kernel.NewScript(name, text) }

// NewReadOnlyScript makes a script that writes nothing: the server holds it to
// that (EVALSHA_RO), and it is retried like any read. It needs Redis 7.0.
func NewReadOnlyScript[T kernel.ScriptText](name string, text T) *Script {
	return kernel.NewReadOnlyScript(name, text)
}

// Operations, alone and in groups.
type (
	// Op represents one operation that has not run yet: Do runs it alone, Queue puts it into
	// a Batch or a transaction. It can be run once or several times.
	Op[T any] = kernel.Op[T]
	// Act represents an operation that gives nothing but an error, as a write of a value.
	Act = kernel.Act
	// Binding says what a handle works with: a client, an entry and a key. Every constructor
	// takes one; generated code makes it.
	Binding = kernel.Binding
	// Pending represents the result of a queued operation. It is valid once the batch or
	// transaction has run.
	Pending[T any] = kernel.Pending[T]
	// Batch groups operations into one pipeline: one round trip per server. It is not
	// a transaction: each operation succeeds or fails alone. The zero value is ready.
	Batch = kernel.Batch
	// Tx represents a transaction: Client.Transact makes one.
	Tx = kernel.Tx
)

// Queue adds an operation to a *Batch or a *Tx.
func Queue[T any, O kernel.Operation[T]](q kernel.Queuer, op O) *Pending[T] {
	return kernel.Queue[T](q, op)
}

// Watch reads a key that a transaction depends on: if others change it before the
// transaction runs, its function is called again.
func Watch[T any](t *Tx, op Op[T]) (T, error) { return kernel.Watch(t, op) }

// Hooks.
type (
	// Hook is called around every operation, and for what happens to constructs.
	Hook = kernel.Hook
	// Call represents one operation as hooks see it, without keys and values.
	Call = kernel.Call
	// Outcome describes how a call ended.
	Outcome = kernel.Outcome
	// Notice represents something that happened to a construct or a connection; package notice
	// has its kinds.
	Notice = notice.Notice
)

// Errors.
type (
	// Error represents an operation that failed.
	Error = kernel.Error
	// DecodeError represents a stored value that is not what the declaration says. It names
	// the key and never shows the value.
	DecodeError = kernel.DecodeError
	// Class says what a failed operation has done and whether a retry can help. It
	// is all a caller needs to act.
	Class = kernel.Class
)

// ClassOf returns the class of an error of an operation; ok is false for any other.
func ClassOf(err error) (class Class, ok bool) { return kernel.ClassOf(err) }

// The classes.
const (
	// Invalid: the caller asked for what cannot be (a TTL out of bounds, a value
	// or placeholder that does not fit, a wrong type). Nothing was sent or
	// applied; a retry fails the same way.
	Invalid = kernel.Invalid
	// NotApplied: the server or the network refused before anything changed.
	// Trying again later is safe.
	NotApplied = kernel.NotApplied
	// Retryable: a read that failed for a passing reason. Trying again is safe.
	Retryable = kernel.Retryable
	// UnknownOutcome: a write was sent and its reply was lost. It may have been
	// applied; look before writing again.
	UnknownOutcome = kernel.UnknownOutcome
	// Refused: the server said no for a reason that time does not heal
	// (permission, wrong type of the key, a script's own error). Nothing was
	// applied, unless a script says otherwise.
	Refused = kernel.Refused
	// Partial: some operations of a transaction were applied and others refused. The
	// result of each says which.
	Partial = kernel.Partial
)

// The errors that programs compare with errors.Is.
var (
	// ErrNotFound reports a key, field or member that is not there.
	// Collections are never not found: they come back empty.
	ErrNotFound = kernel.ErrNotFound
	// ErrClosed is returned by operations in flight, and by later ones, when the
	// client closes.
	ErrClosed = kernel.ErrClosed
	// ErrNotRun reports the error of a Pending whose batch or transaction has not run.
	ErrNotRun = kernel.ErrNotRun
	// ErrConflict is returned by a transaction whose keys were changed by others each
	// time it was tried. Nothing of it was applied.
	ErrConflict = kernel.ErrConflict
	// ErrPartial is returned by a transaction of which some operations were refused
	// when it ran: the others were applied. Each Pending says what became of its
	// operation.
	ErrPartial = kernel.ErrPartial
)
