// Package source is WHAT IS: the facts of one live key (Key), and a Source that
// yields them in batches, be it a server that is scanned or a snapshot file
// that is read. It is not the judgement about them: see package audit.
//
// API: may change until 1.0.
package source

import (
	"context"
	"time"
)

// Kind represents a Redis data type.
type Kind uint8

const (
	Unknown Kind = iota // not asked for, or a type this version does not know
	String
	List
	Set
	ZSet
	Hash
	Stream
	Module
	Array // Redis 8.8
	kinds
)

// Kinds says how many there are: the length of an array by Kind.
const Kinds = int(kinds)

// String returns the name TYPE gives the kind.
func (k Kind) String() string { return kindNames[k] }

var kindNames = [...]string{Unknown: "unknown", String: "string", List: "list", Set: "set", ZSet: "zset", Hash: "hash",
	Stream: "stream", Module: "a module's type", Array: "array"}

// NoTTL is the TTL of a key that never expires.
const NoTTL time.Duration = -1

// MaxTTL is the longest TTL that is reported, some 292 years: a longer one counts as this.
const MaxTTL = time.Duration(1<<63 - 1)

// TTL returns what remains of a key that ends in so many milliseconds, MaxTTL at most.
func TTL(ms int64) time.Duration {
	if ms > int64(MaxTTL/time.Millisecond) {
		return MaxTTL
	}
	return time.Duration(ms) * time.Millisecond
}

// Key describes what is known of one live key. Name and Value are only valid until
// the callback that received them returns.
type Key struct {
	Name   []byte
	DB     int
	Kind   Kind
	TTL    time.Duration // remaining; NoTTL
	Bytes  int64         // MEMORY USAGE or its estimate; -1 unknown
	Size   int64         // fields, members, entries, where Request.Sizes asked or a snapshot tells; 0 unknown
	Value  *Value        // nil unless Request.Values asked for it
	Closed bool          // its value or size was asked for, and the user may not read it
	Facts  *Facts        // nil where keys are not read from a snapshot
}

// Facts describes what only a snapshot tells of every key at no cost.
type Facts struct {
	Encoding string // as OBJECT ENCODING names it, or the name of the module's type
	Elements int64  // fields, members, entries; bytes of a string; -1 unknown
	Stored   int64  // bytes in the snapshot: name, value and what lies before them
	Idle     int64  // seconds since the last access; -1 unknown
	Freq     int    // logarithmic counter of accesses (LFU); -1 unknown
}

// Value represents the content of a key, a bounded sample of a large one, or, where the
// request is for whole values, one part of it.
type Value struct {
	Str      []byte    // string
	Elements [][]byte  // list, set, zset members; hash: field, value, field, value …; stream: likewise, entry by entry
	Scores   []float64 // zset
	Ends     []int     // stream: where in Elements each entry ends
	From     int64     // elements that earlier parts had
	Of       int64     // elements of the whole value, 1 of a string; 0: as many as were read
	Partial  bool      // not everything was read: neither here nor in earlier parts
}

// Looked returns how many elements of a value of the kind are in v.
func (v *Value) Looked(kind Kind) int64 {
	switch kind {
	case String:
		if v.Partial {
			return 0
		}
		return 1
	case Hash:
		return int64(len(v.Elements) / 2)
	case Stream:
		return int64(len(v.Ends))
	}
	return int64(len(v.Elements))
}

// Bounds of the sample of one value, the same for all sources: reports of a
// server and of its snapshot agree.
const (
	SampleString  = 1 << 20 // bytes of a string, and of one element
	SampleMembers = 40      // members, fields; of a list half from each end
	SampleEntries = 20      // of a stream, half from each end
)

// WholeString bounds the strings and elements that are read where values are
// read whole; a longer one is partial.
const WholeString = 64 << 20

// Request says what a consumer wants of a Source.
type Request struct {
	Bytes  bool   // measure Bytes
	Sample int64  // stop after about this many keys, spread over the keyspace; 0 = all
	Match  string // SCAN MATCH glob; "" = all
	// Wants says by its name whether a key is looked at; nil: all are. Several goroutines ask it. A server is asked
	// nothing of the others, and LeftOut, which is not nil then, is called with their number, by the goroutine that
	// delivers keys. A file delivers all keys: the consumer looks, too.
	Wants   func(name []byte) bool
	LeftOut func(keys int64)
	Values  func(name []byte, kind Kind) bool // nil: no values; asked by one goroutine at a time, and not while each runs
	// the type of a key whose value is wanted, Unknown if its name does not tell; such a key is asked for its value and
	// not for its type. nil: of none; asked likewise
	Expect func(name []byte) Kind
	Sizes  func(name []byte, kind Kind) bool // nil: no sizes; asked likewise
	// not nil: values are read whole; called likewise, with all parts of a value but the last, which comes with its key
	Part     func(*Key)
	Progress func(Progress) // called at most a few times per second; may be nil
}

// Progress represents a snapshot of a running scan.
type Progress struct {
	Keys    int64 // seen so far
	Total   int64 // expected, from DBSIZE or the snapshot header; 0 = unknown
	Elapsed time.Duration
	Shards  int
	Paused  bool // throttled because the server got slow
}

// Summary says how a scan went. Incomplete lists every reason why the keys seen
// may not be all the keys there are: empty means complete.
type Summary struct {
	Server     string // "redis 7.0.15, single", for people
	Endpoint   string // without credentials
	Shards     int
	Databases  int
	Keys       int64
	Expected   int64 // DBSIZE at start (sum); 0 unknown
	Gone       int64 // returned by SCAN but gone before their facts were read
	Orphans    int64 // of a cluster, in slots that their node does not own: no client can read them; not in Keys
	Expired    int64 // in the snapshot, but expired when it was made: not counted
	Estimated  bool  // Bytes are computed from a snapshot, not measured by the server
	MaxRepeats int64 // upper bound on how many keys may have been counted twice; 0 = none possible
	Elapsed    time.Duration
	Incomplete Reasons
	Notes      []string // e.g. "bytes unknown: user lacks MEMORY USAGE"
	Origins    []Origin // the servers that were read; none of a file
}

// Origin represents one server that was read, and what tells that another one has the same keys.
type Origin struct {
	ID        string // of its replication, which a primary shares with its replicas; "": not known
	Address   string
	Databases []int
	Slots     []SlotRange // of a cluster
}

// SlotRange represents the slots from the first to the last.
type SlotRange struct{ First, Last int }

// Source yields the facts of keys. Scan calls each from one goroutine at a
// time, with batches that are only valid during the call. An error of each stops the scan
// and is returned. When ctx ends, Scan returns ctx.Err() and a Summary that
// says how far it came.
type Source interface {
	Scan(ctx context.Context, req Request, each func([]Key) error) (Summary, error)
}
