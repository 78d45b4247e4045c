package event

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

const (
	claimLook  = 1000                   // pending messages that one step of a claim looks at
	claimMost  = 100                    // messages that it takes
	claimPause = 100 * time.Millisecond // between two steps that took nothing
)

// row represents a pending message.
type row struct {
	id, consumer string
	idle, count  int64
}

// pending lists pending messages from an id on: of one consumer, or of all. It is
// O(limit), whatever is pending.
func (c *consumer[M]) pending(ctx context.Context, from, of string, limit int) ([]row, error) {
	s := c.stream
	args := []string{c.group, from, "+", strconv.Itoa(limit)}
	if of != "" {
		args = append(args, of)
	}
	rows, err := command(s, "pending", keywright.Reads, list, "XPENDING", args...).Do(ctx)
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		if p, err := r.ToArray(); err == nil && len(p) == 4 {
			one := row{}
			one.id, _ = p[0].ToString()
			one.consumer, _ = p[1].ToString()
			one.idle, _ = p[2].AsInt64()
			one.count, _ = p[3].AsInt64()
			out = append(out, one)
		}
	}
	return out, err
}

// claim takes over what dead consumers have left: one step of a walk over the
// pending messages, a thousand of them. The walk begins again every quarter of a
// lease, and does not hurry, so that the server has few commands whatever is
// pending elsewhere. What a dead consumer had in hand is claimed in its order: the
// message that it was handling when it died has had the last sign of life.
func (c *consumer[M]) claim(ctx context.Context, free int) error {
	rows, err := c.pending(ctx, c.from, "", claimLook)
	if err != nil {
		return err
	}
	if c.from == "-" {
		clear(c.fresh)
	}
	every := min(c.o.Lease/4, 5*time.Second)
	from, pause := "-", every
	if len(rows) == claimLook {
		from, pause = "("+rows[len(rows)-1].id, min(claimPause, every)
	}
	var found []row
	for _, r := range rows {
		if c.knows(r.id) {
			continue
		}
		// What is this consumer's and not in hand came with a reply that was lost.
		if c.fresh[r.consumer] || r.consumer != c.o.Name && r.idle < c.o.Lease.Milliseconds() {
			c.fresh[r.consumer] = true
			continue
		}
		if found = append(found, r); len(found) == min(free, claimMost) {
			from, pause = "("+r.id, 0
			break
		}
	}
	if err := c.seize(ctx, found); err != nil {
		return err
	}
	c.from, c.due = from, time.Now().Add(pause)
	return nil
}

// seize makes messages this consumer's, unless something has touched them since
// they were looked at, and takes them. It counts no delivery.
func (c *consumer[M]) seize(ctx context.Context, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	s := c.stream
	var batch keywright.Batch
	claims := make([]*keywright.Pending[[]kernel.XRangeSlice], len(rows))
	for i, r := range rows {
		claims[i] = keywright.Queue(&batch, command(s, "claim", keywright.Idempotent, messages, "XCLAIM", c.group, c.o.Name,
			strconv.FormatInt(r.idle, 10), r.id, "RETRYCOUNT", strconv.FormatInt(max(r.count, 1), 10)))
	}
	err := batch.Run(ctx)
	var silent []row
	for i, r := range rows {
		entries, failed := claims[i].Result()
		switch {
		case failed != nil:
		case len(entries) == 1 && entries[0].FieldValues != nil:
			c.take(entries[0], max(r.count, 1))
		default:
			silent = append(silent, r)
		}
	}
	if err != nil {
		return err
	}
	found, err := s.texts(ctx, silent) // another has it, or it was trimmed
	if err != nil {
		return err
	}
	var trimmed []string
	for i, r := range silent {
		if found[i] == nil {
			trimmed = append(trimmed, r.id)
		}
	}
	return c.trimmed(ctx, trimmed)
}

// texts reads messages by their ids: nil for one that is not there any more.
func (s Stream[M]) texts(ctx context.Context, rows []row) ([]*kernel.XRangeSlice, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var batch keywright.Batch
	reads := make([]*keywright.Pending[[]kernel.XRangeSlice], len(rows))
	for i, r := range rows {
		reads[i] = keywright.Queue(&batch, command(s, "read", keywright.Reads, messages, "XRANGE", r.id, r.id))
	}
	err := batch.Run(ctx)
	out := make([]*kernel.XRangeSlice, len(rows))
	for i := range rows {
		if entries, _ := reads[i].Result(); len(entries) == 1 {
			out[i] = &entries[0]
		}
	}
	return out, err
}

// tidying returns how often consumers that are gone are looked for, and how long one
// is silent before it counts as gone.
func (c *consumer[M]) tidying() time.Duration { return max(10*c.o.Lease, time.Minute) }

// clean removes consumers that are gone and have nothing pending.
func (c *consumer[M]) clean(ctx context.Context) error {
	c.tidy = time.Now().Add(c.tidying() + share(c.tidying()))
	all, err := command(c.stream, "consumers", keywright.Reads, list, "XINFO CONSUMERS", c.group).Do(ctx)
	if err != nil {
		return err
	}
	var dead []string
	for _, one := range all {
		is, _ := one.AsMap()
		name, pending, idle := is["name"], is["pending"], is["idle"]
		who, _ := name.ToString()
		open, _ := pending.AsInt64()
		silent, _ := idle.AsInt64()
		if who != c.o.Name && open == 0 && silent > c.tidying().Milliseconds() {
			dead = append(dead, who)
		}
	}
	return c.remove(ctx, dead)
}
