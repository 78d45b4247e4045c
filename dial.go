package keywright

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// dialGate keeps a client from hammering a server that is down: after a failed
// dial the next one to the same address waits, twice as long each time up to a
// second, half of it at random, so that a thousand processes do not come back in
// one moment.
type dialGate struct {
	network string
	timeout time.Duration
	now     func() time.Time

	mu     sync.Mutex
	failed map[string]dialFailure
	until  time.Time // of Open: its context
}

type dialFailure struct {
	next  time.Time
	delay time.Duration
}

const (
	firstDialDelay = 10 * time.Millisecond
	maxDialDelay   = time.Second
)

func newDialGate(network string, timeout time.Duration) *dialGate {
	return &dialGate{network: network, timeout: timeout, now: time.Now, failed: map[string]dialFailure{}}
}

// opening makes dials end with the context of Open.
func (g *dialGate) opening(deadline time.Time) { g.until = deadline }

func (g *dialGate) dial(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.limit())
	defer cancel()
	if err := sleep(ctx, g.wait(addr)); err != nil {
		return nil, &net.OpError{Op: "dial", Net: g.network, Err: err}
	}
	var conn net.Conn
	var err error
	if t != nil {
		conn, err = (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, g.network, addr)
	} else {
		conn, err = d.DialContext(ctx, g.network, addr)
	}
	g.note(addr, err)
	if err != nil { // also of the TLS handshake: nothing has been sent yet
		return nil, &net.OpError{Op: "dial", Net: g.network, Err: err}
	}
	return conn, nil
}

// limit is how long a dial may take: the timeout, and while Open runs no longer
// than its context.
func (g *dialGate) limit() time.Duration {
	if left := g.until.Sub(g.now()); !g.until.IsZero() && left > 0 && left < g.timeout {
		return left
	}
	return g.timeout
}

func (g *dialGate) wait(addr string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.failed[addr]
	if !ok {
		return 0
	}
	return f.next.Sub(g.now())
}

func (g *dialGate) note(addr string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		delete(g.failed, addr)
		return
	}
	delay := min(max(2*g.failed[addr].delay, firstDialDelay), maxDialDelay)
	g.failed[addr] = dialFailure{next: g.now().Add(jitter(delay)), delay: delay}
}

// jitter is between half of d and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
