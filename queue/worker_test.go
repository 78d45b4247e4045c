package queue_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestUnknownDurability: a server that cannot be asked whether it throws jobs away
// is an error, and a user that may not ask is none.
func TestUnknownDurability(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey, keywrighttest.Config("maxmemory", "100mb"),
		keywrighttest.Config("maxmemory-policy", "allkeys-lru"))
	gone := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(openWith(t, gone.URL(), keywright.Options{Attempts: 2, Timeout: time.Second}), "mail",
		value.Text(0), queue.Options{})
	nothing := func(context.Context, *queue.Job[string]) error { return nil }
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	gone.Kill()
	err := q.Worker(nothing, queue.WorkerOptions{}).Run(ctx)
	if class, _ := keywright.ClassOf(err); err == nil || class == keywright.Invalid || ctx.Err() != nil {
		t.Errorf("%v (%v)", err, class)
	}
	s.Do("ACL", "SETUSER", "w", "on", ">w", "~*", "&*", "+@all", "-info")
	q = queue.Open(open(t, strings.Replace(s.URL(), "redis://", "redis://w:w@", 1)), "mail", value.Text(0),
		queue.Options{})
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
	ran := make(chan struct{})
	started(t, q.Worker(func(context.Context, *queue.Job[string]) error { close(ran); return nil }, queue.WorkerOptions{}))
	<-ran
}

// TestLooksUntilAllIsSeen: as long as there is more that is due, or that a dead
// worker has left, each call of a worker finds it.
func TestLooksUntilAllIsSeen(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"due", "left"} {
		s := keywrighttest.Start(t, keywrighttest.Redis)
		q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
		heap(s, place, 50)
		w := s.RecordScripts()
		var ran atomic.Int64
		over := make(chan struct{})
		stop := started(t, q.Worker(func(context.Context, *queue.Job[string]) error {
			if ran.Add(1) == 50 {
				close(over)
			}
			return nil
		}, queue.WorkerOptions{Concurrency: 1, Batch: 10}))
		<-over
		stop()
		got := 0
		for _, c := range w.Calls() {
			sent := func(word string) bool {
				return slices.ContainsFunc(c.Commands, func(command []string) bool { return strings.EqualFold(command[0], word) })
			}
			if !sent("LRANGE") && !sent("ZRANGE") || got == 5 { // it only settles
				continue
			}
			if got++; !sent("ZADD") {
				t.Errorf("%s: call %d has claimed nothing: %q", place, got, c.Commands)
			}
		}
	}
}
