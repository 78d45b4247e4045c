package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// link writes an archive that adds to another one, or to none.
func link(t testing.TB, base *archive.Archive, records ...archive.Record) ([]byte, *archive.Archive) {
	t.Helper()
	m := meta
	if base != nil {
		m.Base = base.Sum()
	}
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, m, archive.Deflate)
	must(t, err)
	for i := range records {
		must(t, w.Add(&records[i]))
	}
	_, err = w.Close()
	must(t, err)
	a, err := archive.Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
	must(t, err)
	return out.Bytes(), a
}

// text returns a string as DUMP has it.
func text(db, entry int, key, value string) archive.Record {
	return archive.Record{DB: db, Entry: entry, Key: []byte(key), Kind: source.String, Form: archive.Dump, RDB: 10,
		Payload: []byte("\x00" + string(rune(len(value))) + value)}
}

func deletedRecord(db, entry int, key string) archive.Record {
	return archive.Record{DB: db, Entry: entry, Key: []byte(key), Kind: source.String, Form: archive.Gone}
}

func half(key string, part int, more bool, elements ...string) archive.Record {
	r := archive.Record{Entry: 0, Key: []byte(key), Kind: source.Hash, Form: archive.Elements, Part: part, More: more}
	for _, e := range elements {
		r.Payload = archive.AppendText(r.Payload, []byte(e))
	}
	return r
}

// values returns the values of a chain; one that comes twice has the word twice.
func values(c *archive.Chain) (map[string]string, error) {
	out := map[string]string{}
	order, _ := c.Databases()
	for _, db := range order {
		for v, err := range c.Values(db, nil) {
			if err != nil {
				return out, err
			}
			key := fmt.Sprint(db, " ", string(v.Key))
			if _, twice := out[key]; twice {
				out[key] = "twice"
				continue
			}
			var all []string
			if err := v.Elements(func(elements [][]byte, _ bool) error {
				for _, e := range elements {
					all = append(all, string(e))
				}
				return nil
			}); err != nil {
				return out, err
			}
			out[key] = fmt.Sprint(all)
		}
	}
	return out, nil
}

// Of each key a chain has what the newest archive says, whatever its entry was, and
// nothing of what was deleted since; the archives are found in any order.
func TestChain(t *testing.T) {
	t.Parallel()
	_, first := link(t, nil, text(0, 0, "a", "1"), text(0, 0, "b", "1"), text(0, 1, "c", "1"), text(0, 0, "d", "1"),
		text(2, 0, "a", "other"),
		text(0, 0, "scanned", "1"), text(0, 0, "scanned", "1"), half("h", 0, true, "f", "1"), half("h", 1, false, "g", "1"),
		half("kept", 0, false, "f", "1", "f", "1"))
	_, second := link(t, first, text(0, 0, "a", "2"), deletedRecord(0, 0, "b"), text(0, 0, "c", "2"), half("h", 0, true, "f", "2"),
		half("h", 1, false, "g", "2"), half("cut", 0, true, "f", "2"))
	_, third := link(t, second, deletedRecord(0, 0, "a"), text(0, 0, "b", "3"), text(0, 0, "e", "3"),
		half("h", 0, true, "never ended", "3"))
	want := map[string]string{"0 b": "[3]", "0 c": "[2]", "0 d": "[1]", "0 e": "[3]", "2 a": "[other]", "0 scanned": "[1]",
		"0 h": "[f 2 g 2]", "0 kept": "[f 1]"}
	for _, others := range [][]*archive.Archive{{first, second}, {second, first}, {third, second, second, first}} {
		c, err := archive.NewChain(third, others...)
		must(t, err)
		got, err := values(c)
		must(t, err)
		if !maps.Equal(got, want) || c.Newest() != third || len(c.Archives()) != 3 || c.Single() {
			t.Errorf("%v, not %v", got, want)
		}
	}
	for _, others := range [][]*archive.Archive{nil, {first}, {second}, {third}} {
		var missing *archive.BaseError
		if _, err := archive.NewChain(third, others...); !errors.As(err, &missing) {
			t.Errorf("%d others: %v", len(others), err)
		}
	}
}

// More keys than are held at a time come once each, too.
func TestLongChain(t *testing.T) {
	t.Parallel()
	const n = 300_000
	var old, young []archive.Record
	for i := range n {
		key := fmt.Sprint("key:", i)
		old = append(old, text(0, 0, key, "old"))
		if i%3 == 0 {
			young = append(young, deletedRecord(0, 0, key))
		} else if i%3 == 1 {
			young = append(young, text(0, 1, key, "young"))
		}
	}
	_, first := link(t, nil, old...)
	_, second := link(t, first, young...)
	c, err := archive.NewChain(second, first)
	must(t, err)
	got, err := values(c)
	must(t, err)
	count := map[string]int{}
	for _, value := range got {
		count[value]++
	}
	if !maps.Equal(count, map[string]int{"[old]": n / 3, "[young]": n / 3}) {
		t.Error(count)
	}
}

// Each flipped bit and each cut of any archive of a chain is found by reading the chain.
func TestEachFlippedBitOfAChainIsFound(t *testing.T) {
	t.Parallel()
	base, first := link(t, nil, text(0, 0, "a", "1"), text(0, 0, "b", "1"), half("h", 0, true, "f", "1"),
		half("h", 1, false, "g", "1"))
	added, second := link(t, first, text(0, 0, "a", "2"), deletedRecord(0, 0, "b"), text(3, 1, "c", "2"))
	good, err := archive.NewChain(second, first)
	must(t, err)
	want, err := values(good)
	must(t, err)
	read := func(files ...[]byte) (map[string]string, error) {
		var all []*archive.Archive
		for _, file := range files {
			a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		c, err := archive.NewChain(all[1], all[0])
		if err != nil {
			return nil, err
		}
		return values(c)
	}
	if got, err := read(base, added); err != nil || !maps.Equal(got, want) {
		t.Fatal(got, err)
	}
	for which, file := range [][]byte{base, added} {
		files := [][]byte{base, added}
		for bit := range len(file) * 8 {
			files[which] = slices.Clone(file)
			files[which][bit/8] ^= 1 << (bit % 8)
			if _, err := read(files...); err == nil {
				t.Fatalf("file %d: bit %d of byte %d is flipped, and nothing is said", which, bit%8, bit/8)
			}
		}
		for n := range file {
			files[which] = file[:n]
			if _, err := read(files...); err == nil {
				t.Fatalf("file %d: cut at %d of %d, and nothing is said", which, n, len(file))
			}
		}
	}
}
