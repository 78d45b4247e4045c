package crossslot

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// TakeOver takes the lease, and opens intents for what is due, past what was passed over. They have the token of
// the sweeper, which acts under each only once: a batch that failed is due again later.
func TakeOver(ctx context.Context, s *itemkeys.Keys, turn *lease.Lease, batch int,
	over *itemkeys.PassedOver) (its []*Intent,
	next, busy time.Duration, err error) {
	if s.Err != nil {
		return nil, 0, 0, s.Err
	}
	keys, sweeper, ttl := s.RecordKeys(), "", "0"
	if s.Spec.Expires != "" {
		keys = append(keys, s.Spec.Lease)
		sweeper, ttl = turn.Args()
	}
	replies, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: s.Action("sweep", keywright.Idempotent, keys[1], nil), Script: s.Scripts.CrossSlot.Due, Keys: keys,
		Args: []string{graceMS(s), sweeper, rand.Text(), ttl, strconv.Itoa(min(batch, MostTaken)),
			strconv.Itoa(over.Items)},
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return nil, 0, 0, s.FormError("", err)
	}
	for i := range replies {
		texts, err := replies[i].AsStrSlice()
		switch {
		case err != nil:
			return nil, 0, 0, err
		case i == 0:
			busy, next = itemkeys.Millis(texts[0]), itemkeys.Millis(texts[1])
			if s.Spec.Expires != "" {
				turn.Took(ctx, busy == 0)
			}
		case len(texts) == 1:
			over.Add(texts[0])
		default:
			it := &Intent{id: texts[0], token: texts[1], kind: texts[2]}
			it.learn(texts[3:])
			its = append(its, it)
		}
	}
	return its, next, busy, s.Step("taken over", "")
}

// MostTaken says how many items are taken over at once: one costs a script some 50 µs.
const MostTaken = 32

// mostSweepRounds says how often a sweeper acts on an item that others write; then it
// leaves it for later.
const mostSweepRounds = 4

// SweepIntents ends intents that were taken over, or that the caller has opened.
func SweepIntents(ctx context.Context, s *itemkeys.Keys, its []*Intent) (done maintenance.Swept, err error) {
	for range mostSweepRounds {
		if len(its) == 0 {
			return done, nil
		}
		if err = Read(ctx, s, its); err == nil {
			err = s.Step("looked", "")
		}
		if err == nil {
			err = act(ctx, s, its)
		}
		if err == nil {
			err = s.Step("indexed", "")
		}
		if err != nil {
			return done, err
		}
		if its, err = closeSwept(ctx, s, its, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// closeSwept closes intents and gives those that need another round.
func closeSwept(ctx context.Context, s *itemkeys.Keys, its []*Intent, done *maintenance.Swept) (rest []*Intent,
	err error) {
	var all []closing
	if err = concede(ctx, s, its); err != nil {
		return nil, err
	}
	for _, it := range its {
		switch {
		case it.unsure: // it is due again
		case it.Item.There:
			all = append(all, closing{Intent: it, found: alive})
		default:
			all = append(all, closing{Intent: it, found: gone, events: s.ExpiredEvents(it.id, "="+it.record)})
		}
	}
	verdicts, err := closeIntents(ctx, s, all...)
	for i, verdict := range verdicts {
		all[i].Closed = verdict == announced || verdict == closed
		switch {
		case verdict == announced || verdict == closed && !all[i].Item.There:
			done.Gone++
		case verdict == closed:
			done.Lives++
		case verdict == again:
			rest = append(rest, all[i].Intent)
		}
	}
	return rest, err
}

// concede marks the indexes that this program does not know as incomplete, before it
// ends what a process has begun that knew them: it cannot put such an item where it
// belongs. A write of this program does the same.
func concede(ctx context.Context, s *itemkeys.Keys, its []*Intent) error {
	for _, it := range its {
		if !it.Item.There || !it.changes() {
			continue
		}
		for t := range s.Traces(it.Members) {
			if t.Index < 0 {
				said, err := s.MarksText(ctx)
				if err == nil {
					err = s.Agree(ctx, said)
				}
				return err
			}
		}
	}
	return nil
}
