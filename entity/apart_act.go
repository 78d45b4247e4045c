package entity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// errLate reports an owner whose intent is too old to act on.
var errLate = errors.New("the step took so long that another may have taken over")

// batch describes what is done to one index key for several intents.
type batch struct {
	entry
	until   int64 // of the first intent
	changes []string
	intents []*intent
}

// act puts the ids of intents where their items say they belong, and takes them out
// of the other index keys that their intents name. One pipeline per server.
func (s *core) act(ctx context.Context, its []*intent) error {
	var b keywright.Batch
	batches := s.batches(its)
	results := make([]*keywright.Pending[string], len(batches))
	for i, batch := range batches {
		results[i] = keywright.Queue(&b, kernel.NewOp(kernel.Spec[string]{
			Action: s.action("index", keywright.Writes, batch.key, nil), Script: s.scripts.apart.index,
			Keys:   []string{batch.key},
			Args:   append([]string{strconv.FormatInt(batch.until, 10), s.keeps}, batch.changes...),
			Decode: func(r kernel.Reply) (string, error) { return r.ToString() },
		}))
	}
	_ = b.Run(ctx) // each result has its own
	var failed error
	for i, r := range results {
		said, err := r.Result()
		if class, _ := keywright.ClassOf(err); err != nil && class == keywright.UnknownOutcome {
			for _, it := range batches[i].intents {
				it.unsure = true
			}
		}
		if err == nil && said == "late" {
			err = errLate
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// batches groups what is to be done by index key. What an intent does not name it
// does not touch: the process that has put the item there has an intent of its own.
func (s *core) batches(its []*intent) (all []*batch) {
	byKey := map[string]*batch{}
	for _, it := range its {
		keys := s.keysNamed(it)
		if !it.item.there { // where it is in an index of another version it stays while it lives
			keys = append(keys, s.unknown(it.members)...)
		}
		for _, e := range keys {
			b := byKey[e.key]
			if b == nil {
				b = &batch{entry: e, until: s.until(it)}
				byKey[e.key] = b
				all = append(all, b)
			}
			b.until = min(b.until, s.until(it))
			b.intents = append(b.intents, it)
			if score, in := it.item.in[e.key]; in {
				b.changes = append(b.changes, "in", it.id, score)
			} else {
				b.changes = append(b.changes, "out", it.id, "")
			}
		}
	}
	return all
}

// mostRounds says how often an owner acts until it leaves it to the sweeper: so many
// others write the same item at the same time.
const mostRounds = 16

// mostFailures says how often an owner tries what fails for a passing reason.
const mostFailures = 6

// ending says how an intent is closed whose item is gone, and what is announced then.
type ending func(it *intent) (found string, events []string)

// settle acts on an item that was read or written, and closes the intent. It ends
// without an error, too, when the indexes are as the item was and the intent is left
// to the sweeper.
func (s *core) settle(ctx context.Context, it *intent, ended ending) error {
	verdict, failures, err := "", 0, error(nil)
	for range mostRounds {
		if verdict, err = s.round(ctx, it, ended); err == nil && verdict != again && verdict != lost {
			return nil
		}
		for stale := true; stale; stale = err != nil {
			if err != nil {
				if failures++; failures == mostFailures || !passing(err) {
					return s.unsettled(err)
				}
				pause(ctx, 5*time.Millisecond<<failures)
			}
			err = s.refresh(ctx, it, verdict != again)
			verdict = ""
		}
	}
	return nil
}

// refresh reads the item, after a stamp that is known: no owner may act on what
// was read before it.
func (s *core) refresh(ctx context.Context, it *intent, renew bool) error {
	if renew {
		if err := s.open(ctx, it, it.members); err != nil {
			return err
		}
	}
	return s.read(ctx, []*intent{it})
}

// round acts once and closes the intent.
func (s *core) round(ctx context.Context, it *intent, ended ending) (verdict string, err error) {
	if err = s.act(ctx, []*intent{it}); err == nil {
		err = s.step("indexed", it.id)
	}
	if err != nil || it.unsure {
		return closed, err
	}
	c := closing{intent: it, found: alive}
	if !it.item.there {
		c.found, c.events = ended(it)
	}
	verdicts, err := s.close(ctx, c)
	if err != nil {
		return "", err
	}
	return verdicts[0], s.step("closed", it.id)
}

// passing reports whether to try again soon may help.
func passing(err error) bool {
	class, known := keywright.ClassOf(err)
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return errors.Is(err, errLate) || known && !ended && class != keywright.Invalid && class != keywright.Refused
}

// unsettled returns a change that was made, with indexes that are not as it says.
func (s *core) unsettled(err error) error {
	return &keywright.Error{Class: keywright.UnknownOutcome, Op: "index", Entry: s.entry.Name,
		Err: fmt.Errorf("the item is changed, and its indexes are not yet: %w", err), Hint: "a sweep puts them right"}
}
