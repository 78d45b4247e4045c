package pressure

import (
	"context"
	_ "embed"
	"strconv"
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

// lease is the right to act: one process has it.
type lease struct {
	client *keywright.Client
	entry  *keywright.Entry
	key    string
	err    error
	who    string
	lasts  time.Duration

	asked bool      // it may be held: the answer may have been lost
	fence int64     // 0: it is not held, as far as known
	until time.Time // by the local clock
}

// keep takes the lease or makes it last anew, and reports whether it is held. One
// round trip. The time counts from before the question: the server cannot give
// the lease to another before the local deadline.
func (l *lease) keep(ctx context.Context) (bool, error) {
	asked := time.Now()
	o := keywright.NewOp(keywright.Spec[int64]{
		Action: keywright.Action{Client: l.client, Name: "pressure lease", Entry: l.entry, Effect: keywright.Idempotent, Err: l.err},
		Script: leaseScript, Keys: []string{l.key}, Args: []string{l.who, strconv.FormatInt(l.lasts.Milliseconds(), 10)}, Decode: decodeLease,
	})
	l.asked = true
	// A question that is given up may be overtaken by free, and would then leave a
	// lease with nobody: it goes on to its end.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lasts)
	defer cancel()
	fence, err := o.Do(bounded)
	if err != nil {
		return false, err
	}
	l.fence, l.asked = fence, fence != 0
	l.until = asked.Add(l.lasts - l.lasts/100)
	return fence != 0, nil
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
	if !l.asked {
		return
	}
	l.fence, l.asked = 0, false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lasts)
	defer cancel()
	_, _ = keywright.NewOp(keywright.Spec[int64]{
		Action: keywright.Action{Client: l.client, Name: "pressure free", Entry: l.entry, Effect: keywright.Idempotent},
		Script: freeScript, Keys: []string{l.key}, Args: []string{l.who}, Decode: func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() },
	}).Do(ctx)
}
