package rdb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// many returns a snapshot of n keys in all ways to write a name, with values from
// nothing to more than a block.
func many(n int) ([]byte, []string) {
	c := snapshot("REDIS0011").db(0)
	var names []string
	for i := range n {
		name := fmt.Sprintf("key:%d:%s", i, strings.Repeat("n", i%97))
		switch i % 5 {
		case 0:
			c.raw(0).lzf(name)
		case 1:
			name = fmt.Sprint(i * 7)
			if i*7 < 1<<15 {
				c.raw(0, 0xc1, byte(i*7), byte(i*7>>8))
			} else {
				c.raw(0, 0xc2, byte(i*7), byte(i*7>>8), byte(i*7>>16), 0)
			}
		default:
			c.key(0, name)
		}
		names = append(names, name)
		c.str(strings.Repeat("v", i*i%3001))
		if i%1000 == 999 {
			big := strings.Repeat("long", 1000+i)
			c.key(0, big).str(strings.Repeat("w", 300_000))
			names = append(names, big)
		}
	}
	return c.end(), names
}

// The consumer works while the next batch is read: what it is given stays what
// it was, however slow it is and however the bytes come.
func TestConsumerSeesWhatWasRead(t *testing.T) {
	t.Parallel()
	p, want := many(6000)
	for name, in := range map[string]func() io.Reader{
		"whole": func() io.Reader { return bytes.NewReader(p) },
		"half":  func() io.Reader { return iotest.HalfReader(bytes.NewReader(p)) },
		"bits":  func() io.Reader { return &uneven{in: bytes.NewReader(p)} },
	} {
		for _, values := range []bool{false, true} {
			req := source.Request{}
			if values {
				req.Values = everything
			}
			i := 0
			_, err := rdb.New(in(), rdb.Options{OnlyDB: -1}).Scan(context.Background(), req, func(batch []source.Key) error {
				for range i % 7 {
					runtime.Gosched()
				}
				for _, k := range batch {
					if i >= len(want) || string(k.Name) != want[i] {
						return fmt.Errorf("key %d is %.60q, want %.60q", i, k.Name, want[min(i, len(want)-1)])
					}
					if values && len(k.Value.Str) != int(k.Facts.Elements) {
						return fmt.Errorf("key %d has %d bytes of %d", i, len(k.Value.Str), k.Facts.Elements)
					}
					i++
				}
				return nil
			})
			if err != nil || i != len(want) {
				t.Errorf("%s, values %v: %d of %d keys, %v", name, values, i, len(want), err)
			}
		}
	}
}

// uneven gives pieces of changing sizes.
type uneven struct {
	in io.Reader
	n  int
}

func (u *uneven) Read(p []byte) (int, error) {
	u.n = u.n*31%9973 + 1
	return u.in.Read(p[:min(len(p), u.n)])
}

// A consumer that fails, or a context that ends, ends the scan wherever it is.
func TestConsumerFails(t *testing.T) {
	t.Parallel()
	p, want := many(6000)
	enough := errors.New("enough")
	for stop := range 24 {
		seen := 0
		_, err := read(p).Scan(context.Background(), source.Request{}, func(batch []source.Key) error {
			if seen++; seen > stop {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Errorf("after %d batches: %v", stop, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		seen = 0
		keys := 0
		sum, err := read(p).Scan(ctx, source.Request{}, func(batch []source.Key) error {
			if seen++; seen > stop {
				cancel()
			}
			keys += len(batch)
			return nil
		})
		cancel()
		if !errors.Is(err, context.Canceled) || len(sum.Incomplete) == 0 || keys > len(want) {
			t.Errorf("canceled after %d batches: %v, %d keys", stop, err, keys)
		}
	}
}
