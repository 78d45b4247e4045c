// Package wire speaks RESP2, the protocol of Redis and Valkey, from the
// client's side: commands are appended to a buffer and flushed together,
// replies are read in the order of the commands.
//
// It trusts no one. Every length is checked before it is believed, memory grows
// only with bytes that have really arrived, nesting is bounded, and whatever is
// not RESP2 is a *ProtocolError that says what came instead. It is not a client:
// it knows no commands, retries nothing and shares no connection between
// goroutines.
//
// Source of the protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/.
package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Limits against a hostile or broken server.
const (
	MaxBulk  = 512 << 20 // proto-max-bulk-len of a server that was not tuned
	MaxItems = 1 << 20   // elements of one array
	MaxDepth = 32
	MaxLine  = 64 << 10
	MaxReply = 256 << 20 // bytes of all strings of one reply
)

// Conn represents one connection. It is not safe for concurrent use.
type Conn struct {
	nc      net.Conn
	timeout time.Duration
	out     []byte
	in      []byte
	r, w    int // what has arrived and is not yet read: in[r:w]
	bulk    int // longest bulk string that is accepted
	broken  error

	now    func() time.Time
	began  time.Time // when the reply that is being read was asked for
	came   int       // bytes since then
	within int       // elements of arrays that are still to be read
}

// leastRate says how many bytes a second a reply must have at least, beside the
// timeout: a server that gives a byte now and then does not keep its reader for ever.
const leastRate = 16 << 10

// ProtocolError represents a reply that is not RESP2 or exceeds a limit. The connection
// cannot be used any more.
type ProtocolError struct {
	Got  string // what came, shortened and quoted
	Want string
	From string // the server; "": its caller names it
}

func (e *ProtocolError) Error() string {
	if e.From != "" {
		return fmt.Sprintf("the server %s does not speak RESP as expected: wanted %s, got %s", e.From, e.Want, e.Got)
	}
	return fmt.Sprintf("the server does not speak RESP as expected: wanted %s, got %s", e.Want, e.Got)
}

// Garbled tells the error from others where this package is not known: waiting does not
// mend it.
func (*ProtocolError) Garbled() {}

// ServerError represents an error reply. Code is its first word, as in NOPERM.
type ServerError struct {
	Code    string
	Message string
}

func (e *ServerError) Error() string { return e.Message }

// New makes a Conn of an open connection. timeout bounds each flush, each wait for
// bytes, and together with leastRate each whole reply; 0 means none.
func New(nc net.Conn, timeout time.Duration) *Conn {
	return &Conn{nc: nc, timeout: timeout, in: make([]byte, 4<<10), bulk: 64 << 20, now: time.Now}
}

// fullBuffer is the size of the buffer after a reply that fills the first, smaller one. Most connections ask one question.
const fullBuffer = 64 << 10

// next begins the reading of a reply, or of an element of one.
func (c *Conn) next() {
	if c.within > 0 {
		c.within--
		return
	}
	c.began, c.came = c.now(), 0
}

// deadline returns when the next bytes must have come.
func (c *Conn) deadline() time.Time {
	now := c.now()
	whole := c.began.Add(c.timeout + time.Duration(c.came)*(time.Second/leastRate))
	if each := now.Add(c.timeout); each.Before(whole) {
		return each
	}
	return whole
}

// LimitBulk sets the longest bulk string that is accepted, in bytes.
func (c *Conn) LimitBulk(n int) { c.bulk = min(n, MaxBulk) }

// Close closes the connection.
func (c *Conn) Close() error { return c.nc.Close() }

// Stream ends the decoding of replies, for the one answer that is none: it reads
// what has arrived and was not decoded, then the connection itself. Each wait for
// bytes is bounded by silence.
func (c *Conn) Stream(silence time.Duration) io.Reader { return &stream{c, silence} }

type stream struct {
	*Conn
	silence time.Duration
}

