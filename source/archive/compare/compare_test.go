package compare_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/archive/compare"
)

// made makes an archive of records, entry 0 of two.
func made(t testing.TB, moment archive.Consistency, records ...archive.Record) *archive.Archive {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "00", Entries: []string{"user", "other"}, Consistency: moment}, archive.Deflate)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := w.Add(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// dumped is a value that was read whole.
func dumped(key string, kind source.Kind, payload string) archive.Record {
	return archive.Record{Key: []byte(key), Kind: kind, Form: archive.Dump, RDB: 10, Payload: []byte(payload)}
}

// part is a part of a value.
func part(key string, kind source.Kind, n int, more bool, elements ...string) archive.Record {
	r := archive.Record{Key: []byte(key), Kind: kind, Form: archive.Elements, Part: n, More: more}
	for _, e := range elements {
		r.Payload = archive.AppendText(r.Payload, []byte(e))
	}
	return r
}

func differences(t testing.TB, a, b *archive.Archive) (all []string, r compare.Report) {
	t.Helper()
	r, err := compare.Archives(t.Context(), a, b, compare.Options{}, func(d compare.Difference) error {
		all = append(all, fmt.Sprintf("%d %s %d", d.What, d.Key, d.DB))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all, r
}

// Values are equal whatever their encodings, the order of what has none, and elements
// that a scan gave twice.
func TestEqualValues(t *testing.T) {
	a := made(t, archive.PerKey,
		dumped("set", source.Set, "\x02\x02\x01a\x01b"),
		dumped("ints", source.Set, "\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x02\x00"),
		dumped("hash", source.Hash, "\x04\x02\x01f\x01v\x01g\x01w"),
		dumped("string", source.String, "\x00\xc0\x2a"),
		dumped("zset", source.ZSet, "\x05\x01\x01m\x00\x00\x00\x00\x00\x00\xf8\x3f"),
		dumped("twice", source.String, "\x00\x01x"), dumped("twice", source.String, "\x00\x01y"),
	)
	b := made(t, archive.PerKey,
		part("set", source.Set, 0, true, "b", "a"), part("set", source.Set, 1, false, "b"),
		dumped("ints", source.Set, "\x02\x02\x012\x011"),
		part("hash", source.Hash, 0, true, "g", "w", "f", "v"), part("hash", source.Hash, 1, false, "f", "v"),
		part("string", source.String, 0, true, "4"), part("string", source.String, 1, false, "2"),
		part("zset", source.ZSet, 0, false, "m", "1.50"),
		dumped("twice", source.String, "\x00\x01x"),
	)
	all, r := differences(t, a, b)
	if len(all) > 0 || r.Same != 6 {
		t.Errorf("%q %+v", all, r)
	}
}

// Each kind of difference is found, in both directions, and the report adds up.
func TestDifferences(t *testing.T) {
	expiring := dumped("ttl", source.String, "\x00\x01x")
	expiring.Expires = 5
	elsewhere := dumped("db", source.String, "\x00\x01x")
	elsewhere.DB = 3
	a := made(t, archive.OneMoment, dumped("same", source.String, "\x00\x01x"), dumped("gone", source.String, "\x00\x01x"), dumped("ttl", source.String, "\x00\x01x"),
		dumped("value", source.String, "\x00\x01x"), dumped("db", source.String, "\x00\x01x"), dumped("list", source.List, "\x01\x02\x01a\x01b"), dumped("kind", source.List, "\x01\x01\x01x"))
	b := made(t, archive.OneMoment, dumped("same", source.String, "\x00\x01x"), dumped("new", source.String, "\x00\x01x"), expiring,
		dumped("value", source.String, "\x00\x01y"), elsewhere, dumped("list", source.List, "\x01\x02\x01b\x01a"), dumped("kind", source.Set, "\x02\x01\x01x"))
	all, r := differences(t, a, b)
	want := []string{"1 db 0", "1 gone 0", "2 db 3", "2 new 0", "4 kind 0", "4 list 0", "4 value 0", "8 ttl 0"}
	if d := cmp.Diff(want, all); d != "" {
		t.Error(d)
	}
	if r.Same != 1 || r.Missing != 2 || r.Extra != 2 || r.Changed != 4 || r.Value != 3 || r.TTL != 1 {
		t.Errorf("%+v", r)
	}
}

// More keys than are held at a time are compared all the same.
func TestManyKeys(t *testing.T) {
	const n = 250_000
	var left, right []archive.Record
	for i := range n {
		r := dumped(fmt.Sprint("key:", i), source.String, "\x00\x04"+string(binary.BigEndian.AppendUint32(nil, uint32(i))))
		if i != 17 {
			left = append(left, r)
		}
		if i == n-3 {
			r.Payload = []byte("\x00\x01x")
		}
		if i != 4711 {
			right = append(right, r)
		}
	}
	all, r := differences(t, made(t, archive.OneMoment, left...), made(t, archive.OneMoment, right...))
	want := []string{"1 key:4711 0", "2 key:17 0", fmt.Sprintf("4 key:%d 0", n-3)}
	if d := cmp.Diff(want, all); d != "" || r.Same != n-3 {
		t.Errorf("%s %+v", d, r)
	}
}

// Entries with equal digests are not read: damage in them is not met.
func TestEqualEntriesAreNotRead(t *testing.T) {
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "00", Entries: []string{"user"}}, archive.Plain)
	if err != nil {
		t.Fatal(err)
	}
	r := dumped("key", source.String, "\x00\x05value")
	if err := w.Add(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := out.Bytes()
	file[bytes.Index(file, []byte("value"))] ^= 1
	a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if all, r := differences(t, a, a); len(all) > 0 || r.Same != 1 {
		t.Errorf("%q %+v", all, r)
	}
}
