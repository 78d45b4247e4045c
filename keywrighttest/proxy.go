package keywrighttest

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is between a client and a server and does harm as its Rules say.
type Proxy struct {
	listener net.Listener
	target   string
	rules    Rules
	taken    atomic.Int64 // connections so far
	lose     atomic.Pointer[string]
	gate     sync.RWMutex // what passes bytes on holds it for reading
	frozen   atomic.Bool
	mu       sync.Mutex
	conns    []net.Conn
	workers  sync.WaitGroup
}

// Rules represents the harm. The zero Rules do none.
type Rules struct {
	CutAfter int64 // close a connection after so many bytes of replies, 0 = never
	CutTimes int64 // cut only the first so many connections, 0 = all
	// hold back every piece of a reply so long, as a long way does: those after it do not wait for each other
	Delay        time.Duration
	SwallowAfter int64 // pass no more bytes of replies after so many, but keep the connection open; 0 = pass all
}

// NewProxy starts a proxy before addr; it ends with the test.
func NewProxy(t testing.TB, addr string, rules Rules) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &Proxy{listener: l, target: addr, rules: rules}
	p.workers.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Connections returns how many connections have been made.
func (p *Proxy) Connections() int { return int(p.taken.Load()) }

// LoseReplyTo lets the next request that holds word reach the server, and cuts
// its connection before the reply: the command is applied and the client does
// not know.
func (p *Proxy) LoseReplyTo(word string) { p.lose.Store(&word) }

// Lost reports whether such a reply has been lost.
func (p *Proxy) Lost() bool { return p.lose.Load() == nil }

// Freeze lets nothing through any more, in either direction, and keeps every
// connection open: a network that drops packets without a word.
func (p *Proxy) Freeze() {
	if p.frozen.CompareAndSwap(false, true) {
		p.gate.Lock()
	}
}

// Thaw passes everything on that Freeze has held back.
func (p *Proxy) Thaw() {
	if p.frozen.CompareAndSwap(true, false) {
		p.gate.Unlock()
	}
}

// Cut closes every connection that there is now; new ones are let through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// pass waits while the proxy is frozen.
func (p *Proxy) pass() {
	p.gate.RLock()
	defer p.gate.RUnlock()
}

func (p *Proxy) close() {
	p.listener.Close()
	p.Thaw()
	p.Cut()
	p.workers.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		n := p.taken.Add(1)
		deaf := new(atomic.Bool)
		p.workers.Go(func() { p.requests(server, client, deaf) })
		p.workers.Go(func() { p.replies(client, server, n, deaf) })
	}
}

func (p *Proxy) requests(server, client net.Conn, deaf *atomic.Bool) {
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if word := p.lose.Load(); word != nil && bytes.Contains(buf[:n], []byte(*word)) && p.lose.CompareAndSwap(word, nil) {
			deaf.Store(true)
		}
		p.pass()
		if _, werr := server.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (p *Proxy) replies(client, server net.Conn, connection int64, deaf *atomic.Bool) {
	defer client.Close()
	send, end := p.sender(client)
	defer end()
	harmless := p.rules.CutTimes > 0 && connection > p.rules.CutTimes
	var passed int64
	buf := make([]byte, 16<<10)
	for {
		n, err := server.Read(buf)
		passed += int64(n)
		switch {
		case deaf.Load():
			return
		case !harmless && p.rules.SwallowAfter > 0 && passed > p.rules.SwallowAfter:
		case !harmless && p.rules.CutAfter > 0 && passed > p.rules.CutAfter:
			return
		default:
			if !send(buf[:n]) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// piece represents a part of a reply that is under way.
type piece struct {
	bytes []byte
	due   time.Time
}

// sender gives what sends to the client, after the delay, and what ends it when all
// is sent. send is false when the client is gone.
func (p *Proxy) sender(client net.Conn) (send func([]byte) bool, end func()) {
	write := func(b []byte) bool {
		p.pass()
		_, err := client.Write(b)
		return err == nil
	}
	if p.rules.Delay == 0 {
		return write, func() {}
	}
	way, gone := make(chan piece, 1<<10), make(chan struct{})
	p.workers.Go(func() {
		defer close(gone)
		for one := range way {
			<-time.After(time.Until(one.due))
			if !write(one.bytes) {
				return
			}
		}
	})
	send = func(b []byte) bool {
		select {
		case way <- piece{slices.Clone(b), time.Now().Add(p.rules.Delay)}:
			return true
		case <-gone:
			return false
		}
	}
	return send, func() { close(way); <-gone }
}
