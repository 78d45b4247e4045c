package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/internal/replica"
	"github.com/keywright/keywright/source/server/internal/scan"
)

// SnapshotOptions tune a Snapshot.
type SnapshotOptions struct {
	Role     Role          // Auto: a replica in step where there is one; Replica: never a primary
	MaxForks int           // how many servers may make a snapshot at the same time; 0: 1
	OnlyDB   int           // as in Options
	Part     Part          // as in Options
	Silence  time.Duration // how long a server may say nothing while it sends; 0: 60 s
}

// Snapshot represents a source.Source over what servers send to their replicas. It costs
// a server a fork and next to nothing of its only thread. The keys are those of
// one moment, on a cluster those of one moment for each shard.
type Snapshot struct {
	scanner *Scanner
	options SnapshotOptions
	parse   func(in io.Reader, options rdb.Options) source.Source
}

// NewSnapshot makes a Snapshot. It connects when Scan is called.
func NewSnapshot(config connect.Config, options SnapshotOptions) *Snapshot {
	options.MaxForks = max(options.MaxForks, 1)
	options.Role = cmp.Or(options.Role, Auto)
	scanner := New(config, Options{Role: options.Role, OnlyDB: options.OnlyDB})
	return &Snapshot{scanner, options, func(in io.Reader, o rdb.Options) source.Source { return rdb.New(in, o) }}
}

// reads says how the snapshot of a shard is read.
func (r *snapshotRun) reads(sh *fleet.Shard) rdb.Options {
	return rdb.Options{Name: sh.Address, OnlyDB: r.scanner.options.OnlyDB, Clock: time.Now,
		Skip: func(db int, name []byte) bool { return r.Orphan(sh, db, name) }}
}

// Scan implements source.Source. A server that sends nothing at all is an error;
// one that fails in between makes the summary incomplete.
func (s *Snapshot) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary,
	error) {
	started := time.Now()
	t, err := fleet.DiscoverSome(ctx, s.scanner.config, Primary, s.options.Part)
	if err != nil {
		return source.Summary{}, err
	}
	defer t.Close()
	if err := t.Only(ctx, s.scanner.options.OnlyDB); err != nil {
		return source.Summary{}, err
	}
	r := &snapshotRun{Snapshot: s, Run: scan.NewRun(s.scanner.config, s.scanner.options, req, t, each, started)}
	r.forks = make(chan struct{}, s.options.MaxForks)
	r.read = r.facts
	err = r.all(ctx)
	sum := r.summary()
	if ctx.Err() != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Interrupted, "", nil))
		return sum, ctx.Err()
	}
	return sum, err
}

// snapshotRun represents one run over all shards. What run guards by its mutex it guards
// here too, and so the fields below.
type snapshotRun struct {
	*Snapshot
	*scan.Run
	forks    chan struct{} // one place for each fork
	whole    int           // shards that were read
	expected int64         // keys that the snapshots announce
	expired  int64

	// read reads one snapshot. Its second error is the consumer's.
	read func(ctx context.Context, sh *fleet.Shard, in io.Reader) (sum source.Summary, err, consumer error)
}

// facts reads the facts of the keys of one snapshot.
func (r *snapshotRun) facts(ctx context.Context, sh *fleet.Shard, in io.Reader) (sum source.Summary, err, consumer error) {
	sum, err = r.parse(in, r.reads(sh)).Scan(ctx, r.share(sh), func(batch []source.Key) error {
		consumer = r.Deliver(batch, 0)
		return consumer
	})
	return sum, err, consumer
}

