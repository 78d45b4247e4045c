package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Most says how many items a batch has at most.
const Most = 1000

// ErrMost reports a batch without items, or with more than Most.
var ErrMost = fmt.Errorf("a batch has 1 to %d items", Most)

// atOnce says how many items of a batch are under way: what is under way at the same time
// shares round trips, 64 items each.
const atOnce = 128

// each calls do for each of n, several at a time, and waits for all.
func each(n int, do func(i int)) {
	var running sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range n {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			do(i)
		})
	}
	running.Wait()
}

// Result describes what became of one item of a batch.
type Result struct {
	Written
	Err error
}

// CreateMany makes items, each for itself, in few round trips: some may be made and others
// not. The results are in the order of the items. Each context is prolonged once.
func (m *Memory) CreateMany(ctx context.Context, items []Item) ([]Result, error) {
	if len(items) == 0 || len(items) > Most {
		return nil, ErrMost
	}
	items = slices.Clone(items)
	results := make([]Result, len(items))
	places := map[string][]int{} // by context
	var contexts []string
	for n, i := range items {
		i = i.filled()
		items[n], results[n].ID = i, i.ID
		if places[i.ContextID] == nil {
			contexts = append(contexts, i.ContextID)
		}
		places[i.ContextID] = append(places[i.ContextID], n)
	}
	each(len(contexts), func(c int) {
		if err := m.use(ctx, contexts[c], true); err != nil {
			for _, n := range places[contexts[c]] {
				results[n].Err = err
			}
		}
	})
	each(len(items), func(n int) {
		if results[n].Err == nil {
			results[n].Written, results[n].Err = m.create(ctx, items[n])
			results[n].ID = items[n].ID
		}
	})
	return results, nil
}

// Read represents one item of a batch that was read.
type Read struct {
	Item Item
	Err  error // keywright.ErrNotFound: there is none
}

// mostRead says how many bytes of contents and metadata a batch gives, but for those that are
// under way when it has so many: atOnce of them.
const mostRead = 32 << 20

// ErrLarge reports an item of a batch that has given mostRead already: ask for it again.
var ErrLarge = fmt.Errorf("a batch gives no more than %d MB", mostRead>>20)

// GetMany reads items as Get does, in few round trips and in the order of the ids. Those that
// are too much have ErrLarge.
func (m *Memory) GetMany(ctx context.Context, ids []string) ([]Read, error) {
	if len(ids) == 0 || len(ids) > Most {
		return nil, ErrMost
	}
	found := make([]Read, len(ids))
	var given atomic.Int64
	each(len(ids), func(n int) {
		if given.Load() >= mostRead {
			found[n].Err = ErrLarge
			return
		}
		found[n].Item, found[n].Err = m.Get(ctx, ids[n])
		given.Add(int64(len(found[n].Item.Content) + len(found[n].Item.Metadata)))
	})
	return found, nil
}
