// Package breaker leaves a server alone that has failed several times in a row,
// so that a dead one does not cost every caller a timeout. It knows no server and
// no error: callers say how a call ended. It starts nothing.
package breaker

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	failures = 5
	rest     = time.Second
)

// Breaker is open after five failures in a row; then one call in about a second
// may try. The zero Breaker is closed. It is safe for concurrent use.
type Breaker struct {
	failed atomic.Int32
	until  atomic.Int64 // Unix ns; 0: closed
}

// Allow reports whether a call may be sent.
func (b *Breaker) Allow() bool {
	until := b.until.Load()
	if until == 0 {
		return true
	}
	now := time.Now().UnixNano()
	return now >= until && b.until.CompareAndSwap(until, now+restTime())
}

// Open reports whether the server is being left alone, or tried by one call.
func (b *Breaker) Open() bool { return b.until.Load() != 0 }

func restTime() int64 { return int64(rest/2 + rand.N(rest)) }

// Note says how a call ended.
func (b *Breaker) Note(ok bool) {
	if ok {
		if b.failed.Load() != 0 {
			b.failed.Store(0)
			b.until.Store(0)
		}
		return
	}
	if b.failed.Add(1) == failures {
		b.until.Store(time.Now().UnixNano() + restTime())
	}
}
