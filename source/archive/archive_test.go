package archive_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"pgregory.net/rapid"
)

var meta = archive.Meta{ID: "00", Tool: "test", Taken: time.UnixMilli(1_700_000_000_000).UTC(),
	Consistency: archive.PerKey, Entries: []string{"user", "session"},
	Shards: []source.Shard{{Address: "localhost:6379", Brand: "redis", Version: "7.0.15", Keys: 3}}}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func write(t interface{ Fatal(...any) }, codec archive.Codec, records []archive.Record) []byte {
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, meta, codec)
	must(t, err)
	for i := range records {
		must(t, w.Add(&records[i]))
	}
	_, err = w.Close()
	must(t, err)
	return out.Bytes()
}

// read reads as far as an archive makes sense.
func read(file []byte) (records []archive.Record, err error) {
	r, err := archive.NewReader(bytes.NewReader(file))
	for err == nil {
		var rec *archive.Record
		if rec, err = r.Next(); err == nil {
			records = append(records, clone(rec))
		}
	}
	return records, err
}

func clone(r *archive.Record) archive.Record {
	c := *r
	c.Key, c.Payload = slices.Clone(r.Key), slices.Clone(r.Payload)
	return c
}

func same(a, b archive.Record) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Payload, b.Payload) && a.Entry == b.Entry && a.DB == b.DB &&
		a.Expires == b.Expires && a.Kind == b.Kind &&
		a.Form == b.Form && a.RDB == b.RDB && a.Part == b.Part && a.More == b.More
}

func sorted(records []archive.Record) []archive.Record {
	slices.SortStableFunc(records, func(a, b archive.Record) int {
		return cmp.Or(cmp.Compare(a.Entry, b.Entry), cmp.Compare(a.DB, b.DB))
	})
	return records
}

func records(t *rapid.T) []archive.Record {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) archive.Record {
		return archive.Record{
			Entry: rapid.IntRange(archive.Undeclared, 1).Draw(t, "entry"), DB: rapid.IntRange(0, 3).Draw(t, "db"),
			Key:     rapid.SliceOf(rapid.Byte()).Draw(t, "key"),
			Expires: rapid.Int64Range(0, 1<<62).Draw(t, "expires"),
			Kind:    source.Kind(rapid.IntRange(0, source.Kinds-1).Draw(t, "kind")),
			Form:    rapid.SampledFrom([]archive.Form{archive.Dump, archive.Elements, archive.Gone}).Draw(t, "form"),
			RDB:     rapid.IntRange(0, 99).Draw(t, "rdb"),
			Part:    rapid.IntRange(0, 1<<20).Draw(t, "part"), More: rapid.Bool().Draw(t, "more"),
			Payload: rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "payload"),
		}
	}), 0, 40).Draw(t, "records")
}

// What is written is read, from the beginning and by the index.
func TestWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		in := records(t)
		file := write(t, rapid.SampledFrom([]archive.Codec{archive.Plain, archive.Deflate}).Draw(t, "codec"), in)
		got, err := read(file)
		if err != io.EOF {
			t.Fatal(err)
		}
		want := sorted(in)
		if !slices.EqualFunc(sorted(got), want, same) {
			t.Fatalf("read from the beginning: %v, not %v", got, want)
		}
		a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
		must(t, err)
		var byIndex []archive.Record
		for entry := archive.Undeclared; entry < len(meta.Entries); entry++ {
			for r, err := range a.Records(entry) {
				must(t, err)
				byIndex = append(byIndex, clone(r))
			}
		}
		if !slices.EqualFunc(sorted(byIndex), want, same) {
			t.Fatalf("read by the index: %v, not %v", byIndex, want)
		}
		keys := int64(0)
		for _, r := range in {
			if !r.More {
				keys++
			}
		}
		if n, _ := a.Index.Totals(); n != keys {
			t.Fatalf("%d keys, not %d", n, keys)
		}
		_, _, err = archive.Verify(bytes.NewReader(file))
		must(t, err)
	})
}

