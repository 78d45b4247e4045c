// Package store is the side of Redis of a migration: the scripts that read and write records in the same step as the
// epoch is looked at, what is sealed there, and the import of many records at once. It does not decide which side is
// right.
package store

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

var (
	raiseScript  = keywright.NewScript("migrate raise", parts.Later("raise"))
	joinScript   = keywright.NewScript("migrate join", parts.Later("join"))
	ticketScript = keywright.NewScript("migrate ticket", parts.Later("ticket"))
	takeScript   = keywright.NewReadOnlyScript("migrate take", parts.Later("take"))
	putScript    = keywright.NewScript("migrate put", parts.Later("put"))
	loadScript   = keywright.NewScript("migrate load", parts.Later("load"))
)

// ErrTooLarge reports a record with more elements or fields than one step may hold the server
// for.
var ErrTooLarge = errors.New("the record has too many elements for one step of the server")

// MaxValues says how many values one record may have.
const MaxValues = 4000

// ErrAgain reports an answer after which the same may be tried again: a ticket is too old, or
// Redis does not know the process.
var ErrAgain = errors.New("try again")

// ErrType reports a key of another type.
var ErrType = errors.New("the key holds another type than its entry declares: rename or delete it")

// ErrChanged reports a record that another process has written since it was read.
var ErrChanged = errors.New("the record was written meanwhile")

// Server represents the side of Redis.
type Server struct {
	*Link
	Key   string
	moves map[string]documents.MoveOf
	Seen  tickets // the last one of each part
	entry *keywright.Entry
}

// New returns the side of Redis of a migration.
func New(l *Link, name string, moves map[string]documents.MoveOf) *Server {
	key := "keywright:migrate:" + name
	return &Server{Link: l, Key: key, moves: moves,
		entry: &keywright.Entry{Name: "migration " + name, Pattern: key, Type: "hash"}}
}

// tickets returns the key of the tickets of records that were written lately.
func (s *Server) tickets() string { return s.Key + ":tickets" }

func (s *Server) action(name string, effect keywright.Effect) kernel.Action {
	c, err := s.Get()
	return kernel.Action{Client: c, Name: name, Entry: s.entry, Effect: effect, Err: err}
}

// read sends commands that only read, in one round trip, and again with the client's retries. The first
// must be answered. What the server answers to the others is the caller's, errors too.
func (s *Server) read(ctx context.Context, name string, build func(kernel.Builder) []kernel.Command) (
	replies []kernel.Reply, err error) {
	raw, err := s.Raw()
	if err != nil {
		return nil, err
	}
	a := s.action(name, keywright.Reads)
	_, err = kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		replies = raw.DoMulti(ctx, build(raw.B())...)
		if i := slices.IndexFunc(replies, func(r kernel.Reply) bool { return Unrefused(r.Error()) != nil }); i > 0 {
			return replies[i]
		}
		return replies[0]
	}, func(r kernel.Reply) (struct{}, error) { return struct{}{}, r.Error() })
	return replies, err
}

func (s *Server) op(name string, effect keywright.Effect, script *keywright.Script, keys,
	args []string) keywright.Op[Answer] {
	return kernel.NewOp(kernel.Spec[Answer]{Action: s.action(name, effect), Script: script, Keys: keys,
		Args: args, Decode: decodeAnswer})
}

// RaiseEpoch gives a part a later epoch. lost: also to a server that has lost data.
func (s *Server) RaiseEpoch(part string, from phase.State, to uint64, phased phase.Phase, seen uint64,
	lost bool) keywright.Op[Answer] {
	low := from.Epoch
	if from.Lag > 0 {
		low = from.Lag
	}
	missing := flag(lost || from.Phase == phase.Off) // a part in phase off has nothing in Redis that could be lost
	return s.op("raise", keywright.Idempotent, raiseScript, []string{s.Key}, []string{part, Decimal(low),
		Decimal(to), phased.String(), missing, Decimal(seen)})
}

// Join says by which name a process writes, and which processes are dead.
func (s *Server) Join(process, name string, dead ...string) keywright.Op[int64] {
	return kernel.NewOp(kernel.Spec[int64]{Action: s.action("join", keywright.Idempotent), Script: joinScript,
		Keys: []string{s.Key}, Args: append([]string{process, name},
			dead...), Decode: func(r kernel.Reply) (int64, error) { return r.AsInt64() }})
}

// TicketOp returns a number that is later than all before.
func (s *Server) TicketOp(part string, epoch, seen uint64) keywright.Op[Answer] {
	return s.op("ticket", keywright.Idempotent, ticketScript, []string{s.Key}, []string{part, Decimal(epoch),
		Decimal(seen)})
}

// KindOf says what the scripts call a kind of record.
var KindOf = map[keyspace.RecordKind]string{
	keyspace.StringRecord: "string", keyspace.FieldRecord: "field", keyspace.HashRecord: "hash",
	keyspace.MemberRecord: "member", keyspace.ScoredRecord: "scored", keyspace.ElementRecord: "list",
	keyspace.EntryRecord: "stream",
}

// Take reads a record.
func (s *Server) Take(part string, kind keyspace.RecordKind, id record.ID, seen uint64) keywright.Op[Answer] {
	return s.op("take", keywright.Reads, takeScript, []string{s.Key, id.Key},
		[]string{part, KindOf[kind], id.Sub, strconv.Itoa(MaxValues), Decimal(seen)})
}

// Put makes records what is given. Its answer has a word for each of them, after the epoch
// and the last ticket.
func (s *Server) Put(p Put) keywright.Op[Answer] {
	effect := keywright.Writes // applied twice, it could take back what another has written meanwhile
	if p.Ticket != "" {
		effect = keywright.Idempotent
	}
	keys := make([]string, 0, 2+len(p.Items))
	keys = append(keys, s.Key, s.tickets())
	args := make([]string, 0, 7+8*len(p.Items))
	args = append(args, p.Part, Decimal(p.Epoch), p.Process, p.Name, p.Ticket, flag(p.keep), Decimal(p.Seen))
	total := 0
	for _, x := range p.Items {
		keys = append(keys, x.ID.Key)
		n := x.Size()
		total += n
		args = x.args(args)
	}
	op := s.op("put", effect, putScript, keys, args)
	if total > MaxValues || len(p.Items) > maxItems {
		op = op.Failing(ErrTooLarge)
	}
	return op
}

var listScript = keywright.NewReadOnlyScript("migrate list", parts.Later("list"))

// List reads a page of the records of a key.
func (s *Server) List(part string, kind keyspace.RecordKind, key, cursor string, seen uint64) keywright.Op[Answer] {
	return s.op("list", keywright.Reads, listScript, []string{s.Key, key}, []string{part, KindOf[kind], cursor,
		Decimal(seen)})
}

// SweepBatch says how many records are read from Redis in one round trip.
const SweepBatch = 500
