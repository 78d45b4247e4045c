// Package peers are the loops an audit of a live server is measured against:
// the same commands as the audit, sent by a program that does nothing with
// the answers. Rueidis is what a good Go programmer writes with a good client,
// Floor what the wire allows.
//
// They are no auditors and survive nothing: any surprise is an error.
package peers

// Load describes what both loops do.
type Load struct {
	Addr    string
	Count   int // COUNT of SCAN
	Memory  bool
	Samples int  // SAMPLES of MEMORY USAGE, below 0: the server's default
	Values  bool // Floor: read of each value what an audit with values reads first
}

// Tally describes how the loops prove that they read every answer.
type Tally struct {
	Keys   int64 `json:"keys"`   // that SCAN returned
	Bytes  int64 `json:"bytes"`  // sum of MEMORY USAGE
	Values int64 `json:"values"` // that were read
}