// Blocks close when they are full, and the writer's memory stays bounded.
func TestBlocksClose(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, meta, archive.Plain)
	must(t, err)
	value := make([]byte, 10_000)
	for i := range 1000 {
		must(t, w.Add(
			&archive.Record{Entry: i % 2, DB: i % 40, Key: []byte{byte(i), byte(i >> 8)}, Form: archive.Dump, Payload: value}))
	}
	if out.Len() > 0 && w.Offset() != int64(out.Len()) {
		t.Errorf("offset %d of %d", w.Offset(), out.Len())
	}
	index, err := w.Close()
	must(t, err)
	blocks := 0
	for _, e := range index.Entries {
		blocks += len(e.Blocks)
	}
	if keys, n := index.Totals(); keys != 1000 || n != 1000*10_002 || blocks < 20 {
		t.Errorf("%d keys, %d bytes, %d blocks", keys, n, blocks)
	}
	for i := range 3000 { // never closed: 16 MiB of them are held at most
		w, _ := archive.NewWriter(io.Discard, meta, archive.Plain)
		must(t, w.Add(&archive.Record{Entry: 0, DB: i, Form: archive.Dump, Payload: value}))
	}
}

// sample returns an archive of every form of record, small enough to flip each bit.
func sample(t testing.TB, codec archive.Codec) []byte {
	var in []archive.Record
	for i := range 6 {
		in = append(in, archive.Record{Entry: i%3 - 1, DB: i % 2, Key: []byte{'k', byte(i)}, Expires: int64(i) * 1000,
			Kind: source.Hash, Form: archive.Dump, RDB: 10, Payload: bytes.Repeat([]byte{byte(i)}, 30)})
	}
	in = append(in, archive.Record{Key: []byte("big"), Kind: source.List, Form: archive.Elements, More: true,
		Payload: archive.AppendText(nil, []byte("one"))},
		archive.Record{Key: []byte("big"), Kind: source.List, Form: archive.Elements, Part: 1,
			Payload: archive.AppendText(nil, []byte("two"))})
	return write(t, codec, in)
}

// Each flipped bit is found, by all ways to read.
func TestEachFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	for _, codec := range []archive.Codec{archive.Plain, archive.Deflate} {
		file := sample(t, codec)
		whole, err := read(file)
		if err != io.EOF {
			t.Fatal(err)
		}
		for i := range 8 * len(file) {
			file[i/8] ^= 1 << (i % 8)
			got, err := read(file)
			if err == nil || err == io.EOF {
				t.Fatalf("%s: bit %d of byte %d is flipped, and nothing is said", codec.Name, i%8, i/8)
			}
			for j, r := range got {
				if !same(r, whole[j]) {
					t.Fatalf("%s: bit %d of byte %d: record %d is wrong", codec.Name, i%8, i/8, j)
				}
			}
			if _, _, err := archive.Verify(bytes.NewReader(file)); err == nil {
				t.Fatalf("%s: Verify says nothing of bit %d of byte %d", codec.Name, i%8, i/8)
			}
			file[i/8] ^= 1 << (i % 8)
		}
	}
}

// A cut is found wherever it is. What is before it is read up to the last whole
// block, and it is never called complete.
func TestEachCutIsFound(t *testing.T) {
	t.Parallel()
	file := sample(t, archive.Deflate)
	whole, _ := read(file)
	most := 0
	for n := range len(file) {
		got, err := read(file[:n])
		if err == nil || err == io.EOF {
			t.Fatalf("cut at %d of %d, and nothing is said", n, len(file))
		}
		var cut *archive.CutError
		if n > len(archive.Magic) && (!errors.As(err, &cut) || cut.Offset > int64(n) || cut.Records != int64(len(got))) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if len(got) < most || !slices.EqualFunc(got, whole[:len(got)], same) {
			t.Fatalf("cut at %d: %d records after %d", n, len(got), most)
		}
		most = len(got)
		if _, err := archive.Open(bytes.NewReader(file[:n]), int64(n)); err == nil {
			t.Fatalf("Open takes an archive that is cut at %d", n)
		}
	}
	if most != len(whole) {
		t.Errorf("%d of %d records before the index", most, len(whole))
	}
	if _, err := read(append(slices.Clone(file), 0)); err == io.EOF {
		t.Error("a byte after the footer is not found")
	}
}

