package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
)

// Commands writes the values as commands, in the protocol of servers: what
// `redis-cli --pipe` sends. Each key is deleted first, so that running them twice gives
// the same. A value that no commands make (a module's) is refused.
func Commands(ctx context.Context, out io.Writer, c *archive.Chain, o Options) (Report, error) {
	w := &commands{out: bufio.NewWriterSize(out, 64<<10)}
	report, err := o.each(ctx, c, func(db int, _ int64) error {
		w.send("SELECT", strconv.Itoa(db))
		return nil
	}, w.value)
	return report, errors.Join(err, w.out.Flush())
}

type commands struct{ out *bufio.Writer }

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

// adding are the commands that add elements to a value.
var adding = map[source.Kind]string{source.String: "APPEND", source.List: "RPUSH", source.Set: "SADD", source.Hash: "HSET", source.ZSet: "ZADD"}

func (c *commands) value(v *archive.Value) error {
	begun := false
	err := v.Elements(func(elements [][]byte, more bool) error {
		if !begun {
			c.command("DEL", v.Key)
		}
		first := !begun
		begun = true
		return c.part(v, elements, more, first)
	})
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
		return rdb.Entries(elements, func(id []byte, fields [][]byte) error {
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
	var s source.StreamState
	if len(elements) != 1 {
		return errors.New("the last part of a stream has no state")
	}
	if err := json.Unmarshal(elements[0], &s); err != nil {
		return err
	}
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
		if g.Read >= 0 {
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
	return nil
}
