package kernel

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/notice"
	"github.com/redis/rueidis"
)

// link represents one connection. What fails before the login is over says that nothing
// was sent; afterwards it tells its gate when it is lost, and when it answers.
type link struct {
	net.Conn
	gate  *dialGate
	addr  string
	born  time.Time
	aside bool // for commands that block: it may well be silent

	ctx     context.Context // of the caller that makes it, while it logs in; nil: no caller's
	unwatch func() bool

	ofSentinel bool
	login      uint64 // the version of the credentials; guarded by the mutex of its gate

	phase     atomic.Int32
	deadlines atomic.Int32 // that were set while it logs in
	askedAt   atomic.Int64 // when something was written that nothing was read after; 0: nothing
	heardAt   atomic.Int64
	silent    atomic.Bool // a caller has waited in vain; counted in unrest
}

// began says what the times of links count from.
var began = time.Now()

// The phases of a link.
const (
	loggingIn int32 = iota
	up
	over
)

var errSilent = errors.New("the server does not answer")

var errLogin = errors.New("the server does not answer the login")

// Read implements net.Conn.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err != nil {
		return n, l.failed(err)
	}
	if l.askedAt.Load() != 0 {
		l.askedAt.Store(0)
		l.heardAt.Store(int64(time.Since(began)))
	}
	if l.gate.unrest.Load() != 0 {
		l.gate.heard(l)
	}
	return n, nil
}

// Write implements net.Conn.
func (l *link) Write(b []byte) (int, error) {
	if l.askedAt.Load() == 0 {
		l.askedAt.Store(int64(time.Since(began)))
	}
	n, err := l.Conn.Write(b)
	if err != nil {
		err = l.failed(err)
	}
	return n, err
}

// SetDeadline implements net.Conn. rueidis sets one for the login, and takes it
// away when that is over.
func (l *link) SetDeadline(t time.Time) error {
	if l.phase.Load() == loggingIn && (t.IsZero() || l.deadlines.Add(1) > 1) && l.phase.CompareAndSwap(loggingIn, up) {
		l.stopWatching()
		l.gate.loggedIn(l)
	}
	return l.Conn.SetDeadline(t)
}

// Close implements net.Conn.
func (l *link) Close() error {
	switch l.phase.Swap(over) {
	case loggingIn:
		l.stopWatching()
		l.gate.loginFailed(l)
	case up:
		l.gate.closed(l)
	}
	return l.Conn.Close()
}

func (l *link) stopWatching() {
	if l.unwatch != nil {
		l.unwatch()
	}
}

// abandoned reports whether the caller that makes the connection has left: then it
// says nothing of the server that the login has failed. The deadline of reading, which
// is that of the caller, may come before its context ends.
func (l *link) abandoned() bool {
	if l.ctx == nil {
		return false
	}
	deadline, ok := l.ctx.Deadline()
	return l.ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// failed returns an error of reading or writing as rueidis is to see it.
func (l *link) failed(err error) error {
	switch l.phase.Load() {
	case loggingIn:
		var network net.Error
		switch {
		case l.abandoned():
			err = cmp.Or(l.ctx.Err(), context.DeadlineExceeded)
		case errors.As(err, &network) && network.Timeout():
			err = errLogin
		}
		return &net.OpError{Op: "dial", Net: l.gate.network, Err: err}
	case up:
		if l.gate.whole().Err() != nil {
			// The caller of Open has left. Of a connection that is lost, rueidis would make Open wait for up to a second
			// until it asks for the nodes again; not of one that it closes.
			return rueidis.ErrClosing
		}
		if !errors.Is(err, net.ErrClosed) {
			l.gate.lost(l, err)
		}
	}
	return err
}

// loggedIn notes that a connection is there. A server that answers is not down.
func (g *dialGate) loggedIn(l *link) {
	g.unrest.Add(-1)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failed, l.addr)
	o := g.down[l.addr]
	if o == nil {
		return
	}
	if g.reached(o); o.lost {
		o.lost, o.back = false, g.now()
		g.tell(Notice{Kind: notice.Reconnected, Elapsed: o.back.Sub(o.since)})
	}
}

func (g *dialGate) loginFailed(l *link) {
	g.unrest.Add(-1)
	if !l.abandoned() {
		g.note(l.addr, errLogin, true)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.links, l)
}

// lost notes that a connection broke that was up. Several to one server break
// together: what is older than the last return of the server belongs to that loss.
func (g *dialGate) lost(l *link, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isLost(l, why)
}

// isLost is lost for a caller that holds mu.
func (g *dialGate) isLost(l *link, why error) {
	if o := g.down[l.addr]; o == nil || !l.born.Before(o.back) {
		g.isDown(l.addr, why)
	}
}

func (g *dialGate) closed(l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.links, l)
	if l.silent.Swap(false) {
		g.unrest.Add(-1)
	}
	if g.givenUp(l) {
		g.isLost(l, errSilent)
	}
}

// givenUp reports whether a connection was closed because its server is silent, and
// not because a caller of a command that blocks has left. The caller holds mu.
func (g *dialGate) givenUp(l *link) bool {
	asked := l.askedAt.Load()
	if asked == 0 || time.Since(began)-time.Duration(asked) < g.timeout*9/10 {
		return false
	}
	for other := range g.links {
		if other.addr == l.addr && other.heardAt.Load() > asked {
			return false
		}
	}
	return true
}

// heard notes that a server has sent something.
func (g *dialGate) heard(l *link) {
	if l.silent.Swap(false) {
		g.unrest.Add(-1)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.down[l.addr]; o != nil {
		g.reached(o)
	}
}

// reached takes a server out of unrest. The caller holds mu.
func (g *dialGate) reached(o *outage) {
	if o.counted {
		o.counted = false
		g.unrest.Add(-1)
	}
}

// suspect is called when a caller has waited in vain: the connections that owe an
// answer are silent until something is received on them.
func (g *dialGate) suspect() {
	if g == nil || !g.calm() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for l := range g.links {
		if !l.aside && l.phase.Load() == up && l.askedAt.Load() != 0 && l.silent.CompareAndSwap(false, true) {
			g.unrest.Add(1)
		}
	}
}
