package migrate

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
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

// maxValues says how many values one record may have.
const maxValues = 4000

// errAgain reports an answer after which the same may be tried again: a ticket is too old, or
// Redis does not know the process.
var errAgain = errors.New("try again")

// errType reports a key of another type.
var errType = errors.New("the key holds another type than its entry declares")

// errChanged reports a record that another process has written since it was read.
var errChanged = errors.New("the record was written meanwhile")

// server represents the side of Redis.
type server struct {
	*link
	key   string
	moves map[string]MoveOf
	seen  tickets // the last one of each part
	entry *keywright.Entry
}

func newServer(l *link, name string, moves map[string]MoveOf) *server {
	key := "keywright:migrate:" + name
	return &server{link: l, key: key, moves: moves, entry: &keywright.Entry{Name: "migration " + name, Pattern: key, Type: "hash"}}
}

// tickets returns the key of the tickets of records that were written lately.
func (s *server) tickets() string { return s.key + ":tickets" }

func (s *server) action(name string, effect keywright.Effect) kernel.Action {
	c, err := s.get()
	return kernel.Action{Client: c, Name: name, Entry: s.entry, Effect: effect, Err: err}
}

// read sends commands that only read, in one round trip, and again with the client's retries. The first
// must be answered. What the server answers to the others is the caller's, errors too.
func (s *server) read(ctx context.Context, name string, build func(kernel.Builder) []kernel.Command) (
	replies []kernel.Reply, err error) {
	raw, err := s.raw()
	if err != nil {
		return nil, err
	}
	a := s.action(name, keywright.Reads)
	_, err = kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		replies = raw.DoMulti(ctx, build(raw.B())...)
		if i := slices.IndexFunc(replies, func(r kernel.Reply) bool { return unrefused(r.Error()) != nil }); i > 0 {
			return replies[i]
		}
		return replies[0]
	}, func(r kernel.Reply) (struct{}, error) { return struct{}{}, r.Error() })
	return replies, err
}

func (s *server) op(name string, effect keywright.Effect, script *keywright.Script, keys,
	args []string) keywright.Op[answer] {
	return kernel.NewOp(kernel.Spec[answer]{Action: s.action(name, effect), Script: script, Keys: keys,
		Args: args, Decode: decodeAnswer})
}

// raise gives a part a later epoch. lost: also to a server that has lost data.
func (s *server) raise(part string, from phase.State, to uint64, phased phase.Phase, seen uint64,
	lost bool) keywright.Op[answer] {
	low := from.Epoch
	if from.Lag > 0 {
		low = from.Lag
	}
	missing := flag(lost || from.Phase == phase.Off) // a part in phase off has nothing in Redis that could be lost
	return s.op("raise", keywright.Idempotent, raiseScript, []string{s.key}, []string{part, decimal(low),
		decimal(to), phased.String(), missing, decimal(seen)})
}

// join says by which name a process writes, and which processes are dead.
func (s *server) join(process, name string, dead ...string) keywright.Op[int64] {
	return kernel.NewOp(kernel.Spec[int64]{Action: s.action("join", keywright.Idempotent), Script: joinScript,
		Keys: []string{s.key}, Args: append([]string{process, name},
			dead...), Decode: func(r kernel.Reply) (int64, error) { return r.AsInt64() }})
}

// ticket returns a number that is later than all before.
func (s *server) ticket(part string, epoch, seen uint64) keywright.Op[answer] {
	return s.op("ticket", keywright.Idempotent, ticketScript, []string{s.key}, []string{part, decimal(epoch),
		decimal(seen)})
}

// kindOf says what the scripts call a kind of record.
var kindOf = map[keyspace.RecordKind]string{
	keyspace.StringRecord: "string", keyspace.FieldRecord: "field", keyspace.HashRecord: "hash",
	keyspace.MemberRecord: "member", keyspace.ScoredRecord: "scored", keyspace.ElementRecord: "list",
	keyspace.EntryRecord: "stream",
}

// take reads a record.
func (s *server) take(part string, kind keyspace.RecordKind, id record.ID, seen uint64) keywright.Op[answer] {
	return s.op("take", keywright.Reads, takeScript, []string{s.key, id.Key},
		[]string{part, kindOf[kind], id.Sub, strconv.Itoa(maxValues), decimal(seen)})
}

// put makes records what is given. Its answer has a word for each of them, after the epoch
// and the last ticket.
func (s *server) put(p put) keywright.Op[answer] {
	effect := keywright.Writes // applied twice, it could take back what another has written meanwhile
	if p.ticket != "" {
		effect = keywright.Idempotent
	}
	keys := make([]string, 0, 2+len(p.items))
	keys = append(keys, s.key, s.tickets())
	args := make([]string, 0, 7+8*len(p.items))
	args = append(args, p.part, decimal(p.epoch), p.process, p.name, p.ticket, flag(p.keep), decimal(p.seen))
	total := 0
	for _, x := range p.items {
		keys = append(keys, x.id.Key)
		n := x.size()
		total += n
		args = x.args(args)
	}
	op := s.op("put", effect, putScript, keys, args)
	if total > maxValues || len(p.items) > maxItems {
		op = op.Failing(ErrTooLarge)
	}
	return op
}

var listScript = keywright.NewReadOnlyScript("migrate list", parts.Later("list"))

// list reads a page of the records of a key.
func (s *server) list(part string, kind keyspace.RecordKind, key, cursor string, seen uint64) keywright.Op[answer] {
	return s.op("list", keywright.Reads, listScript, []string{s.key, key}, []string{part, kindOf[kind], cursor,
		decimal(seen)})
}

// sweepBatch says how many records are read from Redis in one round trip.
const sweepBatch = 500
