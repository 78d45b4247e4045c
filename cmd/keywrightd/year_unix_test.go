//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/cmd/keywrightd/internal/sqlstore"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/chunk"
)

// TestYear: 400 days of 300 entries take less than 200 MB in each database, with what a day of audits leaves beside
// them. How long a page's questions take is printed; that they look at a few rows by an index is held.
func TestYear(t *testing.T) {
	t.Parallel()
	const entries, most = 300, 200_000_000
	p := startPostgres(t)
	pg, db := p.fresh(t), p.open(t)
	path := filepath.Join(t.TempDir(), "h.db")
	for kind, name := range map[string]string{"PostgreSQL": pg, "SQLite": "sqlite:" + path} {
		t.Run(kind, func(t *testing.T) {
			s := opened(t, name)
			now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
			if err := s.Append(t.Context(), "a", now.Add(-time.Hour), map[string]history.Point{"(total)": {}}); err != nil {
				t.Fatal(err)
			}
			direct := db
			if kind == "SQLite" {
				var err error
				if direct, err = sql.Open("sqlite", path); err != nil {
					t.Fatal(err)
				}
				defer direct.Close()
			}
			fill(t, direct, map[string]string{"SQLite": "", "PostgreSQL": fmt.Sprintf("s%d.", p.n.Load())}[kind], now, entries)
			for i := range 24 {
				points := map[string]history.Point{}
				for e := range entries {
					points[entryName(e)] = pointOf(i, e)
				}
				if err := s.Append(t.Context(), "a", now.Add(time.Duration(i)*15*time.Minute), points); err != nil {
					t.Fatal(err)
				}
			}
			now = now.Add(6 * time.Hour)
			if err := s.Prune(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			var bytes int64
			if kind == "SQLite" {
				for _, name := range []string{path, path + "-wal"} {
					if info, err := os.Stat(name); err == nil {
						bytes += info.Size()
					}
				}
			} else {
				bytes = one(t, db,
					"SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relkind = 'r' AND relname LIKE 'keywright_%'")
			}
			for what, ask := range map[string]func() (int, error){
				"raw":  func() (int, error) { return ranged(t, s, history.Raw, now) },
				"hour": func() (int, error) { return ranged(t, s, history.Hour, now) },
				"day":  func() (int, error) { return ranged(t, s, history.Day, now) },
				"since yesterday": func() (int, error) {
					then, err := s.At(t.Context(), "a", history.Raw, now.AddDate(0, 0, -1))
					return len(then), err
				},
			} {
				var took []time.Duration
				n := 0
				for range 9 {
					began := time.Now()
					var err error
					if n, err = ask(); err != nil || n == 0 {
						t.Fatal(what, n, err)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				t.Logf("%s, %s: %d points in %s (median of 9)", kind, what, n, took[4])
			}
			looksAtLittle(t, direct, kind,
				map[string]string{"SQLite": "", "PostgreSQL": fmt.Sprintf("s%d.", p.n.Load())}[kind], now)
			t.Logf("%s: %.1f MB for 400 days of %d entries", kind, float64(bytes)/1e6, entries)
			if bytes > most || bytes < 5_000_000 {
				t.Errorf("%d bytes, of at most %d", bytes, most)
			}
		})
	}
}

// looksAtLittle holds the questions of pages to an index, and to so many rows: a page has 300 entries at most.
func looksAtLittle(t *testing.T, db *sql.DB, kind, schema string, now time.Time) {
	t.Helper()
	for number, step := range chunk.Steps {
		begins := chunk.Begin(now, step)
		from := chunk.Begin(now.Add(-history.Kept[step]), step)
		for _, ask := range []struct {
			text string
			args []any
			most int
		}{
			{sqlstore.RangeText, []any{[]byte("a"), number, []byte(entryName(7)), from, now.Unix()}, 20},
			{sqlstore.AtText, []any{[]byte("a"), number, begins, begins - int64(chunk.Spans[step]/time.Second)}, 602},
		} {
			text, scans := ask.text, "SCAN "
			explain := "EXPLAIN QUERY PLAN "
			if kind == "PostgreSQL" {
				text = strings.NewReplacer("?", "$", "keywright_", schema+"keywright_").Replace(text)
				explain, scans = "EXPLAIN ", "Seq Scan on keywright_history_chunk"
			}
			if rows := texts(t, db, text, ask.args); len(rows) == 0 || len(rows) > ask.most {
				t.Errorf("%s, %s: a page looks at %d rows, of at most %d", kind, step, len(rows), ask.most)
			}
			if way := strings.Join(texts(t, db, explain+text, ask.args), "\n"); strings.Contains(way, scans) ||
				!strings.Contains(strings.ToLower(way), "index") {
				t.Errorf("%s, %s: a page reads the whole table:\n%s", kind, step, way)
			}
		}
	}
}

// texts returns the rows of an answer, each as a text.
func texts(t *testing.T, db *sql.DB, text string, args []any) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatal(text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for _, v := range values {
			line += fmt.Sprintf("%s ", *v.(*any))
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func ranged(t *testing.T, s history.Store, step history.Step, now time.Time) (int, error) {
	points, err := s.Range(t.Context(),
		history.Query{Target: "a", Entry: entryName(7), Step: step, From: now.Add(-history.Kept[step]), To: now})
	return len(points), err
}

func entryName(e int) string { return fmt.Sprintf("some_entry_%d", e) }

// pointOf returns a point of an entry with violations of two rules.
func pointOf(i, e int) history.Point {
	return history.Point{Keys: int64(e*1000 + i%97), Bytes: int64(e*100_000 + i*13%9973),
		Violations: map[string]int64{"KW505": int64(i % 7), "KW506": int64(e)}}
}

// fill writes the chunks of all that is kept before a time, of an audit every quarter of an hour, for the only target.
func fill(t *testing.T, db *sql.DB, schema string, now time.Time, entries int) {
	t.Helper()
	apart := map[history.Step]time.Duration{history.Raw: 15 * time.Minute, history.Hour: time.Hour,
		history.Day: 24 * time.Hour}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	insert, err := tx.PrepareContext(t.Context(),
		"INSERT INTO "+schema+"keywright_history_chunk (step, begins, target, entry, points) "+
			"VALUES ($1, $2, (SELECT id FROM "+schema+"keywright_history_target), $3, $4)")
	if err != nil {
		t.Fatal(err)
	}
	for number, step := range chunk.Steps {
		for e := range entries {
			points := map[int64][]history.Point{}
			i := 0
			for at := now.Add(-history.Kept[step]); at.Before(now.Add(-time.Hour)); at = at.Add(apart[step]) {
				p := pointOf(i, e)
				p.At = at
				points[chunk.Begin(at, step)] = append(points[chunk.Begin(at, step)], p)
				i++
			}
			for begins, some := range points {
				if _, err := insert.ExecContext(t.Context(), number, begins, []byte(entryName(e)), chunk.Encode(some)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
