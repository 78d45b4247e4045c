package upkeep

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
)

// Where an entity is in several slots, an item is known to be in an index only when its
// index record says so and no intent is open that may change that unseen: one that was
// opened before the building began may be of a program that does not know the index, and
// so may one that a sweep took over. All others are of programs that know every index, or
// mark those that they do not know as incomplete. Which intents those are no clock says,
// as it may have been put back: an intent names the builders that were at work when it
// was opened. So what was put right is looked at once
// more, and what is being written is waited for; of a process that died until a sweep may
// take over its intents, and then that is done here.

// wait looks again at items, and at no others, until nothing is to be done. Programs that
// write all the time are always at some item, and mostly at another one.
func (b *Indexing) wait(ctx context.Context) error {
	for round, swept := 1, false; len(b.Waiting) > 0; round++ {
		if round > mostPasses {
			if swept || !b.lasts(ctx) {
				break
			}
			if err := b.Sweep(ctx); err != nil {
				return err
			}
			round, swept = 1, true
		}
		itemkeys.Pause(ctx, 5*time.Millisecond)
		if err := b.lookAgain(ctx); err != nil {
			return err
		}
	}
	if err := b.GiveUp(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// lookAgain looks at the items that wait.
func (b *Indexing) lookAgain(ctx context.Context) error {
	ids := b.Waiting
	b.Waiting = nil
	for some := range slices.Chunk(ids, itemkeys.RecordsPage) {
		page, err := b.Store.ReadRecords(ctx, some)
		if err == nil {
			b.Report.Items -= len(some) // they were counted
			err = b.some(ctx, page)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// GiveUp looks once more at the items that wait, and counts those that are not settled.
func (b *Indexing) GiveUp(ctx context.Context) error {
	page, err := b.Store.ReadRecords(ctx, b.Waiting)
	if err != nil {
		return err
	}
	b.Report.Items -= len(b.Waiting) - len(page) // those are gone
	b.Waiting = nil
	for _, r := range page {
		written, lacking := b.IsWritten(r.Record), b.Store.Lacking(r.Record)
		if !written && b.settled(r.Record, lacking) {
			b.Count(r, lacking)
			continue
		}
		b.Left++
		for i, tag := range b.Store.Tags {
			if written || slices.Contains(lacking, i) {
				b.row(tag).Missing++
			}
		}
	}
	return nil
}

// lasts reports whether the building may still end well: no program has taken it back.
func (b *Indexing) lasts(ctx context.Context) bool {
	if len(b.Options.Remove) > 0 {
		return true
	}
	said, err := b.Store.MarksText(ctx)
	m := indexrecord.ReadMarks(said)
	return err == nil &&
		slices.ContainsFunc(m.Lines,
			func(l indexrecord.Mark) bool { return l.State == indexrecord.StateBuilding && l.Builder == b.Builder })
}

// Sweep waits until the intents of items that wait are due, and ends them.
func (b *Indexing) Sweep(ctx context.Context) error {
	now, err := b.Store.Now(ctx)
	if err != nil {
		return err
	}
	due := now
	page, err := b.Store.ReadRecords(ctx, b.Waiting)
	for _, r := range page {
		if i := crossslot.IntentsOf(r.Record); i.Open {
			// Opened later than now: the clock was put back, or the server with the index records failed over.
			due = max(due, min(i.First, now)+b.Store.Windows.Due.Milliseconds()+1)
		}
	}
	if err == nil {
		itemkeys.Pause(ctx, time.Duration(due-now)*time.Millisecond)
		_, err = Sweep(ctx, b.Store, maintenance.SweepOptions{Rate: b.Options.Rate})
	}
	return err
}

// IsWritten reports whether an item is being written by a program that may not know an index,
// or is not yet where it belongs.
func (b *Indexing) IsWritten(record string) bool {
	i := crossslot.IntentsOf(record)
	before := b.Builds && !i.Since(b.Builder)
	return i.Open && (before || i.Taken || len(b.Options.Remove) > 0 || len(b.Store.Lacking(record)) > 0)
}

// Look counts an item, and says whether there is something to do. In several slots an item
// is counted when there is not.
func (b *Indexing) Look(r itemkeys.Registration) (lacks, removes bool) {
	s := b.Store
	if b.Report.Items++; s.CrossSlot && b.changes() && b.IsWritten(r.Record) {
		b.Waiting = append(b.Waiting, r.ID)
		return false, false
	}
	lacking := s.Lacking(r.Record)
	if !s.CrossSlot || b.settled(r.Record, lacking) {
		b.Count(r, lacking)
	}
	return len(lacking) > 0, b.removing(r.Record)
}

// settled reports whether there is nothing to do with an item.
func (b *Indexing) settled(record string, lacking []int) bool {
	return !b.removing(record) && (!b.Options.Apply || len(lacking) == 0)
}

// removing reports whether an item is in an index that is to be removed.
func (b *Indexing) removing(record string) bool {
	for t := range b.Store.Traces(record) {
		if b.removes(t.Tag) {
			return true
		}
	}
	return false
}

// Count counts an item in the indexes that it is in, and in those that it may be missing in.
func (b *Indexing) Count(r itemkeys.Registration, lacking []int) {
	for t := range b.Store.Traces(r.Record) {
		if row := b.row(t.Tag); row != nil && (t.Index < 0 || !t.Doubted) {
			row.Items++
		}
	}
	for _, i := range lacking {
		b.row(b.Store.Tags[i]).Missing++
	}
}

// build puts right where items are, many at a time.
func (b *Indexing) build(ctx context.Context, all []itemkeys.Registration) error {
	var mu sync.Mutex
	return itemkeys.AtOnce(len(all), func(n int) error {
		c := &check{store: b.Store, options: maintenance.CheckOptions{Apply: true}}
		err := c.judge(ctx, all[n].ID)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return err
		}
		waits := c.checked.Expired > 0 && !c.busy // it is gone, and a sweep takes it out
		if b.Store.CrossSlot && !waits {
			b.Waiting = append(b.Waiting, all[n].ID)
		}
		for _, i := range b.Store.Lacking(all[n].Record) {
			row := b.row(b.Store.Tags[i])
			if !b.Store.CrossSlot {
				row.Missing--
			}
			if waits || c.busy {
				continue
			}
			if row.Done++; !b.Store.CrossSlot {
				row.Items++
			}
		}
		return nil
	})
}
