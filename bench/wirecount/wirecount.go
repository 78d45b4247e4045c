// Package wirecount counts the commands that a client writes to its connections:
// calls on the wire, as opposed to what a server counts, which has the commands
// inside scripts too.
//
// It reads lengths and skips the rest; it is no parser that would find errors.
package wirecount

import (
	"net"
	"sync/atomic"
)

// Counter represents the sum over its connections.
type Counter struct{ calls atomic.Int64 }

// Calls returns how many commands have been written so far, HELLO, SUBSCRIBE and PING
// among them.
func (c *Counter) Calls() int64 { return c.calls.Load() }

// Wrap counts what is written to a connection that a dialer returns; no counter counts nothing.
func (c *Counter) Wrap(conn net.Conn, err error) (net.Conn, error) {
	if c == nil || err != nil {
		return conn, err
	}
	return &counted{Conn: conn, sum: c}, nil
}

type counted struct {
	net.Conn
	sum *Counter
	scanner
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sum.calls.Add(c.scan(p[:n]))
	return n, err
}

// scanner follows requests, arrays of bulk strings, over writes that end
// anywhere.
type scanner struct {
	arguments int // still to come
	skip      int // bytes of a bulk string and its line end
	line      bool
	kind      byte
	number    int
}

// scan gives how many requests end in p.
func (s *scanner) scan(p []byte) (requests int64) {
	for len(p) > 0 {
		if s.skip > 0 {
			n := min(s.skip, len(p))
			p, s.skip = p[n:], s.skip-n
			if s.skip == 0 && s.arguments == 0 {
				requests++
			}
			continue
		}
		s.head(p[0])
		p = p[1:]
	}
	return requests
}

// head reads a byte of "*3\r\n" or "$5\r\n".
func (s *scanner) head(b byte) {
	switch {
	case !s.line:
		s.line, s.kind, s.number = true, b, 0
	case b >= '0' && b <= '9':
		s.number = 10*s.number + int(b-'0')
	case b == '\n':
		s.line = false
		if s.kind == '*' {
			s.arguments = s.number
		} else {
			s.arguments--
			s.skip = s.number + 2
		}
	}
}
