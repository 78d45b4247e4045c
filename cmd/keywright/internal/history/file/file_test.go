package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/historytest"
)

func opened(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.db.NoSync = true // these tests lose no power
	return f
}

func TestFileIsAHistory(t *testing.T) {
	historytest.Run(t, func(t testing.TB) history.Store {
		return opened(t, filepath.Join(t.TempDir(), "h.db"))
	})
}

// A file is one process's at a time, its figures are there when it is opened again, and
// only its owner may read it.
func TestFileIsOpenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	f := opened(t, path)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if err := f.Append(t.Context(), "a", at, map[string]history.Point{"x": {Keys: 7}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, at); !errors.Is(err, history.ErrInUse) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = opened(t, path)
	defer f.Close()
	if got, err := f.At(t.Context(), "a", history.Raw, at); err != nil || got["x"].Keys != 7 {
		t.Error(got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// A file that is no history is put aside, with what is in it; one that cannot be read is
// left as it is.
func TestDamagedFileIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	text := make([]byte, 64<<10)
	copy(text, "this was written by something else")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, time.Now())
	var damaged *history.Damaged
	if !errors.As(err, &damaged) || f == nil {
		t.Fatal(f, err)
	}
	defer f.Close()
	if kept, err := os.ReadFile(damaged.Aside); err != nil || string(kept) != string(text) {
		t.Error("what was in the file is lost", err)
	}
	if err := f.Append(t.Context(), "a", time.Now(), map[string]history.Point{"x": {}}); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.TempDir(), time.Now()); err == nil || errors.As(err, &damaged) {
		t.Error("a folder was opened or moved", err)
	}
}

// A file that is cut anywhere, or has lost a page, is put aside; one that is good in each page that is in use is not.
func TestCutFileIsPutAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "h.db")
	f := opened(t, path)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 50 {
		points := map[string]history.Point{}
		for e := range 200 {
			points[fmt.Sprintf("entry_%d", e)] = history.Point{Keys: int64(e)}
		}
		now = now.Add(time.Hour)
		if err := f.Append(t.Context(), "a", now, points); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, aside := os.Getpagesize(), 0
	try := func(what string, text []byte) {
		path := filepath.Join(t.TempDir(), "h.db")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, now)
		var damaged *history.Damaged
		switch {
		case errors.As(err, &damaged):
			aside++
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		}
		_ = f.Close()
	}
	for _, n := range []int{1, page, 2 * page, 2*page + 1, 4 * page, len(good) / 2, len(good)/2 + 7} {
		try(fmt.Sprint("cut at ", n), good[:n])
	}
	if aside != 7 {
		t.Errorf("%d of 7 cut files were put aside", aside)
	}
	for n := 2; n < len(good)/page; n += 1 + len(good)/page/20 {
		try(fmt.Sprint("without page ", n), slices.Concat(good[:n*page], make([]byte, page), good[(n+1)*page:]))
	}
}

// What 300 entries take for 400 days, and how long a page's question takes: printed.
func BenchmarkYear(b *testing.B) {
	f := opened(b, filepath.Join(b.TempDir(), "h.db"))
	defer f.Close()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 400 * 24 {
		points := map[string]history.Point{}
		for e := range 300 {
			points[fmt.Sprintf("some_entry_%d", e)] = history.Point{Keys: int64(e*1000 + i%97),
				Bytes: int64(e*100_000 + i*13%9973), Violations: map[string]int64{"KW505": int64(i % 7)}}
		}
		now = now.Add(time.Hour)
		if err := f.Append(b.Context(), "a", now, points); err != nil {
			b.Fatal(err)
		}
		if i%(30*24) == 0 {
			if err := f.Prune(b.Context(), now); err != nil {
				b.Fatal(err)
			}
		}
	}
	info, err := os.Stat(f.path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
	for b.Loop() {
		for _, step := range []history.Step{history.Raw, history.Hour, history.Day} {
			q := history.Query{Target: "a", Entry: "some_entry_7", Step: step, From: now.Add(-history.Kept[step]), To: now}
			if points, err := f.Range(b.Context(), q); err != nil || len(points) == 0 {
				b.Fatal(len(points), err)
			}
		}
	}
}
