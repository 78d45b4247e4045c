package wire

import (
	"net"
	"strings"
	"testing"
	"time"
)

// dripping represents a peer that gives one byte a second, by a clock of its own, and notes
// the deadlines it is given.
type dripping struct {
	net.Conn
	in        *strings.Reader
	at        time.Time
	deadlines []time.Time
}

func (d *dripping) Read(p []byte) (int, error) { return d.in.Read(p[:1]) }

func (d *dripping) SetReadDeadline(t time.Time) error {
	d.deadlines = append(d.deadlines, t)
	return nil
}

func (d *dripping) now() time.Time {
	d.at = d.at.Add(time.Second)
	return d.at
}

// The timeout bounds a whole reply: bytes that come one by one do not begin it again,
// neither do the elements of an array.
func TestAReplyIsBoundedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		read  func(*Conn) error
	}{
		"a bulk string": {"$50\r\n" + strings.Repeat("x", 50) + "\r\n",
			func(c *Conn) error { _, _, err := c.Bulk(); return err }},
		"any": {"*3\r\n$5\r\nhello\r\n:1\r\n+abcdefgh\r\n", func(c *Conn) error { _, err := c.Any(); return err }},
		"an array": {"*3\r\n$5\r\nhello\r\n*1\r\n:1\r\n+abcdefgh\r\n", func(c *Conn) error {
			_, err := c.Array()
			_, _, _ = c.Bulk()
			_, _ = c.Array()
			_, _, _ = c.Int()
			_, _ = c.Status()
			return err
		}},
	} {
		d := &dripping{in: strings.NewReader(c.reply + "+OK\r\n"), at: time.Unix(1000, 0)}
		conn := New(d, 3*time.Second)
		conn.now = d.now
		if err := c.read(conn); err != nil {
			t.Fatal(name, err)
		}
		first, last := d.deadlines[0], d.deadlines[len(d.deadlines)-1]
		if len(d.deadlines) < len(c.reply)/2 || last.After(first.Add(time.Second)) {
			t.Errorf("%s: %d waits, the last may end %v after the first", name, len(d.deadlines), last.Sub(first))
		}
		if _, err := conn.Status(); err != nil || d.deadlines[len(d.deadlines)-1].Sub(last) < time.Second {
			t.Errorf("%s: the next reply has no time of its own: %v", name, err)
		}
	}
}
