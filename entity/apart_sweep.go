package entity

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// takeOver takes the lease, and opens intents for what is due, past what was passed over. They have the token of
// the sweeper, which acts under each only once: a batch that failed is due again later.
func (s *core) takeOver(ctx context.Context, turn *lease.Lease, batch int, over *passed) (its []*intent,
	next, busy time.Duration, err error) {
	if s.err != nil {
		return nil, 0, 0, s.err
	}
	keys, sweeper, ttl := s.bookKeys(), "", "0"
	if s.spec.Expires != "" {
		keys = append(keys, s.spec.Lease)
		sweeper, ttl = turn.Args()
	}
	replies, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: s.action("sweep", keywright.Idempotent, keys[1], nil), Script: s.scripts.apart.due, Keys: keys,
		Args: []string{s.graceMS(), sweeper, rand.Text(), ttl, strconv.Itoa(min(batch, mostTaken)),
			strconv.Itoa(over.items)},
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return nil, 0, 0, s.refused("", err)
	}
	for i := range replies {
		texts, err := replies[i].AsStrSlice()
		switch {
		case err != nil:
			return nil, 0, 0, err
		case i == 0:
			busy, next = millis(texts[0]), millis(texts[1])
			if s.spec.Expires != "" {
				turn.Took(ctx, busy == 0)
			}
		case len(texts) == 1:
			over.add(texts[0])
		default:
			it := &intent{id: texts[0], token: texts[1], kind: texts[2]}
			it.learn(texts[3:])
			its = append(its, it)
		}
	}
	return its, next, busy, s.step("taken over", "")
}

// mostTaken says how many items are taken over at once: one costs a script some 50 µs.
const mostTaken = 32

// mostSweepRounds says how often a sweeper acts on an item that others write; then it
// leaves it for later.
const mostSweepRounds = 4

func (s *core) sweepThese(ctx context.Context, its []*intent) (done Swept, err error) {
	for range mostSweepRounds {
		if len(its) == 0 {
			return done, nil
		}
		if err = s.read(ctx, its); err == nil {
			err = s.step("looked", "")
		}
		if err == nil {
			err = s.act(ctx, its)
		}
		if err == nil {
			err = s.step("indexed", "")
		}
		if err != nil {
			return done, err
		}
		if its, err = s.closeSwept(ctx, its, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// closeSwept closes intents and gives those that need another round.
func (s *core) closeSwept(ctx context.Context, its []*intent, done *Swept) (rest []*intent, err error) {
	var all []closing
	if err = s.concede(ctx, its); err != nil {
		return nil, err
	}
	for _, it := range its {
		switch {
		case it.unsure: // it is due again
		case it.item.there:
			all = append(all, closing{intent: it, found: alive})
		default:
			all = append(all, closing{intent: it, found: gone, events: s.expired(it.id, "="+it.record)})
		}
	}
	verdicts, err := s.close(ctx, all...)
	for i, verdict := range verdicts {
		all[i].closed = verdict == announced || verdict == closed
		switch {
		case verdict == announced || verdict == closed && !all[i].item.there:
			done.Gone++
		case verdict == closed:
			done.Lives++
		case verdict == again:
			rest = append(rest, all[i].intent)
		}
	}
	return rest, err
}

// concede says in the ledger that items may be missing from indexes which this program
// does not know, before it ends what a process has begun that knew them: it cannot put
// such an item where it belongs. As a write of this program says it.
func (s *core) concede(ctx context.Context, its []*intent) error {
	for _, it := range its {
		if !it.item.there || !it.changes() {
			continue
		}
		for t := range s.traces(it.members) {
			if t.index < 0 {
				said, err := s.marksText(ctx)
				if err == nil {
					err = s.agree(ctx, said)
				}
				return err
			}
		}
	}
	return nil
}

// Swept describes what a sweep has done.
type Swept struct {
	Gone  int // items taken out of their indexes, and announced
	Lives int // items that live: prolonged by hand, or in several slots (docs/entities-cluster.md)
	Busy  time.Duration
}
