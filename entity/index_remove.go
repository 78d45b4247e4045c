package entity

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// remove takes items out of indexes that are no longer declared, and from the ledger
// that they are there.
func (b *indexing) remove(ctx context.Context, all []registration) error {
	most, some := mostUnindexed, b.removeSome
	if b.store.apart {
		most, some = mostTaken, b.removeApart
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

func (b *indexing) removeSome(ctx context.Context, all []registration) error {
	s := b.store
	keys, args := []string{s.spec.Ledger}, []string{strconv.Itoa(len(all))}
	removed := map[string]int{}
	for _, r := range all {
		var numbers []string
		for t := range s.traces(r.record) {
			if !b.removes(t.tag) {
				continue
			}
			removed[t.tag]++
			if key := t.key(); key != "" && s.indexOf(key) == nil { // an index of now may have this key
				keys = append(keys, key)
				numbers = append(numbers, strconv.Itoa(len(keys)))
			}
		}
		args = append(append(args, r.id, r.record, b.without(r.record), strconv.Itoa(len(numbers))), numbers...)
	}
	changed, err := s.sweepCall(ctx, s.scripts.unindex, keys, args)
	if err != nil {
		return err
	}
	b.left += len(all) - int(changed[0])
	for tag, n := range removed {
		if row := b.row(tag); row != nil {
			row.Done, row.Items = row.Done+n, max(row.Items-n, 0)
		}
	}
	return nil
}

// removeApart does that where the keys are in several slots: under intents, so that of a
// process that dies between the indexes and the ledger it is known.
func (b *indexing) removeApart(ctx context.Context, all []registration) error {
	s, its := b.store, make([]*intent, len(all))
	err := atOnce(len(all), func(n int) error {
		its[n] = newIntent(all[n].id, mending)
		its[n].removes = b.removes
		return s.open(ctx, its[n], "")
	})
	if err == nil {
		_, err = s.sweepThese(ctx, its)
	}
	for i, it := range its {
		b.waiting = append(b.waiting, all[i].id)
		for t := range s.traces(all[i].record) {
			if row := b.row(t.tag); row != nil && it.closed && b.removes(t.tag) {
				row.Done++
			}
		}
	}
	return err
}

// without returns an entry of the ledger without the indexes that are removed.
func (b *indexing) without(record string) string {
	out := []byte{'='}
	for name, value := range pairs(strings.TrimPrefix(record, "=")) {
		if !b.removes(strings.TrimPrefix(name, doubt)) {
			out = appendRecord(out, name, value)
		}
	}
	return string(out)
}
