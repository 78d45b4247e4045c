package kernel

import (
	"sync"

	"github.com/redis/rueidis"
)

// invalidations passes on the server's messages that a key has changed which this client has read by client-side
// caching. The goroutine that reads the connection calls it, so a function that waits stops that connection.
type invalidations struct {
	mu   sync.RWMutex
	next uint64
	keys map[string]map[uint64]func()
	all  map[uint64]func(keys []string)
}

func newInvalidations() *invalidations {
	return &invalidations{keys: map[string]map[uint64]func(){}, all: map[uint64]func([]string){}}
}

// OnInvalidation calls fn when the server says that key has changed, was deleted
// or has expired, and when everything is void: a flush, or a connection that
// broke. It is notified of a key only after a tracked read of it (Cached, or DoCache
// of Raw) and once per such read: first register, then read. fn must not wait,
// send commands or call stop. ok is false for a client without client-side
// caching (Options.NoCache, New): fn is never called then. No round trips.
func (c *Client) OnInvalidation(key string, fn func()) (stop func(), ok bool) {
	h := c.hub
	if h == nil {
		return func() {}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := h.next
	if h.keys[key] == nil {
		h.keys[key] = map[uint64]func(){}
	}
	h.keys[key][id] = fn
	return func() { h.forget(key, id) }, true
}

// OnInvalidations works as OnInvalidation does, for every key that this client has read by
// client-side caching; keys is nil when everything is void.
func (c *Client) OnInvalidations(fn func(keys []string)) (stop func(), ok bool) {
	h := c.hub
	if h == nil {
		return func() {}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := h.next
	h.all[id] = fn
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.all, id)
	}, true
}

func (h *invalidations) forget(key string, id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.keys[key], id); len(h.keys[key]) == 0 {
		delete(h.keys, key)
	}
}

// tell is rueidis' callback; nil says that everything is void.
func (h *invalidations) tell(messages []rueidis.RedisMessage) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.keys) == 0 && len(h.all) == 0 {
		return
	}
	var keys []string
	for _, m := range messages {
		key, _ := m.ToString()
		keys = append(keys, key)
		for _, fn := range h.keys[key] {
			fn()
		}
	}
	if messages == nil {
		for _, interested := range h.keys {
			for _, fn := range interested {
				fn()
			}
		}
	}
	for _, fn := range h.all {
		fn(keys)
	}
}
