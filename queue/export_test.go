package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
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
	undo = func() {}
	for _, s := range scripts {
		if !strings.Contains(*s.text, guard) {
			continue
		}
		found = true
		old, oldText := *s.script, *s.text
		*s.text = strings.ReplaceAll(oldText, guard, instead)
		*s.script = keywright.NewScript("mutated", lookText+s.before+*s.text)
		before := undo
		undo = func() { *s.script, *s.text = old, oldText; before() }
	}
	return found, undo
}

// Clock lets each script that writes note what it takes of the server's own CPU time,
// which no other process lengthens (Redis 7.0 has no such clock): in the list {mail}:slow, if that is more than limit.
func Clock(t *testing.T, limit time.Duration) {
	t.Helper()
	for _, s := range scripts {
		old := *s.script
		t.Cleanup(func() { *s.script = old })
		*s.script = keywright.NewScript("clocked", fmt.Sprintf(`local began = os.clock()
local function body(KEYS, ARGV)
%s
end
local out = body(KEYS, ARGV)
local took = (os.clock() - began) * 1000
if took > %f then redis.call('RPUSH', '{mail}:slow', string.format('%%.1f ms: %%s', took, KEYS[1])) end
return out`, lookText+s.before+*s.text, float64(limit)/1e6))
	}
}

var scripts = []struct {
	script **keywright.Script
	text   *string
	before string
}{
	{&enqueueScript, &enqueueText, knownText}, {&plainScript, &plainText, ""}, {&fetchScript, &fetchText,
		""}, {&beatScript, &beatText, ""},
	{&jobScript, &jobText, knownText}, {&beginScript, &beginText, ""}, {&pauseScript, &pauseText, ""},
	{&reconcileScript, &reconcileText, knownText},
}

// MutateMargin makes workers end a lease so much earlier than the server does, or
// later if it is negative.
func MutateMargin(t *testing.T, early time.Duration) {
	old := margin
	margin = func(time.Duration) time.Duration { return early }
	t.Cleanup(func() { margin = old })
}

// Plain is the script of what most enqueues are.
func Plain() string { return lookText + plainText }

// Fetch is the script that claims: its quick way alone, which answers "slow" where
// it does not go, and the long way alone.
func Fetch() (quick, slow string) {
	rest, body := strings.Index(fetchText, "-- known:"), strings.Index(fetchText, "-- fetch:")
	return lookText + fetchText[:body] + "return 'slow'", lookText + "local KEYS, ARGV, t = KEYS, ARGV, redis.call('TIME')\n" + fetchText[rest:]
}

// Bulks is how many calls with many jobs each are under way.
func Bulks[T any](q Queue[T]) int {
	return len(keywright.Part(q.client, newSenders).rooms.get(q.keys.Lanes[0].Key, func() *room { return &room{} }).calls)
}

// Kept is how many queues a client keeps something of, beside their values.
func Kept(c *keywright.Client) int {
	s := keywright.Part(c, newSenders)
	return s.byQueue.size() + s.rooms.size()
}

// Answer is that of a call that has looked at everything: its number, how many were sent
// by then, and when something is due.
type Answer struct {
	Call, Sent int64
	Due        time.Duration
}

// Expected is when something is due after some answers, from now.
func Expected(q Queue[string], answers ...Answer) time.Duration {
	c := newCrew(q.Worker(func(context.Context, *Job[string]) error { return nil }, WorkerOptions{}), context.Background())
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
