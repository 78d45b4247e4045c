package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/bench/wire"
)

// kept represents a key as the bare loops move it.
type kept struct{ name, dump, expires string }

// count is COUNT of SCAN in the bare loops.
const count = "1000"

// scan reads the names of a server, page by page; the next page is asked for together
// with what ask appends about this one. read reads the replies to that.
func scan(c *wire.Conn, ask func(names []any), read func(names []any) error) error {
	c.Command("SCAN", "0", "COUNT", count)
	if err := c.Flush(); err != nil {
		return err
	}
	for {
		page, err := c.Value()
		if err != nil {
			return err
		}
		cursor, names := page.([]any)[0].(string), page.([]any)[1].([]any)
		ask(names)
		if cursor != "0" {
			c.Command("SCAN", cursor, "COUNT", count)
		}
		if err := c.Flush(); err != nil {
			return err
		}
		if err := read(names); err != nil || cursor == "0" {
			return err
		}
	}
}

// askWhole asks for value and expiry of keys in one step each.
func askWhole(c *wire.Conn, names []any) {
	for _, n := range names {
		c.Command("MULTI")
		c.Command("DUMP", n.(string))
		c.Command("PEXPIRETIME", n.(string))
		c.Command("EXEC")
	}
}

func readWhole(c *wire.Conn, name any) (kept, error) {
	reply, err := c.Values(4)
	if err != nil {
		return kept{}, err
	}
	pair := reply.([]any)
	return kept{name.(string), pair[0].(string), pair[1].(string)}, nil
}

// scanWhole reads all keys, page by page.
func scanWhole(c *wire.Conn, each func(page []kept) error) error {
	return scan(c, func(names []any) { askWhole(c, names) }, func(names []any) error {
		page := make([]kept, len(names))
		for i, n := range names {
			k, err := readWhole(c, n)
			if err != nil {
				return err
			}
			page[i] = k
		}
		return each(page)
	})
}

// bareBackup reads all keys and writes them to a file.
func bareBackup(_ context.Context, c *wire.Conn, o loop) error {
	f, err := os.Create(o.file)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = scanWhole(c, func(page []kept) error {
		for _, k := range page {
			fmt.Fprintf(out, "%d %d %s %s%s", len(k.name), len(k.dump), k.expires, k.name, k.dump)
		}
		return nil
	})
	return errors.Join(err, out.Flush(), f.Close())
}

// bareCopy reads all keys and restores them, over two connections.
func bareCopy(ctx context.Context, c *wire.Conn, o loop) error {
	pages, written := make(chan []kept, 2), make(chan error, 1)
	go func() {
		written <- turns.Each(2, 2, func(int, int) error {
			err := restore(ctx, o.to, pages)
			for range pages { // after an error: the reader must not wait
			}
			return err
		})
	}()
	err := scanWhole(c, func(page []kept) error { pages <- page; return nil })
	close(pages)
	return errors.Join(err, <-written)
}

func restore(ctx context.Context, addr string, pages <-chan []kept) error {
	c, err := wire.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for page := range pages {
		for _, k := range page {
			c.Command("RESTORE", k.name, max(k.expires, "0"), k.dump, "REPLACE", "ABSTTL")
		}
		if err := c.Flush(); err != nil {
			return err
		}
		if _, err := c.Values(len(page)); err != nil {
			return err
		}
	}
	return nil
}

// bareVerify reads all keys from both servers and compares the bytes, and looks for names
// that only the second one has.
func bareVerify(ctx context.Context, a *wire.Conn, o loop) error {
	b, err := wire.Dial(ctx, o.to)
	if err != nil {
		return err
	}
	defer b.Close()
	same := 0
	err = scan(a, func(names []any) { askWhole(a, names); askWhole(b, names) }, func(names []any) error {
		if err := b.Flush(); err != nil {
			return err
		}
		for _, n := range names {
			x, err := readWhole(a, n)
			y, err2 := readWhole(b, n)
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			if x == y {
				same++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return scan(b, func(names []any) {
		for _, n := range names {
			a.Command("EXISTS", n.(string))
		}
	}, func(names []any) error {
		if err := a.Flush(); err != nil {
			return err
		}
		_, err := a.Values(len(names))
		return err
	})
}

// bareRename renames the keys with some beginnings, a page in flight.
func bareRename(_ context.Context, c *wire.Conn, _ loop) error {
	return rename(c, func(name string) (string, bool) {
		return newPrefix + name,
			slices.ContainsFunc(renamedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// unlink deletes all keys.
func unlink(_ context.Context, c *wire.Conn, _ loop) error {
	return scan(c, func(names []any) {
		for _, n := range names {
			c.Command("UNLINK", n.(string))
		}
	}, func(names []any) error { return turns.Err(c.Values(len(names))) })
}

// renameBack gives the keys their names back.
func renameBack(_ context.Context, c *wire.Conn, _ loop) error {
	return rename(c, func(name string) (string, bool) { return strings.CutPrefix(name, newPrefix) })
}

func rename(c *wire.Conn, to func(string) (string, bool)) error {
	asked := 0
	return scan(c, func(names []any) {
		asked = 0
		for _, n := range names {
			if name, ok := to(n.(string)); ok {
				c.Command("RENAMENX", n.(string), name)
				asked++
			}
		}
	}, func([]any) error {
		_, err := c.Values(asked)
		return err
	})
}

// loop says what a bare loop works on.
type loop struct{ from, to, file string }

// loops lists the bare loops, one process each, so that CPU and memory are theirs alone.
var loops = map[string]func(ctx context.Context, from *wire.Conn, o loop) error{"backup": bareBackup, "copy": bareCopy,
	"verify": bareVerify, "rename": bareRename, "rename back": renameBack, "empty": unlink}

func (o *loop) run(ctx context.Context, name string, _ io.Writer) error {
	if loops[name] == nil {
		return fmt.Errorf("-child %q: there are backup, copy, verify and rename", name)
	}
	c, err := wire.Dial(ctx, o.from)
	if err != nil {
		return err
	}
	defer c.Close()
	return loops[name](ctx, c, *o)
}
