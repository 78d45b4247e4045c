package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// zombie lets a worker be cut off in the middle of a job, until another one has
// it, and lets the first one end it then. It gives what was wrong.
func zombie(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	o := queue.Options{Lease: 400 * time.Millisecond}
	var notices atomic.Int64
	hook := keywright.Hook{Notice: func(_ context.Context, n keywright.Notice) {
		if n.Kind == notice.JobLost {
			notices.Add(1)
		}
	}}
	far := queue.Open(openWith(t, "redis://"+p.Addr(), keywright.Options{Hooks: []keywright.Hook{hook}}), "mail",
		value.Text(0), o)
	near := queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
	first, second, over := make(chan context.Context, 1), make(chan int64, 2), make(chan struct{})
	var lost atomic.Bool
	var older atomic.Int64
	started(t, far.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		older.Store(j.Fence)
		first <- ctx
		<-over
		return nil // it says that it is done, too late
	}, queue.WorkerOptions{Concurrency: 1, OnError: func(err error) {
		if errors.Is(err, queue.ErrLost) {
			lost.Store(true)
		}
	}}))
	id, err := far.Enqueue(t.Context(), queue.Task[string]{})
	must(t, err)
	running := <-first
	p.Freeze()
	leave := make(chan struct{})
	stop := started(t, near.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		second <- j.Fence
		<-leave
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	if fence := <-second; fence <= older.Load() {
		wrong = append(wrong, fmt.Sprintf("the second run has the fence %d, the first one had %d", fence, older.Load()))
	}
	if running.Err() == nil {
		wrong = append(wrong, "the second run began before the first one was told to stop")
	}
	p.Thaw()
	close(over)
	eventually(t, "what the first worker says has been heard", func() bool {
		if _, err = near.State(t.Context(), id); err != nil {
			wrong = append(wrong, fmt.Sprintf("the job has gone while it runs: %v", err))
		}
		return lost.Load() || err != nil
	})
	close(leave)
	stop()
	if n := notices.Load(); n != 1 && lost.Load() {
		wrong = append(wrong, fmt.Sprintf("it was lost, in %d notices", n))
	}
	return wrong
}

// TestZombie (bugs Q1, Q5): a worker that has lost a job can say nothing about it any
// more, and was asked to stop before another one began.
func TestZombie(t *testing.T) {
	t.Parallel()
	for _, w := range zombie(t) {
		t.Error(w)
	}
}

// TestLostBeforeItBegan: a job whose lease is over while it waits for another
// one of its batch is not begun.
func TestLostBeforeItBegan(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	q := queue.Open(open(t, "redis://"+p.Addr()), "mail", value.Text(0), queue.Options{Lease: 200 * time.Millisecond})
	_, err := q.EnqueueAll(t.Context(), make([]queue.Task[string], 2))
	must(t, err)
	var runs, done atomic.Int64
	started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		if ctx.Err() != nil {
			t.Errorf("run %d has begun although its lease is over", j.Fence)
		}
		if runs.Add(1) > 1 {
			done.Add(1)
			return nil
		}
		p.Freeze()
		defer p.Thaw()
		<-ctx.Done()
		eventually(t, "its lease is over", func() bool { return !time.Now().Before(j.Deadline()) })
		return context.Cause(ctx)
	}, queue.WorkerOptions{Concurrency: 1, Batch: 2}))
	eventually(t, "both are done", func() bool { return done.Load() == 2 })
}

