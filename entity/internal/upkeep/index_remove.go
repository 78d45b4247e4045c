package upkeep

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
)

// remove takes items out of indexes that are no longer declared, and those indexes out of
// the index records.
func (b *Indexing) remove(ctx context.Context, all []itemkeys.Registration) error {
	most, some := mostUnindexed, b.RemoveSome
	if b.Store.CrossSlot {
		most, some = crossslot.MostTaken, b.removeCrossSlot
	}
	for page := range slices.Chunk(all, most) {
		if err := some(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// mostUnindexed says how many items one script takes out of indexes.
const mostUnindexed = 100

// RemoveSome takes items out of indexes by one script.
func (b *Indexing) RemoveSome(ctx context.Context, all []itemkeys.Registration) error {
	s := b.Store
	keys, args := []string{s.Spec.Records}, []string{strconv.Itoa(len(all))}
	removed := map[string]int{}
	for _, r := range all {
		var numbers []string
		for t := range s.Traces(r.Record) {
			if !b.removes(t.Tag) {
				continue
			}
			removed[t.Tag]++
			if key := t.Key(); key != "" && s.IndexOf(key) == nil { // an index of now may have this key
				keys = append(keys, key)
				numbers = append(numbers, strconv.Itoa(len(keys)))
			}
		}
		args = append(append(args, r.ID, r.Record, b.without(r.Record), strconv.Itoa(len(numbers))), numbers...)
	}
	changed, err := sweepCall(ctx, s, s.Scripts.Unindex, keys, args)
	if err != nil {
		return err
	}
	b.Left += len(all) - int(changed[0])
	for tag, n := range removed {
		if row := b.row(tag); row != nil {
			row.Done, row.Items = row.Done+n, max(row.Items-n, 0)
		}
	}
	return nil
}

// removeCrossSlot does that where the keys are in several slots. It does it under intents, so that
// a sweep can end it if the process dies between the indexes and the index records.
func (b *Indexing) removeCrossSlot(ctx context.Context, all []itemkeys.Registration) error {
	s, its := b.Store, make([]*crossslot.Intent, len(all))
	err := itemkeys.AtOnce(len(all), func(n int) error {
		its[n] = crossslot.NewIntent(all[n].ID, crossslot.Mending)
		its[n].Removes = b.removes
		return crossslot.Open(ctx, s, its[n], "")
	})
	if err == nil {
		_, err = crossslot.SweepIntents(ctx, s, its)
	}
	for i, it := range its {
		b.Waiting = append(b.Waiting, all[i].ID)
		for t := range s.Traces(all[i].Record) {
			if row := b.row(t.Tag); row != nil && it.Closed && b.removes(t.Tag) {
				row.Done++
			}
		}
	}
	return err
}

// without returns an index record without the indexes that are removed.
func (b *Indexing) without(record string) string {
	out := []byte{'='}
	for name, value := range indexrecord.Segments(strings.TrimPrefix(record, "=")) {
		if !b.removes(strings.TrimPrefix(name, indexrecord.Doubt)) {
			out = indexrecord.Append(out, name, value)
		}
	}
	return string(out)
}
