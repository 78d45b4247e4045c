package rdb_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// longest is the case whose size would be most of a file that is turned bit by
// bit.
const longest = "hash listpack"

// mixed returns a small snapshot with every type that a file may hold.
func mixed() []byte {
	c := snapshot("REDIS0015").aux("redis-ver", "8.10.0").aux("ctime", "1700000000").db(0).raw(251).len(40).len(3).raw(
		242).len(3).len(2).str("age").str("name")
	for _, e := range every {
		if !e.valkey && e.name != longest {
			c = e.body(c.raw(252).u64(1_700_000_100_000).key(e.typ, e.name))
		}
	}
	for version, typ := range []byte{15, 19, 21, 26, 27} {
		c = stream(version + 1)(c.key(typ, "stream"+string(rune('0'+version))))
	}
	return c.end()
}

// ignore is a Part of a consumer that looks at none.
func ignore(*source.Key) {}

func drain(p []byte, req source.Request) (int, source.Summary, error) {
	n := 0
	sum, err := read(p).Scan(context.Background(), req, func(batch []source.Key) error {
		for _, k := range batch {
			n++
			if k.Value != nil {
				for _, e := range k.Value.Elements {
					_ = e
				}
			}
		}
		return nil
	})
	return n, sum, err
}

// A file cut anywhere is an error, never a smaller keyspace.
func TestEveryTruncation(t *testing.T) {
	t.Parallel()
	p := mixed()
	whole, _, err := drain(p, source.Request{Values: everything})
	if err != nil || whole < 30 {
		t.Fatal(whole, err)
	}
	for n := range p { // each cut
		for _, req := range []source.Request{{}, {Values: everything, Bytes: true}, {Values: everything, Part: ignore}} {
			got, sum, err := drain(p[:n], req)
			if err == nil || len(sum.Incomplete) == 0 || got > whole {
				t.Fatalf("%d of %d bytes: %d keys, %v", n, len(p), got, err)
			}
			var at *rdb.Error
			if n > 9 && (!errors.As(err, &at) || at.Offset > int64(n)) {
				t.Fatalf("%d bytes: %v", n, err)
			}
		}
	}
}

// turned reports whether a bit is turned in this run: in the gate one of each byte.
func turned(bit int) bool { return gate.All() || bit%8 == bit/16*5%8 }

// One bit turned anywhere is an error: what the parser does not find the
// checksum does.
func TestEveryBitFlip(t *testing.T) {
	t.Parallel()
	p := mixed()
	for bit := range len(p) * 8 {
		if !turned(bit) {
			continue
		}
		broken := bytes.Clone(p)
		broken[bit/8] ^= 1 << (bit % 8)
		req := []source.Request{{}, {Values: everything, Bytes: true}}[(bit+bit/8)%2] // each byte in both
		if n, sum, err := drain(broken, req); err == nil && len(sum.Incomplete) == 0 {
			t.Fatalf("bit %d of byte %d: %d keys and no error", bit%8, bit/8, n)
		}
	}
}