// TestLostIsNoAttempt: what fails because its lease was lost does not use up an
// attempt, also when no other worker has the job yet.
func TestLostIsNoAttempt(t *testing.T) {
	queue.MutateMargin(t, 900*time.Millisecond)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: time.Second, Retry: 1})
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	var told atomic.Bool
	again := make(chan int64, 1)
	var runs atomic.Int64
	started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		if runs.Add(1) > 1 {
			again <- j.Attempt
			return nil
		}
		<-ctx.Done() // long before the server ends the lease
		return ctx.Err()
	}, queue.WorkerOptions{Concurrency: 1, OnError: func(err error) {
		if errors.Is(err, queue.ErrLost) {
			told.Store(true)
		}
	}}))
	eventually(t, "it runs again", func() bool {
		dead, err := q.Dead(t.Context(), 0, 1)
		must(t, err)
		return len(again) > 0 || len(dead) > 0
	})
	if len(again) == 0 {
		t.Fatal("it is dead, and had no attempt that failed by itself")
	}
	if attempt := <-again; attempt != 1 || !told.Load() {
		t.Errorf("attempt %d, told %t", attempt, told.Load())
	}
}

// TestLeaseIsDeleted (bug Q2): a job without a lease is not stuck: its worker's
// next sign of life brings the lease back, and without a worker Reconcile does.
func TestLeaseIsDeleted(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: 300 * time.Millisecond}, "high", "low")
	ctx := t.Context()
	id, err := q.Enqueue(ctx, queue.Task[string]{Lane: "low"})
	must(t, err)
	entered, leave := make(chan struct{}, 5), make(chan struct{})
	stop := started(t, q.Worker(func(ctx context.Context, _ *queue.Job[string]) error {
		entered <- struct{}{}
		<-leave
		return context.Cause(ctx)
	}, queue.WorkerOptions{}))
	<-entered
	s.Do("DEL", "{mail}:leases")
	eventually(t, "the lease is back", func() bool { return s.Do("ZSCORE", "{mail}:leases", id) != nil })
	close(leave)
	eventually(t, "done", func() bool { _, err := q.State(ctx, id); return errors.Is(err, keywright.ErrNotFound) })
	stop()
	for i, harm := range []func(id string){
		func(id string) {
			s.Do("HSET", "{mail}:runs", id, "dead/one 1 1 0 0 0 r1\n\n")
			s.Do("LREM", "{mail}:low", "0", id)
		},
		func(id string) { s.Do("DEL", "{mail}:low") },
	} {
		id, err := q.Enqueue(ctx, queue.Task[string]{Lane: "low", ID: fmt.Sprint("orphan-", i)})
		must(t, err)
		harm(id)
		for _, dry := range []bool{true, true, false} {
			if back, err := q.Reconcile(ctx, dry); err != nil || fmt.Sprint(back) != "["+id+"]" {
				t.Errorf("%v %v", back, err)
			}
		}
		if back, err := q.Reconcile(ctx, false); err != nil || len(back) > 0 {
			t.Errorf("again: %v %v", back, err)
		}
	}
	var done atomic.Int64
	started(t, q.Worker(func(context.Context, *queue.Job[string]) error { done.Add(1); return nil },
		queue.WorkerOptions{}))
	eventually(t, "both ran", func() bool { return done.Load() == 2 })
}

// TestMissingBody (bug Q8): an id without a job is passed over.
func TestMissingBody(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Int(0, 100), queue.Options{})
	ids, err := q.EnqueueAll(t.Context(), []queue.Task[int64]{{Payload: 1}, {Payload: 2}, {Payload: 3}, {Payload: 4,
		In: time.Millisecond}, {Payload: 5}})
	must(t, err)
	s.Do("DEL", "{mail}:job:"+ids[0], "{mail}:job:"+ids[3])
	s.Do("APPEND", "{mail}:job:"+ids[1], "no number")
	s.Do("SET", "{mail}:job:"+ids[2], "no line\n3")
	s.Do("ZADD", "{mail}:leases", "1", "gone")
	s.Do("HSET", "{mail}:runs", "gone", "dead/one 1 1 0 0 0 r1\n\n", ids[0], "- 1 1 0 0 0 r1\n\n", ids[3], "rubbish",
		ids[4], "rubbish")
	var done atomic.Int64
	started(t, q.Worker(func(context.Context, *queue.Job[int64]) error { done.Add(1); return nil }, queue.WorkerOptions{}))
	eventually(t, "the last ran", func() bool { return done.Load() == 1 })
	eventually(t, "those that say nothing are dead", func() bool {
		d, err := q.Dead(t.Context(), 0, 5)
		must(t, err)
		return len(d) == 2 && d[0].Reason != d[1].Reason
	})
	eventually(t, "nothing is left", func() bool {
		s, err := q.Stats(t.Context())
		must(t, err)
		return s.Waiting()+s.Leased+s.Delayed == 0
	})
	eventually(t, "nothing is known of those that are gone", func() bool {
		return s.Do("HLEN",
			"{mail}:runs") == int64(2)
	})
}

