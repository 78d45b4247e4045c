package keyspace

import (
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace/scalar"
)

// Construct represents a `type` that is more than a Redis type. "" for plain entries.
type Construct string

// The constructs.
const (
	Plain     Construct = ""
	Cache     Construct = "cache"
	Lock      Construct = "lock"
	Queue     Construct = "queue"
	Ranking   Construct = "ranking"
	Entity    Construct = "entity"
	Counter   Construct = "counter"
	RateLimit Construct = "ratelimit"
	Script    Construct = "script"
	Topic     Construct = "channel" // a durable channel: a stream; not written under keys
)

// trait says what holds of a construct for all who work with its keys.
type trait struct {
	construct Construct
	record    RecordKind // what a record of a file becomes, byKind as with plain entries; "": files have nothing of it
	inStep    bool       // all its keys are written by its own functions alone, which keep them in step
	plain     bool       // its main key is stored as that of a plain entry
}

// byKind is the record of what is moved by the Redis type of its main key.
const byKind RecordKind = "by kind"

// constructs has a row for each. Tables of other packages that say something of every construct have one for each of
// these, which TestEachConstruct holds there: see "Adding a construct" in CONTRIBUTING.
var constructs = []trait{
	{construct: Plain, record: byKind, plain: true},
	{construct: Cache, record: byKind, plain: true},
	{construct: Lock, inStep: true},
	{construct: Queue, record: JobRecord, inStep: true},
	{construct: Ranking, record: byKind, plain: true},
	{construct: Entity, record: ItemRecord, inStep: true},
	{construct: Counter, record: byKind, plain: true},
	{construct: RateLimit, inStep: true},
	{construct: Script},
	{construct: Topic},
}

// Constructs returns all constructs; the first is Plain.
func Constructs() (all []Construct) {
	for _, t := range constructs {
		all = append(all, t.construct)
	}
	return all
}

func (c Construct) trait() trait {
	for _, t := range constructs {
		if t.construct == c {
			return t
		}
	}
	return trait{construct: c}
}

// InStep reports whether the construct's own functions alone write its keys: they keep them in step.
func (c Construct) InStep() bool { return c.trait().inStep }

// Stored returns the construct as far as it matters to what is stored under its main key: that of a cache is the one
// of a plain string.
func (c Construct) Stored() Construct {
	if c.trait().plain {
		return Plain
	}
	return c
}

// records lists what a record of a file becomes, by the type of a plain key.
var records = map[Kind]RecordKind{String: StringRecord, List: ElementRecord, Set: MemberRecord, ZSet: ScoredRecord,
	Stream: EntryRecord, Hash: FieldRecord}

// Record returns what a record of a file becomes in an entry; "" if files have nothing of it.
func (e *Entry) Record() RecordKind {
	r := e.Construct.trait().record
	switch {
	case len(e.Keys) == 0:
		return ""
	case r != byKind:
		return r
	case e.Keys[0].Kind == Hash && e.Keys[0].Fields != nil:
		return HashRecord
	}
	return records[e.Keys[0].Kind]
}

// StreamSpec is what a stream has: a plain one, or that of a durable channel.
type StreamSpec struct {
	MaxLen int64
	Groups []string
}

// CacheSpec is what a cache has.
type CacheSpec struct {
	Fresh  time.Duration // after that it is refreshed, 0 = never early
	Absent time.Duration // how long "there is none" is remembered, 0 = not
}

// QueueSpec is what a queue has.
type QueueSpec struct {
	Order string // the placeholder whose enum order is pop order
	Lease time.Duration
	Shape []Field // the payload as a JSON object, field by field
}

// RankingSpec is what a ranking has.
type RankingSpec struct {
	Ties   Ties          // who comes first of those with the same score
	Cached time.Duration // how long a window over several periods is kept
}

// EntitySpec is what an entity has.
type EntitySpec struct {
	Index  []Index
	Emits  map[string]string // create/update/delete/expire → channel name
	Stamps Stamps
	TTLBy  *TTLRule // nil: the ttl is the same for all
}

// RateLimitSpec is what a ratelimit has.
type RateLimitSpec struct {
	Rate   Rate
	Method Method
}

// Stamps holds the fields of an entity that the server fills in; "" for none.
type Stamps struct {
	Created, Updated string // a time
	Version          string // a whole number that grows with every write and never comes again
}

// TTLRule chooses the lifetime of an item by one of its fields.
type TTLRule struct {
	Field string
	Cases []TTLCase
	Pos   Pos
}

// TTLCase represents one line of a rule: the numbers from Low to High, or one Word.
type TTLCase struct {
	Word      string // as it is declared: "1..3", "high"
	Low, High int64  // of a number; no number is between those of a word
	TTL       time.Duration
}

// Of returns how long an item lives by the stored text of the field, 0 where no case
// fits: then the entry's TTL counts.
func (r *TTLRule) Of(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	for _, c := range r.Cases {
		if c.Word == text || err == nil && c.Low <= n && n <= c.High {
			return c.TTL
		}
	}
	return 0
}

// Index represents one secondary index of an entity: a zset of ids per value of Field, or one
// over all items where Field is "". It is sorted by Score, or by the ids where Score
// is "". A compound index ("priority+created_at") has both.
type Index struct {
	Name  string // as written, "priority+created_at"
	Field string
	Score string // a field, or "expires"
	Key   *Key
	Pos   Pos
}

// Rate is `100 per 1m` of a ratelimit.
type Rate struct {
	Count int64
	Per   time.Duration
	Burst int64
}

// Method describes how a ratelimit counts.
type Method string

// The methods.
const (
	GCRA    Method = "gcra"    // evenly, with a burst
	Sliding Method = "sliding" // never more than the count in any window
	Fixed   Method = "fixed"   // a counter per window; up to twice the count over its edge
)

// Ties describes how a ranking orders members of the same score.
type Ties string

// The orders of ties.
const (
	ByMember     Ties = "member" // the lower member first, by its bytes
	FirstToReach Ties = "first"  // who has had the score for longer
)

// ScriptSpec represents a Lua script with declared keys and typed arguments.
type ScriptSpec struct {
	File    string
	Text    string       // of the file; "" if it could not be read
	Keys    []string     // entry names, in KEYS order
	Args    []Field      // in ARGV order
	Returns *scalar.Type // nil: nothing that is of use
	Effect  Effect
}

// Effect describes what a script does to its keys, and so whether it may be sent again
// when its reply was lost.
type Effect string

// The effects of a script.
const (
	Reads      Effect = "reads"      // writes nothing; the server holds it to that
	Idempotent Effect = "idempotent" // twice has the same result as once
	Writes     Effect = "writes"     // what nothing is said about
)
