//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/cmd/keywrightd/internal/sqlstore"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/historytest"
	"github.com/keywright/keywright/internal/history/link"
)

// opened opens a store, which is closed when the test ends.
func opened(t testing.TB, name string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// linked returns a store at the other end of a link.
func linked(t testing.TB, name string) history.Store {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		_ = link.Serve(context.WithoutCancel(t.Context()), far,
			func(ctx context.Context, name string) (history.Store, error) {
				return sqlstore.Open(ctx, name)
			})
	}()
	c, err := link.Open(t.Context(), near, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStores: each database passes the suite of histories, by itself and over a link; several instances make its tables
// at once; a newer form is refused; 400 days fit; turns are one program's.
func TestStores(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	file := func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "h ?#%.db") }
	for kind, fresh := range map[string]func(testing.TB) string{"PostgreSQL": p.fresh, "SQLite": file} {
		t.Run(kind, func(t *testing.T) {
			t.Run("suite", func(t *testing.T) {
				historytest.Run(t, func(t testing.TB) history.Store { return opened(t, fresh(t)) })
			})
			t.Run("suite over a link", func(t *testing.T) {
				historytest.Run(t, func(t testing.TB) history.Store { return linked(t, fresh(t)) })
			})
			t.Run("names", func(t *testing.T) { refused(t, kind) })
		})
	}
	t.Run("many open it at once", func(t *testing.T) { manyOpen(t, p.fresh(t)) })
	t.Run("many append to it", func(t *testing.T) { manyAppend(t, p.fresh(t)) })
	t.Run("a file is one program's", func(t *testing.T) { testExclusive(t, file(t)) })
	t.Run("a newer form", func(t *testing.T) { newer(t, p) })
	t.Run("turns", func(t *testing.T) { turns(t, p.fresh(t)) })
}

// manyOpen: programs that start at the same time make the tables once.
func manyOpen(t *testing.T, name string) {
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			s, err := sqlstore.Open(t.Context(), name)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := s.First(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}

// manyAppend: of points that several programs add at the same times one is kept of each time, and all that were taken
// are there.
func manyAppend(t *testing.T, name string) {
	const programs, times = 3, 40
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var work sync.WaitGroup
	var taken atomic.Int64
	var all [times]atomic.Int64
	for program := range programs {
		s := opened(t, name)
		work.Go(func() {
			for i := range times {
				err := s.Append(t.Context(), "a", start.Add(time.Duration(i)*time.Minute), map[string]history.Point{
					"x": {Keys: int64(i), Bytes: int64(program)}, "y": {Keys: int64(-i), Bytes: int64(program)}})
				switch {
				case err == nil:
					taken.Add(1)
					all[i].Add(1)
				case !errors.Is(err, history.ErrOrder):
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	s := opened(t, name)
	var got [2][]history.Point
	for i, entry := range []string{"x", "y"} {
		var err error
		got[i], err = s.Range(t.Context(),
			history.Query{Target: "a", Entry: entry, Step: history.Raw, From: start, To: start.AddDate(0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if int64(len(got[0])) != taken.Load() || len(got[1]) != len(got[0]) {
		t.Fatalf("%d and %d points, and %d were taken", len(got[0]), len(got[1]), taken.Load())
	}
	for i := range got[0] {
		x, y := got[0][i], got[1][i]
		if x.Keys != -y.Keys || x.Bytes != y.Bytes || all[x.Keys].Load() != 1 {
			t.Errorf("a point is of two programs, or of none: %+v %+v", x, y)
		}
	}
}

// refused: names without an address are reported, and no password is.
func refused(t *testing.T, kind string) {
	names := map[string][]string{
		"SQLite": {"sqlite:", "sqlite:" + t.TempDir(), "sqlite:" + filepath.Join(t.TempDir(), "no", "folder.db")},
		"PostgreSQL": {"postgres://u:secret@127.0.0.1:1/x", "postgres://u:secret@127.0.0.1:nowhere/x",
			"postgres://u:secret@%zz/x"},
	}[kind]
	for _, name := range append(names, "mysql://x", "") {
		s, err := sqlstore.Open(t.Context(), name)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s was opened", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the password: %v", name, err)
		}
	}
	if kind != "SQLite" {
		return
	}
	path := filepath.Join(t.TempDir(), "other")
	text := []byte(strings.Repeat("this was written by something else\n", 500))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlstore.Open(t.Context(), "sqlite:"+path); err == nil {
		_ = s.Close()
		t.Error("a file that is no database was opened")
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != string(text) {
		t.Error("a file that is no database was changed", err)
	}
}

// newer: tables that a newer program has made are left alone.
func newer(t *testing.T, p *postgres) {
	name := p.fresh(t)
	_ = opened(t, name).Close()
	schema := fmt.Sprintf("s%d", p.n.Load())
	if _, err := p.open(t).ExecContext(t.Context(),
		"INSERT INTO "+schema+".keywright_history_form (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(t.Context(), name); err == nil ||
		!strings.Contains(err.Error(), "a newer keywrightd wrote it") {
		t.Error(err)
	}
}

// testExclusive: a file that a program has open is refused to others, until that one has closed it.
func testExclusive(t *testing.T, name string) {
	s := opened(t, name)
	if other, err := sqlstore.Open(t.Context(), name); !errors.Is(err, history.ErrInUse) {
		if err == nil {
			_ = other.Close()
		}
		t.Error("two programs have a file:", err)
	}
	_ = s.Close()
	_ = opened(t, name).Close()
}

// turns: a turn is one program's until it ends it, or ends.
func turns(t *testing.T, name string) {
	a, b := opened(t, name), opened(t, name)
	end, err := a.Turn(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := b.Turn(t.Context(), "y"); err != nil {
		t.Fatal(err)
	} else {
		other()
	}
	soon, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer stop()
	if _, err := b.Turn(soon, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("two programs have a turn:", err)
	}
	end()
	if _, err := b.Turn(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	_ = b.Close() // it ends without a word
	if end, err = a.Turn(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	end()
}
