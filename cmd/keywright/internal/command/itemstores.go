package command

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
)

// itemStores delete items of entities, whatever their database and the placeholders
// that their keys share.
type itemStores struct {
	app     *app
	ks      *keyspace.Keyspace
	clients *databases

	mu   sync.Mutex
	open map[string]*itemStore
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
	return store.Delete(ctx, id)
}

// of finds the store of an item, and the item's id.
func (s *itemStores) of(e *keyspace.Entry, item apply.Item) (*itemStore, string, error) {
	d := divide(e)
	values, ok := placeholders(e.Keys[0].Pattern, string(item.Key), d.own)
	if !ok {
		return nil, "", fmt.Errorf("the key is none of %s", e.Name)
	}
	prefix, suffix := around(e.Keys[0].Pattern, d.own, values)
	id := string(item.Key[len(prefix) : len(item.Key)-len(suffix)])
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strconv.Itoa(item.DB) + " " + e.Name + " " + fmt.Sprint(values)
	if s.open[name] == nil {
		c, err := s.clients.client(item.DB)
		if err != nil {
			return nil, "", err
		}
		spec, err := specOf(s.ks, e, d, values)
		if spec == nil {
			return nil, "", err
		}
		spec.Version = e.Stamps.Version
		if ch := s.ks.Channel(e.Emits["delete"]); ch != nil {
			spec.OnDelete = []entity.Event{eventOf(e, d, ch)}
		}
		if len(s.open) >= maxStores {
			clear(s.open)
		}
		s.open[name] = entity.New(c, spec, err)
	}
	return s.open[name], id, nil
}
