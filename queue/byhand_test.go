package queue_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// TestByHandIsSentOnce: where the reply to what is done by hand is lost, no caller can
// say whether it was done, and it is not done again: there may be a new job of that
// id by then.
func TestByHandIsSentOnce(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	far, near := open(t, "redis://"+p.Addr()), open(t, s.URL())
	ctx := t.Context()
	for _, verb := range []string{"cancel", "discard", "retry"} {
		q, direct := queue.Open(far, "mail-"+verb, value.Text(0), queue.Options{}), queue.Open(near, "mail-"+verb,
			value.Text(0), queue.Options{Retry: 1})
		do := map[string]func(context.Context, string) (bool, error){"cancel": q.Cancel, "discard": q.Discard,
			"retry": q.Retry}[verb]
		_, err := do(ctx, "warm") // the server has the script
		must(t, err)
		must(t, expect.Err(direct.Enqueue(ctx, queue.Task[string]{ID: verb})))
		if verb != "cancel" {
			stop := started(t, direct.Worker(func(context.Context, *queue.Job[string]) error { return errors.New("no") },
				queue.WorkerOptions{}))
			eventually(t, "it is dead", func() bool { st, err := direct.Stats(ctx); must(t, err); return st.Dead == 1 })
			stop()
		}
		watch := s.Monitor()
		p.LoseReplyTo(verb)
		ok, err := do(ctx, verb)
		if class, _ := keywright.ClassOf(err); ok || class != keywright.UnknownOutcome || !p.Lost() {
			t.Errorf("%s: %v %v (lost %v)", verb, ok, err, p.Lost())
		}
		must(t, expect.Err(q.Stats(ctx))) // what was to come before has come
		n := 0
		for _, line := range watch() {
			if strings.Contains(line, `"`+verb+`" "`+verb+`"`) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s was sent %d times", verb, n)
		}
		if st, err := direct.Stats(ctx); err != nil || st.Dead > 0 {
			t.Errorf("%s was not done: %+v %v", verb, st, err)
		}
	}
}

// TestCancelInALongLane: it costs the server no look at the whole lane, and the job
// does not run.
func TestCancelInALongLane(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("slowlog-log-slower-than", "5000"))
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx := t.Context()
	const jobs = 100_000
	_, err := q.EnqueueAll(ctx, make([]queue.Task[string], jobs))
	must(t, err)
	for _, task := range []queue.Task[string]{{ID: "last"}, {ID: "later", In: time.Hour}, {ID: "keeps"}} {
		must(t, expect.Err(q.Enqueue(ctx, task)))
	}
	watch := s.Monitor()
	for _, id := range []string{"last", "later"} {
		if ok, err := q.Cancel(ctx, id); !ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		if ok, err := q.Cancel(ctx, id); ok || err != nil {
			t.Errorf("again: %v %v", ok, err)
		}
	}
	for _, line := range watch() {
		for _, long := range []string{`"LREM"`, `"LPOS" "mail"`, `"LRANGE"`} {
			if strings.Contains(line, long) {
				t.Errorf("a script of O(lane): %s", line)
			}
		}
	}
	s.Do("LTRIM", "mail", fmt.Sprint(jobs), "-1") // the end of the lane has come to its front
	ran := make(chan string, 10)
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.ID; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	if got := <-ran; got != "keeps" {
		t.Errorf("%s ran", got)
	}
	eventually(t, "nothing is left", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting()+st.Leased+st.Delayed == 0
	})
}

// TestRetryTakesTheUniqueName: a dead job that is brought back has its unique name
// again, and none is brought back while another job has it.
func TestRetryTakesTheUniqueName(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx := t.Context()
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "a", Unique: "user 1"})))
	stop := started(t, q.Worker(func(context.Context,
		*queue.Job[string]) error {
		return queue.Discard(errors.New("no"))
	}, queue.WorkerOptions{}))
	eventually(t, "it is dead", func() bool { st, err := q.Stats(ctx); must(t, err); return st.Dead == 1 })
	stop()
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "b", Unique: "user 1"})))
	if ok, err := q.Retry(ctx, "a"); ok || !errors.Is(err, queue.ErrExists) {
		t.Errorf("while b has its name: %v %v", ok, err)
	}
	if st, err := q.Stats(ctx); err != nil || st.Dead != 1 || st.Waiting() != 1 {
		t.Errorf("%+v %v", st, err)
	}
	if ok, err := q.Cancel(ctx, "b"); !ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if ok, err := q.Retry(ctx, "a"); !ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if other, err := q.Enqueue(ctx, queue.Task[string]{ID: "c", Unique: "user 1"}); other != "a" || !errors.Is(err,
		queue.ErrExists) {
		t.Errorf("a waits, and has the name: %q %v", other, err)
	}
}