// all reads the shards and then looks whether keys can have moved meanwhile.
func (r *snapshotRun) all(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	for _, sh := range r.Fleet.Shards {
		group.Go(func() {
			if err := r.shard(ctx, sh); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return cause
	}
	if ctx.Err() == nil {
		r.Note(r.changes(ctx)...)
	}
	return nil
}

// shard reads one snapshot when its turn has come.
func (r *snapshotRun) shard(ctx context.Context, sh *fleet.Shard) error {
	select {
	case r.forks <- struct{}{}:
		defer func() { <-r.forks }()
	case <-ctx.Done():
		return nil
	}
	stream, err := r.open(ctx, sh)
	if err != nil {
		return r.missed(ctx, sh, err)
	}
	defer stream.Close()
	sum, err, consumer := r.read(ctx, sh, stream)
	switch {
	case consumer != nil:
		return consumer
	case ctx.Err() != nil:
		return nil
	}
	r.finished(sh, sum, stream.Verdict(err, r.Request.Sample > 0))
	return nil
}

// missed returns a shard of which nothing could be read: an error if that holds for
// all of them so far.
func (r *snapshotRun) missed(ctx context.Context, sh *fleet.Shard, err error) error {
	r.Mu.Lock()
	first := r.whole == 0
	r.Mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	if first {
		return err
	}
	r.Note(source.Why(source.Missing, sh.Address, err))
	return nil
}

// share returns the request for one shard: its part of a sample, and no progress,
// which is reported for all shards together.
func (r *snapshotRun) share(sh *fleet.Shard) source.Request {
	req := r.Request
	req.Progress = nil
	if part := req.Part; part != nil {
		req.Part = func(k *source.Key) {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			part(k)
		}
	}
	if req.Sample > 0 {
		var keys int64
		for _, n := range sh.Databases {
			keys += n
		}
		req.Sample = max(1, req.Sample*max(keys, 1)/max(r.Fleet.Size(), 1))
	}
	return req
}

// finished takes over what the parser says of one snapshot.
func (r *snapshotRun) finished(sh *fleet.Shard, sum source.Summary, err error) {
	switch {
	case connect.IsKind(err, connect.Broken): // it names the server
		r.Note(source.Why(source.Disconnected, sh.Address, err))
	case err != nil:
		r.Note(source.Why(source.Ended, sh.Address, err))
	default:
		for _, why := range sum.Incomplete {
			r.Note(why.On(sh.Address))
		}
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.whole++
	r.expected += sum.Expected
	r.expired += sum.Expired
	r.Notes = scan.AppendNew(r.Notes, about(sh, sum.Notes)...)
}

// about says of which server lines are.
func about(sh *fleet.Shard, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = sh.Address + ": " + line
	}
	return out
}

// open begins the snapshot of a shard, at a replica where that is possible. The
// replicas are looked up now: the turn may come long after the run began.
func (r *snapshotRun) open(ctx context.Context, sh *fleet.Shard) (*replica.Stream, error) {
	if r.Snapshot.options.Role != Primary && !sh.Replica {
		if stream := r.openReplica(ctx, sh); stream != nil {
			return stream, nil
		}
		if r.Snapshot.options.Role == Replica {
			return nil, &connect.Error{Kind: connect.Unreachable, Server: sh.Address,
				Err:  errors.New("there is no replica in step that makes a snapshot"),
				Hint: "take the primary: its memory grows by what is written during the snapshot"}
		}
	}
	return replica.Open(ctx, sh.Config, r.Snapshot.options.Silence)
}

func (r *snapshotRun) openReplica(ctx context.Context, sh *fleet.Shard) *replica.Stream {
	info, err := sh.Again(ctx)
	if err != nil || !info.Primary() {
		return nil
	}
	for _, address := range slices.DeleteFunc(info.InStep(), notListening) {
		at := sh.Config.At(address)
		err := inStep(ctx, at, info["master_repl_offset"])
		var stream *replica.Stream
		if err == nil {
			stream, err = replica.Open(ctx, at, r.Snapshot.options.Silence)
		}
		if err != nil {
			r.Remark(fmt.Sprintf("no snapshot from a replica: %v", err))
			continue
		}
		r.Mu.Lock()
		sh.Replica = true
		r.Mu.Unlock()
		return stream
	}
	return nil
}

func inStep(ctx context.Context, replica connect.Config, offset string) error {
	conn, err := link.Dial(ctx, replica)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Reaches(ctx, offset)
}

// notListening are those who only pose as replicas, as we do.
func notListening(address string) bool {
	_, port, _ := net.SplitHostPort(address)
	n, err := strconv.ParseUint(port, 10, 16)
	return err != nil || n == 0
}

// changes returns the reasons why keys can have slipped between the snapshots. What
// happens to a server after the moment of its snapshot is none: a flush, other
// replicas. Nor is a new replication id: the first replica of a server, which we
// may be, gives it one.
func (r *snapshotRun) changes(ctx context.Context) (out source.Reasons) {
	if r.Fleet.Cluster {
		_ = link.Sleep(ctx, fleet.GossipTime)
	}
	for _, sh := range r.Fleet.Shards {
		info, err := sh.Again(ctx)
		if err != nil {
			out = append(out, source.Why(source.Unverified, sh.Address, err))
			continue
		}
		now := topology.Identify(info)
		now.Flushes, now.ReplID, now.Loads = sh.Before.Flushes, sh.Before.ReplID, sh.Before.Loads
		out = append(out, topology.Differences(sh.Address, sh.Before, now)...)
	}
	if r.Fleet.Cluster && len(out) == 0 {
		out = r.Fleet.Moved(ctx)
	}
	return out
}

func (r *snapshotRun) summary() source.Summary {
	sum := r.Run.Summary()
	if r.Fleet.Shards[0].Before.Version == "" { // INFO is forbidden
		sum.Expected = r.expected
	}
	sum.Expired, sum.Estimated = r.expired, r.Run.Request.Bytes
	sum.Server = strings.Replace(sum.Server, ", read from", ", snapshots from", 1)
	if sum.Shards > 1 {
		sum.Notes = append(sum.Notes, "each shard is shown as it was at its own moment")
	}
	return sum
}
