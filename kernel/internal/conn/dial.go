package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/kernel/notice"
)

// DialGate makes the connections of a client, and knows how they are. It keeps a
// client from hammering a server that is down: after a failed dial there is none to
// the same address for a while, twice as long each time up to a second, half of it
// at random, so that a thousand processes do not come back in one moment.
type DialGate struct {
	network string
	timeout time.Duration
	Now     func() time.Time
	Life    context.Context // of the client: no dial outlives it
	// of connections that are lost, tried again and made again; called with mu held, for their order
	Tell func(notice.Notice)

	// unrest counts why a caller may have to wait longer than its context: dials
	// under way, servers that are down, connections that do not answer. 0: none.
	Unrest atomic.Int32

	Mu     sync.Mutex
	Login  login
	Failed map[string]DialFailure
	down   map[string]*outage
	Links  map[*Link]struct{}
	open   context.Context // of Open, while that runs: no dial and no login outlives it
	shut   bool            // the client is closed: no connection outlives it
}

// DialFailure represents the last dial to an address that failed.
type DialFailure struct {
	Next  time.Time
	Delay time.Duration
	Err   error
}

// outage represents a server that callers cannot reach, or that a connection was lost to.
type outage struct {
	since, until time.Time
	counted      bool      // in unrest
	lost         bool      // a connection that was up
	back         time.Time // when it was there again; what is older belongs to that loss
	dials        int       // under way
	attempts     int       // since it was lost: those under way at the same time are one
}

const (
	FirstDialDelay = 10 * time.Millisecond
	MaxDialDelay   = time.Second

	// maxLost says how long a client that sends nothing knows that it has lost a connection.
	maxLost = time.Hour
)

// NewDialGate returns a gate whose dials end after a time.
func NewDialGate(network string, timeout time.Duration) *DialGate {
	return &DialGate{network: network, timeout: timeout, Now: time.Now, Life: context.Background(),
		open: context.Background(), Tell: func(notice.Notice) {},
		Failed: map[string]DialFailure{}, down: map[string]*outage{}, Links: map[*Link]struct{}{}}
}

// Opening makes dials and logins end with the context of Open, until opened is called, which reports whether the
// context has ended before: then the connections are closed.
func (g *DialGate) Opening(ctx context.Context) (opened func() (ended bool)) {
	g.open = ctx
	stop := context.AfterFunc(ctx, func() {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		g.cut()
	})
	return func() bool {
		ended := !stop()
		g.Mu.Lock()
		defer g.Mu.Unlock()
		g.open = context.Background()
		return ended
	}
}

// cut closes all connections. The caller holds mu.
func (g *DialGate) cut() {
	for l := range g.Links {
		_ = l.Conn.Close()
	}
}

