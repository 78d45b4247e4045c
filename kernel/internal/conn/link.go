package conn

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/kernel/notice"
	"github.com/redis/rueidis"
)

// Link represents one connection. What fails before the login is over says that nothing
// was sent; afterwards it tells its gate when it is lost, and when it answers.
type Link struct {
	net.Conn
	Gate  *DialGate
	Addr  string
	Born  time.Time
	aside bool // for commands that block: it may well be silent

	ctx     context.Context // of the caller that makes it, while it logs in; nil: no caller's
	unwatch func() bool

	ofSentinel bool
	login      uint64 // the version of the credentials; guarded by the mutex of its gate

	Phase     atomic.Int32
	deadlines atomic.Int32 // that were set while it logs in
	AskedAt   atomic.Int64 // when something was written that nothing was read after; 0: nothing
	heardAt   atomic.Int64
	Silent    atomic.Bool // a caller has waited in vain; counted in unrest
}

// Began says what the times of links count from.
var Began = time.Now()

// The phases of a link.
const (
	LoggingIn int32 = iota
	Up
	over
)

var errSilent = errors.New("the server does not answer")

var errLogin = errors.New("the server does not answer the login")

// Read implements net.Conn.
func (l *Link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err != nil {
		return n, l.failed(err)
	}
	if l.AskedAt.Load() != 0 {
		l.AskedAt.Store(0)
		l.heardAt.Store(int64(time.Since(Began)))
	}
	if l.Gate.Unrest.Load() != 0 {
		l.Gate.Received(l)
	}
	return n, nil
}

// Write implements net.Conn.
func (l *Link) Write(b []byte) (int, error) {
	if l.AskedAt.Load() == 0 {
		l.AskedAt.Store(int64(time.Since(Began)))
	}
	n, err := l.Conn.Write(b)
	if err != nil {
		err = l.failed(err)
	}
	return n, err
}

// SetDeadline implements net.Conn. rueidis sets one for the login, and takes it
// away when that is over.
func (l *Link) SetDeadline(t time.Time) error {
	if l.Phase.Load() == LoggingIn && (t.IsZero() || l.deadlines.Add(1) > 1) && l.Phase.CompareAndSwap(LoggingIn, Up) {
		l.stopWatching()
		l.Gate.loggedIn(l)
	}
	return l.Conn.SetDeadline(t)
}

// Close implements net.Conn.
func (l *Link) Close() error {
	switch l.Phase.Swap(over) {
	case LoggingIn:
		l.stopWatching()
		l.Gate.loginFailed(l)
	case Up:
		l.Gate.closed(l)
	}
	return l.Conn.Close()
}

func (l *Link) stopWatching() {
	if l.unwatch != nil {
		l.unwatch()
	}
}

// abandoned reports whether the caller that makes the connection has left: then it
// says nothing of the server that the login has failed. The deadline of reading, which
// is that of the caller, may come before its context ends.
func (l *Link) abandoned() bool {
	if l.ctx == nil {
		return false
	}
	deadline, ok := l.ctx.Deadline()
	return l.ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// failed returns an error of reading or writing as rueidis is to see it.
func (l *Link) failed(err error) error {
	switch l.Phase.Load() {
	case LoggingIn:
		var network net.Error
		switch {
		case l.abandoned():
			err = cmp.Or(l.ctx.Err(), context.DeadlineExceeded)
		case errors.As(err, &network) && network.Timeout():
			err = errLogin
		}
		return &net.OpError{Op: "dial", Net: l.Gate.network, Err: err}
	case Up:
		if l.Gate.Whole().Err() != nil {
			// The caller of Open has left. Of a connection that is lost, rueidis would make Open wait for up to a second
			// until it asks for the nodes again; not of one that it closes.
			return rueidis.ErrClosing
		}
		if !errors.Is(err, net.ErrClosed) {
			l.Gate.Lost(l, err)
		}
	}
	return err
}

// loggedIn notes that a connection is there. A server that answers is not down.
func (g *DialGate) loggedIn(l *Link) {
	g.Unrest.Add(-1)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	delete(g.Failed, l.Addr)
	o := g.down[l.Addr]
	if o == nil {
		return
	}
	if g.reached(o); o.lost {
		o.lost, o.back = false, g.Now()
		g.Tell(notice.Notice{Kind: notice.Reconnected, Elapsed: o.back.Sub(o.since)})
	}
}

func (g *DialGate) loginFailed(l *Link) {
	g.Unrest.Add(-1)
	if !l.abandoned() {
		g.Note(l.Addr, errLogin, true)
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	delete(g.Links, l)
}

// Lost notes that a connection broke that was up. Several to one server break
// together: what is older than the last return of the server belongs to that loss.
func (g *DialGate) Lost(l *Link, why error) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.isLost(l, why)
}

// isLost is lost for a caller that holds mu.
func (g *DialGate) isLost(l *Link, why error) {
	if o := g.down[l.Addr]; o == nil || !l.Born.Before(o.back) {
		g.isDown(l.Addr, why)
	}
}

func (g *DialGate) closed(l *Link) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	delete(g.Links, l)
	if l.Silent.Swap(false) {
		g.Unrest.Add(-1)
	}
	if g.givenUp(l) {
		g.isLost(l, errSilent)
	}
}

// givenUp reports whether a connection was closed because its server is silent, and
// not because a caller of a command that blocks has left. The caller holds mu.
func (g *DialGate) givenUp(l *Link) bool {
	asked := l.AskedAt.Load()
	if asked == 0 || time.Since(Began)-time.Duration(asked) < g.timeout*9/10 {
		return false
	}
	for other := range g.Links {
		if other.Addr == l.Addr && other.heardAt.Load() > asked {
			return false
		}
	}
	return true
}

// Received notes that a server has sent something.
func (g *DialGate) Received(l *Link) {
	if l.Silent.Swap(false) {
		g.Unrest.Add(-1)
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if o := g.down[l.Addr]; o != nil {
		g.reached(o)
	}
}

// reached takes a server out of unrest. The caller holds mu.
func (g *DialGate) reached(o *outage) {
	if o.counted {
		o.counted = false
		g.Unrest.Add(-1)
	}
}

// Suspect is called when a caller has waited in vain: the connections that owe an
// answer are silent until something is received on them.
func (g *DialGate) Suspect() {
	if g == nil || !g.Calm() {
		return
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for l := range g.Links {
		if !l.aside && l.Phase.Load() == Up && l.AskedAt.Load() != 0 && l.Silent.CompareAndSwap(false, true) {
			g.Unrest.Add(1)
		}
	}
}
