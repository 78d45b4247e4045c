package upkeep

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// ReadStats looks at the entity: see entity.Store.Stats.
func ReadStats(ctx context.Context, s *itemkeys.Keys) (st maintenance.Stats, err error) {
	now, err := s.Now(ctx)
	if err == nil {
		st.Items, err = itemkeys.Ask(ctx, s, s.Spec.Records, []string{"HLEN"}, itemkeys.Integer)
	}
	if err == nil && st.Items > 0 {
		var marks int64
		marks, err = itemkeys.Ask(ctx, s, s.Spec.Records, []string{"HEXISTS", ""}, itemkeys.Integer)
		st.Items -= marks
	}
	if err != nil || s.Spec.Expires == "" {
		return st, err
	}
	ms := strconv.FormatInt(now, 10)
	if st.Expired, err = itemkeys.Ask(ctx, s, s.Spec.Expires, []string{"ZCOUNT", "-inf", ms},
		itemkeys.Integer); err != nil {
		return st, err
	}
	if st.Expired > 0 {
		first, err := itemkeys.Ask(ctx, s, s.Spec.Expires, []string{"ZRANGE", "0", "0", "WITHSCORES"}, kernel.Reply.AsZScores)
		if err == nil && len(first) == 1 {
			st.Late = max(time.Duration(float64(now)-first[0].Score)*time.Millisecond, 0)
		}
	}
	text, err := itemkeys.Ask(ctx, s, s.Spec.Lease, []string{"GET"}, itemkeys.OptionalText)
	st.Sweeper = lease.Holder(text)
	return st, err
}
