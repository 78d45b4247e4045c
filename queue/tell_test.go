package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// logged represents a logger's handler that keeps what it is given, and calls a function.
type logged struct {
	mu    sync.Mutex
	lines []string
	on    func()
}

func (*logged) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler         { return l }
func (l *logged) WithGroup(string) slog.Handler              { return l }
func (l *logged) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	l.lines = append(l.lines, line)
	l.mu.Unlock()
	if l.on != nil {
		l.on()
	}
	return nil
}

func (l *logged) all() []string { l.mu.Lock(); defer l.mu.Unlock(); return slices.Clone(l.lines) }

func openWith(t *testing.T, url string, o keywright.Options) *keywright.Client {
	t.Helper()
	o.Attempts, o.Timeout = 20, 2*time.Second
	return servertest.Open(t, url, o)
}

// TestSlowCallbacks: what a user has given may take as long as it likes: leases are
// renewed meanwhile, and end before another worker has the job.
func TestSlowCallbacks(t *testing.T) {
	gate.Skip(t, "leases of 600 ms that must not be lost")
	t.Parallel()
	for _, callback := range []string{"OnError of a panic", "OnError of a lost job", "OnDead", "a hook", "the logger"} {
		t.Run(callback, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
			called, leave := make(chan struct{}, 100), make(chan struct{})
			slow := func() { called <- struct{}{}; <-leave }
			var client keywright.Options
			o := queue.WorkerOptions{Concurrency: 2}
			switch callback {
			case "OnDead":
				o.OnDead = func(queue.Dead) { slow() }
			case "a hook":
				client.Hooks = []keywright.Hook{{Notice: func(_ context.Context, n keywright.Notice) {
					if n.Kind == notice.JobDead {
						slow()
					}
				}}}
			case "the logger":
				client.Logger = slog.New(&logged{on: slow})
			default:
				o.OnError = func(error) { slow() }
			}
			lease := queue.Options{Lease: 600 * time.Millisecond, Retry: 1}
			far := queue.Open(openWith(t, "redis://"+p.Addr(), client), "mail", value.Text(0), lease)
			near := queue.Open(open(t, s.URL()), "mail", value.Text(0), lease)
			long := make(chan *queue.Job[string], 1)
			longCtx := make(chan context.Context, 1)
			stopFar := started(t, far.Worker(func(ctx context.Context, j *queue.Job[string]) error {
				switch {
				case j.Payload == "long":
					long <- j
					longCtx <- ctx
					<-ctx.Done()
					return context.Cause(ctx)
				case callback == "OnError of a lost job":
					s.Do("HDEL", "{mail}:runs", j.ID)
					return errors.New("too late")
				case callback == "OnError of a panic":
					panic("oh")
				}
				return errors.New("no")
			}, o))
			release := sync.OnceFunc(func() { close(leave) })
			defer release()
			ctx := t.Context()
			id, err := near.Enqueue(ctx, queue.Task[string]{Payload: "long"})
			must(t, err)
			j, first := <-long, <-longCtx
			must(t, expect.Err(near.Enqueue(ctx, queue.Task[string]{Payload: "bad"})))
			<-called
			for range 2 { // one may have been under way
				deadline := j.Deadline()
				eventually(t, "the lease is renewed", func() bool { return j.Deadline().After(deadline) || first.Err() != nil })
			}
			if first.Err() != nil {
				t.Fatalf("the lease was not renewed: %v", context.Cause(first))
			}
			p.Freeze()
			began := make(chan struct{})
			stopNear := started(t, near.Worker(func(_ context.Context, j *queue.Job[string]) error {
				if j.ID != id {
					return nil
				}
				select {
				case <-first.Done():
				default:
					t.Error("a second worker has the job, and the first one was not told")
				}
				close(began)
				return nil
			}, queue.WorkerOptions{Concurrency: 1}))
			<-began
			p.Thaw()
			release()
			stopNear()
			stopFar()
		})
	}
}

// TestGoexit: a handler that ends its goroutine has failed, and neither it nor what
// was claimed with it is lost. A callback that panics harms no other job.
func TestGoexit(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Retry: 1, Lease: time.Hour})
	ctx := t.Context()
	_, err := q.EnqueueAll(ctx, []queue.Task[string]{{ID: "a"}, {ID: "exit", Payload: "exit"}, {ID: "b"}, {ID: "panic",
		Payload: "panic"}, {ID: "exit-2", Payload: "exit"}, {ID: "c"}})
	must(t, err)
	var mu sync.Mutex
	var ran, dead []string
	stop := started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		mu.Lock()
		ran = append(ran, j.ID)
		mu.Unlock()
		switch j.Payload {
		case "exit":
			runtime.Goexit()
		case "panic":
			panic("oh")
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1, Batch: 3, OnError: func(error) { panic("of OnError") },
		OnDead: func(d queue.Dead) {
			mu.Lock()
			dead = append(dead, d.ID+": "+d.Reason)
			mu.Unlock()
			panic("of OnDead")
		}}))
	eventually(t, "all are settled", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting()+st.Leased == 0 && st.Dead == 3
	})
	stop()
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(ran) != "[a exit b panic exit-2 c]" {
		t.Errorf("they ran as %v", ran)
	}
	slices.Sort(dead)
	want := []string{"exit-2: the handler has ended its goroutine", "exit: the handler has ended its goroutine",
		"panic: panic: oh"}
	if !slices.Equal(dead, want) {
		t.Errorf("OnDead was told of %q", dead)
	}
}

