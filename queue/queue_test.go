package queue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
	"go.uber.org/goleak"
)

// What rueidis puts off (see the tests of the root package) ends by itself.
func TestMain(m *testing.M) {
	if missing := queue.Without(guardsTakenOut()...); missing != "" {
		panic("no script has " + missing)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

var (
	must       = expect.NoError
	open       = servertest.OpenPatient
	eventually = expect.Eventually
)

// everywhere runs a test on a server alone and on a cluster: of a brand that is drawn, of both with KEYWRIGHT_SOAK.
func everywhere(t *testing.T, f func(t *testing.T, url string, s []*keywrighttest.Server)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts() // none writes before it has looked at all its keys
			f(t, s.URL(), []*keywrighttest.Server{s})
		})
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			c := keywrighttest.StartCluster(t, brand, 3, 0)
			f(t, c.URL(), c.Nodes)
		})
	}
}

// started runs a worker until the test ends, or stop is called.
func started[T any](t *testing.T, w *queue.Worker[T]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// nothingLeft fails if a queue has left a key that it does not need.
func nothingLeft(t testing.TB, servers []*keywrighttest.Server) {
	t.Helper()
	for _, s := range servers {
		for _, k := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
			if name := k.(string); !strings.HasSuffix(name, ":state") && !strings.Contains(name, ":result:") {
				t.Errorf("%s is left", name)
			}
		}
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		q := queue.Open(open(t, url), "mail", value.Text(0), queue.Options{Backoff: time.Millisecond}, "high", "normal",
			"low")
		ctx := t.Context()
		for i := range 30 {
			_, err := q.Enqueue(ctx, queue.Task[string]{Payload: fmt.Sprint(i), Lane: []string{"low", "high", "normal"}[i%3]})
			must(t, err)
		}
		s, err := q.Stats(ctx)
		must(t, err)
		if s.Waiting() != 30 || len(s.Lanes) != 3 || s.Lanes[0].Length != 10 || s.Lanes[0].Name != "high" {
			t.Errorf("%+v", s)
		}
		var mu sync.Mutex
		var order []string
		var tries sync.Map
		stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
			if _, again := tries.LoadOrStore(j.ID, true); !again && strings.HasSuffix(j.Payload, "7") {
				return errors.New("once more")
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, j.Payload)
			return nil
		}, queue.WorkerOptions{Concurrency: 1}))
		eventually(t, "all are done", func() bool { mu.Lock(); defer mu.Unlock(); return len(order) == 30 })
		stop()
		if order[0] != "1" || !slices.Contains(order[20:], "27") {
			t.Errorf("%v", order)
		}
		seen := map[string]bool{}
		for _, o := range order {
			seen[o] = true
		}
		if len(seen) != 30 {
			t.Errorf("%d different ones", len(seen))
		}
		nothingLeft(t, servers)
	})
}

func TestIDsAndUniqueNames(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		q := queue.Open(open(t, url), "{mail}", value.Text(0), queue.Options{})
		ctx := t.Context()
		put := func(task queue.Task[string]) (string, error) { return q.Enqueue(ctx, task) }
		first, err := put(queue.Task[string]{ID: "task-1"})
		must(t, err)
		if again, err := put(queue.Task[string]{ID: "task-1", Payload: "other"}); !errors.Is(err, queue.ErrExists) ||
			again != first {
			t.Errorf("the same id: %q %v", again, err)
		}
		holder, err := put(queue.Task[string]{Unique: "welcome:7"})
		must(t, err)
		if other, err := put(queue.Task[string]{Unique: "welcome:7"}); !errors.Is(err, queue.ErrExists) || other != holder {
			t.Errorf("the same name: %q %v", other, err)
		}
		window, err := put(queue.Task[string]{Unique: "digest", UniqueFor: time.Minute})
		must(t, err)
		var done atomic.Int64
		stop := started(t, q.Worker(func(context.Context, *queue.Job[string]) error { done.Add(1); return nil },
			queue.WorkerOptions{}))
		eventually(t, "three are done", func() bool { return done.Load() == 3 })
		stop()
		if _, err := put(queue.Task[string]{ID: "task-1"}); err != nil {
			t.Errorf("the id of a job that is done: %v", err)
		}
		if _, err := put(queue.Task[string]{Unique: "welcome:7"}); err != nil {
			t.Errorf("the name of a job that is done: %v", err)
		}
		if other, err := put(queue.Task[string]{Unique: "digest", UniqueFor: time.Second}); !errors.Is(err,
			queue.ErrExists) || other != window {
			t.Errorf("within the window: %q %v", other, err)
		}
		for _, bad := range []queue.Task[string]{{ID: "a:b"}, {ID: "{a}"}, {Lane: "no"}, {In: time.Second, At: time.Now()},
			{In: -1}, {At: time.Unix(18446744073709552, 0)}, {Payload: strings.Repeat("x", 2<<20)}} {
			if class, _ := keywright.ClassOf(expect.Err(put(bad))); class != keywright.Invalid {
				t.Errorf("%.40v: %v", bad, class)
			}
		}
	})
}

