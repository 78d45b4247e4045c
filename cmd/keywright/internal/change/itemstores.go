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
	open map[string]*bind.Items
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
	spec, err := bind.Spec(s.ks, e, values)
	if err != nil {
		return nil, "", err
	}
	id, ok := spec.Parse(string(item.Key))
	if !ok {
		return nil, "", fmt.Errorf("the key does not belong to %s", e.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strconv.Itoa(item.DB) + " " + e.Name + " " + values.ID()
	if s.open[name] == nil {
		c, err := s.clients.Client(item.DB)
		if err != nil {
			return nil, "", err
		}
		if spec.OnDelete, err = bind.Events(s.ks, e, "delete"); err != nil {
			return nil, "", err
		}
		if len(s.open) >= maxStores {
			clear(s.open)
		}
		s.open[name] = entity.New(keywright.Binding{Client: c, Entry: bind.Entry(s.ks, e.Keys[0])}, spec)
	}
	return s.open[name], id, nil
}
