package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// frugalMemory is the memory above which garbage is collected whatever else is done: two replies of a hostile server
// are not held at once. GOMEMLIMIT of the environment takes its place.
const frugalMemory = 192 << 20

// leanGrowth says by how many percent of what is in use the memory of a verb that moves or compares values may grow
// until garbage is collected. What is in use is bounded where it is read and written. A limit of the whole would have
// the collector run all the time once a value needs more.
const leanGrowth = 50

// LimitMemory keeps the memory of verbs that move values small. It returns what ends that. GOGC of the environment
// counts more.
func LimitMemory() (end func()) {
	before := debug.SetGCPercent(leanGrowth)
	if before != 100 { // the environment's, or that of a verb around this one
		debug.SetGCPercent(before)
		return func() {}
	}
	return func() { debug.SetGCPercent(before) }
}

// Frugal keeps the memory of the program small.
func Frugal() {
	limit := &softLimit{now: frugalMemory}
	debug.SetMemoryLimit(frugalMemory)
	limit.watch()
}

// softLimit represents a limit of memory that gives way. One that stays below what is in use has the
// collector run all the time, for nothing: after each collection the limit is raised until the
// program can allocate a quarter of what is in use before the next one, and no more than that.
type softLimit struct{ now int64 }

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
	if limit := max(frugalMemory, s.now+used+used/4-goal); limit != s.now {
		s.now = limit
		debug.SetMemoryLimit(limit)
	}
}
