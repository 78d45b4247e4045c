package queue_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// everything lets a queue do all it can, so that every script takes every way.
func everything(t *testing.T, s *keywrighttest.Server, q queue.Queue[string]) {
	ctx := t.Context()
	_, err := q.EnqueueAll(ctx, []queue.Task[string]{
		{ID: "done"}, {ID: "result", Unique: "u"}, {ID: "again"}, {ID: "dead", Unique: "d", Lane: "low"}, {ID: "later",
			In: time.Millisecond},
		{ID: "window", Unique: "w", UniqueFor: time.Minute}, {ID: "progress"}, {Payload: "plain"}, {ID: "held"},
	})
	must(t, err)
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{Payload: "plain"})))
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "cancelled", In: time.Hour})))
	// What a dead worker has left: one that goes on, one that is cancelled, and one that is given up.
	for id, run := range map[string]string{"left": "w/1 7 1 0 0 0 r1\n\n", "stopped": "w/1 7 1 0 1 0 r1\n\n",
		"killer": "w/1 7 1 4 0 3 r1\n\n"} {
		s.Do("SET", "{mail}:job:"+id, "q1 1 low 0 - -\n"+id)
		s.Do("HSET", "{mail}:runs", id, run)
		s.Do("ZADD", "{mail}:leases", "1", id)
	}
	s.Do("SET", "{mail}:job:oldest", "q1 1 low 0 - -\nx") // of three dead ones
	s.Do("ZADD", "{mail}:dead", "1", "oldest")
	held := make(chan struct{})
	var ran sync.Map
	stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		_, twice := ran.LoadOrStore(j.ID, true)
		switch {
		case j.ID == "result":
			j.SetResult("r")
		case j.ID == "again" && !twice:
			return errors.New("no")
		case j.ID == "dead" && !twice:
			return queue.Discard(errors.New("no"))
		case j.ID == "progress":
			return j.Progress(ctx, "half")
		case j.ID == "held":
			close(held)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 3, Grace: 2 * time.Second}))
	<-held
	eventually(t, "one runs, one is delayed, two are dead", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting() == 0 && st.Leased == 1 && st.Delayed == 1 && st.Dead == 2
	})
	for _, do := range []func() error{
		func() error { return expect.Err("", hand(q.Cancel(ctx, "cancelled"))) },
		func() error { return expect.Err("", hand(q.Retry(ctx, "dead"))) },
		func() error { return expect.Err("", hand(q.Discard(ctx, "killer"))) },
		func() error { _, err := q.State(ctx, "held"); return err },
		func() error { return q.Pause(ctx) },
		func() error { return q.Resume(ctx) },
	} {
		must(t, do())
	}
	s.Do("SET", "{mail}:job:orphan", "q1 1 low 0 - -\nx")
	back, err := q.Reconcile(ctx, false)
	must(t, err)
	if fmt.Sprint(back) != "[orphan]" {
		t.Errorf("brought back: %v", back)
	}
	eventually(t, "they are done", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting()+st.Dead == 0 && st.Leased == 1
	})
	stop() // gives back the one that is held
	if st, err := q.Stats(ctx); err != nil || st.Waiting() != 1 {
		t.Errorf("%+v %v", st, err)
	}
}

func hand(ok bool, err error) error {
	if err == nil && !ok {
		err = errors.New("there was nothing to do")
	}
	return err
}

// TestScriptsReadFirst: after its first write no script sends what a server may
// refuse because of a key that it has not looked at.
func TestScriptsReadFirst(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			w := s.RecordScripts()
			everything(t, s, queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Rate: 100000, Per: time.Second,
				Burst: 1000, MaxDead: 2, Backoff: time.Millisecond}, "high", "low"))
			for _, broken := range w.Broken() {
				t.Error(broken)
			}
			if n := len(w.Calls()); n < 10 {
				t.Errorf("%d scripts ran", n)
			}
		})
	}
}

// whole returns all that a server stores.
func whole(s *keywrighttest.Server) map[string]string {
	out := map[string]string{}
	for _, k := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
		out[k.(string)] = fmt.Sprint(s.Do("DUMP", k.(string)))
	}
	return out
}

