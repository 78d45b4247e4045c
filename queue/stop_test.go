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
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// silences say what makes a server answer nothing any more.
var silences = map[string]func(*keywrighttest.Server, *keywrighttest.Proxy){
	"frozen": func(s *keywrighttest.Server, _ *keywrighttest.Proxy) { s.Stop() },
	"cut":    func(_ *keywrighttest.Server, p *keywrighttest.Proxy) { p.Freeze() },
	"away":   func(s *keywrighttest.Server, _ *keywrighttest.Proxy) { s.Kill() },

	"cut, and dialling": func(_ *keywrighttest.Server, p *keywrighttest.Proxy) { p.Freeze(); p.Cut() },
}

// TestStopKeepsToItsGrace: a worker that is to stop returns within its Grace,
// whatever the server does, as exactly as a timer beside it. On a machine that is
// busy the better one of three tries counts.
func TestStopKeepsToItsGrace(t *testing.T) {
	gate.Skip(t, "measures how late a worker stops")
	t.Parallel()
	for name, harm := range silences {
		for _, grace := range []time.Duration{2 * time.Second, 200 * time.Millisecond} {
			t.Run(fmt.Sprint(name, " ", grace), func(t *testing.T) {
				t.Parallel()
				var late, noise time.Duration
				for range 3 {
					if late, noise = stops(t, harm, grace); late <= 300*time.Millisecond+4*noise {
						return
					}
				}
				t.Errorf("Run returns %v after its Grace, a timer %v", late, noise)
			})
		}
	}
}

// stops is by how much the end of a Run is later than its Grace, and a timer.
func stops(t *testing.T, harm func(*keywrighttest.Server, *keywrighttest.Proxy), grace time.Duration) (late,
	noise time.Duration) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// that of the connection is no help
	c, err := keywright.Open(ctx, "redis://"+p.Addr(), keywright.Options{Timeout: 40 * time.Second})
	must(t, err)
	defer c.Close()
	q := queue.Open(c, "mail", value.Text(0), queue.Options{Lease: time.Minute})
	_, err = q.EnqueueAll(ctx, make([]queue.Task[string], 50))
	must(t, err)
	running, leave, over := make(chan struct{}, 50), make(chan struct{}), make(chan error, 1)
	life, end := context.WithCancel(context.Background())
	defer end()
	w := q.Worker(func(ctx context.Context, _ *queue.Job[string]) error {
		running <- struct{}{}
		select {
		case <-leave:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, queue.WorkerOptions{Concurrency: 8, Batch: 2, Grace: grace})
	go func() { over <- w.Run(life) }()
	for range 8 {
		<-running
	}
	harm(s, p)
	defer p.Thaw()
	defer s.Continue()
	close(leave) // what it has to say now is not answered
	began, idle := time.Now(), make(chan time.Duration, 1)
	end()
	time.AfterFunc(grace, func() { idle <- time.Since(began) - grace })
	select {
	case err := <-over:
		late = time.Since(began) - grace
		must(t, err)
	case <-time.After(20 * time.Second):
		t.Fatalf("not within %v, with a Grace of %v", time.Since(began), grace)
	}
	return late, <-idle
}

// TestGraceGivesBack: what waits for a handler that hangs runs elsewhere when its worker
// is to stop, as the same attempt, and in its order.
func TestGraceGivesBack(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: time.Minute})
			ids, err := q.EnqueueAll(t.Context(), make([]queue.Task[string], 5))
			must(t, err)
			began, leave := make(chan struct{}), make(chan struct{})
			ctx, end := context.WithCancel(t.Context())
			var run sync.WaitGroup
			defer run.Wait()
			defer close(leave)
			w := q.Worker(func(context.Context, *queue.Job[string]) error { close(began); <-leave; return nil },
				queue.WorkerOptions{Concurrency: 1, Batch: 5, Grace: time.Millisecond})
			run.Go(func() { must(t, w.Run(ctx)) })
			<-began
			end()
			ran := make(chan string, 5)
			started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
				if ran <- j.ID; j.Attempt != 1 || j.Crashes != 0 {
					t.Errorf("it is attempt %d, after %d crashes", j.Attempt, j.Crashes)
				}
				return nil
			}, queue.WorkerOptions{Concurrency: 1}))
			for _, id := range ids[1:] {
				if next := <-ran; next != id {
					t.Errorf("%s runs in place of %s", next, id)
				}
			}
		})
	}
}

