package bind

import (
	"context"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/ranking"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// Row represents a member of a ranking, as text, and its score, without what is stored with it to
// order ties.
type Row = ranking.Row[string, float64]

// Ranking represents one key of a ranking: a period, or a kept window.
type Ranking struct {
	typed.Key
	Of *keyspace.Key // what is declared

	set  typed.ZSet[string, float64]
	view view
}

// view represents a ranking that is read.
type view interface {
	Top(ctx context.Context, n int) ([]Row, error)
	Rank(ctx context.Context, member string) (Row, error)
	Around(ctx context.Context, member string, n int) ([]Row, error)
}

var (
	words  = value.Text(0)
	floats = value.FloatScore()
	wholes = value.IntScore(0, 1<<52)
)

// steps lists the words of the options of a ranking.
var steps = map[parts.Constant]ranking.Step{"Hour": ranking.Hour, "Day": ranking.Day, "Month": ranking.Month,
	"Year": ranking.Year}

// RankingAt returns the ranking with this key, which is one of k. What it holds is not looked at.
func RankingAt(c *keywright.Client, ks *keyspace.Keyspace, k *keyspace.Key, key string) *Ranking {
	entry := Entry(ks, k)
	to := keywright.Binding{Client: c, Entry: entry, Key: key}
	r := &Ranking{Key: typed.NewKey(to), Of: k}
	r.set = typed.NewZSet(to, &words, &floats)
	named := func(time.Time) (string, error) { return key, nil }
	step, timed := stepOf(k.Entry)
	if timed && k.Role == "" && k.Entry.Ties == keyspace.FirstToReach {
		if b, err := ranking.New(to, ranking.Config[string, int64]{Key: named, Step: step, Member: &words, Score: &wholes,
			Ties: ranking.FirstToReach}); err == nil {
			r.view = asFloats{b.Of(time.Time{})}
			return r
		}
	}
	// ByMember cannot be refused
	b, _ := ranking.New(to, ranking.Config[string, float64]{Key: named, Member: &words, Score: &floats})
	r.view = b.Of(time.Time{})
	return r
}

func stepOf(e *keyspace.Entry) (ranking.Step, bool) {
	for _, o := range parts.Of(e).Options {
		if word, is := o.Value.(parts.Constant); is && o.Name == "Step" {
			s, known := steps[word]
			return s, known
		}
	}
	return ranking.Step{}, false
}

// Rankings finds the keys of a ranking on the servers, kept windows with them, by key. It
// scans 500 keys a round trip. bounded says that there are more than MaxInstances.
func Rankings(ctx context.Context, c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry) (found []*Ranking,
	bounded bool, err error) {
	for _, k := range e.Keys {
		keys, more, err := keysOf(ctx, c, k, MaxInstances-len(found))
		if err != nil {
			return nil, false, err
		}
		for _, key := range keys {
			found = append(found, RankingAt(c, ks, k, key))
		}
		bounded = bounded || more
	}
	return found, bounded, nil
}

// keysOf finds the keys of one declared key, at most so many, in order. One without
// placeholders is not looked for.
func keysOf(ctx context.Context, c *keywright.Client, k *keyspace.Key, most int) (keys []string, more bool, err error) {
	if len(k.Pattern.Placeholders()) == 0 {
		key, err := Build(k.Pattern, nil)
		return []string{key}, false, err
	}
	primaries, err := c.Primaries(ctx)
	if err != nil {
		return nil, false, err
	}
	seen := map[string]bool{}
	for _, node := range primaries {
		err := scan(ctx, c, node, k, func(key string) bool {
			if _, ok := k.Pattern.Match([]byte(key)); ok && !seen[key] {
				if len(seen) == most {
					more = true
					return false
				}
				seen[key] = true
				keys = append(keys, key)
			}
			return true
		})
		if err != nil {
			return nil, false, err
		}
	}
	slices.Sort(keys)
	return keys, more, nil
}

// Len returns how many members there are; 0 for a ranking that is not there.
func (r *Ranking) Len(ctx context.Context) (int64, error) { return r.set.Len().Do(ctx) }

// Top gives the n highest rows, at most ranking.MaxRows.
func (r *Ranking) Top(ctx context.Context, n int) ([]Row, error) { return r.view.Top(ctx, n) }

// Rank gives the row of a member; ErrNotFound if it is none.
func (r *Ranking) Rank(ctx context.Context, member string) (Row, error) {
	return r.view.Rank(ctx, member)
}

// Around gives the row of a member with the n above and the n below it; ErrNotFound if it is
// none.
func (r *Ranking) Around(ctx context.Context, member string, n int) ([]Row, error) {
	return r.view.Around(ctx, member, n)
}

// asFloats represents a ranking of whole scores.
type asFloats struct{ of ranking.View[string, int64] }

func (a asFloats) Top(ctx context.Context, n int) ([]Row, error) {
	rows, err := a.of.Top(ctx, n)
	return asRows(rows), err
}

func (a asFloats) Rank(ctx context.Context, member string) (Row, error) {
	row, err := a.of.Rank(ctx, member)
	return asRow(row), err
}

func (a asFloats) Around(ctx context.Context, member string, n int) ([]Row, error) {
	rows, err := a.of.Around(ctx, member, n)
	return asRows(rows), err
}

func asRow(r ranking.Row[string, int64]) Row {
	return Row{Member: r.Member, Score: float64(r.Score), Rank: r.Rank}
}

func asRows(rows []ranking.Row[string, int64]) []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = asRow(r)
	}
	return out
}
