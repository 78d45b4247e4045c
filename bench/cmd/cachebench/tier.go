package main

import (
	"github.com/keywright/keywright/cache"
	"github.com/maypok86/otter/v2"
)

//doc:begin tier

// otterTier represents a cache.Tier of otter: all that a program needs to write.
type otterTier[V any] struct {
	store *otter.Cache[string, cache.Kept[V]]
}

func newOtterTier[V any](size int) (otterTier[V], error) {
	store, err := otter.New(&otter.Options[string, cache.Kept[V]]{MaximumSize: size})
	return otterTier[V]{store}, err
}

func (t otterTier[V]) Get(key string) (cache.Kept[V], bool) { return t.store.GetIfPresent(key) }
func (t otterTier[V]) Set(key string, v cache.Kept[V])      { t.store.Set(key, v) }
func (t otterTier[V]) Delete(key string)                    { t.store.Invalidate(key) }
func (t otterTier[V]) Clear()                               { t.store.InvalidateAll() }

//doc:end