// TestNothingBeginsInAPause: a job that a worker has claimed when the queue is
// paused, and not begun, does not begin. It is where it was, in front of its lane.
func TestNothingBeginsInAPause(t *testing.T) {
	t.Parallel()
	for _, heard := range []string{"by a message", "by the next call"} {
		t.Run(heard, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			client, begun := watched(t, s.URL())
			q := queue.Open(client, "mail", value.Text(0), queue.Options{Lease: 3 * time.Second})
			ctx := t.Context()
			ids, err := q.EnqueueAll(ctx, make([]queue.Task[string], 20))
			must(t, err)
			entered, leave := make(chan string, 20), make(chan struct{})
			started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
				entered <- j.ID
				<-leave
				return nil
			}, queue.WorkerOptions{Concurrency: 1, Batch: 10}))
			<-entered
			if heard == "by a message" {
				before := begun("beat")
				must(t, q.Pause(ctx))
				eventually(t, "it asks", func() bool { return begun("beat") > before })
				s.Do("PUBLISH", "{mail}:ready", "pause 0")
			} else {
				s.Do("HSET", "{mail}:state", "paused", "1")
			}
			before := begun("beat")
			eventually(t, "it has asked, and asks again", func() bool { return begun("beat") > before+1 })
			close(leave)
			eventually(t, "the rest is back", func() bool {
				st, err := q.Stats(ctx)
				must(t, err)
				return st.Waiting() == 19 && st.Leased == 0 || len(entered) > 0
			})
			if n := len(entered); n > 0 {
				t.Errorf("%d jobs began in a pause", n)
			}
			if order := s.Do("LRANGE", "mail", "0", "-1"); fmt.Sprint(order) != fmt.Sprint(ids[1:]) {
				t.Errorf("they wait as %v", order)
			}
			must(t, q.Resume(ctx))
			for _, id := range ids[1:] {
				if got := <-entered; got != id {
					t.Fatalf("%s, not %s", got, id)
				}
			}
		})
	}
}

// declared returns a queue of an entry with a TTL.
func declared(c *keywright.Client, ttl time.Duration, o queue.Options) queue.Queue[string] {
	codec := value.Text(0)
	e := &keywright.Entry{Name: "queue", Pattern: "mail", Type: "list", TTL: keywright.TTL{Policy: keywright.Expires,
		Default: ttl, Min: time.Millisecond, Max: ttl}}
	return queue.New(keywright.Binding{Client: c, Entry: e}, queue.KeysOf("mail"), &codec, &o)
}

// TestPauseOutlivesTheTTL: a queue that is paused stays so, however short its TTL
// is. What says so has no TTL, until Resume.
func TestPauseOutlivesTheTTL(t *testing.T) {
	for name, o := range map[string]queue.Options{"plain": {}, "with a rate": {Rate: 1000, Per: time.Second, Burst: 100}} {
		t.Run(name, func(t *testing.T) {
			s := keywrighttest.Start(t, keywrighttest.Redis)
			q := declared(open(t, s.URL()), time.Minute, o)
			ctx := t.Context()
			var ran atomic.Int64
			started(t, q.Worker(func(context.Context, *queue.Job[string]) error { ran.Add(1); return nil },
				queue.WorkerOptions{}))
			must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
			eventually(t, "it runs", func() bool { return ran.Load() == 1 })
			must(t, q.Pause(ctx))
			must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
			must(t, q.Pause(ctx))
			if ms := s.Do("PTTL", "{mail}:state"); ms != int64(-1) {
				t.Errorf("the pause is over in %v ms", ms)
			}
			must(t, q.Resume(ctx))
			eventually(t, "it runs again", func() bool { return ran.Load() == 2 })
			if ms := s.Do("PTTL", "{mail}:state").(int64); ms == -1 || ms > time.Minute.Milliseconds() {
				t.Errorf("the state of a queue that is not paused lives for %d ms", ms)
			}
		})
	}
}

