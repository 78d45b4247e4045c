package event

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
)

// Mutate takes a guard out of the scripts for the length of a test. It fails if
// the guard is not there.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	found := false
	for _, s := range []struct {
		script **keywright.Script
		text   string
	}{{&appendScript, appendText}, {&groupScript, groupText}, {&claimScript, claimText}, {&pulseScript, pulseText}, {&settleScript, settleText}, {&leaveScript, leaveText}, {&trimScript, trimText}} {
		if !strings.Contains(s.text, guard) {
			continue
		}
		found = true
		old := *s.script
		*s.script = keywright.NewScript("mutated", strings.ReplaceAll(s.text, guard, instead))
		t.Cleanup(func() { *s.script = old })
	}
	if !found {
		t.Fatalf("no script has %q any more: the mutation tests nothing", guard)
	}
}

// Consumer is one Run, driven by hand.
type Consumer[M any] struct{ *consumer[M] }

// ConsumerOf makes one.
func ConsumerOf[M any](s Stream[M], group string, o RunOptions[M]) Consumer[M] {
	return Consumer[M]{newConsumer(s, group, nil, o)}
}

// Fetch, Claim, Pulse and Settle are what Run does by itself; Hand is what it has
// in hand.
func (c Consumer[M]) Fetch(t *testing.T, n int) error { return c.fetch(t.Context(), n, 1e9) }

func (c Consumer[M]) Claim(t *testing.T) error {
	_, err := c.claim(t.Context(), 100)
	return err
}

func (c Consumer[M]) Pulse(t *testing.T) { c.pulse(t.Context()) }

func (c Consumer[M]) Create(t *testing.T) error { return c.create(t.Context()) }

func (c Consumer[M]) Leave() { c.leave() }

func (c Consumer[M]) Settle(t *testing.T, id, what string) int64 {
	c.mu.Lock()
	d := c.hand[id]
	c.mu.Unlock()
	if d == nil {
		d = &delivery[M]{}
		d.ID = id
	}
	return c.settle(t.Context(), d, what, nil)
}

func (c Consumer[M]) Hand() (ids []string) { return c.ids() }