// Lengths that lie are found out by the bytes that do not come, and allocate
// nothing meanwhile.
func TestLyingLengths(t *testing.T) {
	const huge = 1<<63 + 5
	cases := map[string][]byte{
		"key":               snapshot("REDIS0011").db(0).raw(0).len(huge).raw('x').b,
		"key within limits": snapshot("REDIS0011").db(0).raw(0).len(12 << 20).raw('x').b,
		"string":            snapshot("REDIS0011").db(0).key(0, "k").len(huge).raw('x').b,
		"string of a MB":    snapshot("REDIS0011").db(0).key(0, "k").len(1 << 20).raw('x').b,
		"hash":              snapshot("REDIS0011").db(0).key(4, "k").len(huge).str("f").str("v").b,
		"zset":              snapshot("REDIS0011").db(0).key(5, "k").len(huge).str("f").b,
		"quicklist":         snapshot("REDIS0011").db(0).key(18, "k").len(huge).len(2).str(listpack("a")).b,
		"stream":            stream(3)(snapshot("REDIS0011").db(0).key(21, "k").len(huge)).b,
		"compressed, bomb": snapshot("REDIS0011").db(0).key(0, "k").raw(0xc3).len(10).len(1 << 40).raw(make([]byte,
			10)...).end(),
		"compressed, nothing": snapshot("REDIS0011").db(0).key(0, "k").raw(0xc3).len(0).len(0).end(),
		"compressed, early":   snapshot("REDIS0011").db(0).key(16, "k").raw(0xc3).len(3).len(200).raw(0xe0, 9, 9).end(),
		"listpack":            snapshot("REDIS0011").db(0).key(16, "k").str("\xff\xff\xff\x7f\x02\x00\xff").end(),
		"listpack too short":  snapshot("REDIS0011").db(0).key(16, "k").str("\x03\x00").end(),
		"listpack, empty":     snapshot("REDIS0011").db(0).key(16, "k").str("").end(),
		"intset":              snapshot("REDIS0011").db(0).key(11, "k").str("\x02\x00\x00\x00\xff\xff\xff\xff").end(),
		"container":           snapshot("REDIS0011").db(0).key(18, "k").len(1).len(9).str("x").end(),
		"score":               snapshot("REDIS0011").db(0).key(3, "k").len(1).str("a").raw(3).raw('x', 'y', 'z').end(),
		"template":            snapshot("REDIS0015").db(0).key(32, "k").len(9).str("x").end(),
		"templates, many":     snapshot("REDIS0015").raw(242).len(1).len(huge).raw(make([]byte, 1<<20)...).end(),
		"own template, many":  snapshot("REDIS0015").db(0).key(29, "k").len(huge).raw(make([]byte, 3<<20)...).end(),
		"module":              snapshot("REDIS0011").db(0).key(7, "k").len(1).len(9).end(),
		"length byte":         snapshot("REDIS0011").db(0).key(0, "k").raw(0x85).end(),
		"encoding":            snapshot("REDIS0011").db(0).key(0, "k").raw(0xc9).end(),
		"encoded count":       snapshot("REDIS0011").db(0).key(4, "k").raw(0xc0, 1).end(),
		"database":            snapshot("REDIS0011").db(huge).end(),
		"stream's node":       snapshot("REDIS0011").db(0).key(15, "k").len(1).str("short").str(listpack("1")).end(),
		"array's flag":        snapshot("REDIS0014").db(0).key(28, "k").len(1).len(7).end(),
		"array's tag":         snapshot("REDIS0014").db(0).key(28, "k").len(1).len(0).len(0).len(9).end(),
	}
	for name, p := range cases {
		for _, req := range []source.Request{{}, {Values: everything, Bytes: true}} {
			expect.Allocates(t, 128<<20, func() {
				n, sum, err := drain(p, req)
				if err == nil || n > 0 || len(sum.Incomplete) == 0 {
					t.Errorf("%s: %d keys, %v", name, n, err)
				}
			})
		}
	}
}

