package entity

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Where an entity is in several slots, an item is known to be in an index only when the
// ledger says so and no intent is open that may change that without a word: one that was
// opened before the building began may be of a program that does not know the index, and
// so may one that a sweep took over. All others are of programs that know every index, or
// take back in the ledger that they are complete. Which intents those are no clock says,
// as it may have been put back: an intent names the builders that were at work when it
// was opened. So what was put right is looked at once
// more, and what is being written is waited for; of a process that died until a sweep may
// take over its intents, and then that is done here.

// wait looks again at items, and at no others, until nothing is to be done. Programs that
// write all the time are always at some item, and mostly at another one.
func (b *indexing) wait(ctx context.Context) error {
	for round, swept := 1, false; len(b.waiting) > 0; round++ {
		if round > mostPasses {
			if swept || !b.lasts(ctx) {
				break
			}
			if err := b.sweep(ctx); err != nil {
				return err
			}
			round, swept = 1, true
		}
		pause(ctx, 5*time.Millisecond)
		if err := b.lookAgain(ctx); err != nil {
			return err
		}
	}
	if err := b.giveUp(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// lookAgain looks at the items that wait.
func (b *indexing) lookAgain(ctx context.Context) error {
	ids := b.waiting
	b.waiting = nil
	for some := range slices.Chunk(ids, ledgerPage) {
		page, err := b.store.entries(ctx, some)
		if err == nil {
			b.report.Items -= len(some) // they were counted
			err = b.some(ctx, page)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUp looks once more at the items that wait, and counts those that are not settled.
func (b *indexing) giveUp(ctx context.Context) error {
	page, err := b.store.entries(ctx, b.waiting)
	if err != nil {
		return err
	}
	b.report.Items -= len(b.waiting) - len(page) // those are gone
	b.waiting = nil
	for _, r := range page {
		written, lacking := b.isWritten(r.record), b.store.lacking(r.record)
		if !written && b.settled(r.record, lacking) {
			b.count(r, lacking)
			continue
		}
		b.left++
		for i, tag := range b.store.tags {
			if written || slices.Contains(lacking, i) {
				b.row(tag).Missing++
			}
		}
	}
	return nil
}

// lasts reports whether the building may still end well: no program has taken it back.
func (b *indexing) lasts(ctx context.Context) bool {
	if len(b.options.Remove) > 0 {
		return true
	}
	said, err := b.store.marksText(ctx)
	m := readMarks(said)
	return err == nil &&
		slices.ContainsFunc(m.lines, func(l mark) bool { return l.state == building && l.builder == b.builder })
}

// sweep waits until the intents of items that wait are due, and ends them.
func (b *indexing) sweep(ctx context.Context) error {
	now, err := b.store.now(ctx)
	if err != nil {
		return err
	}
	due := now
	page, err := b.store.entries(ctx, b.waiting)
	for _, r := range page {
		if i := intentsOf(r.record); i.open {
			// The clock was put back, or the ledger failed over, where it was opened later than now.
			due = max(due, min(i.first, now)+b.store.windows.due.Milliseconds()+1)
		}
	}
	if err == nil {
		pause(ctx, time.Duration(due-now)*time.Millisecond)
		_, err = b.store.Sweep(ctx, SweepOptions{Rate: b.options.rate()})
	}
	return err
}

// isWritten reports whether an item is being written by a program that may not know an index,
// or is not yet where it belongs.
func (b *indexing) isWritten(record string) bool {
	i := intentsOf(record)
	before := b.builds && !i.since(b.builder)
	return i.open && (before || i.taken || len(b.options.Remove) > 0 || len(b.store.lacking(record)) > 0)
}

// look counts an item, and says whether there is something to do. In several slots an item
// is counted when there is not.
func (b *indexing) look(r registration) (lacks, removes bool) {
	s := b.store
	if b.report.Items++; s.apart && b.changes() && b.isWritten(r.record) {
		b.waiting = append(b.waiting, r.id)
		return false, false
	}
	lacking := s.lacking(r.record)
	if !s.apart || b.settled(r.record, lacking) {
		b.count(r, lacking)
	}
	return len(lacking) > 0, b.removing(r.record)
}

// settled reports whether there is nothing to do with an item.
func (b *indexing) settled(record string, lacking []int) bool {
	return !b.removing(record) && (!b.options.Apply || len(lacking) == 0)
}

// removing reports whether an item is in an index that is to be removed.
func (b *indexing) removing(record string) bool {
	for t := range b.store.traces(record) {
		if b.removes(t.tag) {
			return true
		}
	}
	return false
}

// count counts an item in the indexes that it is in, and in those that it may be missing in.
func (b *indexing) count(r registration, lacking []int) {
	for t := range b.store.traces(r.record) {
		if row := b.row(t.tag); row != nil && (t.index < 0 || !t.doubted) {
			row.Items++
		}
	}
	for _, i := range lacking {
		b.row(b.store.tags[i]).Missing++
	}
}

// build puts right where items are, many at a time.
func (b *indexing) build(ctx context.Context, all []registration) error {
	var mu sync.Mutex
	return atOnce(len(all), func(n int) error {
		c := &check{store: b.store, options: CheckOptions{Apply: true}}
		err := c.judge(ctx, all[n].id)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return err
		}
		waits := c.checked.Expired > 0 && !c.busy // it is gone, and a sweep takes it out
		if b.store.apart && !waits {
			b.waiting = append(b.waiting, all[n].id)
		}
		for _, i := range b.store.lacking(all[n].record) {
			row := b.row(b.store.tags[i])
			if !b.store.apart {
				row.Missing--
			}
			if waits || c.busy {
				continue
			}
			if row.Done++; !b.store.apart {
				row.Items++
			}
		}
		return nil
	})
}