func (s *stream) Read(p []byte) (int, error) {
	if s.broken != nil {
		return 0, s.broken
	}
	if s.r < s.w {
		n := copy(p, s.in[s.r:s.w])
		s.r += n
		return n, nil
	}
	if err := s.nc.SetReadDeadline(time.Now().Add(s.silence)); err != nil {
		return 0, err
	}
	return s.nc.Read(p)
}

// Interrupt makes every wait end at once, from any goroutine.
func (c *Conn) Interrupt() { _ = c.nc.SetDeadline(time.Unix(1, 0)) }

// fail remembers the first error: after it the stream is out of step.
func (c *Conn) fail(err error) error {
	if err != nil && c.broken == nil {
		c.broken = err
	}
	return err
}

// Int reads an integer reply. ok is false for a null reply. An error reply is
// returned as a *ServerError and leaves the connection usable.
func (c *Conn) Int() (n int64, ok bool, err error) {
	c.next()
	line, err := c.line()
	if err != nil {
		return 0, false, err
	}
	switch line[0] {
	case ':':
		n, err := parseInt(line[1:])
		if err != nil {
			return 0, false, c.protocol("an integer", line)
		}
		return n, true, nil
	case '-':
		return 0, false, serverError(line)
	}
	if string(line) == "$-1" {
		return 0, false, nil
	}
	return 0, false, c.protocol("an integer reply", line)
}

// Status reads a simple string reply. The bytes are valid until the next read.
func (c *Conn) Status() ([]byte, error) {
	c.next()
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	switch line[0] {
	case '+':
		return line[1:], nil
	case '-':
		return nil, serverError(line)
	}
	return nil, c.protocol("a simple string reply", line)
}

// Bulk reads a bulk string reply; ok is false for null. The bytes are valid
// until the next read.
func (c *Conn) Bulk() (b []byte, ok bool, err error) {
	c.next()
	line, err := c.line()
	if err != nil {
		return nil, false, err
	}
	switch line[0] {
	case '-':
		return nil, false, serverError(line)
	case '$':
		return c.bulkBody(line)
	}
	return nil, false, c.protocol("a bulk string", line)
}

func (c *Conn) bulkBody(line []byte) ([]byte, bool, error) {
	n, err := parseInt(line[1:])
	switch {
	case err != nil || n < -1:
		return nil, false, c.protocol("the length of a bulk string", line)
	case n == -1:
		return nil, false, nil
	case n > int64(c.bulk):
		return nil, false, c.protocol(fmt.Sprintf("a bulk string of at most %d bytes", c.bulk), line)
	}
	if err := c.need(int(n) + 2); err != nil {
		return nil, false, err
	}
	b := c.in[c.r : c.r+int(n)]
	if c.in[c.r+int(n)] != '\r' || c.in[c.r+int(n)+1] != '\n' {
		return nil, false, c.protocol("the end of a bulk string", c.in[c.r+int(n):c.r+int(n)+2])
	}
	c.r += int(n) + 2
	return b, true, nil
}

// Array reads the header of an array reply: the number of elements that follow,
// -1 for null.
func (c *Conn) Array() (int, error) {
	c.next()
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	switch line[0] {
	case '-':
		return 0, serverError(line)
	case '*':
		n, err := parseInt(line[1:])
		if err != nil || n < -1 || n > MaxItems {
			return 0, c.protocol(fmt.Sprintf("an array of at most %d elements", MaxItems), line)
		}
		c.within += max(int(n), 0)
		return int(n), nil
	}
	return 0, c.protocol("an array", line)
}

// Any reads a reply of any type into Go values: string, int64, []any, nil or
// *ServerError (as a value when nested, as the error at the top).
func (c *Conn) Any() (any, error) {
	c.next()
	left := budget{items: MaxItems, bytes: MaxReply}
	v, err := c.any(0, &left)
	if e, ok := v.(*ServerError); ok && err == nil {
		return nil, e
	}
	return v, err
}