// TestPauseWithFullMemory: a queue can be paused, and its jobs cancelled, when the
// server's memory is full.
func TestPauseWithFullMemory(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey, keywrighttest.Config("maxmemory-policy", "noeviction"))
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx := t.Context()
	for _, id := range []string{"waits", "runs", "dead"} {
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: id})))
	}
	entered := make(chan struct{})
	stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		switch j.ID {
		case "runs":
			close(entered)
			<-ctx.Done()
		case "dead":
			return queue.Discard(fmt.Errorf("no"))
		default:
			return queue.RetryIn(time.Hour, fmt.Errorf("later"))
		}
		return context.Cause(ctx)
	}, queue.WorkerOptions{Grace: time.Second}))
	<-entered
	eventually(t, "the others have failed", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Dead == 1 &&
			st.Delayed == 1
	})
	s.Do("CONFIG", "SET", "maxmemory", "1000000") // below what is used
	must(t, q.Pause(ctx))
	for _, id := range []string{"waits", "runs"} {
		if ok, err := q.Cancel(ctx, id); !ok || err != nil {
			t.Errorf("cancel %s: %v %v", id, ok, err)
		}
	}
	if ok, err := q.Retry(ctx, "dead"); !ok || err != nil {
		t.Errorf("retry: %v %v", ok, err)
	}
	must(t, q.Resume(ctx))
	eventually(t, "nothing is left", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting()+st.Leased+st.Delayed == 0
	})
	stop()
}

// TestRefusedOptions: what cannot be is refused, and what is too small is rounded.
func TestRefusedOptions(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	for _, o := range []queue.Options{{Backoff: -1}, {MaxBackoff: -time.Second}, {ResultTTL: -1}, {Retry: -1},
		{Rate: 1}, {Weights: []int{-1}}} {
		_, err := queue.Open(c, "mail", value.Text(0), o).Enqueue(t.Context(), queue.Task[string]{})
		if class, _ := keywright.ClassOf(err); err == nil || class != keywright.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, err := range []error{
		expect.Err(queue.Open(c, "", value.Text(0), queue.Options{}).Enqueue(t.Context(), queue.Task[string]{})),
		expect.Err(queue.Open(c, "mail", value.Text(0), queue.Options{}).Enqueue(t.Context(), queue.Task[string]{ID: " "})),
	} {
		if class, _ := keywright.ClassOf(err); err == nil || class != keywright.Invalid {
			t.Errorf("a name of nothing: %v", err)
		}
	}
	fine := func(context.Context, *queue.Job[string]) error { return nil }
	q := queue.Open(c, "mail", value.Text(0), queue.Options{ResultTTL: time.Microsecond, MaxBackoff: 1})
	for name, w := range map[string]*queue.Worker[string]{
		"without a handler": q.Worker(nil, queue.WorkerOptions{}), "Concurrency": q.Worker(fine,
			queue.WorkerOptions{Concurrency: 1 << 30}),
		"Grace": q.Worker(fine, queue.WorkerOptions{Grace: -1}), "Batch": q.Worker(fine, queue.WorkerOptions{Batch: 201}),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := w.Run(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), name) && name != "Grace" {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{Retry: 2})))
	var ran atomic.Int64
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		ran.Add(1)
		j.SetResult("r")
		if j.Attempt == 1 {
			return fmt.Errorf("once more")
		}
		return nil
	}, queue.WorkerOptions{OnError: func(err error) { t.Error(err) }}))
	eventually(t, "it is done", func() bool {
		st, err := q.Stats(t.Context())
		must(t, err)
		return st.Waiting()+st.Leased+st.Delayed == 0
	})
	if ran.Load() != 2 {
		t.Errorf("it ran %d times", ran.Load())
	}
}
