package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// watched returns a client that counts the operations of each name as they begin.
func watched(t *testing.T, url string) (c *keywright.Client, begun func(op string) int64) {
	t.Helper()
	counts := map[string]*atomic.Int64{}
	for _, op := range []string{"beat", "fetch", "cancel", "look", "enqueue", "begin"} {
		counts[op] = new(atomic.Int64)
	}
	hook := keywright.Hook{Start: func(ctx context.Context, call keywright.Call) context.Context {
		if n := counts[call.Op]; n != nil {
			n.Add(1)
		}
		return ctx
	}}
	c = servertest.Open(t, url, keywright.Options{Attempts: 20, Timeout: 2 * time.Second,
		Hooks: []keywright.Hook{hook}})
	return c, func(op string) int64 { return counts[op].Load() }
}

// ofAnotherDatabase runs a job of the same queue and id in two databases, and
// cancels that in the second one. It gives what was wrong with the first.
func ofAnotherDatabase(t *testing.T, guards ...string) (wrong []string) {
	queue.Mutate(t, guards...)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	client, begun := watched(t, s.URL()+"/0")
	here, there := queue.Open(client, "mail", value.Text(0), queue.Options{}), queue.Open(open(t, s.URL()+"/1"), "mail",
		value.Text(0), queue.Options{})
	ctx := t.Context()
	running, leave := make(chan context.Context, 2), make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	defer release()
	stopHere := started(t, here.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		running <- ctx
		<-leave
		j.SetResult("to its end")
		return context.Cause(ctx)
	}, queue.WorkerOptions{Concurrency: 1}))
	must(t, expect.Err(here.Enqueue(ctx, queue.Task[string]{ID: "order-17"})))
	job := <-running
	stopThere := started(t, there.Worker(func(ctx context.Context, _ *queue.Job[string]) error {
		running <- ctx
		<-ctx.Done()
		return context.Cause(ctx)
	}, queue.WorkerOptions{Concurrency: 1}))
	must(t, expect.Err(there.Enqueue(ctx, queue.Task[string]{ID: "order-17"})))
	other := <-running
	if ok, err := there.Cancel(ctx, "order-17"); !ok || err != nil {
		t.Errorf("cancel: %v %v", ok, err)
	}
	<-other.Done() // what it has received, the first worker has, too, or will soon
	owner, _, _ := strings.Cut(s.Do("HGET", "{mail}:runs", "order-17").(string), " ")
	for _, message := range []string{"cancel order-17", "cancel 0 order-17", "cancel 1 " + owner, "cancel", "", "due",
		"pause 0", "cancel 0 " + owner, "cancel 0 " + owner + " order-17"} {
		before := begun("beat")
		s.Do("PUBLISH", "{mail}:ready", message)
		if strings.HasPrefix(message, "cancel 0 "+owner) {
			eventually(t, "it asks the server", func() bool { return begun("beat") > before })
		}
	}
	before := begun("beat")
	s.Do("PUBLISH", "{mail}:ready", "cancel 0 "+owner)
	eventually(t, "it has asked, and asks again", func() bool { return begun("beat") > before })
	if job.Err() != nil {
		wrong = append(wrong, fmt.Sprintf("a message has ended the job of this database: %v", context.Cause(job)))
	}
	release()
	stopHere()
	stopThere()
	if r, err := here.Result(ctx, "order-17"); r != "to its end" || err != nil {
		wrong = append(wrong, fmt.Sprintf("the job of this database has the result %q: %v", r, err))
	}
	return wrong
}

// TestCancelOfAnotherDatabase: a cancel in one database is none in another, and a
// message alone cancels nothing.
func TestCancelOfAnotherDatabase(t *testing.T) {
	for _, w := range ofAnotherDatabase(t) {
		t.Error(w)
	}
}

// TestMessagesOfAnotherDatabase wake no worker.
func TestMessagesOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	client, begun := watched(t, s.URL()+"/2")
	q := queue.Open(client, "mail", value.Text(0), queue.Options{})
	ran := make(chan string, 1)
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.ID; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	<-ran
	const messages = 200
	before := begun("fetch")
	for i := range messages {
		s.Do("PUBLISH", "{mail}:ready", []string{"ready 0", "due 7", "ready 1"}[i%3])
		_, _ = q.Result(t.Context(), "none") // a round trip, in which a worker that woke could ask
	}
	if n := begun("fetch") - before; n > messages/4 {
		t.Errorf("%d calls for %d messages of other databases", n, messages)
	}
}
