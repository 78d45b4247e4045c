package dataset

import (
	"io"
	"strconv"
)

// flushAt says how much is collected before the writer sees it.
const flushAt = 256 << 10

// commands encodes Redis commands as RESP. A write error stays and is returned
// by flush, so that fillers need not check.
type commands struct {
	w     io.Writer
	buf   []byte
	count int64
	err   error
}

func newCommands(w io.Writer) *commands { return &commands{w: w, buf: make([]byte, 0, flushAt+64<<10)} }

// start begins a command of n words, its name included.
func (c *commands) start(n int) *commands {
	if len(c.buf) >= flushAt {
		c.flush()
	}
	c.count++
	return c.header('*', n)
}

func (c *commands) text(word string) *commands {
	c.header('$', len(word))
	c.buf = append(append(c.buf, word...), '\r', '\n')
	return c
}

func (c *commands) bytes(word []byte) *commands {
	c.header('$', len(word))
	c.buf = append(append(c.buf, word...), '\r', '\n')
	return c
}

func (c *commands) int(n int64) *commands {
	var digits [20]byte
	return c.bytes(strconv.AppendInt(digits[:0], n, 10))
}

func (c *commands) header(mark byte, n int) *commands {
	c.buf = strconv.AppendInt(append(c.buf, mark), int64(n), 10)
	c.buf = append(c.buf, '\r', '\n')
	return c
}

func (c *commands) flush() error {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.w.Write(c.buf)
	}
	c.buf = c.buf[:0]
	return c.err
}
