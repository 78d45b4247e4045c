package rdb

import "testing"

// TestAnArenaIsGivenBack: memory that one batch has needed does not stay for all others.
func TestAnArenaIsGivenBack(t *testing.T) {
	b := newBatch()
	b.names = make([]byte, 2*maxNames)
	b.values.copy(make([]byte, 2*maxArena))
	b.reset(nil)
	if cap(b.values.chunk) > maxArena || cap(b.values.free) > maxArena || cap(b.names) > maxNames {
		t.Errorf("%d and %d bytes for values, %d for names are kept", cap(b.values.chunk), cap(b.values.free), cap(b.names))
	}
	b.values.copy(make([]byte, maxArena/2))
	b.values.copy(make([]byte, maxArena/2))
	if b.reset(nil); cap(b.values.chunk) == 0 {
		t.Error("what a batch needs each time is made again")
	}
}
