package change

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
)

// itemStores delete items of entities, whatever their database and the placeholders
// that their keys share.
type itemStores struct {
	ks      *keyspace.Keyspace
	clients *cli.Databases

	mu   sync.Mutex
	open map[string]itemStore
}

// itemStore represents the store of a part of an entity.
type itemStore struct {
	*bind.Items
	parse func(key string) (id string, ok bool)
}

// maxStores bounds how many stores are kept.
const maxStores = 1000

// delete deletes an item by its key, with its entries in all indexes.
func (s *itemStores) delete(ctx context.Context, entry int, item apply.Item) (bool, error) {
	e := s.ks.Entries[entry]
	store, id, err := s.of(e, item)
	if err != nil {
		return false, err
	}
	if item.Sums != nil {
		return store.Texts().DeleteSame(ctx, string(item.Key), item.Sums)
	}
	return store.Delete(ctx, id)
}

// of finds the store of an item, and the item's id.
func (s *itemStores) of(e *keyspace.Entry, item apply.Item) (*bind.Items, string, error) {
	main := e.Keys[0].Pattern
	values, ok := bind.Read(main, string(item.Key), parts.Of(e).Item.Own...)
	if !ok {
		return nil, "", fmt.Errorf("the key does not belong to %s", e.Name)
	}
	store, err := s.part(e, item.DB, values)
	if err != nil {
		return nil, "", err
	}
	id, ok := store.parse(string(item.Key))
	if !ok {
		return nil, "", fmt.Errorf("the key does not belong to %s", e.Name)
	}
	return store.Items, id, nil
}

// part returns the store of a part of an entity.
func (s *itemStores) part(e *keyspace.Entry, db int, values bind.Values) (itemStore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strconv.Itoa(db) + " " + e.Name + " " + values.ID()
	if store, there := s.open[name]; there {
		return store, nil
	}
	spec, err := bind.Spec(s.ks, e, values)
	if err != nil {
		return itemStore{}, err
	}
	c, err := s.clients.Client(db)
	if err != nil {
		return itemStore{}, err
	}
	if spec.OnDelete, err = bind.Events(s.ks, e, "delete"); err != nil {
		return itemStore{}, err
	}
	if len(s.open) >= maxStores {
		clear(s.open)
	}
	store := itemStore{entity.New(keywright.Binding{Client: c, Entry: bind.Entry(s.ks, e.Keys[0])}, spec), spec.Parse}
	s.open[name] = store
	return store, nil
}
