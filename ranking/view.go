package ranking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// Row represents a member of a ranking.
type Row[M any, S Number] struct {
	Member M
	Score  S
	Rank   int64 // 1 is the top
	cursor Cursor
}

// Cursor returns the place of this row: After gives what follows it.
func (r Row[M, S]) Cursor() Cursor { return r.cursor }

// Cursor represents a place in a ranking, a score and a member: text that can be handed to a caller and back. It
// stays valid when other members change: a member that does not change is on exactly one of the pages that follow
// each other.
type Cursor string

// cut reads a cursor: the stored score and the member.
func (c Cursor) cut() (score float64, member string, err error) {
	text, member, ok := strings.Cut(string(c), " ")
	score, err = strconv.ParseFloat(text, 64)
	if !ok || err != nil || math.IsNaN(score) {
		return 0, "", errors.New("this is no cursor of a ranking")
	}
	return score, member, nil
}

// View represents a ranking to be read: a period's, or a window's. It is a small value
// and keeps nothing. All reads are one round trip; a ranking that is not there
// has no rows.
type View[M any, S Number] struct {
	client *keywright.Client
	entry  *keywright.Entry
	member *value.Codec[M]
	score  *value.Score[S]
	packed bool // scores have the time in their fraction
	script scripts
	key    string
	window *window // nil: the key is a period's
	err    error
}

// MaxRows says how many rows one read gives at most: a script holds up the server
// while it runs.
const MaxRows = typed.MaxElements

// scripts describes what a ranking runs.
type scripts struct {
	write, read, window, cached *keywright.Script
	builder                     builder
}

func newScripts(parts *lua.Set) scripts {
	return scripts{
		write:  keywright.NewScript("ranking write", parts.Later("write")),
		read:   keywright.NewReadOnlyScript("ranking read", parts.Later("read")),
		window: keywright.NewScript("ranking window", parts.Later("window")),
		cached: keywright.NewReadOnlyScript("ranking cached", parts.Later("cached")),

		builder: newBuilder(parts),
	}
}

var standard = newScripts(parts)

// Top gives the n highest rows. Of a group of ties at the end it gives those
// that come first by the rule.
func (v View[M, S]) Top(ctx context.Context, n int) ([]Row[M, S], error) {
	return v.read(ctx, query{what: "range", n: n})
}

// Rank gives the row of m; ErrNotFound if it is no member.
func (v View[M, S]) Rank(ctx context.Context, m M) (Row[M, S], error) {
	text, err := v.member.Encode(m)
	return first(v.read(ctx, query{what: "rank", member: text, n: 1, err: err}))
}

// Around gives the row of m with the n above and the n below it; ErrNotFound if
// it is no member.
func (v View[M, S]) Around(ctx context.Context, m M, n int) ([]Row[M, S], error) {
	text, err := v.member.Encode(m)
	return v.read(ctx, query{what: "around", member: text, n: n, err: err})
}

// After gives the n rows that follow a cursor; an empty cursor is before the
// top. The row of the cursor may have gone or moved meanwhile.
func (v View[M, S]) After(ctx context.Context, c Cursor, n int) ([]Row[M, S], error) {
	if c == "" {
		return v.Top(ctx, n)
	}
	score, member, err := c.cut()
	return v.read(ctx, query{what: "after", score: score, member: member, n: n, err: err})
}

// query represents one question to a ranking.
type query struct {
	what   string
	member string
	score  float64
	n      int
	err    error
}

// args returns the arguments of read.lua.
func (q query) args() []string {
	n := strconv.Itoa(q.n)
	switch q.what {
	case "range":
		return []string{q.what, "0", n, ""}
	case "after":
		return []string{q.what, strconv.FormatFloat(q.score, 'g', -1, 64), q.member, n}
	}
	return []string{q.what, q.member, n, ""}
}

func (v View[M, S]) read(ctx context.Context, q query) ([]Row[M, S], error) {
	if rows := q.n; rows < 0 || rows > MaxRows || rows == 0 && q.what != "around" ||
		q.what == "around" && 2*rows >= MaxRows {
		q.err = fmt.Errorf("%d rows were asked for; 1 to %d are read at once", rows, MaxRows)
		if q.what == "around" {
			q.err = fmt.Errorf("%d rows on each side were asked for; 0 to %d are read at once", rows, (MaxRows-1)/2)
		}
	}
	q.err = invalid(v.entry, v.err, q.err)
	if q.err == nil && v.window != nil && v.window.crossSlot(v.client, v.key) {
		return v.merged(ctx, q)
	}
	got, err := v.ask(ctx, q)
	if err == nil && got.absent {
		return v.built(ctx, q)
	}
	return got.rows, err
}

// ask runs one script, which answers unless the window has to be built.
func (v View[M, S]) ask(ctx context.Context, q query) (answer[M, S], error) {
	action := kernel.Action{Client: v.client, Name: q.what, Entry: v.entry, Effect: keywright.Reads, Key: v.key,
		Err: q.err}
	spec := kernel.Spec[answer[M, S]]{Action: action, Script: v.script.read, Keys: []string{v.key}, Args: q.args(),
		Decode: v.rows}
	if v.window != nil {
		spec.Effect, spec.Script = keywright.Idempotent, v.script.window
		spec.Keys = append(spec.Keys, v.window.keys...)
		spec.Args = append(spec.Args, v.window.args...)
	}
	return kernel.NewOp(spec).Do(ctx)
}

// answer describes what read.lua gives.
type answer[M any, S Number] struct {
	rows   []Row[M, S]
	absent bool // the window is not there
}

// rows decodes what read.lua returns.
func (v View[M, S]) rows(r kernel.Reply) (a answer[M, S], err error) {
	values, err := r.ToArray()
	if kernel.IsNil(err) {
		return a, keywright.ErrNotFound
	}
	if err != nil {
		return a, err
	}
	place, err := values[0].AsInt64()
	if err != nil {
		return a, err
	}
	texts, err := values[1].AsStrSlice()
	if err != nil {
		return a, err
	}
	a = answer[M, S]{make([]Row[M, S], len(texts)/2), place < 0}
	for i := range a.rows {
		if a.rows[i], err = v.row(place+int64(i)+1, texts[2*i], texts[2*i+1]); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (v View[M, S]) row(rank int64, member, stored string) (row Row[M, S], err error) {
	f, err := strconv.ParseFloat(stored, 64)
	if err != nil {
		return row, &keywright.DecodeError{Err: errors.New("a score is no number")}
	}
	if v.packed {
		f = math.Floor(f)
	}
	row = Row[M, S]{Rank: rank, cursor: Cursor(stored + " " + member)}
	if row.Member, err = v.member.Parse(member); err == nil {
		row.Score, err = v.score.From(f)
	}
	if err != nil {
		return row, &keywright.DecodeError{Err: err}
	}
	return row, nil
}
