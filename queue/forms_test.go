package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestStoredForms: what a program of today has stored is read.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/forms.json")
	must(t, err)
	var forms map[string]string
	must(t, json.Unmarshal(data, &forms))
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{}, "high", "low")
	ctx := t.Context()
	s.Do("SET", "{mail}:job:a", forms["job 1"])
	s.Do("SET", "{mail}:job:b", forms["job 1 without a lane"])
	s.Do("SET", "{mail}:unique:u", "a")
	s.Do("HSET", "{mail}:runs", "a", forms["run 1"], "b", forms["run 1 without an owner"])
	st, err := q.State(ctx, "a")
	if must(t, err); st != (queue.State{Attempt: 2, Crashes: 1, Owner: "worker/1", Progress: "how far\nit is",
		Error: "last error"}) {
		t.Errorf("%+v", st)
	}
	s.Do("ZADD", "{mail}:leases", "1", "a") // its worker has died
	s.Do("ZADD", "{mail}:delayed", "1", "b")
	ran := make(chan string, 2)
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		ran <- fmt.Sprintf("%s %q %d %d %d %t", j.ID, j.Payload, j.Enqueued.UnixMilli(), j.Attempt, j.Crashes,
			j.Fence > 1700000000000001)
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	got := map[string]bool{<-ran: true, <-ran: true}
	for _, want := range []string{`a "payload\nof lines" 1700000000000 2 1 true`, `b "" 1700000000000 3 1 true`} {
		if !got[want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
	eventually(t, "the unique name is free", func() bool { return s.Do("EXISTS", "{mail}:unique:u") == int64(0) })
}

// TestNewerForms: a program leaves alone what a newer one has written, and says so.
func TestNewerForms(t *testing.T) {
	t.Parallel()
	const job, run = "q2 anything at all\nx", "- 1 1 0 0 0 more fields r2\n\n"
	plain := "q1 1 - 0 - -\n"
	for name, forge := range map[string]func(do func(...string)){
		"a job that waits": func(do func(...string)) { do("SET", "{mail}:job:n", job); do("RPUSH", "mail", "n") },
		"a job that is due": func(do func(...string)) {
			do("SET", "{mail}:job:n", job)
			do("ZADD", "{mail}:delayed",
				"1", "n")
		},
		"a job of a dead worker": func(do func(...string)) {
			do("SET", "{mail}:job:n", job)
			do("ZADD", "{mail}:leases",
				"1", "n")
		},
		"what is known of one": func(do func(...string)) {
			do("SET", "{mail}:job:n", plain)
			do("HSET", "{mail}:runs", "n", run)
			do("RPUSH", "mail", "n")
		},
		"what a dead one has left": func(do func(...string)) {
			do("SET", "{mail}:job:n", plain)
			do("HSET", "{mail}:runs", "n", run)
			do("ZADD", "{mail}:leases", "1", "n")
		},
		"the queue": func(do func(...string)) {
			do("SET", "{mail}:job:n", plain)
			do("HSET", "{mail}:state", "format", "2")
			do("RPUSH", "mail", "n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
			forge(func(args ...string) { s.Do(args...) })
			before := whole(s)
			told := make(chan error, 1)
			var ran atomic.Int64
			stop := started(t, q.Worker(func(context.Context, *queue.Job[string]) error { ran.Add(1); return nil },
				queue.WorkerOptions{Concurrency: 2, OnError: func(err error) {
					select {
					case told <- err:
					default:
					}
				}}))
			err := <-told
			if class, _ := keywright.ClassOf(err); !errors.Is(err, queue.ErrNewer) || class != keywright.Refused ||
				!strings.Contains(err.Error(), "mail}:") {
				t.Errorf("%v", err)
			}
			stop()
			for _, do := range []func() error{
				func() error { _, err := q.Cancel(t.Context(), "n"); return err },
				func() error { _, err := q.Reconcile(t.Context(), false); return err },
			} {
				if err := do(); err != nil && !errors.Is(err, queue.ErrNewer) {
					t.Errorf("%v", err)
				} else if err == nil && name != "the queue" &&
					!strings.Contains(fmt.Sprint(whole(s)), fmt.Sprint(before["{mail}:job:n"])) {
					t.Error("it was changed")
				}
			}
			after := whole(s)
			delete(after, "{mail}:workers")
			if name != "the queue" && fmt.Sprint(after) != fmt.Sprint(before) || ran.Load() > 0 {
				t.Errorf("it was changed, %d ran", ran.Load())
			}
		})
	}
}
