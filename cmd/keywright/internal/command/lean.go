package command

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Limits of memory above which garbage is collected whatever else is done.
const (
	// frugalMemory is for all verbs: two replies of a hostile server are not held at once.
	frugalMemory = 192 << 20
	// leanMemory is for a verb that moves or compares values. What it holds is far below. With 28 MiB a restore
	// took 1.7 times as much of a processor; with 40 a copy reached 65 MiB on a busy machine.
	leanMemory = 34 << 20
)

// Frugal keeps the memory of the program small.
func Frugal() { soft.set(frugalMemory) }

// lean keeps the memory of verbs that move values smaller still. It returns what ends that.
func lean() (end func()) { return soft.set(leanMemory) }

// softLimit represents a limit of memory that gives way. One that stays below what is in use has the
// collector run all the time, for nothing: after each collection the limit is raised until the
// program can allocate a quarter of what is in use before the next one, and no more than that.
type softLimit struct {
	mu       sync.Mutex
	wanted   int64 // what was asked for
	now      int64
	watching bool
}

var soft softLimit

// set returns what sets the limit again that there was.
func (s *softLimit) set(limit int64) (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, wanted := debug.SetMemoryLimit(limit), s.wanted
	if wanted != 0 { // else the limit is the environment's
		before = wanted
	}
	s.wanted, s.now = limit, limit
	if !s.watching {
		s.watching = true
		s.watch()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		debug.SetMemoryLimit(before)
		s.wanted, s.now = wanted, before
	}
}

// watch has the limit fitted after each collection.
func (s *softLimit) watch() {
	type cycle struct{ self *softLimit } // with a pointer: not put together with others that stay
	runtime.SetFinalizer(&cycle{s}, func(*cycle) {
		s.fit()
		s.watch()
	})
}

func (s *softLimit) fit() {
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	metrics.Read(read)
	used, goal := int64(read[0].Value.Uint64()), int64(read[1].Value.Uint64())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted == 0 {
		return // nothing was asked for
	}
	if limit := max(s.wanted, s.now+used+used/4-goal); limit != s.now {
		s.now = limit
		debug.SetMemoryLimit(limit)
	}
}
