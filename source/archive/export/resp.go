package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/write"
)

// Commands writes the values as commands, in the protocol of servers: what
// `redis-cli --pipe` sends. Each key is deleted first, so that running them twice gives
// the same. A value that no commands make (a module's) is refused.
func Commands(ctx context.Context, out io.Writer, c *archive.Chain, o Options) (Report, error) {
	w := &commands{out: bufio.NewWriterSize(out, 64<<10)}
	report, err := o.all(ctx, c, func(lib source.Library) error {
		w.command("FUNCTION", []byte("LOAD"), []byte("REPLACE"), lib.Code)
		return nil
	}, func(db int, _ int64) error {
		w.send("SELECT", strconv.Itoa(db))
		return nil
	}, w.value)
	return report, errors.Join(err, w.out.Flush())
}

type commands struct {
	out    *bufio.Writer
	stream streamed
}

// streamed represents a stream that is written. XCLAIM makes no pending entry without its message:
// for what was deleted or trimmed since there are placeholders, which go in the end.
type streamed struct {
	pending []source.StreamID // the next ones
	lead    string            // the first entry; "": there is none
	leading bool              // there are placeholders before it
	within  []source.StreamID // placeholders after it
}

// look reads what is pending, which comes after the entries.
func (s *streamed) look(v *archive.Value) error {
	return v.Elements(func(elements [][]byte, more bool) error {
		if more {
			return nil
		}
		state, err := stateOf(elements)
		if err == nil {
			s.pending, err = state.Pending()
		}
		return err
	})
}

// missing returns the pending IDs before an entry that have no message.
func (s *streamed) missing(before source.StreamID) (out []source.StreamID) {
	n := 0
	for n < len(s.pending) && s.pending[n].Compare(before) < 0 {
		n++
	}
	out, s.pending = s.pending[:n], s.pending[n:]
	if len(s.pending) > 0 && s.pending[0] == before {
		s.pending = s.pending[1:]
	}
	if s.lead == "" {
		s.leading = s.leading || n > 0
	} else {
		s.within = append(s.within, out...)
	}
	return out
}

func stateOf(elements [][]byte) (s source.StreamState, err error) {
	if len(elements) != 1 {
		return s, errors.New("the last part of a stream has no state")
	}
	return s, json.Unmarshal(elements[0], &s)
}

// command writes one command.
func (c *commands) command(name string, args ...[]byte) {
	fmt.Fprintf(c.out, "*%d\r\n", len(args)+1)
	c.bulk([]byte(name))
	for _, a := range args {
		c.bulk(a)
	}
}

func (c *commands) bulk(p []byte) {
	fmt.Fprintf(c.out, "$%d\r\n", len(p))
	_, _ = c.out.Write(p) // the writer keeps the first error
	_, _ = c.out.WriteString("\r\n")
}

func (c *commands) send(name string, args ...string) {
	raw := make([][]byte, len(args))
	for i, a := range args {
		raw[i] = []byte(a)
	}
	c.command(name, raw...)
}

// adding lists the commands that add elements to a value.
var adding = map[source.Kind]string{source.String: "APPEND", source.List: "RPUSH", source.Set: "SADD",
	source.Hash: "HSET", source.ZSet: "ZADD"}

func (c *commands) value(v *archive.Value) error {
	begun := false
	c.stream = streamed{}
	if v.Kind == source.Stream {
		if err := c.stream.look(v); err != nil {
			return errRefused{err}
		}
	}
	err := v.Elements(func(elements [][]byte, more bool) error {
		if !begun {
			c.command("DEL", v.Key)
		}
		first := !begun
		begun = true
		return c.part(v, elements, more, first)
	})
	if err != nil && !begun && expires(v) {
		return c.expiring(v)
	}
	if err != nil && !begun {
		return errRefused{err}
	}
	if err == nil && v.Expires > 0 {
		c.command("PEXPIREAT", v.Key, strconv.AppendInt(nil, v.Expires, 10))
	}
	return err
}

func (c *commands) part(v *archive.Value, elements [][]byte, more, first bool) error {
	switch v.Kind {
	case source.Stream:
		if !more {
			return c.streamState(v, elements, first)
		}
		return write.Entries(elements, func(id []byte, fields [][]byte) error {
			own, err := source.ParseStreamID(string(id))
			if err != nil {
				return err
			}
			c.placeholders(v, own)
			if c.stream.lead == "" {
				c.stream.lead = own.String()
			}
			c.command("XADD", append([][]byte{v.Key, id}, fields...)...)
			return nil
		})
	case source.ZSet:
		for i := 0; i+1 < len(elements); i += 2 {
			elements[i], elements[i+1] = elements[i+1], elements[i]
		}
	case source.String:
		if first && !more { // also one without a byte, which APPEND would not make
			c.command("SET", v.Key, elements[0])
			return nil
		}
	}
	if len(elements) > 0 {
		c.command(adding[v.Kind], append([][]byte{v.Key}, elements...)...)
	}
	return nil
}

func (c *commands) streamState(v *archive.Value, elements [][]byte, empty bool) error {
	s, err := stateOf(elements)
	if err != nil {
		return err
	}
	c.placeholders(v, source.StreamID{MS: math.MaxUint64, Seq: math.MaxUint64})
	key := string(v.Key)
	if empty { // there is no entry: a group makes the stream
		c.send("XGROUP", "CREATE", key, "keywright", "$", "MKSTREAM")
		c.send("XGROUP", "DESTROY", key, "keywright")
	}
	set := []string{key, s.LastID}
	if s.MaxDeleted != "" {
		set = append(set, "ENTRIESADDED", strconv.FormatInt(s.Added, 10), "MAXDELETEDID", s.MaxDeleted)
	}
	c.send("XSETID", set...)
	for _, g := range s.Groups {
		name := string(g.Name)
		create := []string{"CREATE", key, name, g.LastID}
		if g.Read >= 0 && s.MaxDeleted != "" { // older servers know neither
			create = append(create, "ENTRIESREAD", strconv.FormatInt(g.Read, 10))
		}
		c.send("XGROUP", create...)
		for _, consumer := range g.Consumers {
			c.send("XGROUP", "CREATECONSUMER", key, name, string(consumer))
		}
		for _, p := range g.Pending {
			c.send("XCLAIM", key, name, string(p.Consumer), "0", p.ID, "IDLE", strconv.FormatInt(p.Idle, 10),
				"RETRYCOUNT", strconv.FormatInt(p.Deliveries, 10), "FORCE", "JUSTID", "LASTID", g.LastID)
		}
	}
	c.withoutPlaceholders(key, set)
	return nil
}

// placeholders adds those that come before an entry.
func (c *commands) placeholders(v *archive.Value, before source.StreamID) {
	for _, id := range c.stream.missing(before) {
		c.send("XADD", string(v.Key), id.String(), "", "")
	}
}

// withoutPlaceholders ends them. What was before the first entry is trimmed, since that
// leaves no trace in the stream; what is after it was deleted, so that it is in the
// stream's own highest deleted ID.
func (c *commands) withoutPlaceholders(key string, setID []string) {
	switch {
	case c.stream.lead != "" && c.stream.leading:
		c.send("XTRIM", key, "MINID", c.stream.lead)
	case c.stream.leading:
		c.send("XTRIM", key, "MAXLEN", "0")
	}
	for _, id := range c.stream.within {
		c.send("XDEL", key, id.String())
	}
	if len(c.stream.within) > 0 {
		c.send("XSETID", setID...)
	}
}
