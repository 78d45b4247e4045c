package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kept represents a key as the bare loops move it.
type kept struct{ name, dump, expires string }

// count is COUNT of SCAN in the bare loops.
const count = "1000"

// scan reads the names of a server, page by page; the next page is asked for together
// with what ask appends about this one. read reads the replies to that.
func scan(c *conn, ask func(names []any), read func(names []any) error) error {
	c.command("SCAN", "0", "COUNT", count)
	if err := c.flush(); err != nil {
		return err
	}
	for {
		page, err := c.value()
		if err != nil {
			return err
		}
		cursor, names := page.([]any)[0].(string), page.([]any)[1].([]any)
		ask(names)
		if cursor != "0" {
			c.command("SCAN", cursor, "COUNT", count)
		}
		if err := c.flush(); err != nil {
			return err
		}
		if err := read(names); err != nil || cursor == "0" {
			return err
		}
	}
}

// askWhole asks for value and expiry of keys in one step each.
func askWhole(c *conn, names []any) {
	for _, n := range names {
		c.command("MULTI")
		c.command("DUMP", n.(string))
		c.command("PEXPIRETIME", n.(string))
		c.command("EXEC")
	}
}

func readWhole(c *conn, name any) (kept, error) {
	reply, err := c.values(4)
	if err != nil {
		return kept{}, err
	}
	pair := reply.([]any)
	return kept{name.(string), pair[0].(string), pair[1].(string)}, nil
}

// bareBackup reads all keys and writes them to a file.
func bareBackup(ctx context.Context, o options) error {
	c, err := dial(ctx, o.from)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := os.Create(o.file)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = scan(c, func(names []any) { askWhole(c, names) }, func(names []any) error {
		for _, n := range names {
			k, err := readWhole(c, n)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%d %d %s %s%s", len(k.name), len(k.dump), k.expires, k.name, k.dump)
		}
		return nil
	})
	return errors.Join(err, out.Flush(), f.Close())
}

// bareCopy reads all keys and restores them, over two connections.
func bareCopy(ctx context.Context, o options) error {
	c, err := dial(ctx, o.from)
	if err != nil {
		return err
	}
	defer c.Close()
	pages := make(chan []kept, 2)
	failed := make([]error, 2)
	var writers sync.WaitGroup
	for i := range failed {
		writers.Go(func() {
			if failed[i] = restore(ctx, o.to, pages); failed[i] != nil {
				for range pages { // the reader must not wait
				}
			}
		})
	}
	err = scan(c, func(names []any) { askWhole(c, names) }, func(names []any) error {
		var page []kept
		for _, n := range names {
			k, err := readWhole(c, n)
			if err != nil {
				return err
			}
			page = append(page, k)
		}
		pages <- page
		return nil
	})
	close(pages)
	writers.Wait()
	return errors.Join(append(failed, err)...)
}

func restore(ctx context.Context, addr string, pages <-chan []kept) error {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for page := range pages {
		for _, k := range page {
			c.command("RESTORE", k.name, max(k.expires, "0"), k.dump, "REPLACE", "ABSTTL")
		}
		if err := c.flush(); err != nil {
			return err
		}
		if _, err := c.values(len(page)); err != nil {
			return err
		}
	}
	return nil
}

// bareVerify reads all keys from both servers and compares the bytes, and looks for names
// that only the second one has.
func bareVerify(ctx context.Context, o options) error {
	a, err := dial(ctx, o.from)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := dial(ctx, o.to)
	if err != nil {
		return err
	}
	defer b.Close()
	same := 0
	err = scan(a, func(names []any) { askWhole(a, names); askWhole(b, names) }, func(names []any) error {
		if err := b.flush(); err != nil {
			return err
		}
		for _, n := range names {
			x, err := readWhole(a, n)
			if err != nil {
				return err
			}
			y, err := readWhole(b, n)
			if err != nil {
				return err
			}
			if bytes.Equal([]byte(x.dump), []byte(y.dump)) && x.expires == y.expires {
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
			a.command("EXISTS", n.(string))
		}
	}, func(names []any) error {
		if err := a.flush(); err != nil {
			return err
		}
		_, err := a.values(len(names))
		return err
	})
}

// bareRename renames the keys with some beginnings, a page in flight.
func bareRename(ctx context.Context, o options) error {
	return renameBare(ctx, o.from, func(name string) (string, bool) {
		return newPrefix + name,
			slices.ContainsFunc(renamedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// renameBack gives the keys their names back.
func renameBack(ctx context.Context, addr string) error {
	return renameBare(ctx, addr, func(name string) (string, bool) { return strings.CutPrefix(name, newPrefix) })
}

func renameBare(ctx context.Context, addr string, to func(string) (string, bool)) error {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	asked := 0
	return scan(c, func(names []any) {
		asked = 0
		for _, n := range names {
			if name, ok := to(n.(string)); ok {
				c.command("RENAMENX", n.(string), name)
				asked++
			}
		}
	}, func([]any) error {
		_, err := c.values(asked)
		return err
	})
}

// children lists the bare loops, one process each, so that CPU and memory are theirs alone.
var children = map[string]func(context.Context, options) error{"backup": bareBackup, "copy": bareCopy,
	"verify": bareVerify, "rename": bareRename}

func runChild(ctx context.Context, o options, _ io.Writer) error {
	child := children[o.child]
	if child == nil {
		return fmt.Errorf("-child %s: there are backup, copy, verify and rename", strconv.Quote(o.child))
	}
	return child(ctx, o)
}