func TestDelayedAndScheduled(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	var mu sync.Mutex
	var order []string
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, j.Payload)
		return nil
	}, queue.WorkerOptions{}))
	ctx := t.Context()
	_, err := q.EnqueueAll(ctx, []queue.Task[string]{{Payload: "third", In: 900 * time.Millisecond}, {Payload: "second",
		At: time.Now().Add(400 * time.Millisecond)}, {Payload: "first"}, {Payload: "never", In: time.Hour}})
	must(t, err)
	eventually(t, "three ran", func() bool { mu.Lock(); defer mu.Unlock(); return len(order) == 3 })
	if fmt.Sprint(order) != "[first second third]" {
		t.Errorf("%v", order)
	}
	if st, err := q.Stats(ctx); err != nil || st.Delayed != 1 || st.NextDue < 30*time.Minute {
		t.Errorf("%+v %v", st, err)
	}
}

// putOff puts a job off more often than it has attempts, and gives what was wrong.
func putOff(t *testing.T, guards ...string) (wrong []string) {
	queue.Mutate(t, guards...)
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Retry: 2})
	var runs atomic.Int64
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		if j.Attempt != 1 {
			wrong = append(wrong, fmt.Sprintf("attempt %d", j.Attempt))
		}
		if runs.Add(1) < 6 {
			return queue.Later(time.Millisecond, errors.New("used up"))
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	_, err := q.Enqueue(t.Context(), queue.Task[string]{})
	must(t, err)
	eventually(t, "it is over", func() bool {
		st, err := q.Stats(t.Context())
		must(t, err)
		return st.Dead == 1 || runs.Load() == 6 && st.Waiting()+st.Leased+st.Delayed == 0
	})
	if st, err := q.Stats(t.Context()); err != nil || st.Dead != 0 {
		wrong = append(wrong, fmt.Sprintf("it is dead: %v", err))
	}
	return wrong
}

func TestDeadOnes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		q := queue.Open(open(t, url), "mail", value.Text(0), queue.Options{Retry: 3, Backoff: time.Millisecond, MaxDead: 3})
		ctx := t.Context()
		var runs atomic.Int64
		stop := started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
			runs.Add(1)
			switch j.Payload {
			case "never":
				return queue.Discard(errors.New("no such address"))
			case "panic":
				panic("oh")
			case "good":
				return nil
			}
			return queue.RetryIn(time.Millisecond, fmt.Errorf("attempt %d\nfailed", j.Attempt))
		}, queue.WorkerOptions{}))
		for _, p := range []string{"always", "never", "panic"} {
			_, err := q.Enqueue(ctx, queue.Task[string]{Payload: p, ID: p, Unique: p})
			must(t, err)
		}
		eventually(t, "three are dead", func() bool { s, err := q.Stats(ctx); must(t, err); return s.Dead == 3 })
		if runs.Load() != 7 {
			t.Errorf("%d runs", runs.Load())
		}
		dead, err := q.Dead(ctx, 0, 10)
		must(t, err)
		reasons := map[string]string{}
		for _, d := range dead {
			reasons[d.ID] = d.Reason
		}
		want := map[string]string{"always": "attempt 3 failed", "never": "no such address", "panic": "panic: oh"}
		if !maps.Equal(reasons, want) {
			t.Errorf("%v", dead)
		}
		if _, err := q.Enqueue(ctx, queue.Task[string]{Unique: "always", Payload: "good"}); err != nil {
			t.Errorf("a dead job keeps its unique name: %v", err)
		}
		eventually(t, "the one that has the name now is done", func() bool {
			s, err := q.Stats(ctx)
			must(t, err)
			return s.Waiting()+s.Leased == 0
		})
		if ok, err := q.Discard(ctx, "never"); !ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		if ok, err := q.Discard(ctx, "never"); ok || err != nil {
			t.Errorf("twice: %v %v", ok, err)
		}
		if ok, err := q.Retry(ctx, "always"); !ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		eventually(t, "it is dead again", func() bool {
			s, err := q.Stats(ctx)
			must(t, err)
			return s.Dead == 2 && s.Waiting()+s.Leased+s.Delayed == 0
		})
		for i := range 5 {
			_, err := q.Enqueue(ctx, queue.Task[string]{Payload: "never", ID: fmt.Sprint("n", i)})
			must(t, err)
		}
		eventually(t, "the oldest are gone", func() bool {
			s, err := q.Stats(ctx)
			must(t, err)
			return s.Dead == 3 && s.Waiting()+s.Leased == 0
		})
		stop()
		for _, d := range first(q.Dead(ctx, 0, 10)) {
			ok, err := q.Discard(ctx, d.ID)
			must(t, err)
			if !ok {
				t.Errorf("%s is not there", d.ID)
			}
		}
		nothingLeft(t, servers)
	})
}

