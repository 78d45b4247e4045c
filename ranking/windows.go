package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// WindowConfig describes what a window is made of: the last periods of a ranking,
// added up.
type WindowConfig[W Number] struct {
	// Key returns the key of the sum for a window that ends with the period of end. Windows of different lengths or
	// weights need different keys.
	Key func(end time.Time) (string, error)
	// Score encodes the sums: float64 if the weights are no whole numbers.
	Score *value.Score[W]
	// Weights lists the factors of the periods, the newest first: 1, 0.5, 0.25.
	Weights []float64
}

// Windows holds the windows of a ranking.
type Windows[M any, S, W Number] struct {
	board  *Board[M, S]
	entry  *keywright.Entry // of the sorted set that keeps the sum
	config WindowConfig[W]
}

// NewWindows makes the windows of a ranking, which must break ties ByMember: who
// was the first to reach a sum is not stored. The entry of to is the declared sorted
// set that keeps the sum; it must expire, and its TTL is how old the sum may be.
func NewWindows[M any, S, W Number](to keywright.Binding, b *Board[M, S], c WindowConfig[W]) (*Windows[M, S, W],
	error) {
	var err error
	switch {
	case b.Ties != ByMember:
		err = errors.New("a ranking by first to reach has no windows: who reached a sum first is not stored")
	case to.Entry.TTL.Policy != keywright.Expires:
		err = errors.New("the key of a window must expire, and the declaration says " + to.Entry.TTL.Text)
	case len(c.Weights) == 0 || len(c.Weights) > MaxPeriods:
		err = fmt.Errorf("a window has 1 to %d periods, and this has %d", MaxPeriods, len(c.Weights))
	}
	for _, w := range c.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			err = fmt.Errorf("%v is no weight", w)
		}
	}
	if err != nil {
		return nil, &keywright.Error{Class: keywright.Invalid, Op: "window", Entry: to.Entry.Name, Err: err}
	}
	return &Windows[M, S, W]{b, to.Entry, c}, nil
}

// MaxPeriods says how many periods a window has at most.
const MaxPeriods = 1000