// TestWrongTypes: whatever key of a queue has a wrong type, no call of the queue
// is applied in part, the error names the key, and no job is lost: when the key is
// gone all of them run, by a worker that is started again where the first one could
// do nothing.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"leases", "delayed", "dead", "state", "runs", "low", "high"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: 300 * time.Millisecond,
				Backoff: time.Millisecond, Rate: 100000, Per: time.Second, Burst: 1000}, "high", "low")
			ctx := t.Context()
			_, err := q.EnqueueAll(ctx, []queue.Task[string]{{ID: "high"}, {ID: "low", Lane: "low"}, {ID: "fails",
				Lane: "low"}, {ID: "later", In: time.Millisecond}})
			must(t, err)
			key := "{mail}:" + name
			kept := s.Do("EXISTS", key) == int64(1)
			if kept {
				s.Do("RENAME", key, "kept")
			}
			s.Do("APPEND", key, "a string")
			if name == "low" || name == "delayed" { // what is there fails as a whole, and says why
				before := whole(s)
				_, err := q.Enqueue(ctx, queue.Task[string]{ID: "no", Lane: "low",
					In: map[string]time.Duration{"delayed": time.Hour}[name]})
				if class, _ := keywright.ClassOf(err); class != keywright.Refused || !strings.Contains(err.Error(),
					strconv.Quote(key)) {
					t.Errorf("%v", err)
				}
				if after := whole(s); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Error("something of it was applied")
				}
			}
			var mu sync.Mutex
			runs, named := map[string]int{}, false
			count := func() int { mu.Lock(); defer mu.Unlock(); return len(runs) }
			worker := q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
				mu.Lock()
				defer mu.Unlock()
				if runs[j.ID]++; j.ID == "fails" {
					return queue.Discard(errors.New("no"))
				}
				return nil
			}, queue.WorkerOptions{Concurrency: 1, OnError: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				named = named || strings.Contains(err.Error(), strconv.Quote(key))
			}})
			useless := slices.Contains([]string{"leases", "runs", "state"}, name)
			if useless {
				e, ok := errors.AsType[*keywright.Error](worker.Run(ctx))
				if !ok || e.Class != keywright.Refused || !strings.Contains(e.Error(), strconv.Quote(key)) {
					t.Fatalf("Run ended with %v", e)
				}
			} else {
				started(t, worker)
			}
			if slices.Contains([]string{"low", "high", "delayed", "dead"}, name) { // the others are needed by every job
				eventually(t, "jobs that do not need the key run", func() bool {
					return count() >= map[string]int{"low": 2,
						"high": 2, "delayed": 3, "dead": 4}[name]
				})
			}
			eventually(t, "the error names the key", func() bool { mu.Lock(); defer mu.Unlock(); return named })
			s.Do("DEL", key)
			if kept {
				s.Do("RENAME", "kept", key)
			}
			if useless {
				started(t, worker)
			}
			eventually(t, "all run", func() bool { return count() == 4 })
			eventually(t, "one is dead and nothing is left", func() bool {
				st, err := q.Stats(ctx)
				must(t, err)
				return st.Waiting()+st.Leased+st.Delayed == 0 && st.Dead == 1
			})
			left, err := q.Reconcile(ctx, true)
			if must(t, err); len(left) > 0 {
				t.Errorf("in no place: %v", left)
			}
		})
	}
}

// TestWrongTypesOfOneJob: a key of one job that has a wrong type harms no other one.
func TestWrongTypesOfOneJob(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx := t.Context()
	for _, key := range []string{"{mail}:unique:bad", "{mail}:job:bad"} {
		s.Do("SADD", key, "x")
	}
	for i, bad := range []queue.Task[string]{{ID: "b", Unique: "bad"}, {ID: "bad"}} {
		a, c := fmt.Sprint("a", i), fmt.Sprint("c", i)
		ids, err := q.EnqueueAll(ctx, []queue.Task[string]{{ID: a}, bad, {ID: c}})
		if class, _ := keywright.ClassOf(err); class != keywright.Refused || !strings.Contains(err.Error(), ":bad") ||
			fmt.Sprint(ids) != fmt.Sprint([]string{a, "", c}) {
			t.Errorf("%v %v", ids, err)
		}
		if _, err := q.Enqueue(ctx, bad); err == nil || !strings.Contains(err.Error(), ":bad") {
			t.Errorf("%v", err)
		}
	}
	s.Do("RPUSH", "mail", "bad")
	var done atomic.Int64
	var named atomic.Bool
	started(t, q.Worker(func(context.Context, *queue.Job[string]) error { done.Add(1); return nil },
		queue.WorkerOptions{OnError: func(err error) {
			named.Store(named.Load() || strings.Contains(err.Error(), `"{mail}:job:bad"`))
		}}))
	eventually(t, "the others run", func() bool { return done.Load() == 4 })
	eventually(t, "the key is named", named.Load)
	eventually(t, "nothing waits", func() bool {
		st, err := q.Stats(ctx)
		must(t, err)
		return st.Waiting()+st.Leased == 0
	})
}

