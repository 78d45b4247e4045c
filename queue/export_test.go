package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/queue/internal/send"
)

// Mutate takes guards out of the scripts for the length of a test, pairs of a
// text and its replacement. It fails if one is not there.
func Mutate(t *testing.T, guards ...string) {
	t.Helper()
	for i := 0; i < len(guards); i += 2 {
		found, undo := without(guards[i], guards[i+1])
		t.Cleanup(undo)
		if !found {
			t.Fatalf("no script has %q any more: the mutation tests nothing", guards[i])
		}
	}
}

// Without is Mutate for the life of a process. It gives the guard that is not there.
func Without(guards ...string) (missing string) {
	for i := 0; i < len(guards); i += 2 {
		if found, _ := without(guards[i], guards[i+1]); !found {
			missing = guards[i]
		}
	}
	return missing
}

func without(guard, instead string) (found bool, undo func()) {
	old, oldScripts := parts, standard
	mutant, n := parts.Mutant("", guard, instead)
	parts, standard = mutant, newScripts(mutant)
	return n > 0, func() { parts, standard = old, oldScripts }
}

// Clock lets each script that writes note what it takes of the server's own CPU time,
// which no other process lengthens (Redis 7.0 has no such clock): in the list {mail}:slow, if that is more than limit.
func Clock(t *testing.T, limit time.Duration) {
	t.Helper()
	old := standard
	t.Cleanup(func() { standard = old })
	for name, script := range map[string]**keywright.Script{
		"enqueue": &standard.enqueue, "plain": &standard.plain, "fetch": &standard.fetch, "beat": &standard.beat,
		"job": &standard.job, "begin": &standard.begin, "pause": &standard.pause, "reconcile": &standard.reconcile,
	} {
		*script = keywright.NewScript("clocked", fmt.Sprintf(`local began = os.clock()
local function body(KEYS, ARGV)
%s
end
local out = body(KEYS, ARGV)
local took = (os.clock() - began) * 1000
if took > %f then redis.call('RPUSH', '{mail}:slow', string.format('%%.1f ms: %%s', took, KEYS[1])) end
return out`, parts.Script(name), float64(limit)/1e6))
	}
}

// MutateMargin makes workers end a lease so much earlier than the server does, or
// later if it is negative.
func MutateMargin(t *testing.T, early time.Duration) {
	old := margin
	margin = func(time.Duration) time.Duration { return early }
	t.Cleanup(func() { margin = old })
}

// Plain returns the script of what most enqueues are.
func Plain() string { return parts.Script("plain") }

// Fetch returns the script that claims: with its quick way alone, and "slow" where that does not go, and with the long way
// alone.
func Fetch() (quick, slow string) {
	for _, way := range []struct {
		text                 *string
		file, guard, instead string
	}{
		{&quick, "fetch", "-- include: quick\nif not quick then\n", "-- include: quick\nif not quick then\ndo return 'slow' end\n"},
		{&slow, "quick", "local quick = mode ~= 'tidy' and", "local quick = false and"},
	} {
		mutant, n := parts.Mutant(way.file, way.guard, way.instead)
		if n != 1 {
			panic("no script has " + way.guard)
		}
		*way.text = mutant.Script("fetch")
	}
	return quick, slow
}

// Bulks returns how many calls with many jobs each are under way.
func Bulks[T any](q Queue[T]) int {
	return send.Bulks(q.client, q.keys.Lanes[0].Key)
}

// Kept returns how many queues a client keeps something of, beside their values.
func Kept(c *keywright.Client) int {
	return send.Kept(c)
}

// Answer is that of a call that has looked at everything: its number, how many were sent
// by then, and when something is due.
type Answer struct {
	Call, Sent int64
	Due        time.Duration
}

// Expected returns when something is due after some answers, from now.
func Expected(q Queue[string], answers ...Answer) time.Duration {
	w := q.Worker(func(context.Context, *Job[string]) error { return nil }, WorkerOptions{})
	c := newWorkerPool(w, context.Background())
	for _, a := range answers {
		c.seq = a.Sent
		c.expect(a.Call, a.Due, true)
	}
	return time.Until(c.dueAt)
}

// FromEnd reads a list in pages, from its end.
func FromEnd(read func(from, to int64) ([]string, error), each func(id string) bool) (bool, error) {
	return fromEnd(read, each)
}
