// Package wire speaks to servers without a client library: commands are appended and sent together, replies are read
// one by one.
//
// It knows RESP 2 and no pool, no retry and no cluster. What a benchmark measures as a client is in the benchmark.
package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
)

// Conn represents a connection.
type Conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

// Dial connects to host:port.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, in: bufio.NewReaderSize(c, 256<<10)}, nil
}

// Command appends a command to those that Flush sends.
func (c *Conn) Command(words ...string) {
	c.out = append(strconv.AppendInt(append(c.out, '*'), int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		c.out = append(strconv.AppendInt(append(c.out, '$'), int64(len(w)), 10), "\r\n"...)
		c.out = append(append(c.out, w...), "\r\n"...)
	}
}

// Flush sends the commands.
func (c *Conn) Flush() error {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// Do sends a command and reads its reply.
func (c *Conn) Do(words ...string) (any, error) {
	c.Command(words...)
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return c.Value()
}

// Value reads a reply: a text or a number as string, nil as "", a list as []any. An error reply is an error.
func (c *Conn) Value() (any, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("a reply %q", line)
	}
	kind, rest := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+', ':':
		return rest, nil
	case '-':
		return nil, fmt.Errorf("the server says %s", rest)
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil:
		return nil, err
	case kind == '$' && n < 0:
		return "", nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(c.in, text)
		return string(text[:n]), err
	}
	list := make([]any, max(n, 0))
	for i := range list {
		if list[i], err = c.Value(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Values reads n replies and keeps the last one.
func (c *Conn) Values(n int) (last any, err error) {
	for range n {
		if last, err = c.Value(); err != nil {
			return nil, err
		}
	}
	return last, nil
}
