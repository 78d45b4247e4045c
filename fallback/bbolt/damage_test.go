package bbolt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
	"github.com/keywright/keywright/internal/gate"
)

const damagedItems = 150

func damagedID(i int) string { return fmt.Sprintf("item-%03d", i) }

// filled returns a file with every kind of page, and what is in it.
func filled(t *testing.T) (data []byte, content string) {
	path := filepath.Join(t.TempDir(), "second")
	f := file(t, path)
	s, err := f.Store("notes", fallback.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range damagedItems {
		text := strings.Repeat("x", 60)
		if i == 7 {
			text = strings.Repeat("long ", 2000) // several pages
		}
		c := fallback.Copy{ID: damagedID(i),
			Record: fallback.Record{Fields: fallback.Fields{"text": text}, Version: 5, AsOf: time.Now()}}
		if err := s.Put(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if i%8 == 0 {
			if _, err := write(s, damagedID(i), 200); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Reject(t.Context(), damagedID(0), fallback.Record{Version: 9, AsOf: time.Now()}); err != nil {
		t.Fatal(err)
	}
	content = dump(t, s)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, content
}

// dump returns all that a store gives.
func dump(t *testing.T, s fallback.Store) string {
	t.Helper()
	var out strings.Builder
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range damagedItems {
		r, known, err := s.Get(t.Context(), damagedID(i))
		must(err)
		fmt.Fprintln(&out, r, known)
	}
	entries, err := s.Next(t.Context(), 0, 1000)
	must(err)
	conflicts, err := s.Conflicts(t.Context())
	must(err)
	stats, err := s.Stats(t.Context())
	must(err)
	fmt.Fprintln(&out, entries, conflicts, stats)
	return out.String()
}

// opened opens a file with these bytes: either it is found damaged and put aside as
// it is, or all that was written is there.
func opened(t *testing.T, what string, data []byte, content string) (damaged bool) {
	t.Helper()
	folder := t.TempDir()
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "second")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := bbolt.Open(path, bbolt.Options{NoSync: true})
	if err == nil {
		s, err := f.Store("notes", fallback.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := dump(t, s); got != content {
			t.Errorf("%s: opened, and something is gone or another", what)
		}
		if e, err := write(s, "one more", 1); err != nil || e.Seq != damagedItems/8+2 {
			t.Errorf("%s: the next write has the number %d, %v", what, e.Seq, err)
		}
		if err := f.Close(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return false
	}
	d := (*bbolt.Damaged)(nil)
	if !errors.As(err, &d) || !errors.Is(err, fallback.ErrDamaged) || !strings.Contains(err.Error(), d.Aside) {
		t.Fatalf("%s: %v", what, err)
	}
	if kept, err := os.ReadFile(d.Aside); err != nil || !bytes.Equal(kept, data) {
		t.Fatalf("%s: put aside as %q: %v", what, d.Aside, err)
	}
	return true
}

// sample reports whether one of n cases runs: all of them in a soak, and few in the gate.
func sample(r *rand.Rand, n int) bool {
	if !gate.All() {
		n *= 10
	}
	return os.Getenv("KEYWRIGHT_SOAK") != "" || r.IntN(n) == 0
}

func TestEveryTurnedBitIsFoundWhenAFileIsOpened(t *testing.T) {
	data, content := filled(t)
	t.Logf("%d bytes", len(data))
	r := gate.Rand(t)
	size := os.Getpagesize()
	found := map[uint16]int{}
	for bit := range len(data) * 8 {
		page := data[bit/8/size*size:]
		kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
		rate := 4000
		if bit/8%size < 16+16*count || kind == 4 && bit/8%size < 80 { // what says where things are
			rate = 40
		}
		if !sample(r, rate) {
			continue
		}
		data[bit/8] ^= 1 << (bit % 8)
		if opened(t, fmt.Sprintf("bit %d of byte %d", bit%8, bit/8), data, content) {
			found[kind]++
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	for _, kind := range []uint16{1, 2, 4} {
		if found[kind] == 0 {
			t.Errorf("no damage was found in pages of kind %d: %v", kind, found)
		}
	}
}

// The numbers that are given to writes are in no row: one that came again would
// take the place of a write that waits.
func TestATurnedNumberIsFound(t *testing.T) {
	data, content := filled(t)
	places := 0
	for at := 0; ; places++ {
		i := bytes.Index(data[at:], []byte("log"))
		if i < 0 {
			break
		}
		at += i + 3
		for bit := range 5 {
			data[at+8] ^= 1 << bit
			opened(t, fmt.Sprintf("bit %d of the number at byte %d", bit, at+8), data, content)
			data[at+8] ^= 1 << bit
		}
	}
	if places == 0 {
		t.Error("no bucket of that name")
	}
}

func TestEveryCutIsFoundWhenAFileIsOpened(t *testing.T) {
	data, content := filled(t)
	r := gate.Rand(t)
	pages := binary.NativeEndian.Uint64(data[16+40:])
	if second := data[os.Getpagesize():]; binary.NativeEndian.Uint64(second[16+48:]) > binary.NativeEndian.Uint64(
		data[16+48:]) {
		pages = binary.NativeEndian.Uint64(second[16+40:])
	}
	used := int(pages) * os.Getpagesize()
	for cut := range len(data) {
		if !sample(r, 2000) && cut > 20 && cut%os.Getpagesize() != 0 {
			continue
		}
		if !opened(t, fmt.Sprintf("%d bytes", cut), data[:cut], content) && cut < used {
			t.Errorf("%d bytes of %d are a whole file", cut, len(data))
		}
	}
}

// A damaged file does not keep a program from starting for ever, and none of them is
// overwritten.
func TestAfterDamageTheNextOpenMakesANewFile(t *testing.T) {
	data, _ := filled(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "second")
	for range 3 {
		if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bbolt.Open(path, bbolt.Options{}); !errors.Is(err, fallback.ErrDamaged) {
			t.Fatal(err)
		}
		f := file(t, path)
		s, err := f.Store("notes", fallback.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write(s, "a", 1); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := filepath.Glob(path + ".damaged-*"); len(list) != 3 {
		t.Errorf("%v %v", list, err)
	}
	if list, err := filepath.Glob(path + ".new-*"); len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
}

// A panic of the function that a caller gives is the caller's, and the file goes on.
func TestAPanicOfACallerIsNoDamage(t *testing.T) {
	f := file(t, filepath.Join(t.TempDir(), "second"))
	defer f.Close()
	s, err := f.Store("notes", fallback.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("%v", p)
			}
		}()
		_, _ = s.Append(ctx, "a", func(fallback.Record, bool) (fallback.Entry, fallback.Record, error) { panic("mine") })
	}()
	if _, err := write(s, "a", 1); err != nil {
		t.Error(err)
	}
}
