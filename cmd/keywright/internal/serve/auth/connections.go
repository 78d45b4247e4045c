package auth

import (
	"net"
	"net/netip"
	"sync"
)

// Connections accepts so many connections in all, and half as many from one address, but for proxies: what is beyond
// is closed at once. So descriptors are left for the servers that are watched, and no address has them all.
type Connections struct {
	net.Listener
	Most    int
	Proxies []netip.Prefix

	mu   sync.Mutex
	all  int
	from map[string]int // open now, by address
}

// Accept waits for a connection that there is room for.
func (l *Connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := hostOf(c.RemoteAddr().String())
		if l.enter(host) {
			return &counted{Conn: c, leave: func() { l.leave(host) }}, nil
		}
		_ = c.Close()
	}
}

func (l *Connections) enter(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.Most || l.from[host] >= max(l.Most/2, 1) && !within(l.Proxies, host) {
		return false
	}
	if l.from == nil {
		l.from = map[string]int{}
	}
	l.all++
	l.from[host]++
	return true
}

func (l *Connections) leave(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.from[host]--; l.from[host] == 0 {
		delete(l.from, host)
	}
}

// counted represents a connection that is counted until it is closed.
type counted struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (c *counted) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

// within reports whether an address is one of some networks.
func within(all []netip.Prefix, host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, n := range all {
		if n.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