func first[T any](v T, _ error) T { return v }

func TestResultProgressCancelPause(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		q := queue.Open(open(t, url), "mail", value.Text(0), queue.Options{})
		ctx := t.Context()
		entered, leave := make(chan string, 10), make(chan struct{})
		stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
			entered <- j.ID
			if err := j.Progress(ctx, "half"); err != nil {
				return err
			}
			select {
			case <-leave:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			j.SetResult("sent " + j.Payload)
			return nil
		}, queue.WorkerOptions{Concurrency: 2}))
		id, err := q.Enqueue(ctx, queue.Task[string]{Payload: "a"})
		must(t, err)
		<-entered
		eventually(t, "progress", func() bool {
			s, err := q.State(ctx, id)
			must(t, err)
			return s.Progress == "half" &&
				s.Owner != ""
		})
		must(t, q.Pause(ctx))
		waiting, err := q.Enqueue(ctx, queue.Task[string]{Payload: "b"})
		must(t, err)
		if ok, err := q.Cancel(ctx, id); !ok || err != nil {
			t.Errorf("cancel a running one: %v %v", ok, err)
		}
		eventually(t, "it is gone", func() bool { _, err := q.State(ctx, id); return errors.Is(err, keywright.ErrNotFound) })
		if s, err := q.Stats(ctx); err != nil || !s.Paused || s.Waiting() != 1 {
			t.Errorf("paused: %+v %v", s, err)
		}
		cancelled, err := q.Enqueue(ctx, queue.Task[string]{Payload: "c", In: time.Hour})
		must(t, err)
		if ok, err := q.Cancel(ctx, cancelled); !ok || err != nil {
			t.Errorf("cancel a waiting one: %v %v", ok, err)
		}
		must(t, q.Resume(ctx))
		if got := <-entered; got != waiting {
			t.Errorf("%s", got)
		}
		close(leave)
		eventually(t, "a result", func() bool { r, err := q.Result(ctx, waiting); return err == nil && r == "sent b" })
		stop()
		nothingLeft(t, servers)
	})
}

// TestShutdownGivesBack: a worker that is to stop ends what it can and gives the
// rest back; another one has it at once, as the same attempt.
func TestShutdownGivesBack(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: time.Hour})
	var attempts sync.Map
	entered := make(chan struct{}, 20)
	stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		entered <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx)
	}, queue.WorkerOptions{Concurrency: 2, Batch: 5, Grace: time.Second}))
	tasks := make([]queue.Task[string], 10)
	_, err := q.EnqueueAll(t.Context(), tasks)
	must(t, err)
	<-entered
	stop()
	var done atomic.Int64
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		attempts.Store(j.ID, j.Attempt)
		done.Add(1)
		return nil
	}, queue.WorkerOptions{}))
	eventually(t, "all ran", func() bool { return done.Load() == 10 })
	attempts.Range(func(id, n any) bool {
		if n != int64(1) {
			t.Errorf("%v: attempt %v", id, n)
		}
		return true
	})
}

