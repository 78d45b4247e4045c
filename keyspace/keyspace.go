// Package keyspace is WHAT SHOULD BE: a declared keyspace, resolved. The model
// is data: every construct is expanded into plain key declarations, every name
// is resolved, every duration is a number. The loader (Load) makes it from YAML
// files in an fs.FS and reports every fault of every file in one run.
//
// It does no I/O beyond that fs.FS, knows no clock and no server. Whether a
// declaration is wise is not decided here but by keyspace/lint.
//
// API: may change until 1.0.
package keyspace

import (
	"time"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Keyspace is one resolved declaration, imports included. Slices are in the
// order of the files.
type Keyspace struct {
	Package string
	Doc     string
	Owner   string // default owner
	inside  []Glob // the namespaces in effect: they are ours as a whole
	spaces  []Glob // other ones, where they are told by a type of their names

	Spaces     []*Namespace // each once: of the first file, and of imported files with one of their own
	Cluster    bool         // the team runs Redis Cluster: slot rules are errors
	Owns       []Glob
	Foreign    []Glob
	Vars       []Var
	TTLs       []NamedTTL
	Entries    []*Entry
	Keys       []*Key // every pattern of every entry, expanded; the matcher's order
	Channels   []*Channel
	Events     []*Event
	Shapes     []*Shape // at most one per file, for the entries of that file
	Cleanup    []Cleanup
	Pressure   []Pressure
	Janitor    []*Job // what is done again and again
	Migrations []*Migration
	Outputs    []Output // what `keywright gen` writes without arguments
	Files      []File   // root first; needed to show excerpts and to read ignore comments

	PressureLease *Key // nil without Pressure
}

// File is the text of one declaration file.
type File struct {
	Name string // as given, slash-separated, relative to the fs.FS
	Text []byte
}

// Pos is where something stands in a file.
type Pos = finding.Position

// Glob is a Redis glob of `owns`, `foreign` or `cleanup`.
type Glob struct {
	Text    string
	Pattern *pattern.Pattern
	Pos     Pos
	Sibling bool // of another namespace that a program may choose; foreign does not say so
}

// Var gives one meaning to a placeholder name, file-wide.
type Var struct {
	Name string
	Type scalar.Type // with its default
	Pos  Pos
	Used bool // some pattern, field, member or type refers to it
}

// NamedTTL is an entry of `ttls`.
type NamedTTL struct {
	Name string
	TTL  TTL
	Pos  Pos
	Used bool
}

// Policy is what a TTL declaration demands of a live key.
type Policy uint8

const (
	TTLAny     Policy = iota // undecided on purpose: anything goes
	TTLNone                  // must never expire
	TTLExpires               // must expire, within Max
)

// TTL is a resolved `ttl`. For TTLExpires, Default is written when the writer
// asks for nothing; Min and Max bound what a writer may ask for (equal to
// Default without `in`). A live key's remaining TTL may be at most LiveMax.
type TTL struct {
	Policy  Policy
	Default time.Duration
	Min     time.Duration
	Max     time.Duration
	Jitter  float64 // 0.10 for `~10%`; widens what is written on both sides
	Sliding bool    // renewed on use
	Name    string  // of `ttls`, "" if written in place
	Text    string  // canonical text without the name, "15m in 1m..24h"
	Pos     Pos
}

// Kind is a Redis data type as TYPE reports it.
type Kind string

const (
	String Kind = "string"
	Hash   Kind = "hash"
	List   Kind = "list"
	Set    Kind = "set"
	ZSet   Kind = "zset"
	Stream Kind = "stream"
)

// Construct is a `type` that is more than a Redis type. "" for plain entries.
type Construct string

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

// Entry is one mapping under `keys`, as the author wrote it and resolved.
type Entry struct {
	Name      string
	Namespace *Namespace // nil: its keys have a fixed name
	Doc       string
	Type      string // as written: "string", "entity", …
	Construct Construct
	Keys      []*Key // Keys[0] is the main key; none for a script
	TTL       TTL
	Owner     string
	Readers   []string
	Skip      []string // rule families skipped, e.g. "shape"
	Was       []*pattern.Pattern

	Index  []Index           // entity
	Emits  map[string]string // entity: create/update/delete/expire → channel name
	Stamps Stamps            // entity
	TTLBy  *TTLRule          // entity; nil: the ttl is the same for all
	Notify *Channel          // lock, queue: where a release, a new job is announced; derived if not written
	Order  string            // queue: the placeholder whose enum order is pop order
	Lease  time.Duration     // queue
	Retry  int               // queue: attempts, 0 = not written
	Shape  []Field           // queue: the payload as a JSON object, field by field
	Gate   time.Duration     // plain types: how long the fencing token of the last write is kept, 0 = not
	Fresh  time.Duration     // cache: after that it is refreshed, 0 = never early
	Absent time.Duration     // cache: how long "there is none" is remembered, 0 = not
	Ties   Ties              // ranking: who comes first of those with the same score
	Cached time.Duration     // ranking: how long a window over several periods is kept
	Rate   Rate              // ratelimit
	Method Method            // ratelimit
	MaxLen int64             // stream
	Groups []string          // stream
	Script *ScriptSpec       // script
	Topic  *Channel          // of a durable channel, whose stream this is

	Pos Pos
	At  map[string]Pos // position of each property's value by name ("ttl", "key", "index.kind" …)
}

// Key is one declared key pattern: what the matcher finds and the audit judges.
type Key struct {
	Entry   *Entry
	Role    string // "" main; "job", "result", "leases", "fence", "index.kind", …
	Name    string // Entry.Name, or Entry.Name + "." + Role: unique in the keyspace
	Pattern *pattern.Pattern
	Kind    Kind
	TTL     TTL
	Derived bool // not written in the file: the construct names it
	Doc     string

	Value  *scalar.Type // string: its value; list, set: nil, see Member
	Headed bool         // string: a line of the construct's own stands before the value
	JSON   []Field      // string: an inline JSON object, field by field
	Member *scalar.Type // list, set, zset: one element
	Score  *scalar.Type // zset
	Fields []Field      // hash, stream: fixed fields
	Field  *scalar.Type // hash with open fields: the field name…
	Item   *scalar.Type // …and its value
	Pos    Pos

	Base, Suffix string // of a derived key: the text of the pattern that it is derived from, and what comes after that
}

// Field is one declared field of a hash, stream, JSON object or message.
type Field struct {
	Name string
	Type scalar.Type
	Pos  Pos
}

// Index is one secondary index of an entity: a zset of ids per value of Field, or one
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

// Method is how a ratelimit counts.
type Method string

const (
	GCRA    Method = "gcra"    // evenly, with a burst
	Sliding Method = "sliding" // never more than the count in any window
	Fixed   Method = "fixed"   // a counter per window; up to twice the count over its edge
)

// Ties is how a ranking orders members of the same score.
type Ties string

const (
	ByMember     Ties = "member" // the lower member first, by its bytes
	FirstToReach Ties = "first"  // who has had the score for longer
)

// ScriptSpec is a Lua script with declared keys and typed arguments.
type ScriptSpec struct {
	File    string
	Text    string       // of the file; "" if it could not be read
	Keys    []string     // entry names, in KEYS order
	Args    []Field      // in ARGV order
	Returns *scalar.Type // nil: nothing that is of use
	Effect  Effect
}

// Effect is what a script does to its keys, and so whether it may be sent again
// when its reply was lost.
type Effect string

// The effects of a script.
const (
	Reads      Effect = "reads"      // writes nothing; the server holds it to that
	Idempotent Effect = "idempotent" // twice has the same result as once
	Writes     Effect = "writes"     // what nothing is said about
)

// Output is one line of `gen`: a target and the folder its files go to,
// slash-separated, relative to the first file.
type Output struct {
	Target string
	Folder string
	Pos    Pos
}

// Event is an application event and what it invalidates.
type Event struct {
	Name    string
	Doc     string
	With    []string // placeholder names the event carries
	Deletes []string // entry names
	Emits   []string // channel names
	Pos     Pos
	At      map[string]Pos
}

// Shape is the team's naming law.
type Shape struct {
	Text  string
	Parts []ShapePart
	Pos   Pos
}

// ShapePart is one segment of the shape: a literal or a named part, maybe
// optional; Type is the var of that name if there is one.
type ShapePart struct {
	Literal   string
	Name      string
	Type      *scalar.Type
	Separator string // what stands before it, "" for the first
	Optional  bool
}

// Cleanup says which keys a clean-up may take.
type Cleanup struct {
	Match Glob
	Idle  time.Duration // not used for so long
	Older time.Duration // by the time in the key
	Keep  int           // all but so many of the newest, by the time or the number in the key
	Pos   Pos
}
