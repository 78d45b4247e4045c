package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
)

// Limits of a guarded connection, whose replies another client reads: it believes
// what a header says, takes memory for all elements of an array at once and calls
// itself for each level.
const (
	guardDepth = 128
	guardItems = 4 << 20 // elements of one reply, those of its parts and attributes with them
	guardLine  = 1 << 20 // a simple string or error
)

// Guarded represents a connection whose replies (RESP2 or RESP3) are looked at before they are
// given to its reader: what would exhaust memory or the stack, is not RESP, or is not the
// reply to what was asked is a *ProtocolError and nothing of it is given. Only headers
// are looked at, and the kinds of pushes; a bulk string is passed by its length.
type Guarded struct {
	net.Conn
	asks    requests // what is written
	answers answers
	open    []frame

	now    expected         // of this reply
	push   byte             // this reply is a push, or a list that may be a message: how it begins; 0: neither
	naming bool             // and its first element, the kind, is to come
	word   [16]byte         // the kind
	named  int              // bytes of it
	heard  *sentinelMessage // nil: it is no sentinel's

	most  int64 // elements that a reply may have
	total int64 // elements of this reply that were announced so far
	skip  int64 // bytes of a bulk string that are still to come, with its end
	kind  byte  // of the line that has begun
	size  int   // of that line so far; 0: none has begun
	head  [24]byte
	bad   error
}

// frame represents an array, map, set, push or attribute that is not complete.
type frame struct {
	left      int64
	attribute bool // comes before an element and is none
}

// fewer says how many elements a reply may have if Frugal was called.
var fewer atomic.Int64

// Frugal lowers how many elements a reply may have over connections that are guarded
// from now on: a program that asks for little can do with less memory.
func Frugal(elements int64) { fewer.Store(min(elements, guardItems)) }

// Guard looks at the replies that come over a connection.
func Guard(nc net.Conn) *Guarded {
	g := &Guarded{Conn: nc, most: guardItems}
	g.asks.answers = &g.answers
	if n := fewer.Load(); n > 0 {
		g.most = n
	}
	return g
}

// Write implements net.Conn.
func (g *Guarded) Write(p []byte) (int, error) {
	g.asks.look(p) // before it is sent: the answer may be here before Write returns
	return g.Conn.Write(p)
}

// Read implements net.Conn.
func (g *Guarded) Read(p []byte) (int, error) {
	if g.bad != nil {
		return 0, g.bad
	}
	n, err := g.Conn.Read(p)
	if n > 0 {
		if g.bad = g.look(p[:n]); g.bad != nil {
			return 0, g.bad
		}
	}
	return n, err
}

func (g *Guarded) look(p []byte) error {
	for len(p) > 0 {
		if g.skip > 0 {
			n := min(g.skip, int64(len(p)))
			if g.naming {
				g.named += copy(g.word[g.named:], p[:min(n, max(g.skip-2, 0))])
			}
			if g.mayBeMessage() {
				g.heard.add(p[:min(n, max(g.skip-2, 0))])
			}
			p = p[n:]
			if g.skip -= n; g.skip == 0 {
				if err := cmp.Or(g.pushed(), g.announced()); err != nil {
					return err
				}
				g.complete()
			}
			continue
		}
		n := bytes.IndexByte(p, '\n') + 1
		part := p
		if n > 0 {
			part = p[:n]
		}
		if g.size == 0 {
			if g.kind = part[0]; len(g.open) == 0 {
				if err := g.reply(part); err != nil {
					return err
				}
			}
		}
		if g.size < len(g.head) {
			copy(g.head[g.size:], part)
		}
		if g.size += len(part); g.size > guardLine || shape(g.kind) != simple && g.size > len(g.head) {
			return g.refuse("a line of such a length")
		}
		if p = p[len(part):]; n > 0 {
			if err := g.line(); err != nil {
				return err
			}
			g.size = 0
		}
	}
	return nil
}

