// Package request is what a reading of servers is asked for: which of the servers are read and how fast (Options), and
// which values are read whole (Contents). It reads nothing: the Scanner of package server does.
//
// API: may change until 1.0.
package request

import (
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/checkpoint"
)

// Options tune a scan.
type Options struct {
	Role       Role          // "": Auto
	Rate       int           // keys per second over all shards, 0 = as fast as the server answers
	MaxLatency time.Duration // pause while the server answers a PING more slowly, 0 = never
	Count      int           // first COUNT of SCAN; 0: 500. It adapts between 10 and 1000
	OnlyDB     int           // scan this database only; -1 = the one the URL names, all if it names none or 0
	Seed       uint64        // of sampling: which random places of the databases are read
	Part       Part          // of the shards of a cluster

	Checkpoints *checkpoint.Checkpoints // nil: the scan always begins at the beginning
}

// Role describes which member of a shard is scanned.
type Role string

// The roles; Options without one is Auto.
const (
	Auto    Role = "auto"    // a replica in step with its primary, where there is one
	Primary Role = "primary" // the primary
	Replica Role = "replica" // as Auto, and a note where the primary is read
)

// Part is one of Of parts of a cluster, from 1 on: the shards, in the order of their slots,
// are dealt out to the parts in turn. The zero Part is all of them.
type Part struct {
	Number int // of the part, from 1 on
	Of     int // how many parts there are; 0: all of the cluster is read
}

// Contents says what of a server is wanted.
type Contents struct {
	Match    string                         // SCAN MATCH glob; "" = all
	Type     string                         // keys of this type only, as SCAN TYPE; "" = all
	Wants    func(name []byte) bool         // asked by one goroutine at a time; nil: all
	Skip     func(db int, name []byte) bool // asked likewise of keys that are wanted; nil: none
	Largest  int64                          // bytes (MEMORY USAGE) of a value that is read in one step; 0: 512 KiB
	Progress func(source.Progress)          // called now and then; nil: not at all

	// Names gets the names of each page instead: no value is read. It is called by one
	// goroutine at a time.
	Names func(db int, names [][]byte) error

	// Library gets the code of each library of functions after Begin, of each shard in turn, by one goroutine at a time;
	// nil: they are not asked for, and those of a snapshot are a reason of Summary.Incomplete.
	Library func(server string, code []byte) error

	// Begin is called once, before the first content: with the servers that are read,
	// and the time by the clock of the first. nil: not at all.
	Begin func(shards []source.Shard, now time.Time) error
}