// budget describes what is left of the limits of one reply.
type budget struct{ items, bytes int }

func (c *Conn) any(depth int, left *budget) (any, error) {
	if left.items--; depth > MaxDepth || left.items < 0 || left.bytes < 0 {
		return nil, c.protocol("a reply within the limits of depth and size", []byte("more"))
	}
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	switch line[0] {
	case '+':
		return string(line[1:]), nil
	case '-':
		return serverError(line), nil
	case ':':
		n, err := parseInt(line[1:])
		if err != nil {
			return nil, c.protocol("an integer", line)
		}
		return n, nil
	case '$':
		b, ok, err := c.bulkBody(line)
		if err != nil || !ok {
			return nil, err
		}
		left.bytes -= len(b)
		return string(b), nil
	case '*':
		n, err := parseInt(line[1:])
		if err != nil || n < -1 || n > MaxItems {
			return nil, c.protocol(fmt.Sprintf("an array of at most %d elements", MaxItems), line)
		}
		if n == -1 {
			return nil, nil
		}
		list := []any{}
		for range n {
			v, err := c.any(depth+1, left)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, c.protocol("a reply", line)
}

// line reads up to the next CRLF; it has at least one byte.
func (c *Conn) line() ([]byte, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	scanned := 0
	for {
		if i := bytes.IndexByte(c.in[c.r+scanned:c.w], '\n'); i >= 0 {
			i += scanned
			line := c.in[c.r : c.r+i]
			if i < 2 || line[i-1] != '\r' {
				return nil, c.protocol("a line that ends with CRLF", line)
			}
			c.r += i + 1
			return line[:i-1], nil
		}
		if scanned = c.w - c.r; scanned > MaxLine {
			return nil, c.protocol(fmt.Sprintf("a line of at most %d bytes", MaxLine), c.in[c.r:c.r+64])
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// need waits until n bytes have arrived.
func (c *Conn) need(n int) error {
	for c.w-c.r < n {
		if err := c.fill(); err != nil {
			return err
		}
	}
	return nil
}

// fill reads what the network has. The buffer grows with what has arrived, by
// doubling, never to a length that was only announced.
func (c *Conn) fill() error {
	switch {
	case c.r == c.w && c.w == len(c.in) && c.w < fullBuffer:
		c.r, c.w, c.in = 0, 0, make([]byte, fullBuffer)
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.w == len(c.in) && c.r > len(c.in)/2:
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	case c.w == len(c.in):
		bigger := make([]byte, max(2*len(c.in), fullBuffer))
		c.w = copy(bigger, c.in[c.r:c.w])
		c.r, c.in = 0, bigger
	}
	if c.timeout > 0 {
		if err := c.nc.SetReadDeadline(c.deadline()); err != nil {
			return c.fail(err)
		}
	}
	n, err := c.nc.Read(c.in[c.w:])
	c.w += n
	c.came += n
	if n > 0 {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return c.fail(err)
}

func (c *Conn) protocol(want string, got []byte) error {
	if len(got) > 40 {
		got = got[:40]
	}
	return c.fail(&ProtocolError{Got: strconv.QuoteToASCII(string(got)), Want: want})
}

func serverError(line []byte) *ServerError {
	text := string(line[1:])
	code, _, _ := bytes.Cut(line[1:], []byte(" "))
	return &ServerError{Code: string(code), Message: text}
}

// parseInt returns strconv.ParseInt for the strict form of RESP, without allocating.
func parseInt(b []byte) (int64, error) {
	if len(b) > 18 || len(b) == 0 {
		return strconv.ParseInt(string(b), 10, 64)
	}
	negative := b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, strconv.ErrSyntax
	}
	var n int64
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, strconv.ErrSyntax
		}
		n = n*10 + int64(d-'0')
	}
	if negative {
		n = -n
	}
	return n, nil
}
