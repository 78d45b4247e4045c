package queue_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// innocents lets a job kill its workers, each of which has a batch of ten, until it
// is dead. It gives what was wrong.
func innocents(t *testing.T, guards ...string) (wrong []string) {
	queue.Mutate(t, guards...)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	o := queue.Options{Lease: time.Minute, Crashes: 3}
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
	ctx := t.Context()
	tasks := []queue.Task[string]{{ID: "killer"}}
	for i := range 9 {
		tasks = append(tasks, queue.Task[string]{ID: fmt.Sprint("good", i)})
	}
	_, err := q.EnqueueAll(ctx, tasks)
	must(t, err)
	dead := func() (ids []string) {
		all, err := q.Dead(ctx, 0, 100)
		must(t, err)
		for _, d := range all {
			ids = append(ids, fmt.Sprint(d.ID, " ", d.Crashes))
		}
		return ids
	}
	var runs sync.WaitGroup
	defer runs.Wait() // a worker that goes on would read the scripts while they are put back
	kills, over := 0, make(chan struct{})
	defer close(over)
	for ; len(dead()) == 0 && kills < 2+o.Crashes; kills++ { // of two it is not known whether its handler had begun
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		began := make(chan string, 10)
		life, kill := context.WithCancel(ctx)
		w := queue.Open(open(t, "redis://"+p.Addr()), "mail", value.Text(0), o).Worker(func(_ context.Context,
			j *queue.Job[string]) error {
			began <- j.ID
			<-over
			return nil
		}, queue.WorkerOptions{Concurrency: 1, Batch: 10, Grace: time.Second})
		runs.Go(func() { _ = w.Run(life) })
		for len(began) == 0 && len(dead()) == 0 {
			<-time.After(time.Millisecond)
		}
		p.Freeze() // as kill -9
		defer p.Thaw()
		defer kill()
		for i, task := range tasks { // its leases are over
			s.Do("ZADD", "{mail}:leases", "XX", fmt.Sprint(i+1), task.ID)
		}
	}
	var mu sync.Mutex
	ran := map[string]int64{}
	stop := started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		ran[j.ID] = j.Crashes
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		mu.Lock()
		n := len(ran)
		mu.Unlock()
		if n+len(dead()) >= 10 {
			break
		}
	}
	stop()
	if got := fmt.Sprint(dead()); got != "[killer 3]" {
		wrong = append(wrong, fmt.Sprintf("after %d kills these are dead: %s", kills, got))
	}
	for id, crashes := range ran {
		if crashes > 0 {
			wrong = append(wrong, fmt.Sprintf("%s has %d crashes", id, crashes))
		}
	}
	if len(ran) != 9 {
		wrong = append(wrong, fmt.Sprintf("%d ran of 9", len(ran)))
	}
	return wrong
}

// TestInnocents: a job that kills its workers takes none of its batch with it.
func TestInnocents(t *testing.T) {
	t.Parallel()
	for _, w := range innocents(t) {
		t.Error(w)
	}
}

// TestDoubtfulJobThatIsLost: of jobs that are said to begin together, the one that is
// another worker's by then does not begin, and the others do.
func TestDoubtfulJobThatIsLost(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	heap(s, "twice", 3)
	taken := sync.OnceFunc(func() { s.Do("HSET", "{mail}:runs", "job0", "other/1 9000000000000000 2 0 0 2 r1\n\n") })
	c := servertest.Open(t, s.URL(), keywright.Options{Hooks: []keywright.Hook{{
		Start: func(ctx context.Context, call keywright.Call) context.Context {
			if call.Op == "begin" {
				taken()
			}
			return ctx
		}}}})
	var mu sync.Mutex
	var ran []string
	q := queue.Open(c, "mail", value.Text(0), queue.Options{Lease: time.Hour})
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, j.ID)
		return nil
	}, queue.WorkerOptions{Concurrency: 1, Batch: 3}))
	eventually(t, "the others are done", func() bool { return s.Do("ZCARD", "{mail}:leases") == int64(1) })
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(ran, []string{"job1", "job2"}) {
		t.Errorf("%q ran", ran)
	}
	if run := fmt.Sprint(s.Do("HGET", "{mail}:runs", "job0")); !strings.HasPrefix(run,
		"other/1 9000000000000000 2 0 0 2 ") {
		t.Errorf("the other worker's job is %q now", run)
	}
}