// A long key, a value of a gigabyte and a million small keys take the memory of
// one window.
func TestMemoryIsBounded(t *testing.T) {
	gate.Skip(t, "reads gigabytes")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(48 << 20))
	var peak uint64
	watch := func([]source.Key) error {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse)
		return nil
	}
	head := snapshot("REDIS0011").db(0).key(0, "long").len(1 << 30).b
	middle := snapshot("").key(0, strings.Repeat("k", 1<<20)).str("x").key(4, "hash").len(1 << 20).b
	fields := bytes.Repeat(snapshot("").str("field").str("value").b, 1<<20)
	in := io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, 1<<30), bytes.NewReader(middle),
		bytes.NewReader(fields), bytes.NewReader(snapshot("").open()))
	sum, err := rdb.New(in, rdb.Options{OnlyDB: -1, NoCRC: true}).Scan(context.Background(),
		source.Request{Bytes: true, Values: everything}, watch)
	if err != nil || sum.Keys != 3 {
		t.Fatalf("%v, %+v", err, sum)
	}
	if peak > 64<<20 {
		t.Errorf("%d MiB in use", peak>>20)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Readers that give a byte at a time, or data with the end, make no difference.
func TestOddReaders(t *testing.T) {
	t.Parallel()
	p := mixed()
	want, _, _ := drain(p, source.Request{})
	for name, in := range map[string]io.Reader{"one byte": iotest.OneByteReader(bytes.NewReader(p)),
		"half": iotest.HalfReader(bytes.NewReader(p)), "end with data": iotest.DataErrReader(bytes.NewReader(p))} {
		got, sum, err := collect(t, rdb.New(in, rdb.Options{OnlyDB: -1}), source.Request{Values: everything})
		if err != nil || len(got) != want || len(sum.Incomplete) > 0 {
			t.Errorf("%s: %d keys of %d, %v, %+v", name, len(got), want, err, sum)
		}
	}
	broken := errors.New("disk on fire")
	if _, sum, err := collect(t, rdb.New(io.MultiReader(bytes.NewReader(p[:100]), iotest.ErrReader(broken)),
		rdb.Options{OnlyDB: -1}), source.Request{}); !errors.Is(err, broken) || len(sum.Incomplete) == 0 {
		t.Errorf("%v, %+v", err, sum)
	}
}

// An error of the consumer stops the scan and comes back; a canceled one says
// so.
func TestStopping(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	if _, err := read(mixed()).Scan(context.Background(), source.Request{},
		func([]source.Key) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if sum, err := read(mixed()).Scan(ctx, source.Request{},
		func([]source.Key) error { return nil }); !errors.Is(err, context.Canceled) || len(sum.Incomplete) == 0 {
		t.Error(sum, err)
	}
}

func TestChecksum(t *testing.T) {
	t.Parallel()
	p := mixed()
	p[len(p)-1] ^= 1
	if _, _, err := drain(p, source.Request{}); !errors.Is(err, rdb.ErrChecksum) {
		t.Error(err)
	}
	if _, err := rdb.New(bytes.NewReader(p), rdb.Options{OnlyDB: -1, NoCRC: true}).Scan(context.Background(),
		source.Request{}, func([]source.Key) error { return nil }); err != nil {
		t.Error(err)
	}
	_, sum, err := drain(snapshot("REDIS0011").db(0).key(0, "k").str("x").open(), source.Request{})
	if err != nil || len(sum.Notes) != 1 || !strings.Contains(sum.Notes[0], "no checksum") {
		t.Error(sum, err)
	}
}

// seeds are what fuzzing starts from.
func seeds(f *testing.F) {
	f.Helper()
	f.Add(mixed())
	for _, e := range every {
		f.Add(e.body(snapshot(map[bool]string{false: "REDIS0015", true: "VALKEY080"}[e.valkey]).db(0).key(e.typ, "k")).end())
	}
	paths, err := filepath.Glob("testdata/*.rdb.gz")
	if err != nil || len(paths) == 0 {
		f.Fatal("no seeds in testdata", err)
	}
	for _, path := range paths {
		f.Add(unzip(f, path))
	}
}

func unzip(t testing.TB, path string) []byte {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzRead: whatever the bytes, no panic, no more memory than a window and what
// came, and skipping sees the keys that decoding sees.
func FuzzRead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		options := rdb.Options{OnlyDB: -1, NoCRC: true}
		scan := func(req source.Request) (names []string, err error) {
			_, err = rdb.New(bytes.NewReader(p), options).Scan(context.Background(), req, func(batch []source.Key) error {
				for _, k := range batch {
					names = append(names, string(k.Name))
					if k.Value != nil {
						for _, e := range k.Value.Elements {
							if len(e) > 1<<20 {
								t.Fatal("an element without bounds")
							}
						}
					}
				}
				return nil
			})
			return names, err
		}
		var skipped, decoded []string
		var err, decodedErr error
		expect.Allocates(t, 256<<20, func() {
			skipped, err = scan(source.Request{Bytes: true})
			decoded, decodedErr = scan(source.Request{Bytes: true, Values: everything})
			if _, wholeErr := scan(source.Request{Values: everything, Part: ignore}); (wholeErr == nil) != (decodedErr == nil) {
				t.Fatalf("a sample says %v, whole values %v", decodedErr, wholeErr)
			}
		})
		if err == nil && decodedErr == nil && strings.Join(skipped, "\x00") != strings.Join(decoded, "\x00") {
			t.Fatalf("skipping saw %q, decoding %q", skipped, decoded)
		}
	})
}
