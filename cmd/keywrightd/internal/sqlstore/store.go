package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/chunk"
)

// stepOf returns the number that the tables have of a step.
func stepOf(step history.Step) int { return slices.Index(chunk.Steps, step) }

// text returns a statement for the database. Those of this file number their parameters with ?1, ?2 and so on.
func (s *Store) text(statement string) string { return strings.ReplaceAll(statement, "?", s.numbered) }

// transact runs do in a transaction; an error leaves nothing of it.
func (s *Store) transact(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

const ofName = "(SELECT id FROM keywright_history_target WHERE name = ?1)"

// Append implements history.Store.
func (s *Store) Append(ctx context.Context, target string, at time.Time, points map[string]history.Point) error {
	if err := history.Check(target, at, points); err != nil {
		return err
	}
	return s.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			s.text("INSERT INTO keywright_history_target (name) VALUES (?1) ON CONFLICT (name) DO NOTHING"),
			[]byte(target))
		if err != nil {
			return err
		}
		var id int64
		var last sql.NullInt64
		err = tx.QueryRowContext(ctx, s.text("SELECT id, last_at FROM keywright_history_target WHERE name = ?1"+s.forUpdate),
			[]byte(target)).Scan(&id, &last)
		if err != nil {
			return err
		}
		if last.Valid && last.Int64 >= at.Unix() {
			return history.ErrOrder
		}
		_, err = tx.ExecContext(ctx,
			s.text("UPDATE keywright_history_target SET last_at = ?1, first_at = COALESCE(first_at, ?1) WHERE id = ?2"),
			at.Unix(), id)
		if err != nil {
			return err
		}
		for _, step := range chunk.Steps {
			if err := s.appendTo(ctx, tx, id, step, at, points); err != nil {
				return err
			}
		}
		return nil
	})
}

// appendTo adds points to the chunks of a step.
func (s *Store) appendTo(ctx context.Context, tx *sql.Tx, id int64, step history.Step, at time.Time,
	points map[string]history.Point) error {
	begins := chunk.Begin(at, step)
	chunks := map[string][]byte{}
	err := each(ctx, tx,
		s.text("SELECT entry, points FROM keywright_history_chunk WHERE step = ?1 AND begins = ?2 AND target = ?3"),
		[]any{stepOf(step), begins, id}, func(entry string, c []byte) error {
			chunks[entry] = c
			return nil
		})
	if err != nil {
		return err
	}
	rows := make([][]any, 0, len(points))
	for entry, p := range points {
		c, err := chunk.Add(chunks[entry], step, at, p)
		if err != nil {
			return err
		}
		rows = append(rows, []any{stepOf(step), begins, id, []byte(entry), c})
	}
	slices.SortFunc(rows, func(a, b []any) int { return slices.Compare(a[3].([]byte), b[3].([]byte)) })
	for some := range slices.Chunk(rows, rowsAtOnce) {
		if _, err := tx.ExecContext(ctx, s.text(upsert(len(some))), slices.Concat(some...)...); err != nil {
			return err
		}
	}
	return nil
}

// rowsAtOnce says how many chunks a statement writes: it has five parameters for each.
const rowsAtOnce = 500

// upsert returns the statement that writes n chunks.
func upsert(n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO keywright_history_chunk (step, begins, target, entry, points) VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		for j := range 5 {
			b.WriteString([]string{"(?", ", ?", ", ?", ", ?", ", ?"}[j] + strconv.Itoa(5*i+j+1))
		}
		b.WriteString(")")
	}
	b.WriteString(" ON CONFLICT (step, begins, target, entry) DO UPDATE SET points = excluded.points")
	return b.String()
}

// querier represents a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls row with the entry and the chunk of each row.
func each(ctx context.Context, q querier, text string, args []any, row func(entry string, c []byte) error) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var entry, c []byte
		if err := rows.Scan(&entry, &c); err != nil {
			return err
		}
		if err := row(string(entry), c); err != nil {
			return err
		}
	}
	return rows.Err()
}

