package pressure

import (
	"context"
	_ "embed"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

//go:embed lease.lua
var leaseText string

//go:embed free.lua
var freeText string

// Variables so that a test can take a guard out and see that it is missed.
var (
	leaseScript = keywright.NewScript("pressure lease", leaseText)
	freeScript  = keywright.NewScript("pressure free", freeText)
)

// lease is the right to act: one process has it, for all servers.
type lease struct {
	client *keywright.Client
	entry  *keywright.Entry
	key    string
	err    error
	who    string
	lasts  time.Duration

	mu    sync.Mutex
	asked bool // it may be held: the answer may have been lost
}

// term is a lease that is held: its token, 0 if another one has it, and when it
// ends by the local clock. That counts from before the question: the server cannot
// give the lease to another before.
type term struct {
	fence int64
	until time.Time
}

// keep takes the lease or makes it last as long again. One round trip.
func (l *lease) keep(ctx context.Context) (term, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := time.Now()
	o := keywright.NewOp(keywright.Spec[int64]{
		Action: keywright.Action{Client: l.client, Name: "pressure lease", Entry: l.entry, Effect: keywright.Idempotent, Err: l.err},
		Script: leaseScript, Keys: []string{l.key}, Args: []string{l.who, strconv.FormatInt(l.lasts.Milliseconds(), 10)}, Decode: decodeLease,
	})
	l.asked = true
	// A question that is given up may be overtaken by free, and would then leave a
	// lease with none: it goes on to its end.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lasts)
	defer cancel()
	fence, err := o.Do(bounded)
	if err != nil {
		return term{}, err
	}
	l.asked = fence != 0
	return term{fence, asked.Add(l.lasts - l.lasts/100)}, nil
}

func decodeLease(r rueidis.RedisResult) (int64, error) {
	reply, err := r.AsStrSlice()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(reply[0], 10, 64)
}

// free gives the lease back. If that fails it ends with the lease's time.
func (l *lease) free(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked {
		return
	}
	l.asked = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lasts)
	defer cancel()
	_, _ = keywright.NewOp(keywright.Spec[int64]{
		Action: keywright.Action{Client: l.client, Name: "pressure free", Entry: l.entry, Effect: keywright.Idempotent},
		Script: freeScript, Keys: []string{l.key}, Args: []string{l.who}, Decode: func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() },
	}).Do(ctx)
}
