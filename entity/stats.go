package entity

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// Stats describes how an entity is doing.
type Stats struct {
	Items   int64         // in the ledger: the living, and those that wait to be swept
	Expired int64         // that wait to be swept
	Late    time.Duration // for how long the first of them has
	Sweeper string        // the process that holds the lease of the sweep, "" for none
}

// Stats looks at the entity: see entity.Store.Stats.
func (s *core) Stats(ctx context.Context) (st Stats, err error) {
	now, err := s.now(ctx)
	if err == nil {
		st.Items, err = ask(ctx, s, s.spec.Ledger, []string{"HLEN"}, integer)
	}
	if err == nil && st.Items > 0 {
		var marks int64
		marks, err = ask(ctx, s, s.spec.Ledger, []string{"HEXISTS", ""}, integer)
		st.Items -= marks
	}
	if err != nil || s.spec.Expires == "" {
		return st, err
	}
	ms := strconv.FormatInt(now, 10)
	if st.Expired, err = ask(ctx, s, s.spec.Expires, []string{"ZCOUNT", "-inf", ms}, integer); err != nil {
		return st, err
	}
	if st.Expired > 0 {
		first, err := ask(ctx, s, s.spec.Expires, []string{"ZRANGE", "0", "0", "WITHSCORES"}, kernel.Reply.AsZScores)
		if err == nil && len(first) == 1 {
			st.Late = max(time.Duration(float64(now)-first[0].Score)*time.Millisecond, 0)
		}
	}
	text, err := ask(ctx, s, s.spec.Lease, []string{"GET"}, optionalText)
	st.Sweeper = lease.Holder(text)
	return st, err
}
