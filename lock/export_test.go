package lock

import (
	"testing"
	"time"
)

// Mutate takes guards out of the scripts for the length of a test, pairs of what
// is there and what is to be there. It fails if one is not there.
func Mutate(t *testing.T, guards ...string) {
	t.Helper()
	mutant := parts
	for i := 0; i < len(guards); i += 2 {
		var n int
		if mutant, n = mutant.Mutant("", guards[i], guards[i+1]); n == 0 {
			t.Fatalf("no script has %q any more: the mutation tests nothing", guards[i])
		}
	}
	old := script
	t.Cleanup(func() { script = old })
	script = newScripts(mutant)
}

// MutateMargin makes holders believe that a lease lasts longer than it does.
func MutateMargin(t *testing.T) {
	old := margin
	margin = func(time.Duration) time.Duration { return -time.Hour }
	t.Cleanup(func() { margin = old })
}

// AwaitLine waits until so many of this process wait after the one that holds
// the lock or, with queued, after the first of them, that is in the queue.
func AwaitLine(t *testing.T, l Lock, n int, queued bool) {
	t.Helper()
	if queued {
		n--
	}
	for end := time.Now().Add(30 * time.Second); ; <-time.After(time.Millisecond) {
		all := l.localWaiters()
		all.mu.Lock()
		r := all.byMain[l.keys.Main]
		line := -1
		if r != nil {
			r.mu.Lock()
			line = r.line.n
			r.mu.Unlock()
		}
		all.mu.Unlock()
		if line == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d in line, want %d", line, n)
		}
	}
}

// WaitedLocks returns how many locks someone of this process waits for.
func WaitedLocks(l Lock) int {
	all := l.localWaiters()
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.byMain)
}

// NeverPoll lets waiters sleep until something wakes them.
func NeverPoll(t *testing.T) {
	old := poll
	poll = time.Hour
	t.Cleanup(func() { poll = old })
}

// MutateAsk lets a message that hands a lock over be enough for everybody.
func MutateAsk(t *testing.T) {
	old := mustAsk
	mustAsk = func(*Options) bool { return false }
	t.Cleanup(func() { mustAsk = old })
}

// MutateForeign lets a message say how long the lock is claimed for.
func MutateForeign(t *testing.T) {
	old := foreign
	foreign = func(*waiter, string) bool { return false }
	t.Cleanup(func() { foreign = old })
}

// MutateLate lets a renewal count that comes after the lease was over.
func MutateLate(t *testing.T) {
	old := late
	late = func(time.Time, time.Time) bool { return false }
	t.Cleanup(func() { late = old })
}

// StopTimer stops the timer of a lease's deadline, as in a process that was
// suspended: nothing has fired when it goes on.
func StopTimer(l *Lease) {
	l.life.mu.Lock()
	defer l.life.mu.Unlock()
	l.life.last.Stop()
}