// TestReusedID: the fences of an id grow also when an earlier job of it is done,
// and its result is gone when the id is used again.
func TestReusedID(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Backoff: time.Millisecond})
	ctx := t.Context()
	fences := make(chan int64, 100)
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		fences <- j.Fence
		if j.Attempt < 3 {
			return fmt.Errorf("no")
		}
		j.SetResult("r" + j.Payload)
		return nil
	}, queue.WorkerOptions{Concurrency: 2}))
	last := int64(0)
	for round := range 3 {
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "a", Payload: fmt.Sprint(round),
			In: map[bool]time.Duration{true: 200 * time.Millisecond}[round > 0]})))
		if text, err := q.Result(ctx, "a"); err == nil && text != fmt.Sprint("r", round) {
			t.Errorf("the result of an earlier job: %s", text)
		}
		for range 3 {
			if f := <-fences; f <= last {
				t.Errorf("the fence %d after %d", f, last)
			} else {
				last = f
			}
		}
		eventually(t, "its own result is there", func() bool {
			text, err := q.Result(ctx, "a")
			return err == nil &&
				text == fmt.Sprint("r", round)
		})
	}
}

// TestLanesByName: a lane that is put before the others moves no job into another one.
func TestLanesByName(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	old := queue.Open(c, "mail", value.Text(0), queue.Options{}, "high", "low")
	ctx := t.Context()
	_, err := old.EnqueueAll(ctx, []queue.Task[string]{{ID: "a", Lane: "low", In: time.Millisecond}, {ID: "b",
		Lane: "high", In: time.Millisecond}})
	must(t, err)
	now := queue.Open(c, "mail", value.Text(0), queue.Options{}, "urgent", "low", "high")
	must(t, now.Pause(ctx))
	started(t, now.Worker(func(context.Context, *queue.Job[string]) error { return nil }, queue.WorkerOptions{}))
	eventually(t, "they wait in their own lanes", func() bool {
		return fmt.Sprint(s.Do("LRANGE", "{mail}:low", "0", "-1"), s.Do("LRANGE", "{mail}:high", "0", "-1"), s.Do("LLEN",
			"{mail}:urgent")) == "[a] [b] 0"
	})
}

// TestManyLanes: a queue of more lanes than there are digits drains them in their order.
func TestManyLanes(t *testing.T) {
	t.Parallel()
	var lanes []string
	for n := range 23 {
		lanes = append(lanes, fmt.Sprint("lane", n))
	}
	q := queue.Open(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), "mail", value.Text(0), queue.Options{},
		lanes...)
	for _, lane := range slices.Backward(lanes) {
		must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{Lane: lane, Payload: lane})))
	}
	ran := make(chan string, len(lanes))
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.Payload; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	for _, lane := range lanes {
		if next := <-ran; next != lane {
			t.Errorf("%s before %s", next, lane)
		}
	}
}

// TestLaneNames: a lane that is another key of the queue, or has no name of its
// own, is refused.
func TestLaneNames(t *testing.T) {
	t.Parallel()
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	for _, lanes := range [][]string{{"dead"}, {"high", "leases"}, {"delayed", "x"}, {"state"}, {"workers"}, {"runs"},
		{"job:x"}, {"result:x"}, {"unique:x"}, {"a", "a"}, {"a b"}, {"-"}, {"", "a"}} {
		if _, err := queue.Open(c, "mail", value.Text(0), queue.Options{}, lanes...).Stats(t.Context()); err == nil {
			t.Errorf("%q is accepted", lanes)
		}
	}
	if _, err := queue.Open(c, "mail", value.Text(0), queue.Options{}, "ready", "jobs").Stats(t.Context()); err != nil {
		t.Error(err)
	}
}