// TestKeysOfAWrongType: an error names the key, and changes nothing.
func TestKeysOfAWrongType(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{}, "high", "low")
	ctx := t.Context()
	look := func() string {
		all := ""
		for _, key := range s.Do("EVAL", "local k = redis.call('KEYS', '*'); table.sort(k); return k", "0").([]any) {
			dump, _ := s.Try("DUMP", key.(string))
			all += fmt.Sprintf("%v %q\n", key, dump)
		}
		return all
	}
	for _, key := range []string{"{mail}:leases", "{mail}:delayed", "{mail}:dead", "{mail}:state", "{mail}:runs",
		"{mail}:workers", "{mail}:high", "{mail}:low", "{mail}:job:dead", "{mail}:result:dead"} {
		s.Do("FLUSHALL")
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "waits"})))
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "delayed", In: time.Hour, Lane: "low"})))
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "dead", Lane: "low", Unique: "u"})))
		stop := started(t, q.Worker(func(context.Context,
			*queue.Job[string]) error {
			return queue.Discard(errors.New("no"))
		}, queue.WorkerOptions{Concurrency: 1}))
		eventually(t, "two are dead", func() bool { st, err := q.Stats(ctx); must(t, err); return st.Dead == 2 })
		stop()
		s.Do("DEL", key)
		s.Do("PFADD", key, "x")
		if strings.Contains(key, ":job:") || strings.Contains(key, ":result:") {
			s.Do("DEL", key)
			s.Do("SADD", key, "x")
		}
		for name, do := range map[string]func() error{
			"Cancel delayed": func() error {
				return expect.Err(q.Cancel(ctx,
					"delayed"))
			}, "Retry": func() error { return expect.Err(q.Retry(ctx, "dead")) },
			"Discard": func() error {
				return expect.Err(q.Discard(ctx,
					"dead"))
			}, "Dead": func() error { return expect.Err(q.Dead(ctx, 0, 10)) },
			"State": func() error {
				return expect.Err(q.State(ctx,
					"dead"))
			}, "Stats": func() error { return expect.Err(q.Stats(ctx)) },
			"Result": func() error { return expect.Err(q.Result(ctx, "dead")) }, "Pause": func() error { return q.Pause(ctx) },
		} {
			before := look()
			err := do()
			if err == nil || errors.Is(err, keywright.ErrNotFound) {
				continue // it does not need this key
			}
			if class, _ := keywright.ClassOf(err); class != keywright.Refused || !strings.Contains(err.Error(),
				fmt.Sprintf("%q", key)) {
				t.Errorf("%s with a wrong %s: %v", name, key, err)
			}
			if after := look(); after != before {
				t.Errorf("%s with a wrong %s has changed\n%s to\n%s", name, key, before, after)
			}
		}
	}
}

// TestRenewalsWithAWrongType: no lease depends on the list of workers, or on the state.
func TestRenewalsWithAWrongType(t *testing.T) {
	t.Parallel()
	for lease := 500 * time.Millisecond; !renewed(t, lease); lease *= 4 { // a busy machine may be late for a short one
		if lease > 4*time.Second {
			t.Fatal("the lease was not renewed")
		}
	}
}

// renewed reports whether a lease is renewed five times while keys beside it are of a
// wrong type.
func renewed(t *testing.T, lease time.Duration) bool {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: lease})
	running, leave := make(chan *queue.Job[string]), make(chan struct{})
	var ended atomic.Bool
	stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		select {
		case running <- j:
		case <-leave:
		}
		select {
		case <-leave:
		case <-ctx.Done():
			ended.Store(true)
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	j := <-running
	for _, key := range []string{"{mail}:workers", "{mail}:state"} {
		s.Do("SET", key, "x")
	}
	for range 5 {
		deadline := j.Deadline()
		eventually(t, "the lease is renewed or over", func() bool { return j.Deadline().After(deadline) || ended.Load() })
	}
	s.Do("DEL", "{mail}:workers", "{mail}:state")
	close(leave)
	stop()
	return !ended.Load()
}

