package send

import (
	"runtime"
	"sync"
	"weak"
)

// shared holds values that live while they are used: those of a queue that is
// not used any more take no memory.
type shared[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]weak.Pointer[V]
}

func newShared[K comparable, V any]() *shared[K, V] {
	return &shared[K, V]{all: map[K]weak.Pointer[V]{}}
}

// get returns the value of a key, a new one if none is used.
func (s *shared[K, V]) get(key K, make func() *V) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.all[key].Value(); v != nil {
		return v
	}
	v := make()
	s.all[key] = weak.Make(v)
	runtime.AddCleanup(v, s.forget, key)
	return v
}

func (s *shared[K, V]) forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[key].Value() == nil {
		delete(s.all, key)
	}
}

func (s *shared[K, V]) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