// shapes are what follows the first byte of a reply.
const (
	unknown = iota
	simple  // a line of text
	number  // a line with a number, or of a fixed form
	bulk    // a length, and as many bytes
	list    // a number of elements
	pairs   // half their number
)

func shape(kind byte) int {
	switch kind {
	case '+', '-', ',', '(':
		return simple
	case ':', '#', '_':
		return number
	case '$', '!', '=':
		return bulk
	case '*', '~', '>':
		return list
	case '%', '|':
		return pairs
	}
	return unknown
}

// line takes each line that is complete and is not within a bulk string.
func (g *Guarded) line() error {
	head := g.head[:min(g.size, len(g.head))]
	form := shape(g.kind)
	switch {
	case form == unknown || g.size < 3:
		return g.refuse("a reply")
	case g.naming && g.kind != '$':
		return g.refuse("the kind of a push")
	case g.mayBeMessage() && g.heard.isMessage() && (g.kind != '$' || head[1] == '-'):
		return g.refuse("a text in a message")
	case g.kind == '>' && len(g.open) > 0:
		return g.refuse("no push in a reply")
	case len(g.open) == 0 && g.now.form != whatever && !g.wanted(head):
		return g.refuse(wants[g.now.form])
	case form == simple:
		g.complete()
		return nil
	case head[g.size-2] != '\r' || g.kind == '_' && g.size != 3 || g.kind == '#' && g.size != 4:
		return g.refuse("a line of this kind")
	case g.kind == '_' || g.kind == '#':
		g.complete()
		return nil
	}
	n, err := parseInt(head[1 : g.size-2])
	switch {
	case err != nil:
		return g.refuse("a number")
	case form == number:
		g.complete()
		return nil
	case n == -1 && form != pairs && g.kind != '>': // rueidis takes that for a reply
		return g.null()
	case n < 0:
		return g.refuse("a length")
	case form == bulk:
		if n > MaxBulk {
			return g.refuse(fmt.Sprintf("a bulk string of at most %d bytes", MaxBulk))
		}
		if g.skip = n + 2; n > int64(len(g.word)) && g.naming {
			g.naming = false // no kind that matters
		}
		return nil
	}
	return g.begin(n, form == pairs)
}

// begin notes that n elements follow, or n pairs.
func (g *Guarded) begin(n int64, pairs bool) error {
	if n > g.most {
		return g.refuse(fmt.Sprintf("at most %d elements", g.most))
	}
	if pairs {
		n *= 2
	}
	attribute := g.kind == '|'
	if len(g.open) == 0 {
		switch f := g.now.form; {
		case f == results && n != int64(g.now.n):
			return g.refuse(fmt.Sprintf("%d results of a transaction", g.now.n))
		case f == address && n != 2:
			return g.refuse(wants[address])
		}
		if g.naming, g.named = g.push != 0 && n > 0, 0; g.heard != nil {
			g.heard.begin()
		}
	} else if g.now.most > 0 && len(g.open) == 1 && g.open[0].left == 1 && !attribute && n > int64(g.now.most) {
		return g.refuse(fmt.Sprintf("at most %d elements", g.now.most))
	}
	if n == 0 {
		if attribute {
			return nil
		}
		return g.null()
	}
	if g.total += n; g.total > g.most {
		return g.refuse(fmt.Sprintf("at most %d elements", g.most))
	}
	if g.open = append(g.open, frame{n, attribute}); len(g.open) > guardDepth {
		return g.refuse(fmt.Sprintf("at most %d levels", guardDepth))
	}
	return nil
}

// complete notes that one element is there, which may complete what it is in.
func (g *Guarded) complete() {
	for i := len(g.open) - 1; i >= 0; i-- {
		f := &g.open[i]
		if f.left--; f.left > 0 {
			return
		}
		g.open = g.open[:i]
		if f.attribute {
			return
		}
	}
	g.total = 0
}

func (g *Guarded) refuse(want string) error {
	return &ProtocolError{Got: strconv.QuoteToASCII(string(g.head[:min(g.size, len(g.head))])), Want: want,
		From: g.RemoteAddr().String()}
}
