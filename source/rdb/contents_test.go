package rdb_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/rdb/internal/element"
)

// drainContents reads whole values, those of more than largest bytes in parts.
func drainContents(p []byte, largest int64) (keys int, sum source.Summary, err error) {
	sum, err = read(p).Contents(context.Background(), rdb.ContentsRequest{Largest: largest},
		func(batch []source.Content) error {
			for _, k := range batch {
				for _, e := range k.Elements {
					_ = bytes.Clone(e)
				}
				_ = bytes.Clone(k.Payload)
				if !k.More {
					keys++
				}
			}
			return nil
		})
	return keys, sum, err
}

// ways lists the sizes above which values are given in parts.
var ways = []int64{1 << 40, 1}

// Contents of a snapshot that is cut anywhere are never called complete.
func TestContentsOfEveryTruncation(t *testing.T) {
	t.Parallel()
	p := mixed()
	for _, largest := range ways {
		whole, sum, err := drainContents(p, largest)
		if err != nil || whole < 20 {
			t.Fatal(whole, sum, err)
		}
		for n := range p {
			got, sum, err := drainContents(p[:n], largest)
			if err == nil || len(sum.Incomplete) == 0 || got > whole {
				t.Fatalf("%d of %d bytes: %d keys, %v", n, len(p), got, err)
			}
		}
	}
}

// One bit that is turned anywhere is found.
func TestContentsOfEveryBitFlip(t *testing.T) {
	t.Parallel()
	p := mixed()
	for bit := range len(p) * 8 {
		if !turned(bit) {
			continue
		}
		broken := bytes.Clone(p)
		broken[bit/8] ^= 1 << (bit % 8)
		if n, sum, err := drainContents(broken, ways[bit%2]); err == nil && len(sum.Incomplete) == 0 {
			t.Fatalf("bit %d of byte %d: %d keys and no error", bit%8, bit/8, n)
		}
	}
}

// A value that is longer than the window, and than what is held, is given exactly, and
// takes little memory.
func TestContentsOfALongString(t *testing.T) {
	const size = 64 << 20
	p := snapshot("REDIS0011").db(0).key(0, "compressed").raw(0xc3)
	// 264 bytes for each 3: a match of the longest length, one byte back
	body := []byte{0, 'x'}
	for n := 1; n < size; n += 264 {
		body = append(body, 7<<5, 255, 0)
	}
	total := 1 + (len(body)-2)/3*264
	file := p.len(uint64(len(body))).len(uint64(total)).raw(body...).end()
	got, bad := 0, 0
	expect.Allocates(t, 32<<20, func() {
		sum, err := read(file).Contents(context.Background(), rdb.ContentsRequest{}, func(batch []source.Content) error {
			for _, k := range batch {
				for _, e := range k.Elements {
					got += len(e)
					bad += len(e) - bytes.Count(e, []byte("x"))
				}
			}
			return nil
		})
		if err != nil || len(sum.Incomplete) > 0 || got != total || bad > 0 {
			t.Errorf("%d of %d bytes, %d wrong: %v %q", got, total, bad, err, sum.Incomplete)
		}
	})
}

// FuzzElements reads whatever a payload claims to be, without a panic, and what it reads
// it reads again.
func FuzzElements(f *testing.F) {
	for _, p := range [][]byte{mixed()} {
		_, _ = read(p).Contents(context.Background(), rdb.ContentsRequest{Largest: 1 << 40},
			func(batch []source.Content) error {
				for _, k := range batch {
					f.Add(bytes.Clone(k.Payload), k.RDB)
				}
				return nil
			})
	}
	f.Fuzz(func(t *testing.T, value []byte, version int) {
		n := 0
		err := dump.Elements(value, version, 0, func(elements [][]byte, _ bool) error { n += len(elements); return nil })
		if err == nil && n > 0 && n > 3*264*len(value) {
			t.Errorf("%d elements of %d bytes", n, len(value))
		}
	})
}

// TestContentsOfMuch: what would take too much memory in parts is passed and named, and what comes
// after it is read.
func TestContentsOfMuch(t *testing.T) {
	t.Parallel()
	id, blob := node(1000, []string{"kind"}, []string{"a"})
	group := func(c *craft) *craft {
		return c.len(1).str(id).str(blob).len(1).len(1000).len(0).len(1).str("group").len(1000).len(0)
	}
	packed := "\x00\x00\x10\x01\x02\x00" // the head of a listpack of 17 MiB
	for name, c := range map[string]struct {
		typ  byte
		body func(*craft) *craft
		says string
	}{
		"an element": {2, func(c *craft) *craft { return c.len(1).raw(blown("x", 32<<20)...) }, element.ErrElement.Error()},
		"a packed value": {16, func(c *craft) *craft { return c.raw(blown(packed, 17<<20)...) },
			"17825792 bytes, more than the 16777216 that are unpacked"},
		"pending entries": {15, func(c *craft) *craft {
			group(c).len(1<<18 + 1)
			for range 1<<18 + 1 {
				c.raw([]byte(id)...).u64(5).len(1)
			}
			return c.len(1).str("consumer").u64(5).len(0)
		}, element.ErrPending.Error()},
		"consumers": {15, func(c *craft) *craft {
			group(c).len(0).len(1<<16 + 1)
			for range 1<<16 + 1 {
				c.str("consumer").u64(5).len(0)
			}
			return c
		}, "more than 65536 consumers"},
	} {
		file := c.body(snapshot("REDIS0011").db(0).key(c.typ, "much")).key(0, "next").str("x").end()
		keys, sum, err := drainContents(file, 1)
		if err != nil || !strings.Contains(fmt.Sprint(sum.Incomplete), c.says) || keys == 0 {
			t.Errorf("%s: %d keys, %v, %q", name, keys, err, sum.Incomplete)
		}
	}
}

// blown returns a string of n bytes in LZF that begins with a text and goes on with
// zeros: 88 bytes for one.
func blown(text string, n int) []byte {
	packed := []byte{}
	for p := text + "\x00"; p != ""; {
		k := min(len(p), 32)
		packed = append(append(packed, byte(k-1)), p[:k]...)
		p = p[k:]
	}
	left := n - len(text) - 1
	for ; left >= 264; left -= 264 {
		packed = append(packed, 0xe0, 0xff, 0)
	}
	for ; left > 0; left-- {
		packed = append(packed, 0, 0)
	}
	c := snapshot("").raw(0xc3).len(uint64(len(packed))).len(uint64(n))
	return append(c.b, packed...)
}