// Sections that change their places, or come from another archive, are found.
func TestSectionsOfAnotherArchive(t *testing.T) {
	t.Parallel()
	a := write(t, archive.Plain, []archive.Record{{Entry: 0, Key: []byte("a"), Form: archive.Dump}})
	b := write(t, archive.Plain, []archive.Record{{Entry: 0, Key: []byte("b"), Form: archive.Dump}})
	at := bytes.Index(a, []byte("a\x00"))
	mixed := slices.Clone(a)
	copy(mixed[at-40:at+2], b[at-40:at+2]) // the whole block of b, with its checksum
	if _, err := read(mixed); err == io.EOF {
		t.Error("a block of another archive is taken")
	}
}

// What is no archive, and a newer archive, are different errors.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"": archive.ErrNotArchive, "REDIS0010": archive.ErrNotArchive,
		"KWARCH2\n": archive.ErrNewer, "KWARCH1": archive.ErrNotArchive} {
		if _, err := archive.NewReader(bytes.NewReader([]byte(text))); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	w, err := archive.NewWriter(io.Discard, meta, archive.Plain)
	must(t, err)
	for _, r := range []archive.Record{{Entry: 2, Form: archive.Dump}, {Entry: -2, Form: archive.Dump},
		{DB: -1, Form: archive.Dump}, {Form: 'Z'}, {Expires: -1, Form: archive.Dump}} {
		if w.Add(&r) == nil {
			t.Errorf("%+v is written", r)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Error(err)
	}
	if w.Add(&archive.Record{Form: archive.Dump}) == nil {
		t.Error("a record after Close is taken")
	}
}

// FuzzReader: no bytes make a reader panic, or take memory beyond its bounds.
func FuzzReader(f *testing.F) {
	f.Add(sample(f, archive.Plain))
	f.Add(sample(f, archive.Deflate))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, streamed := read(file)
		a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if streamed == io.EOF {
				t.Fatalf("complete from the beginning, but Open says %v", err)
			}
			return
		}
		for entry := archive.Undeclared; entry < len(a.Meta.Entries); entry++ {
			for _, err := range a.Records(entry) {
				if err != nil {
					break
				}
			}
		}
	})
}

// A killed writer goes on wherever it was killed, also after the index or the footer was
// written: with the blocks that are whole and what is added, the archive is whole.
func TestEachCutIsGoneOnWith(t *testing.T) {
	t.Parallel()
	file := sample(t, archive.Deflate)
	more := text(0, archive.Undeclared, "added later", "x")
	for n := range len(file) + 1 {
		a, err := archive.Recover(bytes.NewReader(file[:n]), int64(n))
		var cut *archive.CutError
		if a == nil {
			continue // not even the header is whole
		}
		if !errors.As(err, &cut) || cut.Offset > int64(n) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		good, _ := read(file[:cut.Offset])
		out := bytes.NewBuffer(slices.Clone(file[:cut.Offset]))
		w, err := a.Continue(out, cut.Offset, archive.Deflate)
		must(t, err)
		must(t, w.Add(&more))
		_, err = w.Close()
		must(t, err)
		if _, _, err := archive.Verify(bytes.NewReader(out.Bytes())); err != nil {
			t.Fatalf("cut at %d of %d, gone on with at %d: %v", n, len(file), cut.Offset, err)
		}
		if got, _ := read(out.Bytes()); len(got) != len(good)+1 || !slices.EqualFunc(got[:len(good)], good, same) {
			t.Fatalf("cut at %d: %d records of %d and one", n, len(got), len(good))
		}
	}
}

// TestManyRecordsNeedNoGarbage: what a Writer keeps it uses again, however many records of however many entries come:
// a backup in 64 MiB would otherwise spend its time on collecting garbage.
func TestManyRecordsNeedNoGarbage(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprint("entry", i)
	}
	w, err := archive.NewWriter(io.Discard, archive.Meta{Entries: names}, archive.Plain)
	if err != nil {
		t.Fatal(err)
	}
	n, key, payload := 0, []byte("a:key:of:some:length"), make([]byte, 300)
	add := func() {
		for range 100_000 {
			n++
			r := archive.Record{Entry: n % len(names), DB: n % 3, Form: archive.Dump, Key: key, Payload: payload}
			if err := w.Add(&r); err != nil {
				t.Fatal(err)
			}
		}
	}
	add()
	expect.Allocates(t, 4<<20, add) // 100,000 records of 33 MB
}
