package source

// Content represents a key with its whole value, or with a part of a value that is too
// large to be read in one step. It is valid until the callback that received it
// returns.
type Content struct {
	Name    []byte
	DB      int
	Expires int64 // in Unix milliseconds, read in the same step as the value; 0: never
	Kind    Kind

	// Payload is what DUMP returned, without the last ten bytes; RDB is the version
	// that was in them. It is nil in a part.
	Payload []byte
	RDB     int

	// Elements are those of a part: bytes of a string, elements of a list, members of a
	// set, members and scores, fields and values, or what StreamState says of streams.
	// Part 0 begins a value; Part 0 again means that what came before is void.
	Elements [][]byte
	Part     int
	More     bool

	// Lost is why the value cannot be read whole: what came of it is void. Only values
	// that were asked for by name come so.
	Lost string

	// Torn is set in the last part of a value that was written to each time it was
	// read.
	Torn bool
}

// Shard represents a server that values were read from, as it was when that began.
type Shard struct {
	Address string `json:"address"`
	Brand   string `json:"brand"`   // redis or valkey
	Version string `json:"version"` // of the server
	RunID   string `json:"run_id,omitempty"`
	ReplID  string `json:"replication_id,omitempty"`
	Replica bool   `json:"replica,omitempty"` // it is one
	Keys    int64  `json:"keys"`
}
