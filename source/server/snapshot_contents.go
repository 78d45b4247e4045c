package server

import (
	"context"
	"io"
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/scan"
)

// Contents reads whole values, as Scanner.Contents does, from what servers send to their
// replicas: the values of one moment, on a cluster of one moment for each shard. No key
// comes twice unless a slot moved, and no value is torn.
func (s *Snapshot) Contents(ctx context.Context, req ContentsRequest,
	each func([]source.Content) error) (source.Summary, error) {
	started := time.Now()
	t, err := fleet.Discover(ctx, s.scanner.config, Primary)
	if err != nil {
		return source.Summary{}, err
	}
	defer t.Close()
	if err := t.Only(ctx, s.scanner.options.OnlyDB); err != nil {
		return source.Summary{}, err
	}
	if req.Begin != nil {
		now, err := t.Shards[0].Conn.Clock(ctx)
		if err != nil { // a user for snapshots may lack TIME
			now = time.Now().UTC()
		}
		if err := req.Begin(t.DescribeShards(), now); err != nil {
			return source.Summary{}, err
		}
	}
	r := &snapshotRun{Snapshot: s,
		Run: scan.NewRun(s.scanner.config, s.scanner.options, source.Request{Progress: req.Progress}, t, nil, started)}
	r.forks = make(chan struct{}, s.options.MaxForks)
	r.read = func(ctx context.Context, sh *fleet.Shard, in io.Reader) (source.Summary, error, error) {
		return r.contentsOf(ctx, sh, in, req, each)
	}
	err = r.all(ctx)
	sum := r.summary()
	sum.Estimated = false
	if ctx.Err() != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Interrupted, "", nil))
		return sum, ctx.Err()
	}
	return sum, err
}

// contentsOf reads the values of one snapshot. The second error is the consumer's.
func (r *snapshotRun) contentsOf(ctx context.Context, sh *fleet.Shard, in io.Reader, req ContentsRequest,
	each func([]source.Content) error) (sum source.Summary, err, consumer error) {
	one := rdb.ContentsRequest{Largest: req.Largest}
	if req.Wants != nil {
		one.Wants = func(name []byte) bool {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			return req.Wants(name)
		}
	}
	if req.Library != nil {
		one.Library = func(code []byte) error {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			consumer = req.Library(sh.Address, code)
			return consumer
		}
	}
	sum, err = rdb.New(in, r.reads(sh)).Contents(ctx, one, func(batch []source.Content) error {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		for i := range batch {
			if !batch[i].More {
				r.Keys++
			}
		}
		consumer = each(batch)
		r.Progress(false)
		return consumer
	})
	return sum, err, consumer
}