func TestWeightsAndRate(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	q := queue.Open(c, "w", value.Text(0), queue.Options{Weights: []int{6, 3, 1}}, "a", "b", "c")
	var tasks []queue.Task[string]
	for _, lane := range []string{"a", "b", "c"} {
		for range 400 {
			tasks = append(tasks, queue.Task[string]{Lane: lane, Payload: lane})
		}
	}
	_, err := q.EnqueueAll(t.Context(), tasks)
	must(t, err)
	var mu sync.Mutex
	var order []string
	stop := started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, j.Payload)
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	eventually(t, "400 ran", func() bool { mu.Lock(); defer mu.Unlock(); return len(order) >= 400 })
	stop()
	n := map[string]int{}
	for _, lane := range order[:400] {
		n[lane]++
	}
	if n["a"] < 180 || n["b"] < 80 || n["c"] < 15 {
		t.Errorf("%v", n)
	}
	limited := queue.Open(c, "r", value.Text(0), queue.Options{Rate: 50, Per: time.Second, Burst: 5})
	_, err = limited.EnqueueAll(t.Context(), make([]queue.Task[string], 40))
	must(t, err)
	var ran atomic.Int64
	began := time.Now()
	started(t, limited.Worker(func(context.Context, *queue.Job[string]) error { ran.Add(1); return nil },
		queue.WorkerOptions{Batch: 10}))
	eventually(t, "40 ran", func() bool { return ran.Load() == 40 })
	if took := time.Since(began); took < 690*time.Millisecond { // 35 after the burst, 20 ms each
		t.Errorf("40 jobs at 50/s with a burst of 5 in %v", took)
	}
}

// TestEviction: a server that may throw jobs away is refused.
func TestEviction(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("maxmemory", "100mb"),
		keywrighttest.Config("maxmemory-policy", "allkeys-lru"))
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := q.Worker(func(context.Context, *queue.Job[string]) error { return nil }, queue.WorkerOptions{}).Run(ctx)
	if class, _ := keywright.ClassOf(err); err == nil || class != keywright.Invalid || !strings.Contains(err.Error(),
		"allkeys-lru") {
		t.Errorf("%v", err)
	}
}

// TestBothForms: a job that needs nothing special travels by another script, and
// is the same job there.
func TestBothForms(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	codec := value.Text(0)
	e := &keywright.Entry{Name: "mail", TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour}}
	q := queue.New(keywright.Binding{Client: open(t, s.URL()), Entry: e}, queue.KeysOf("mail", "high", "low"),
		&codec, &queue.Options{})
	ctx := t.Context()
	simple, err := q.Enqueue(ctx, queue.Task[string]{Payload: "a"})
	must(t, err)
	many, err := q.EnqueueAll(ctx, []queue.Task[string]{{Payload: "b"}, {Payload: "c", Lane: "high"}})
	must(t, err)
	mixed, err := q.EnqueueAll(ctx, []queue.Task[string]{{Payload: "d"}, {Payload: "e", Lane: "low"}, {Payload: "f",
		Retry: 3}})
	must(t, err)
	ids := append(append([]string{simple}, many...), mixed...)
	for i, id := range ids {
		if text := s.Do("GET", "{mail}:job:"+id).(string); !strings.HasSuffix(text, "\n"+string(rune('a'+i))) {
			t.Errorf("job %d: %v", i, text)
		}
		if ms := s.Do("PTTL", "{mail}:job:"+id).(int64); ms <= 0 || ms > time.Hour.Milliseconds() {
			t.Errorf("job %d lives for %d ms", i, ms)
		}
	}
	high := []any{ids[0], ids[1], ids[2], ids[3], ids[5]}
	if got := s.Do("LRANGE", "{mail}:high", "0", "-1"); fmt.Sprint(got) != fmt.Sprint(high) {
		t.Errorf("%v, want %v", got, high)
	}
	if ms := s.Do("PTTL", "{mail}:high").(int64); ms <= 0 {
		t.Errorf("the lane lives for %d ms", ms)
	}
	ran := make(chan string, len(ids))
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.Payload; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	var order strings.Builder
	for range ids {
		order.WriteString(<-ran)
	}
	if order.String() != "abcdfe" {
		t.Errorf("they ran as %s", order.String())
	}
}

// TestBytes: what a waiting job takes.
func TestBytes(t *testing.T) {
	t.Parallel()
	for _, brand := range []keywrighttest.Brand{keywrighttest.Redis, keywrighttest.Valkey} {
		s := keywrighttest.Start(t, brand)
		q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
		used := func() int64 {
			_, rest, _ := strings.Cut(s.Do("INFO", "memory").(string), "used_memory_dataset:")
			text, _, _ := strings.Cut(rest, "\r\n")
			n, err := strconv.ParseInt(text, 10, 64)
			must(t, err)
			return n
		}
		const jobs = 10_000
		tasks := make([]queue.Task[string], jobs)
		for i := range tasks {
			tasks[i].Payload = strings.Repeat("x", 100)
		}
		before := used()
		_, err := q.EnqueueAll(t.Context(), tasks)
		must(t, err)
		each := (used() - before) / jobs
		t.Logf("%s: %d bytes a job", brand, each)
		if each > 350 {
			t.Errorf("%s: %d bytes a job", brand, each)
		}
	}
}