// TestNotices: hooks receive what became of every job, the logger of the dead, and
// a normal day writes nothing.
func TestNotices(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	var mu sync.Mutex
	kinds := map[string]int{}
	log := &logged{}
	c := openWith(t, s.URL(), keywright.Options{Logger: slog.New(log),
		Hooks: []keywright.Hook{{Notice: func(_ context.Context, n keywright.Notice) {
			mu.Lock()
			defer mu.Unlock()
			if n.Entry != "queue" {
				t.Errorf("of the entry %q", n.Entry)
			}
			text := string(n.Kind)
			if n.Kind == notice.JobDead {
				text += ": " + n.Err.Error()
			}
			if (n.Kind == notice.JobDone || n.Kind == notice.JobFailed) && n.Elapsed <= 0 ||
				n.Kind == notice.JobRetried && n.Elapsed != time.Millisecond {
				t.Errorf("%+v", n)
			}
			kinds[text]++
		}}}})
	q := queue.Open(c, "mail", value.Int(0, 9), queue.Options{Retry: 2, Crashes: 1})
	ctx := t.Context()
	var dead []queue.Dead
	work := func() (stop func()) {
		return started(t, q.Worker(func(_ context.Context, j *queue.Job[int64]) error {
			switch j.Payload {
			case 1:
				return queue.RetryIn(time.Millisecond, errors.New("secret "+j.ID))
			case 2:
				return queue.Discard(errors.New("secret " + j.ID))
			}
			return nil
		}, queue.WorkerOptions{Batch: 2, OnDead: func(d queue.Dead) { mu.Lock(); dead = append(dead, d); mu.Unlock() }}))
	}
	settled := func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting()+st.Leased+st.Delayed == 0
	}
	stop := work()
	for range 5 {
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[int64]{})))
	}
	eventually(t, "all are done", settled)
	stop()
	if lines := log.all(); len(lines) > 0 {
		t.Errorf("a normal start, day and stop have written %q", lines)
	}
	_, err := q.EnqueueAll(ctx, []queue.Task[int64]{{Payload: 1, ID: "used-up"}, {Payload: 2, ID: "discarded"},
		{ID: "undecodable"}})
	must(t, err)
	s.Do("APPEND", "{mail}:job:undecodable", "x")
	stop = work()
	eventually(t, "three are dead", func() bool { mu.Lock(); defer mu.Unlock(); return len(dead) == 3 })
	stop()
	mu.Lock()
	defer mu.Unlock()
	want := map[string]int{"job_done": 5, "job_failed": 3, "job_retried": 1, "job_dead: its attempts are used up": 1,
		"job_dead: its handler has discarded it": 1, "job_dead: the payload does not decode": 1}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("%v", kinds)
	}
	for i := range dead {
		dead[i].Since = time.Time{}
	}
	slices.SortFunc(dead, func(a, b queue.Dead) int { return strings.Compare(a.ID, b.ID) })
	if fmt.Sprint(dead) != fmt.Sprint([]queue.Dead{{ID: "discarded", Reason: "secret discarded", Attempts: 1},
		{ID: "undecodable", Reason: "the payload does not decode", Attempts: 1},
		{ID: "used-up", Reason: "secret used-up", Attempts: 2}}) {
		t.Errorf("%v", dead)
	}
	lines := log.all()
	if len(lines) != 3 {
		t.Errorf("the logger has %q", lines)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "a job is dead entry=queue") || strings.Contains(line, "secret") ||
			strings.Contains(line, "used-up") {
			t.Errorf("the logger has %q", line)
		}
	}
}

// TestDeadByCrashes: the worker that buries a job since others have died on it
// tells so.
func TestDeadByCrashes(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	o := queue.Options{Lease: 100 * time.Millisecond, Crashes: 1}
	id, err := queue.Open(open(t, s.URL()), "mail", value.Text(0), o).Enqueue(t.Context(),
		queue.Task[string]{ID: "deadly"})
	must(t, err)
	told := make(chan queue.Dead, 10)
	for range 5 { // it may take some until it is known whose crash it was
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		began := make(chan struct{})
		started(t, queue.Open(open(t, "redis://"+p.Addr()), "mail", value.Text(0), o).Worker(func(ctx context.Context,
			j *queue.Job[string]) error {
			p.Freeze() // as a worker that is killed
			close(began)
			<-ctx.Done()
			return context.Cause(ctx)
		}, queue.WorkerOptions{Concurrency: 1, Grace: time.Second, OnDead: func(d queue.Dead) { told <- d }}))
		select {
		case <-began:
		case d := <-told:
			if d.ID != id || d.Crashes < 1 || !strings.Contains(d.Reason, "died") {
				t.Errorf("%+v", d)
			}
			return
		}
	}
	t.Error("it has killed five workers, and no one was told that it is dead")
}

// TestSlowToldOfARenewal: the next renewal does not wait until the failure of the
// last one has been reported.
func TestSlowToldOfARenewal(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: 3 * time.Second})
	running, leave, called := make(chan *queue.Job[string]), make(chan struct{}), make(chan struct{}, 100)
	release := sync.OnceFunc(func() { close(leave) })
	defer release()
	stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		running <- j
		select {
		case <-ctx.Done():
			t.Error("the lease was not renewed")
		case <-leave:
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1, OnError: func(error) { called <- struct{}{}; <-leave }}))
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	j := <-running
	s.Do("RENAME", "{mail}:runs", "{mail}:aside")
	s.Do("SET", "{mail}:runs", "x")
	s.Do("PUBLISH", "{mail}:ready", "pause 0") // it asks for flags, and renews with that
	<-called
	s.Do("RENAME", "{mail}:aside", "{mail}:runs")
	deadline := j.Deadline()
	eventually(t, "the lease is renewed", func() bool { return j.Deadline().After(deadline) })
	release()
	stop()
}