// TestUnusedQueuesTakeNoMemory: what a client keeps of a queue is freed when no value
// uses it.
func TestUnusedQueuesTakeNoMemory(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	for i := range 300 {
		q := queue.Open(c, fmt.Sprint("tenant-", i), value.Text(0), queue.Options{})
		must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
		must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{ID: "a"})))
		must(t, expect.Err(q.EnqueueAll(t.Context(), make([]queue.Task[string], 2))))
	}
	eventually(t, "nothing is kept", func() bool { runtime.GC(); return queue.Kept(c) == 0 })
}

// TestTwoValuesOfAQueue: two values of a queue that differ do not travel under the
// name of the first.
func TestTwoValuesOfAQueue(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	without, with := queue.Open(c, "mail", value.Text(0), queue.Options{}), declared(c, time.Hour, queue.Options{})
	few, more := queue.Open(c, "post", value.Text(0), queue.Options{}, "high"), queue.Open(c, "post", value.Text(0),
		queue.Options{}, "high", "low")
	for i, task := range []queue.Task[string]{{}, {ID: "a"}} {
		must(t, expect.Err(without.Enqueue(t.Context(), task)))
		task.ID = strings.Repeat("b", len(task.ID))
		id, err := with.Enqueue(t.Context(), task)
		must(t, err)
		if ms := s.Do("PTTL", "{mail}:job:"+id).(int64); ms <= 0 {
			t.Errorf("%d: a job of the queue with a TTL lives for %d ms", i, ms)
		}
	}
	must(t, expect.Err(few.Enqueue(t.Context(), queue.Task[string]{ID: "a"})))
	must(t, expect.Err(more.Enqueue(t.Context(), queue.Task[string]{ID: "b", Lane: "low"})))
	if n := s.Do("LLEN", "{post}:low"); n != int64(1) {
		t.Errorf("%v jobs in the second lane", n)
	}
	runtime.KeepAlive(few)
	runtime.KeepAlive(without)
}

// TestStatsCostTheSame: what Stats costs does not grow with the jobs, and the oldest
// one is the first that is there.
func TestStatsCostTheSame(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.MovableClock())
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{}, "high", "low")
	ctx := t.Context()
	gone, err := q.Enqueue(ctx, queue.Task[string]{Lane: "low"})
	must(t, err)
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{Lane: "low"})))
	s.Do("DEL", "{mail}:job:"+gone)
	s.MoveClock(time.Hour)
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
	commands := func() (n int) {
		watch := s.Monitor()
		must(t, expect.Err(q.Stats(ctx)))
		for _, line := range watch() {
			if strings.Contains(line, " lua]") {
				n++
			}
		}
		return n
	}
	few := commands()
	must(t, expect.Err(q.EnqueueAll(ctx, make([]queue.Task[string], 5000))))
	if many := commands(); many > few+10 {
		t.Errorf("%d commands for a few jobs, %d for many", few, many)
	}
	st, err := q.Stats(ctx)
	must(t, err)
	if st.Lanes[1].Length != 2 || st.Oldest() < time.Hour || st.Oldest() > 2*time.Hour || st.Lanes[0].Oldest >= time.Hour {
		t.Errorf("%+v", st)
	}
}

// TestRepairWithoutScan: a user that may not scan the server gets an error with a class and a
// hint, and nothing is changed.
func TestRepairWithoutScan(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all", "-scan")
	s.Do("SET", "{mail}:job:lost", "q1 1 - 0 - -\nx")
	q := queue.Open(open(t, "redis://app:p@"+s.Addr()), "mail", value.Text(0), queue.Options{})
	for _, dry := range []bool{true, false} {
		back, err := q.Reconcile(t.Context(), dry)
		e, ok := errors.AsType[*keywright.Error](err)
		if !ok || e.Class != keywright.Refused || !strings.Contains(e.Hint, "SCAN") ||
			!strings.Contains(err.Error(), "NOPERM") || len(back) > 0 {
			t.Errorf("dry %t: %v, %v", dry, back, err)
		}
	}
	if n := s.Do("LLEN", "mail"); n != int64(0) {
		t.Errorf("%v wait", n)
	}
}