// The questions of pages.
const (
	RangeText = "SELECT entry, points FROM keywright_history_chunk WHERE target = " + ofName +
		" AND step = ?2 AND entry = ?3 AND begins BETWEEN ?4 AND ?5 ORDER BY begins"
	AtText = "SELECT entry, points FROM keywright_history_chunk WHERE target = " + ofName +
		" AND step = ?2 AND begins IN (?3, ?4) ORDER BY begins DESC"
)

// Range implements history.Store.
func (s *Store) Range(ctx context.Context, q history.Query) (out []history.Point, err error) {
	if q.To.Before(q.From) || q.To.Unix() < 0 {
		return nil, nil
	}
	from := time.Unix(max(q.From.Unix(), 0), 0)
	err = each(ctx, s.db, s.text(RangeText),
		[]any{[]byte(q.Target), stepOf(q.Step), []byte(q.Entry), chunk.Begin(from, q.Step), q.To.Unix()},
		func(_ string, c []byte) (err error) {
			out, err = chunk.Within(out, c, q)
			return err
		})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// At implements history.Store. It looks at the chunks of that time and at those before them.
func (s *Store) At(ctx context.Context, target string, step history.Step, at time.Time) (map[string]history.Point,
	error) {
	out := map[string]history.Point{}
	if at.Unix() < 0 {
		return out, nil
	}
	begins := chunk.Begin(at, step)
	err := each(ctx, s.db, s.text(AtText),
		[]any{[]byte(target), stepOf(step), begins, begins - int64(chunk.Spans[step]/time.Second)},
		func(entry string, c []byte) error {
			if _, there := out[entry]; there {
				return nil
			}
			p, ok, err := chunk.LastBefore(c, at)
			if ok {
				out[entry] = p
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// First implements history.Store.
func (s *Store) First(ctx context.Context, target string) (time.Time, error) {
	var first sql.NullInt64
	err := s.db.QueryRowContext(ctx, s.text("SELECT first_at FROM keywright_history_target WHERE name = ?1"),
		[]byte(target)).
		Scan(&first)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !first.Valid {
		return time.Time{}, nil
	}
	return time.Unix(first.Int64, 0).UTC(), err
}

// Prune implements history.Store.
func (s *Store) Prune(ctx context.Context, now time.Time) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		for _, step := range chunk.Steps {
			done, err := tx.ExecContext(ctx, s.text("DELETE FROM keywright_history_chunk WHERE step = ?1 AND begins < ?2"),
				stepOf(step),
				chunk.Oldest(now, step))
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err != nil || n == 0 || step != history.Day {
				continue
			}
			if err := s.moveFirst(ctx, tx, chunk.Oldest(now, step)+int64(chunk.Spans[step]/time.Second)); err != nil {
				return err
			}
		}
		return nil
	})
}

// moveFirst notes, of each target whose first point was before a time, the first that is there still: days are kept
// for longest.
func (s *Store) moveFirst(ctx context.Context, tx *sql.Tx, before int64) error {
	rows, err := tx.QueryContext(ctx,
		s.text("SELECT id FROM keywright_history_target WHERE first_at < ?1 ORDER BY id"+s.forUpdate), before)
	if err != nil {
		return err
	}
	var targets []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return errors.Join(err, rows.Close())
		}
		targets = append(targets, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range targets {
		var first sql.NullInt64
		err := each(ctx, tx,
			s.text("SELECT entry, points FROM keywright_history_chunk WHERE step = ?1 AND target = ?2 AND begins = "+
				"(SELECT min(begins) FROM keywright_history_chunk WHERE step = ?1 AND target = ?2)"),
			[]any{stepOf(history.Day), id},
			func(_ string, c []byte) error {
				points, err := chunk.Decode(c)
				if len(points) > 0 && (!first.Valid || points[0].At.Unix() < first.Int64) {
					first = sql.NullInt64{Int64: points[0].At.Unix(), Valid: true}
				}
				return err
			})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.text("UPDATE keywright_history_target SET first_at = ?1 WHERE id = ?2"), first, id)
		if err != nil {
			return fmt.Errorf("the first point cannot be noted: %w", err)
		}
	}
	return nil
}