// TestSlotMoves: while the slot of a queue moves, key by key in any order, no job
// is lost: not on the server that gives it away, and not on the one that takes it.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for _, jobsFirst := range []bool{true, false} {
			if jobsFirst && len(guardsTakenOut()) > 0 {
				continue // a server that has given a job away says so by itself
			}
			t.Run(fmt.Sprint(brand, " jobs first ", jobsFirst), func(t *testing.T) {
				t.Parallel()
				slotMoves(t, brand, jobsFirst)
			})
		}
	}
}

func slotMoves(t *testing.T, brand keywrighttest.Brand, jobsFirst bool) {
	c := keywrighttest.StartCluster(t, brand, 2, 0)
	q := queue.Open(open(t, c.URL()), "{mail}", value.Text(0), queue.Options{Rate: 100000, Per: time.Second,
		Burst: 1000, Lease: 30 * time.Second})
	ctx := t.Context()
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	var mu sync.Mutex
	runs := map[string]int{}
	started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		mu.Lock()
		runs[j.ID]++
		first := runs[j.ID] == 1
		mu.Unlock()
		switch {
		case j.ID == "dies":
			return queue.Discard(errors.New("no"))
		case j.ID == "runs" && first:
			held <- struct{}{}
			<-hold
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1, Grace: time.Second}))
	// Each of the queue's own keys is there, so that scripts run while the slot moves.
	_, err := q.EnqueueAll(ctx, []queue.Task[string]{{ID: "dies"}, {ID: "later", In: time.Hour}, {ID: "runs"}})
	must(t, err)
	<-held
	for i := range 6 {
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: fmt.Sprint("w", i)})))
	}
	from := slices.IndexFunc(c.Nodes, func(n *keywrighttest.Server) bool {
		v, err := n.Try("LLEN", "{mail}")
		return err == nil && v == int64(6)
	})
	slot := fmt.Sprint(c.Nodes[0].Do("CLUSTER", "KEYSLOT", "{mail}"))
	source, target := c.Nodes[from], c.Nodes[1-from]
	target.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.ID(from))
	source.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.ID(1-from))
	var keys []string
	for _, k := range source.Do("CLUSTER", "GETKEYSINSLOT", slot, "100").([]any) {
		keys = append(keys, k.(string))
	}
	isJob := func(key string) bool { return strings.Contains(key, ":job:") }
	slices.SortFunc(keys, func(a, b string) int {
		if isJob(a) == isJob(b) {
			return strings.Compare(a, b)
		}
		if isJob(a) == jobsFirst {
			return -1
		}
		return 1
	})
	calls := func(command string) (n int) {
		for _, node := range c.Nodes {
			for _, line := range strings.Split(fmt.Sprint(node.Do("INFO", "commandstats")), "\n") {
				if rest, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
					some, _ := strconv.Atoi(rest[:strings.IndexByte(rest, ',')])
					n += some
				}
			}
		}
		return n
	}
	claims := calls("lpop")
	for i, key := range keys {
		source.Do("MIGRATE", "127.0.0.1", strconv.Itoa(target.Port), key, "0", "5000")
		if i == 0 {
			close(hold) // the worker settles, and claims the next
		}
		// while only a part of the queue's own keys is there, the server refuses every call
		if before := calls("evalsha"); isJob(key) && i < len(keys)-1 {
			eventually(t, "the worker asks", func() bool { return calls("evalsha") > before || calls("lpop") > claims })
			if calls("lpop") > claims {
				t.Fatal("a job left its lane while keys were elsewhere")
			}
		}
	}
	for _, n := range []*keywrighttest.Server{target, source} {
		n.Do("CLUSTER", "SETSLOT", slot, "NODE", c.ID(1-from))
	}
	var st queue.Stats
	eventually(t, "nothing waits or runs", func() bool {
		st, err = q.Stats(ctx)
		return err == nil && st.Waiting()+st.Leased == 0
	})
	mu.Lock()
	if len(runs) != 8 || st.Delayed != 1 || st.Dead != 1 {
		t.Errorf("%d of 8 jobs have run, one should be delayed and one dead: %+v", len(runs), st)
	}
	mu.Unlock()
	left, err := q.Reconcile(ctx, true)
	if must(t, err); len(left) > 0 {
		t.Errorf("in no place: %v", left)
	}
}