// TestLostReplies: a job that was put there and not answered for is there once;
// one that was claimed and not answered for runs after its lease; one whose end
// was not answered for has ended.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	c := open(t, "redis://"+p.Addr())
	q := queue.Open(c, "mail", value.Text(0), queue.Options{Lease: 300 * time.Millisecond})
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{ID: "warm"})))
	for i := range 20 {
		p.LoseReplyTo("EVALSHA")
		task := queue.Task[string]{Payload: fmt.Sprint(i)}
		if i%2 == 0 {
			task.ID = fmt.Sprint("task-", i)
		}
		must(t, expect.Err(q.Enqueue(t.Context(), task)))
	}
	if n := s.Do("LLEN", "mail"); n != int64(21) {
		t.Fatalf("%v jobs", n)
	}
	var runs sync.Map
	var done atomic.Int64
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		if n, _ := runs.LoadOrStore(j.ID, new(atomic.Int64)); n.(*atomic.Int64).Add(1) > 1 {
			t.Errorf("%s ran again", j.ID)
		}
		if done.Add(1)%5 == 0 {
			p.LoseReplyTo("EVALSHA")
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 2, Batch: 3}))
	eventually(t, "all ran", func() bool { return done.Load() == 21 })
	eventually(t, "nothing is left", func() bool {
		s, err := q.Stats(t.Context())
		return err == nil &&
			s.Waiting()+s.Leased+s.Delayed == 0
	})
}

// TestUniqueNamesOutliveNobody (bug Q6): whatever is lost of a job, its unique
// name does not block for ever.
func TestUniqueNamesOutliveNobody(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx := t.Context()
	id, err := q.Enqueue(ctx, queue.Task[string]{Unique: "u"})
	must(t, err)
	if s.Do("PTTL", "{mail}:unique:u").(int64) <= 0 {
		t.Error("a unique name without a TTL")
	}
	s.Do("DEL", "{mail}:job:"+id)
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{Unique: "u"})))
	ok, err := q.Cancel(ctx, s.Do("GET", "{mail}:unique:u").(string))
	must(t, err)
	if !ok || s.Do("EXISTS", "{mail}:unique:u") != int64(0) {
		t.Error("the name of a cancelled job is taken")
	}
}

// TestServerGoes: the server is away for a while, and frozen for a while; the
// worker goes on by itself.
func TestServerGoes(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey, keywrighttest.Config("appendonly", "yes"),
		keywrighttest.Config("appendfsync", "always"))
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: 500 * time.Millisecond})
	var ran sync.Map
	var n atomic.Int64
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		if _, again := ran.LoadOrStore(j.ID, true); !again {
			n.Add(1)
		}
		return nil
	}, queue.WorkerOptions{}))
	away := func() {
		eventually(t, "a call fails", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond) // more than a lease
			defer cancel()
			_, err := q.Stats(ctx)
			return err != nil
		})
	}
	for i := range 4 {
		must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
		if i%2 == 0 {
			s.Kill()
			away()
			s.Restart()
		} else {
			s.Stop()
			away()
			s.Continue()
		}
		eventually(t, "put", func() bool { _, err := q.Enqueue(t.Context(), queue.Task[string]{}); return err == nil })
		eventually(t, "it goes on", func() bool { return n.Load() >= int64(2*i+2) })
	}
}
