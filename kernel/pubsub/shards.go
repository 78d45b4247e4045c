package pubsub

import (
	"sync"

	"github.com/redis/rueidis"
)

// Shards holds the subscriptions of a cluster's slots, each on a connection of its own.
type Shards struct {
	raw    rueidis.Client
	hooks  *Hooks
	mu     sync.Mutex
	bySlot map[uint16]*Engine
	closed bool
}

// NewShards makes them: there is none at first.
func NewShards(raw rueidis.Client, hooks *Hooks) *Shards {
	return &Shards{raw: raw, hooks: hooks, bySlot: map[uint16]*Engine{}}
}

// Of returns the engine of a slot.
func (s *Shards) Of(slot uint16) *Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.bySlot[slot]
	if one == nil {
		one = New(s.raw, s.hooks, true)
		s.bySlot[slot] = one
	}
	if s.closed {
		one.Close()
	}
	return one
}

// Close ends the connections.
func (s *Shards) Close() {
	s.mu.Lock()
	s.closed = true
	all := s.bySlot
	s.mu.Unlock()
	for _, one := range all {
		one.cancel()
	}
	for _, one := range all {
		one.Close()
	}
}
