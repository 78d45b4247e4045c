// Package server is a source.Source over a live Redis or Valkey: it finds the
// shards and their replicas, scans every database of each with SCAN, reads the
// facts of the keys in the same pipeline, and watches whether it can still be
// sure to have seen everything.
//
// A Snapshot is another Source over the same servers: it reads what each sends a
// replica, the keys of one moment, at the cost of a fork and next to nothing of
// the server's only thread.
//
// It only reads: every command a scan can send is a row of Commands, and the ACL
// user that ACL renders may run them and nothing else; a snapshot needs what
// SnapshotACL renders. It never uses KEYS or Lua. It does not judge keys. Keys
// written while a scan runs may or may not be seen, as SCAN's guarantee says
// (https://redis.io/docs/latest/commands/scan/).
//
// API: may change until 1.0.
package server

import (
	"context"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/checkpoint"
	"github.com/keywright/keywright/source/server/internal/contents"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/scan"
	"github.com/keywright/keywright/source/server/request"
)

type (
	// Options tune a scan.
	Options = request.Options
	// Role describes which member of a shard is read.
	Role = request.Role
	// Part is one of several parts of a cluster.
	Part = request.Part
	// Checkpoints let a scan go on where an earlier one has ended.
	Checkpoints = checkpoint.Checkpoints
	// Position describes how far a scan has come.
	Position = checkpoint.Position
	// ShardPosition describes how far a scan of one server has come.
	ShardPosition = checkpoint.ShardPosition
	// Place describes how far a scan of one database has come.
	Place = checkpoint.Place
	// PlaceInValue describes how far a value was read that comes in parts.
	PlaceInValue = checkpoint.PlaceInValue
	// NotResumable is returned where a scan cannot go on at a position.
	NotResumable = checkpoint.NotResumable
	// ContentsRequest says what of a server is wanted.
	ContentsRequest = request.Contents
)

// Auto takes a replica in step with its primary where there is one.
const (
	Auto    = request.Auto
	Primary = request.Primary
	Replica = request.Replica
)

// Lowest returns the oldest versions that are read, by brand.
func Lowest() map[string]string { return fleet.Lowest() }

// Scanner represents the Source.
type Scanner struct {
	config  connect.Config
	options Options
}

// New makes a Scanner. It connects when Scan is called.
func New(config connect.Config, options Options) *Scanner {
	if options.Role == "" {
		options.Role = Auto
	}
	if options.Count == 0 {
		options.Count = 500
	}
	if options.OnlyDB < 0 && config.DB > 0 {
		options.OnlyDB = config.DB
	}
	return &Scanner{config, options}
}

// Scan implements source.Source. A server that cannot be reached at all is an
// error; one that fails in between makes the summary incomplete.
func (s *Scanner) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	return scan.Keys(ctx, s.config, s.options, req, each)
}

// Contents reads whole values, each with its expiry in one step of the server. The
// callback gets what one page of SCAN had, one shard at a time. A value of more than
// req.Largest bytes comes in parts; WATCH tells whether it was written to meanwhile,
// and then it is read again, up to three times. Per page it takes one round trip.
//
// A key may come twice, as with SCAN. Values are those of their own moment: the
// summary of a Scanner never claims one moment for all.
func (s *Scanner) Contents(ctx context.Context, req ContentsRequest, each func([]source.Content) error) (source.Summary,
	error) {
	return contents.Read(ctx, s.config, s.options, req, each)
}
