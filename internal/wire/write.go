package wire

import (
	"strconv"
	"time"
)

// Command appends one command to the output buffer.
func (c *Conn) Command(args ...string) {
	c.Header(len(args))
	for _, a := range args {
		c.Arg(a)
	}
}

// Header begins a command of n arguments.
func (c *Conn) Header(n int) { c.number('*', n) }

// Arg appends one argument of a command.
func (c *Conn) Arg(a string) {
	c.number('$', len(a))
	c.out = append(append(c.out, a...), '\r', '\n')
}

// ArgBytes is Arg for bytes.
func (c *Conn) ArgBytes(a []byte) {
	c.number('$', len(a))
	c.out = append(append(c.out, a...), '\r', '\n')
}

// Raw appends bytes that are already encoded.
func (c *Conn) Raw(encoded string) { c.out = append(c.out, encoded...) }

func (c *Conn) number(mark byte, n int) {
	c.out = append(c.out, mark)
	c.out = strconv.AppendInt(c.out, int64(n), 10)
	c.out = append(c.out, '\r', '\n')
}

// Flush sends the buffered commands.
func (c *Conn) Flush() error {
	if c.broken != nil {
		return c.broken
	}
	if c.timeout > 0 {
		if err := c.nc.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return c.fail(err)
		}
	}
	_, err := c.nc.Write(c.out)
	c.out = c.out[:0]
	return c.fail(err)
}