// Same returns n weights of 1.
func Same(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// window describes where a view comes from that is a sum.
type window struct {
	keys    []string // of the periods
	weights []float64
	args    []string // of window.lua
	periods *keywright.Entry
	lease   time.Duration // of a builder
}

// Ending returns the window whose newest period is that of end. Its first read adds
// the periods up and keeps the sum for the declared TTL; concurrent ones wait for
// that one sum. Periods with more than AtOnce members together are added up in
// short steps by one client at a time, under the window's key and "-sum"; no reader
// sees the sum before it is complete. In a cluster, periods (or the window) in
// different slots are added up by the client: see MaxMerged.
func (w *Windows[M, S, W]) Ending(end time.Time) View[M, W] {
	b := w.board
	key, err := w.config.Key(end)
	ms, _, bad := w.entry.Choose(nil)
	from := &window{periods: b.bound.Entry, lease: lease, args: []string{strconv.FormatInt(ms, 10), strconv.Itoa(AtOnce)}}
	if ttl := time.Duration(ms) * time.Millisecond; ttl < lease { // as declared, what is no longer than the window
		from.lease = ttl
	}
	at := end
	for i, weight := range w.config.Weights {
		if i > 0 {
			at = b.Step.Add(at, -1)
		}
		period, wrong := b.Key(at)
		err = cmp.Or(err, wrong)
		if !slices.Contains(from.keys, period) { // an hour that comes twice
			from.keys, from.weights = append(from.keys, period), append(from.weights, weight)
			from.args = append(from.args, strconv.FormatFloat(weight, 'g', -1, 64))
		}
	}
	return View[M, W]{client: b.bound.Client, entry: w.entry, member: b.Member, score: w.config.Score, script: b.script,
		key: key, window: from, err: invalid(w.entry, err, bad)}
}

// crossSlot reports whether a cluster cannot add the periods up in one step.
func (w *window) crossSlot(c *keywright.Client, key string) bool {
	return c.CrossSlot(append([]string{key, partial(key)}, w.keys...)...)
}

// MaxMerged says how many different members a window may have that the client adds
// up; about 100 bytes each are held meanwhile. More are an error.
const MaxMerged = 1_000_000

// entry represents a member of a sum.
type entry struct {
	member string
	score  float64
}

// merged answers where the server cannot add up: from the window's key if it is
// there, else from a sum that this client makes, and keeps there if it has at
// most typed.MaxElements members, which is what one step can write. Several
// clients may do so at once; each writes a whole sum with its TTL.
func (v View[M, S]) merged(ctx context.Context, q query) ([]Row[M, S], error) {
	got, err := kernel.NewOp(kernel.Spec[answer[M, S]]{
		Action: kernel.Action{Client: v.client, Name: q.what, Entry: v.entry, Effect: keywright.Reads, Key: v.key},
		Script: v.script.cached, Keys: []string{v.key}, Args: q.args(), Decode: v.rows,
	}).Do(ctx)
	if err != nil || !got.absent {
		return got.rows, err
	}
	all, err := v.sum(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 && len(all) <= typed.MaxElements {
		_ = v.keep(ctx, all) // hooks see a failure; the answer is known without
	}
	return v.from(all, q)
}

// keep writes a sum.
func (v View[M, S]) keep(ctx context.Context, all []entry) error {
	rows := make([]typed.Scored[string, float64], len(all))
	for i, e := range all {
		rows[i] = typed.Scored[string, float64]{Member: e.member, Score: e.score}
	}
	return v.raw(v.entry, v.key).Replace(rows).Do(ctx)
}

// raw returns a sorted set of members and scores as they are stored.
func (v View[M, S]) raw(e *keywright.Entry, key string) typed.ZSet[string, float64] {
	return typed.NewZSet(keywright.Binding{Client: v.client, Entry: e, Key: key}, &anyText, &anyScore)
}

var anyText, anyScore = value.Text(0), value.FloatScore()

// from answers from a sum.
func (v View[M, S]) from(all []entry, q query) ([]Row[M, S], error) {
	slices.SortFunc(all, before)
	at, n := 0, q.n
	switch q.what {
	case "after":
		cursor := entry{q.member, q.score}
		at = sort.Search(len(all), func(i int) bool { return before(all[i], cursor) > 0 })
	case "rank", "around":
		at = slices.IndexFunc(all, func(e entry) bool { return e.member == q.member })
		if at < 0 {
			return nil, keywright.ErrNotFound
		}
		if q.what == "around" {
			below := at + q.n
			at = max(at-q.n, 0)
			n = below - at + 1
		}
	}
	out := make([]Row[M, S], 0, min(n, len(all)-at))
	for i := at; i < min(at+n, len(all)); i++ {
		row, err := v.row(int64(i)+1, all[i].member, strconv.FormatFloat(all[i].score, 'g', -1, 64))
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// sum adds the periods up: each is read in portions of 1000, one after the other,
// so that the sum is not of one moment.
func (v View[M, S]) sum(ctx context.Context) ([]entry, error) {
	sums := map[string]float64{}
	for i, key := range v.window.keys {
		period := map[string]float64{} // a scan may tell a member twice
		for row, err := range v.raw(v.window.periods, key).Each(ctx, 1000) {
			if err != nil {
				return nil, err
			}
			period[row.Member] = row.Score
		}
		for member, score := range period {
			sums[member] += score * v.window.weights[i]
		}
		if len(sums) > MaxMerged {
			return nil, &keywright.Error{Class: keywright.Invalid, Op: "window", Entry: v.entry.Name,
				Err:  fmt.Errorf("the periods lie in different cluster slots and have more than %d members", MaxMerged),
				Hint: "give their keys and the window's the same hash tag, {#…}: then the server adds them up"}
		}
	}
	out := make([]entry, 0, len(sums))
	for member, score := range sums {
		out = append(out, entry{member, score})
	}
	return out, nil
}

// before compares as read.lua does.
func before(a, b entry) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.member, b.member))
}
