package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

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
	entry *keywright.Entry
}

func newServer(l *link, name string) *server {
	key := "keywright:migrate:" + name
	return &server{l, key, &keywright.Entry{Name: "migration " + name, Pattern: key, Type: "hash"}}
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

// answer describes what a script says first, and what comes after it.
type answer struct {
	word string
	more []string
}

// failed returns why a script has done nothing.
func (a answer) failed() error {
	switch a.word {
	case "ok", "some", "same", "stale":
		return nil
	case "lost":
		return phase.ErrLost
	case "ahead":
		return phase.ErrAhead
	case "epoch":
		return phase.ErrEpoch
	case "changed":
		return errChanged
	case "old", "process":
		return errAgain
	case "large":
		return ErrTooLarge
	case "type":
		return errType
	}
	return fmt.Errorf("an unknown answer of a script: %q", a.word)
}

func decodeAnswer(r kernel.Reply) (a answer, err error) {
	list, err := r.ToArray()
	if err != nil {
		return a, err
	}
	for i, m := range list {
		text, err := m.ToString()
		if n, isInt := m.AsInt64(); err != nil && isInt == nil {
			text, err = strconv.FormatInt(n, 10), nil
		}
		if err != nil {
			return a, err
		}
		if i == 0 {
			a.word = text
		} else {
			a.more = append(a.more, text)
		}
	}
	return a, nil
}

func (s *server) op(name string, effect keywright.Effect, script *keywright.Script, keys,
	args []string) keywright.Op[answer] {
	return kernel.NewOp(kernel.Spec[answer]{Action: s.action(name, effect), Script: script, Keys: keys,
		Args: args, Decode: decodeAnswer})
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

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

// ordered reports whether a record is all that a key has, in its order.
func ordered(kind keyspace.RecordKind) bool {
	return kind == keyspace.ElementRecord || kind == keyspace.EntryRecord
}

// take reads a record.
func (s *server) take(part string, kind keyspace.RecordKind, id record.ID, seen uint64) keywright.Op[answer] {
	return s.op("take", keywright.Reads, takeScript, []string{s.key, id.Key},
		[]string{part, kindOf[kind], id.Sub, strconv.Itoa(maxValues), decimal(seen)})
}

// put describes how records of one part are written in one step.
type put struct {
	part    string
	epoch   uint64
	process string // with name: of an authority's write
	name    string
	ticket  string // of a write to the side that follows
	keep    bool   // the ticket
	seen    uint64
	now     time.Time
	items   []item
}

// item represents one record of a put.
type item struct {
	mv      MoveOf
	id      record.ID
	records []*record.Record // none: the record is not there
	values  []string         // of the records, as Redis gets them
	expects bool             // the record must be as follows
	was     []string         // as Redis has it
}

// maxItems says how many records one step writes.
const maxItems = 100

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

// size returns how many values a record has as it is to be stored. What Redis has, and has given
// to an update, is not of it.
func (x item) size() int {
	n := 0
	for _, r := range x.records {
		switch x.mv.Kind {
		case keyspace.HashRecord:
			n += 2 * len(r.Fields)
		case keyspace.EntryRecord:
			n += 1 + 2*len(r.Fields)
		default:
			n++
		}
	}
	return n
}

// living returns the records whose time is not over.
func (x item) living(now time.Time) []*record.Record {
	if ends := endOf(x.records); !ends.IsZero() && !ends.After(now) {
		return nil
	}
	return x.records
}

// args returns what the script must know of a record.
func (x item) args(args []string) []string {
	sum := sumOf(x.id)
	mode, ms := "", "0"
	if len(x.values) > 0 {
		mode, ms = ttlOf(x.records, x.mv.TTL)
	}
	args = append(args, string(sum[:]), kindOf[x.mv.Kind], x.id.Sub, mode, ms, strconv.Itoa(len(x.values)))
	if !x.expects {
		return append(append(args, "-1"), x.values...)
	}
	return append(append(append(args, strconv.Itoa(len(x.was))), x.values...), x.was...)
}

// parts cuts a put into steps that are small enough.
func (p put) parts() (out []put) {
	for len(p.items) > 0 {
		n, values := 0, 0
		for n < len(p.items) && n < maxItems && (n == 0 || values+p.items[n].size() <= maxValues) {
			values += p.items[n].size()
			n++
		}
		next := p
		next.items, p.items = p.items[:n], p.items[n:]
		out = append(out, next)
	}
	return out
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

func endOf(records []*record.Record) time.Time {
	if len(records) == 0 {
		return time.Time{}
	}
	return records[0].Ends
}

// ttlOf returns what a write does to the TTL.
func ttlOf(records []*record.Record, ttl keyspace.TTL) (mode, ms string) {
	ends := endOf(records)
	switch {
	case !ends.IsZero():
		return "at", strconv.FormatInt(max(ends.UnixMilli(), 1), 10)
	case ttl.Policy == keyspace.TTLExpires && ttl.Default > 0:
		spread := int64(float64(ttl.Default.Milliseconds()) * ttl.Jitter)
		return "in", strconv.FormatInt(max(ttl.Default.Milliseconds()+rand.N(2*spread+1)-spread, 1), 10)
	case ttl.Policy == keyspace.TTLNone:
		return "none", "0"
	}
	return "keep", "0"
}

// stored returns the values of a record as the scripts take and give them.
func stored(kind keyspace.RecordKind, records []*record.Record) (out []string) {
	for _, r := range records {
		switch kind {
		case keyspace.ScoredRecord:
			return []string{r.Score}
		case keyspace.MemberRecord:
			return []string{"1"}
		case keyspace.HashRecord:
			for _, f := range r.Fields {
				out = append(out, f.Name, f.Value)
			}
		case keyspace.EntryRecord:
			out = append(out, strconv.Itoa(len(r.Fields)))
			for _, f := range slices.SortedFunc(slices.Values(r.Fields), byName) {
				out = append(out, f.Name, f.Value)
			}
		default:
			out = append(out, string(r.Value))
		}
	}
	return out
}

func byName(a, b record.Field) int { return strings.Compare(a.Name, b.Name) }

func fieldsOf(values []string) (out []record.Field) {
	for i := 0; i+1 < len(values); i += 2 {
		out = append(out, record.Field{Name: values[i], Value: values[i+1]})
	}
	return out
}

// taken returns the records of an answer to take.
func taken(kind keyspace.RecordKind, move *record.Move, id record.ID, a answer) (out []*record.Record) {
	if len(a.more) < 3 {
		return nil
	}
	values := a.more[2:]
	r := &record.Record{Move: move, Key: id.Key, Sub: id.Sub, Stored: true}
	if ms, err := strconv.ParseInt(a.more[1], 10, 64); err == nil && ms > 0 {
		r.Ends = time.UnixMilli(ms)
	}
	switch kind {
	case keyspace.ScoredRecord:
		r.Score = values[0]
	case keyspace.MemberRecord:
	case keyspace.HashRecord:
		r.Fields = fieldsOf(values)
	case keyspace.EntryRecord:
		for i := 0; len(values) > 0; i++ {
			n := min(1+2*int(number(values[0])), len(values))
			entry := *r
			entry.Fields, entry.Place = fieldsOf(values[1:n]), int64(i)
			out, values = append(out, &entry), values[n:]
		}
		return out
	case keyspace.ElementRecord:
		for i, v := range values {
			element := *r
			element.Value, element.Place = []byte(v), int64(i)
			out = append(out, &element)
		}
		return out
	default:
		r.Value = []byte(values[0])
	}
	return []*record.Record{r}
}
