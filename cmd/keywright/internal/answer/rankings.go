package answer

import (
	"context"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// Rankings holds the keys of rankings; its JSON names are stable.
type Rankings struct {
	Rankings []Ranking `json:"rankings"`
	Gaps
}

// Ranking represents one key of a ranking.
type Ranking struct {
	Entry   string          `json:"entry"` // with .window: the kept sum over several periods
	Key     finding.JSONKey `json:"key"`
	Members int64           `json:"members"`
	First   *Row            `json:"first,omitempty"`
	Expires float64         `json:"expires_in_seconds,omitempty"` // absent: it does not expire
}

// Row represents a member of a ranking.
type Row struct {
	Rank   int64           `json:"rank"` // 1 is the top
	Member finding.JSONKey `json:"member"`
	Scored
}

// Scored represents a score as JSON has it, which has no infinite numbers.
type Scored struct {
	Score    *float64 `json:"score,omitempty"`    // absent: it is infinite
	Infinite string   `json:"infinite,omitempty"` // inf or -inf
}

// scoreOf returns a score for JSON.
func scoreOf(f float64) Scored {
	if f-f != 0 {
		return Scored{Infinite: map[bool]string{true: "inf", false: "-inf"}[f > 0]}
	}
	return Scored{Score: &f}
}

// RowOf returns a row for a report.
func RowOf(r bind.Row) Row { return Row{r.Rank, finding.JSONKey(r.Member), scoreOf(r.Score)} }

// ReadRankings reads the rankings of entries, each with its first member.
func (r *Reader) ReadRankings(ctx context.Context, entries []*keyspace.Entry) (Rankings, error) {
	report := Rankings{Rankings: []Ranking{}}
	find := r.Rankings
	if find == nil {
		find = func(ctx context.Context, e *keyspace.Entry) ([]*bind.Ranking, bool, error) {
			return bind.Rankings(ctx, r.Client, r.Keyspace, e)
		}
	}
	var all []*bind.Ranking
	for _, e := range entries {
		found, bounded, err := find(ctx, e)
		if err := report.Pass(ctx, e.Name, "", err); err != nil {
			return report, err
		}
		if bounded && err == nil {
			report.Cut = append(report.Cut, Cut{e.Name, len(found)})
		}
		all = append(all, found...)
	}
	err := readInOrder(ctx, r, all, costs[*bind.Ranking](rankingCost), func(k *bind.Ranking) (Ranking, error) {
		return rankingOf(ctx, k)
	}, func(k *bind.Ranking, one Ranking, err error) error {
		if one.First != nil { // else it has expired meanwhile, or could not be read
			report.Rankings = append(report.Rankings, one)
		}
		return report.Pass(ctx, k.Of.Name, k.Name(), err)
	})
	return report, err
}

func rankingOf(ctx context.Context, r *bind.Ranking) (one Ranking, err error) {
	one = Ranking{Entry: r.Of.Name, Key: finding.JSONKey(r.Name())}
	first, err := r.Top(ctx, 1)
	if err != nil || len(first) == 0 {
		return one, err
	}
	if one.Members, err = r.Len(ctx); err != nil {
		return one, err
	}
	if one.Expires, err = ExpiresIn(ctx, r); err == nil {
		row := RowOf(first[0])
		one.First = &row
	}
	return one, err
}

// ExpiresIn returns when a ranking expires, in seconds; 0: never, or it is gone.
func ExpiresIn(ctx context.Context, r *bind.Ranking) (float64, error) {
	left, err := r.TTL().Do(ctx)
	if err == keywright.ErrNotFound {
		err = nil
	}
	return max(left, 0).Seconds(), err // typed.Never is below 0
}
