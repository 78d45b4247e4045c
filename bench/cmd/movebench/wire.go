package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
)

// conn represents a connection of the bare loops: commands are appended, and sent together.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

func dial(ctx context.Context, addr string) (*conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 256<<10)}, nil
}

// command appends a command.
func (c *conn) command(words ...string) {
	c.out = append(strconv.AppendInt(append(c.out, '*'), int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		c.appendArg(w)
	}
}

// appendArg appends a word of a command.
func (c *conn) appendArg(w string) {
	c.out = append(strconv.AppendInt(append(c.out, '$'), int64(len(w)), 10), "\r\n"...)
	c.out = append(append(c.out, w...), "\r\n"...)
}

func (c *conn) flush() error {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// value reads a reply: a text or a number as string, nil as "", a list as []any.
func (c *conn) value() (any, error) {
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
		if list[i], err = c.value(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// values reads n replies and keeps the last one.
func (c *conn) values(n int) (last any, err error) {
	for range n {
		if last, err = c.value(); err != nil {
			return nil, err
		}
	}
	return last, nil
}
