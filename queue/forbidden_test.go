package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestAForbiddenChannel: of a user that may not publish on the channel, what would wake
// others is refused before anything is changed, and all else is done.
func TestAForbiddenChannel(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "app", "on", ">p", "~*", "resetchannels", "+@all")
		mail := func(url string) queue.Queue[string] {
			return queue.Open(open(t, url), "mail", value.Text(0), queue.Options{Lease: time.Hour})
		}
		free, q := mail(s.URL()), mail("redis://app:p@"+s.Addr())
		ctx := t.Context()
		put := func(q queue.Queue[string], task queue.Task[string]) error { return expect.Err(q.Enqueue(ctx, task)) }
		began, leave := make(chan struct{}), make(chan struct{})
		stop := started(t, free.Worker(func(_ context.Context, j *queue.Job[string]) error {
			if j.ID == "dead" {
				return queue.Discard(errors.New("no"))
			}
			close(began)
			<-leave
			return nil
		}, queue.WorkerOptions{Concurrency: 1}))
		must(t, put(free, queue.Task[string]{ID: "dead"}))
		eventually(t, "it is dead", func() bool { return s.Do("ZCARD", "{mail}:dead") == int64(1) })
		must(t, put(free, queue.Task[string]{ID: "held"}))
		<-began
		must(t, put(free, queue.Task[string]{ID: "late", In: time.Hour}))
		s.Do("SET", "{mail}:job:lost", "q1 1 - 0 - -\nx")
		content := func() string {
			out := ""
			for _, key := range s.Do("EVAL", "local k = redis.call('KEYS', '*') table.sort(k) return k", "0").([]any) {
				if key != "{mail}:workers" {
					out += fmt.Sprintf("%s %q\n", key, s.Do("DUMP", key.(string)))
				}
			}
			return out
		}
		before := content()
		for name, call := range map[string]func() error{
			"enqueue":         func() error { return put(q, queue.Task[string]{ID: "x"}) },
			"enqueue plain":   func() error { return put(q, queue.Task[string]{}) },
			"enqueue delayed": func() error { return put(q, queue.Task[string]{ID: "x", In: time.Second}) },
			"pause":           func() error { return q.Pause(ctx) },
			"resume":          func() error { return q.Resume(ctx) },
			"cancel":          func() error { return expect.Err(q.Cancel(ctx, "held")) },
			"retry":           func() error { return expect.Err(q.Retry(ctx, "dead")) },
			"run":             func() error { return expect.Err(q.RunNow(ctx, "late")) },
			"reconcile":       func() error { return expect.Err(q.Reconcile(ctx, false)) },
		} {
			err := call()
			if class, _ := keywright.ClassOf(err); class != keywright.Refused || !strings.Contains(err.Error(), "{mail}:ready") {
				t.Errorf("%s: %v", name, err)
			}
			if now := content(); now != before {
				t.Errorf("%s was refused, and changed\n%s\nto\n%s", name, before, now)
			}
		}
		close(leave)
		stop()
		must(t, put(free, queue.Task[string]{ID: "one"}))
		for name, err := range map[string]error{
			"enqueue":         put(q, queue.Task[string]{ID: "two"}),
			"enqueue plain":   put(q, queue.Task[string]{}),
			"enqueue delayed": put(q, queue.Task[string]{ID: "later", In: 2 * time.Hour}),
			"retry":           expect.Err(q.Retry(ctx, "dead")),
			"reconcile":       expect.Err(q.Reconcile(ctx, false)),
		} {
			if err != nil {
				t.Errorf("nothing is to be told, and %s fails: %v", name, err)
			}
		}
		err := q.Worker(func(context.Context, *queue.Job[string]) error { return nil }, queue.WorkerOptions{}).Run(ctx)
		if class, _ := keywright.ClassOf(err); class != keywright.Refused {
			t.Errorf("a worker that may not hear the channel: %v", err)
		}
	}
}

// TestNoWordOfAJobThatIsOver: where the lease of a doubtful job is over when its claim is
// answered, its handler does not begin, and the server gets no report of it.
func TestNoWordOfAJobThatIsOver(t *testing.T) {
	const lease = time.Minute
	queue.MutateMargin(t, lease)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	heap(s, "twice", 1)
	client, begun := watched(t, s.URL())
	q := queue.Open(client, "mail", value.Text(0), queue.Options{Lease: lease})
	stop := started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		t.Errorf("%s runs", j.ID)
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	eventually(t, "it is claimed, and given back", func() bool { return begun("fetch") > 3 })
	stop()
	if n := begun("begin"); n > 0 {
		t.Errorf("the server was told %d times that its handler begins", n)
	}
}
