package crossslot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
)

// ErrLate reports an owner whose intent is too old to act on.
var ErrLate = errors.New("the step took so long that another may have taken over")

// batch describes what is done to one index key for several intents.
type batch struct {
	itemkeys.Entry
	until   int64 // of the first intent
	changes []string
	intents []*Intent
}

// act puts the ids of intents where their items say they belong, and takes them out
// of the other index keys that their intents name. One pipeline per server.
func act(ctx context.Context, s *itemkeys.Keys, its []*Intent) error {
	var b keywright.Batch
	batches := batches(s, its)
	results := make([]*keywright.Pending[string], len(batches))
	for i, batch := range batches {
		results[i] = keywright.Queue(&b, kernel.NewOp(kernel.Spec[string]{
			Action: s.Action("index", keywright.Writes, batch.Key, nil), Script: s.Scripts.CrossSlot.Index,
			Keys:   []string{batch.Key},
			Args:   append([]string{strconv.FormatInt(batch.until, 10), s.Keeps}, batch.changes...),
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
			err = ErrLate
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// batches groups what is to be done by index key. What an intent does not name it
// does not touch: the process that has put the item there has an intent of its own.
func batches(s *itemkeys.Keys, its []*Intent) (all []*batch) {
	byKey := map[string]*batch{}
	for _, it := range its {
		keys := keysNamed(s, it)
		if !it.Item.There { // where it is in an index of another version it stays while it lives
			keys = append(keys, s.UnknownEntries(it.Members)...)
		}
		for _, e := range keys {
			b := byKey[e.Key]
			if b == nil {
				b = &batch{Entry: e, until: actsUntil(s, it)}
				byKey[e.Key] = b
				all = append(all, b)
			}
			b.until = min(b.until, actsUntil(s, it))
			b.intents = append(b.intents, it)
			if score, in := it.Item.In[e.Key]; in {
				b.changes = append(b.changes, "in", it.id, score)
			} else {
				b.changes = append(b.changes, "out", it.id, "")
			}
		}
	}
	return all
}

// MostRounds says how often an owner acts until it leaves it to the sweeper: so many
// others write the same item at the same time.
const MostRounds = 16

// mostFailures says how often an owner tries what fails for a passing reason.
const mostFailures = 6

// Ending says how an intent is closed whose item is gone, and what is announced then.
type Ending func(it *Intent) (found string, events []string)

// Finish acts on an item that was read or written, and closes the intent. It ends
// without an error, too, when the indexes are as the item was and the intent is left
// to the sweeper.
func Finish(ctx context.Context, s *itemkeys.Keys, it *Intent, ended Ending) error {
	verdict, failures, err := "", 0, error(nil)
	for range MostRounds {
		if verdict, err = round(ctx, s, it, ended); err == nil && verdict != again && verdict != lost {
			return nil
		}
		for stale := true; stale; stale = err != nil {
			if err != nil {
				if failures++; failures == mostFailures || !passing(err) {
					return unsettled(s, err)
				}
				itemkeys.Pause(ctx, 5*time.Millisecond<<failures)
			}
			err = refresh(ctx, s, it, verdict != again)
			verdict = ""
		}
	}
	return nil
}

// refresh reads the item, after a stamp that is known: no owner may act on what
// was read before it.
func refresh(ctx context.Context, s *itemkeys.Keys, it *Intent, renew bool) error {
	if renew {
		if err := Open(ctx, s, it, it.Members); err != nil {
			return err
		}
	}
	return Read(ctx, s, []*Intent{it})
}

// round acts once and closes the intent.
func round(ctx context.Context, s *itemkeys.Keys, it *Intent, ended Ending) (verdict string, err error) {
	if err = act(ctx, s, []*Intent{it}); err == nil {
		err = s.Step("indexed", it.id)
	}
	if err != nil || it.unsure {
		return closed, err
	}
	c := closing{Intent: it, found: alive}
	if !it.Item.There {
		c.found, c.events = ended(it)
	}
	verdicts, err := closeIntents(ctx, s, c)
	if err != nil {
		return "", err
	}
	return verdicts[0], s.Step("closed", it.id)
}

// passing reports whether to try again soon may help.
func passing(err error) bool {
	class, known := keywright.ClassOf(err)
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return errors.Is(err, ErrLate) || known && !ended && class != keywright.Invalid && class != keywright.Refused
}

// unsettled returns a change that was made, with indexes that are not as it says.
func unsettled(s *itemkeys.Keys, err error) error {
	return &keywright.Error{Class: keywright.UnknownOutcome, Op: "index", Entry: s.Entry.Name,
		Err: fmt.Errorf("the item is changed, and its indexes are not yet: %w", err), Hint: "a sweep puts them right"}
}
