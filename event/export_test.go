package event

import (
	"testing"
	"time"
)

// Mutate takes a guard out of the scripts for the length of a test. It fails if
// the guard is not there.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	mutant, n := parts.Mutant("", guard, instead)
	if n == 0 {
		t.Fatalf("no script has %q any more: the mutation tests nothing", guard)
	}
	old := standard
	standard = newScripts(mutant)
	t.Cleanup(func() { standard = old })
}

// Consumer represents one Run, driven by hand.
type Consumer[M any] struct{ *consumer[M] }

// ConsumerOf makes one.
func ConsumerOf[M any](s Stream[M], group string, o RunOptions[M]) Consumer[M] {
	return Consumer[M]{newConsumer(s, group, nil, o)}
}

// Fetch, Claim, Pulse, Begin, Bury, End and Clean are what Run does by itself;
// Hand is what it has in hand.
func (c Consumer[M]) Fetch(t *testing.T, n int) error { return c.fetch(t.Context(), n, 1e9) }

func (c Consumer[M]) Claim(t *testing.T) error { return c.claim(t.Context(), 100) }

func (c Consumer[M]) Pulse(t *testing.T) { c.pulse(t.Context()) }

func (c Consumer[M]) Create(t *testing.T) error { return c.create(t.Context()) }

func (c Consumer[M]) Recall(t *testing.T) error { return c.recall(t.Context(), 100) }

func (c Consumer[M]) Clean(t *testing.T) error { return c.clean(t.Context()) }

func (c Consumer[M]) End(t *testing.T) { c.end(t.Context(), time.Minute) }

// Begin counts a delivery of a message in hand; false if it is not the
// consumer's any more. done is the id of one that is acknowledged with it, or "".
func (c Consumer[M]) Begin(t *testing.T, id, done string) bool {
	mine, asked := c.begin(t.Context(), c.message(id), c.message(done))
	return mine && asked
}

func (c Consumer[M]) Bury(t *testing.T, id string, reason error) {
	d := c.message(id)
	d.reason = reason
	c.bury(t.Context(), d)
}

func (c Consumer[M]) message(id string) *delivery[M] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hand[id]
}

func (c Consumer[M]) Hand() (ids []string) { return c.ids() }