// Close ends the connections that rueidis has not closed: it keeps one that was being
// made while it closed the others.
func (g *DialGate) Close() {
	if g == nil {
		return
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.shut = true
	g.cut()
}

// Whole returns the context of Open, while that runs.
func (g *DialGate) Whole() context.Context {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.open
}

// Dial connects. A caller that may not wait gets the error of the last dial while
// there is to be none; rueidis itself, which would ask again at once, waits.
func (g *DialGate) Dial(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	blocks, _ := ctx.Value(asideKey{}).(*aside)
	if blocks != nil {
		blocks.dials()
		ctx = blocks.Context
	}
	g.Unrest.Add(1) // until it has logged in
	conn, err := g.Connect(ctx, addr, d, t)
	if err != nil {
		g.Unrest.Add(-1)
		return nil, err
	}
	l := &Link{Conn: conn, Gate: g, Addr: addr, Born: g.Now(), aside: blocks != nil, ofSentinel: g.ofSentinel(d)}
	g.Mu.Lock()
	g.Links[l] = struct{}{}
	if g.shut || g.open.Err() != nil {
		_ = conn.Close()
	}
	g.Mu.Unlock()
	if ctx.Done() != nil {
		l.ctx, l.unwatch = ctx, context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return l, nil
}

// Connect makes a connection, which is not a link yet.
func (g *DialGate) Connect(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (conn net.Conn, err error) {
	_, patient := ctx.Value(departureKey{}).(*Departure)
	limited, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	defer context.AfterFunc(g.Whole(), cancel)()
	defer context.AfterFunc(g.Life, cancel)() // rueidis refreshes the nodes of a cluster under a context of its own
	wait, last := g.Wait(addr)
	if wait > 0 && patient {
		return nil, g.dialError(last)
	}
	if err := sleep(limited, wait); err != nil {
		return nil, g.dialError(err)
	}
	defer g.attempt(addr)()
	if t != nil {
		conn, err = (&tls.Dialer{NetDialer: d, Config: t}).DialContext(limited, g.network, addr)
	} else {
		conn, err = d.DialContext(limited, g.network, addr)
	}
	if err != nil { // also of the TLS handshake: nothing has been sent yet
		if ctx.Done() == nil || ctx.Err() == nil { // a departure must not be asked: it takes that for the sending
			g.Note(addr, err, patient || ctx.Done() != nil)
		}
		return nil, g.dialError(err)
	}
	if g.ofSentinel(d) {
		return wire.GuardSentinel(conn), nil
	}
	return wire.Guard(conn), nil // the client library believes what a reply says of itself
}

// ofSentinel reports whether a dialer is that of the connections to sentinels.
func (g *DialGate) ofSentinel(d *net.Dialer) bool {
	return d.Resolver != nil && d.Resolver == g.Login.Sentinels
}

// attempt tells of a dial to a server that was lost, unless another one is under way.
func (g *DialGate) attempt(addr string) (ended func()) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	o := g.down[addr]
	if o == nil || !o.lost {
		return func() {}
	}
	if o.dials++; o.dials == 1 {
		o.attempts++
		g.Tell(notice.Notice{Kind: notice.Reconnecting, Attempt: o.attempts, Elapsed: g.Now().Sub(o.since)})
	}
	return func() {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		o.dials--
	}
}

// dialError returns an error that says that nothing was sent.
func (g *DialGate) dialError(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: g.network, Err: err}
}

// Wait returns how long there is to be no dial to an address, and why.
func (g *DialGate) Wait(addr string) (time.Duration, error) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	f, ok := g.Failed[addr]
	if !ok {
		return 0, nil
	}
	return f.Next.Sub(g.Now()), f.Err
}

// Note keeps what has become of a dial. Only a server that callers want is down:
// rueidis also asks replicas now and then.
func (g *DialGate) Note(addr string, err error, wanted bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if err == nil {
		delete(g.Failed, addr)
		return
	}
	delay := min(max(2*g.Failed[addr].Delay, FirstDialDelay), MaxDialDelay)
	g.Failed[addr] = DialFailure{Next: g.Now().Add(Jitter(delay)), Delay: delay, Err: err}
	if wanted {
		g.isDown(addr, nil)
	}
}

// isDown notes that a server cannot be reached; lost is why a connection to it broke, nil
// if there was none. The caller holds mu.
func (g *DialGate) isDown(addr string, lost error) {
	g.forget()
	o := g.down[addr]
	if o == nil {
		o = &outage{since: g.Now()}
		g.down[addr] = o
	}
	if lost != nil && !o.lost {
		o.since, o.lost, o.attempts = g.Now(), true, 0
		g.Tell(notice.Notice{Kind: notice.Disconnected, Err: lost})
	}
	o.until = g.Now().Add(2 * g.timeout)
	if !o.counted {
		o.counted = true
		g.Unrest.Add(1)
	}
}

// forget drops what no caller has asked for in a while: addresses come and go. The
// caller holds mu.
func (g *DialGate) forget() {
	now := g.Now()
	for addr, o := range g.down {
		if now.Before(o.until) {
			continue
		}
		if o.counted {
			o.counted = false
			g.Unrest.Add(-1)
		}
		kept := time.Minute
		if o.lost {
			kept = maxLost
		}
		if now.Sub(o.until) > kept {
			delete(g.down, addr)
		}
	}
	for addr, f := range g.Failed {
		if now.Sub(f.Next) > time.Minute {
			delete(g.Failed, addr)
		}
	}
}

// Calm reports whether a caller has nothing to fear that its context does not end.
func (g *DialGate) Calm() bool { return g == nil || g.Unrest.Load() == 0 }

// unconnected reports whether there is no connection at all.
func (g *DialGate) unconnected() bool {
	if g == nil {
		return false
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return len(g.Links) == 0
}

// Forget drops what is over, so that calm may be true again.
func (g *DialGate) Forget() {
	if g == nil {
		return
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.forget()
}

// Jitter is between half of d and d.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

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
