//go:build !race

// The race detector multiplies memory: .ci/run runs this without it.

package rdb_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strconv"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// ceiling is the memory that no snapshot may take more of, whatever it is.
const ceiling = 256 << 20

// generated is n records that are made when they are read.
type generated struct {
	n, i int
	make func(int) []byte
	left []byte
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.left) == 0 {
		if g.i == g.n {
			return 0, io.EOF
		}
		g.left = g.make(g.i)
		g.i++
	}
	n := copy(p, g.left)
	g.left = g.left[n:]
	return n, nil
}

// same returns n times the same bytes, in pieces of about a megabyte.
func same(n int, p []byte) io.Reader {
	per := min(n, 1+(1<<20)/len(p))
	piece := bytes.Repeat(p, per)
	return &generated{n: n / per, make: func(int) []byte { return piece }}
}

// weighed measures what is in use each time so many bytes of the input have gone. Garbage counts only where it would be
// too much: then it is collected first.
type weighed struct {
	io.Reader
	every, gone int
	most, peak  uint64
}

func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.gone += n; w.gone >= w.every || err != nil {
		w.gone = 0
		w.weigh()
	}
	return n, err
}

func (w *weighed) weigh() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > w.most {
		runtime.GC()
		runtime.ReadMemStats(&m)
	}
	w.peak = max(w.peak, m.HeapAlloc)
}

// uncounted returns a listpack of n bytes that has no count and ends at once.
func uncounted(n int, entries string) []byte {
	head := []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 0xff, 0xff}
	return blown(string(head)+entries+"\xff", n)
}

func TestNoSnapshotTakesMoreMemoryThanTheCeiling(t *testing.T) {
	gate.Skip(t, "unpacks gigabytes")
	redis, valkey := []byte("REDIS0015"), []byte("VALKEY080")
	numbered := func(n int, record func(i int) []byte) io.Reader { return &generated{n: n, make: record} }
	keyed := func(typ byte, i int, body []byte) []byte {
		return append(snapshot("").key(typ, "k"+strconv.Itoa(i)).b, body...)
	}
	fields := append(snapshot("").len(100).b, bytes.Repeat(blown("", 1<<20), 200)...)
	nodes := func(typ byte, n int, node []byte) []byte {
		return append(snapshot("").key(typ, "many").len(uint64(n)).b, bytes.Repeat(node, n)...)
	}
	streamed := append(snapshot("").str("\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00").b,
		uncounted(8<<20, "")...)
	own := append(snapshot("").key(29, "h").len(1<<20).b, bytes.Repeat(blown("", 1<<20), 64)...)
	emptyNames := func(i int) []byte {
		return append(snapshot("").raw(242).len(uint64(i)).len(1<<20).b, make([]byte, 1<<20)...)
	}
	cases := map[string]struct {
		magic []byte
		in    io.Reader
		every int    // bytes of the input between two weighings
		most  uint64 // MiB; 0: the ceiling
	}{
		"imports of slots": {valkey, same(2_000_000, []byte{0xf3, 0, 0}), 4 << 20, 16},
		"templates without names": {redis,
			numbered(2_000_000, func(i int) []byte { return snapshot("").raw(242).len(1<<20 + uint64(i)).len(0).b }),
			4 << 20, 48},
		"templates, empty names": {redis, numbered(24, emptyNames), 4 << 20, 0},
		"a template of its own":  {redis, bytes.NewReader(own), 64 << 10, 0},
		"auxiliary fields": {redis,
			numbered(500_000, func(i int) []byte { return snapshot("").aux("field"+strconv.Itoa(i), "value").b }), 4 << 20, 16},
		"databases": {redis,
			numbered(200_000, func(i int) []byte { return snapshot("").db(uint64(i)).key(0, "a").str("b").b }), 4 << 20, 16},
		"names, compressed":       {redis, same(12, append(append([]byte{0}, blown("k", 16<<20)...), 1, 'v')), 1 << 20, 0},
		"names, short compressed": {redis, same(4_000, append(append([]byte{0}, blown("k", 60<<10)...), 1, 'v')), 1 << 20, 0},
		"names, plain": {redis, same(6, append(snapshot("").raw(0).str(string(make([]byte, 16<<20-1))).b, 1, 'v')),
			16 << 20, 0},
		"fields, compressed": {redis, numbered(4, func(i int) []byte { return keyed(4, i, fields) }), 1 << 20, 96},
		"strings, compressed": {redis, numbered(100, func(i int) []byte { return keyed(0, i, blown("v", 1<<20)) }),
			1 << 20, 0},
		"packed without a count": {redis, numbered(40, func(i int) []byte { return keyed(16, i, uncounted(8<<20, "")) }),
			1 << 20, 0},
		"nodes of a list":   {redis, bytes.NewReader(nodes(18, 40, append([]byte{2}, uncounted(8<<20, "")...))), 1 << 20, 0},
		"nodes of a stream": {redis, bytes.NewReader(nodes(15, 40, streamed)), 1 << 20, 0},
	}
	wishes := map[string]func([]byte, source.Kind) bool{"skipped": nil, "refused": func([]byte, source.Kind) bool { return false }, "taken": everything}
	var before weighed
	before.weigh()
	for name, c := range cases {
		most := uint64(ceiling)
		if c.most > 0 {
			most = before.peak + c.most<<20
		}
		for wish, values := range wishes {
			if wish == "refused" && c.every > 1<<20 {
				continue // the same as skipped
			}
			if s, ok := c.in.(io.Seeker); ok {
				_, _ = s.Seek(0, io.SeekStart)
			} else if g, ok := c.in.(*generated); ok {
				g.i, g.left = 0, nil
			}
			in := &weighed{Reader: io.MultiReader(bytes.NewReader(c.magic), c.in), every: c.every, most: most}
			each := func([]source.Key) error { return nil }
			sum, err := rdb.New(in, rdb.Options{OnlyDB: -1, NoCRC: true}).Scan(context.Background(),
				source.Request{Bytes: true, Values: values}, each)
			in.weigh()
			if err == nil {
				t.Errorf("%s, %s: no error, though the end is missing", name, wish)
			}
			if in.peak > most {
				t.Errorf("%s, %s: %d MiB", name, wish, in.peak>>20)
			}
			if n := len(sum.Notes) + len(sum.Incomplete); n > 8 {
				t.Errorf("%s, %s: %d notes", name, wish, n)
			}
		}
	}
}
