package queue_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// takenOut is the environment variable with the guards that a process does without.
const takenOut = "KEYWRIGHT_QUEUE_WITHOUT"

func guardsTakenOut() (guards []string) {
	_ = json.Unmarshal([]byte(cmp.Or(os.Getenv(takenOut), "[]")), &guards)
	return guards
}

// TestStoredMutations: each of these tests is red without its guard, since it sees
// what is wrong, and not since it waits until its time is over.
func TestStoredMutations(t *testing.T) {
	if os.Getenv(takenOut) != "" {
		return
	}
	for name, m := range map[string]struct{ test, guard, instead string }{
		"an enqueue writes over a job": {"LateEnqueue", "redis.call('MSETNX', unpack(jobs)) == 0",
			"not redis.call('MSET', unpack(jobs))"},
		"an id twice in one claim": {"Steps", "elseif not taken[id] and not", "elseif not"},
		"an id of a job that runs": {"TwiceInALane", "run:sub(1, 2) ~= '- ' and leased_now(id)) then",
			"false) then"},
		"a beat begins with what is refused": {"FullMemory",
			"redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- of nothing, and first: a server whose memory is full refuses ZADD",
			"-- "},
		"an earlier job of the id is not over": {"SameIDAgain", "    if r then\n      over[#over + 1] = id",
			"    if false then\n      over[#over + 1] = id"},
		"a job that is elsewhere is not gone": {"SlotMoves", "if clustered ~= '' then steady(before, after) end", ""},
		"what is known stays":                 {"RunsForget", "redis.pcall('HRANDFIELD', runs, 10)", "{}"},
		"a pause has the TTL of the jobs": {"PauseOutlivesTheTTL", "redis.call('PERSIST', KEYS[1]) -- a queue",
			"-- a queue"},
		"a count gives a pause the TTL of the jobs": {"Enqueued$", "if ttl > 0 and not was[1]", "if ttl > 0"},
		"a count has no TTL":                        {"Enqueued$", "redis.call('PEXPIRE', state, ttl)", ""},
		"a count does not look first": {"Enqueued$", "look(redis.pcall('HMGET', state, 'paused', 'enqueued'), state)",
			"redis.pcall('HMGET', state, 'paused', 'enqueued')"},
		"a repetition is counted": {"Enqueued$", "count(KEYS[2], was, #ids, ttl)",
			"count(KEYS[2], was, #KEYS - 2, ttl)"},
		"a job that is there is counted": {"Enqueued$", "if #jobs > 0 then count(KEYS[5], was, #jobs, ttl)",
			"if #out > 0 then count(KEYS[5], was, #out, ttl)"},
		"a pause begins with what is refused": {"PauseWithFullMemory",
			"redis.call('HDEL', KEYS[1], 'paused') -- also first",
			"if ARGV[1] ~= 'pause' then redis.call('HDEL', KEYS[1], 'paused') end -- also first"},
		"a cancel begins with what is refused": {"PauseWithFullMemory",
			"  redis.call('ZREMRANGEBYRANK', leases, 1, 0) -- of nothing", "  -- of nothing"},
		"an enqueue is not refused in time":      {"AForbiddenChannel", "if sooner or waking then may(channel) end", ""},
		"a plain enqueue is not refused in time": {"AForbiddenChannel", "if length == 0 then may(channel) end", ""},
		"a pause is not refused in time": {"AForbiddenChannel", "may(ARGV[3])\nredis.call('HDEL'",
			"redis.call('HDEL'"},
		"a cancel is not refused in time": {"AForbiddenChannel", "  may(channel)\n", ""},
		"a retry is not refused in time":  {"AForbiddenChannel", "if length == 0 then may(channel) end", ""},
		"a repair is not refused in time": {"AForbiddenChannel", "if waking then may(ARGV[4]) end", ""},
		"an enqueue that tells nothing is refused": {"AForbiddenChannel", "if sooner or waking then may(channel) end",
			"may(channel)"},
		"a cancel looks at a long lane": {"CancelInALongLane", "length <= math.min(10000, left)", "true"},
		"a dead job has a name that is taken": {"RetryTakesTheUniqueName",
			"if holder and holder ~= id then return 3 end", ""},
		"a dead job has no name again": {"RetryTakesTheUniqueName",
			"if verb == 'retry' and name then redis.call('SET', name, id, 'PX', 604800000) end", ""},
		"a renewal needs the list of workers": {"RenewalsWithAWrongType", "redis.pcall('ZCARD', KEYS[2])",
			"redis.call('ZCARD', KEYS[2])"},
		"a renewal needs the state": {"RenewalsWithAWrongType", "redis.pcall('HGET', KEYS[4], 'paused')",
			"redis.call('HGET', KEYS[4], 'paused')"},
		"a fence is a count": {"ReusedID", "math.floor(t[2] / 1000), t[1] * 1000000 + t[2]\n",
			"math.floor(t[2] / 1000), 1\n"},
		"a result outlives its job":           {"ReusedID", "redis.call('UNLINK', unpack(results))", "local _ = results"},
		"a newer job is taken":                {"Steps", "return form and form ~= '1'", "return false"},
		"a lane is where it was":              {"Steps", "return lanes[name] or 1", "return 1"},
		"what is due waits for the next look": {"Steps", "more = more or full and moved > 0", ""},
		"a script takes long for few commands": {"Backlogs$/^due", "local stamp, fence = string.format('%.0f', now)",
			"for _ = 1, 50000000 do end local stamp, fence = string.format('%.0f', now)"},
		"a script takes all that is due": {"Backlogs$/^mixed", "local most = 100", "local most = 100000"},
		"a script passes over all that is gone": {"Backlogs$/^gone",
			"until stop or #some < need or got == wanted or looked > wanted + most",
			"until stop or #some < need or got == wanted or looked > wanted + 60 * most"},
	} {
		if strings.HasPrefix(m.test, "Backlogs") && !gate.All() {
			continue // the gate has no backlogs
		}
		t.Run(name, func(t *testing.T) {
			if !gate.All() { // each of them is a program with a server
				queue.Mutate(t, m.guard, m.instead) // the guard is there
				return
			}
			t.Parallel()
			guards, err := json.Marshal([]string{m.guard, m.instead})
			must(t, err)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^Test"+m.test+"$", "-test.timeout=90s")
			cmd.Env = append(os.Environ(), takenOut+"="+string(guards))
			said, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("Test%s stays green without this guard", m.test)
			}
			for _, bad := range []string{"Error compiling script", "no script has", "no tests to run", "test timed out",
				expect.NotWithin} {
				if strings.Contains(string(said), bad) {
					t.Errorf("Test%s fails for another reason: %s", m.test, said)
				}
			}
		})
	}
}

// TestLateEnqueue: an enqueue whose reply is lost is repeated, and what was lost may
// arrive when the job is already running: it changes nothing.
func TestLateEnqueue(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	enqueue := func() {
		s.Do("EVAL", queue.Plain(), "3", "mail", "{mail}:state", "{mail}:job:a", "0", "{mail}:ready", "12", "-1", "-", "0", "x")
	}
	enqueue()
	ran, leave := make(chan int64, 10), make(chan struct{})
	stop := started(t, q.Worker(func(_ context.Context,
		j *queue.Job[string]) error {
		ran <- j.Fence
		<-leave
		return nil
	}, queue.WorkerOptions{Concurrency: 2}))
	<-ran
	text := s.Do("GET", "{mail}:job:a")
	enqueue()
	if n := s.Do("LLEN", "mail"); n != int64(0) || s.Do("GET", "{mail}:job:a") != text {
		t.Errorf("%v jobs wait, and it is %q", n, s.Do("GET", "{mail}:job:a"))
	}
	close(leave)
	eventually(t, "it is done", func() bool { return s.Do("EXISTS", "{mail}:runs") == int64(0) })
	stop()
	if len(ran) > 0 {
		t.Errorf("it ran again, with the fence %d", <-ran)
	}
}

// TestTwiceInALane: an id that is twice in a lane is one job.
func TestTwiceInALane(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		s := keywrighttest.Start(t, keywrighttest.Valkey)
		q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
		id, err := q.Enqueue(t.Context(), queue.Task[string]{Payload: "x"})
		must(t, err)
		if !apart {
			s.Do("RPUSH", "mail", id)
		}
		ran, leave := make(chan string, 10), make(chan struct{})
		stop := started(t, q.Worker(func(_ context.Context,
			j *queue.Job[string]) error {
			ran <- j.Payload
			<-leave
			return nil
		}, queue.WorkerOptions{Concurrency: 3, Batch: 2}))
		<-ran
		if apart {
			s.Do("RPUSH", "mail", id)
		}
		must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{Payload: "y"})))
		if got := <-ran; got != "y" {
			t.Errorf("apart %v: %s ran twice at the same time", apart, got)
		}
		close(leave)
		eventually(t, "both are done", func() bool { return s.Do("EXISTS", "{mail}:runs") == int64(0) })
		stop()
		if len(ran) > 0 {
			t.Errorf("apart %v: %s ran again", apart, <-ran)
		}
	}
}

// TestFullMemory: with a full memory jobs end, also those that fail or leave a
// result, and leases are renewed.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("maxmemory-policy", "noeviction"))
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: time.Second})
	ctx := t.Context()
	for range 50 {
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{Payload: strings.Repeat("x", 1000)})))
	}
	var n, again atomic.Int64
	var refused atomic.Pointer[error]
	first, begun := make(chan struct{}), make(chan struct{})
	started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		j.SetResult("r")
		switch n.Add(1) {
		case 1:
			close(begun)
			<-first
			for range 2 { // signs of life; one may have been under way
				deadline := j.Deadline()
				for j.Deadline().Equal(deadline) && ctx.Err() == nil && refused.Load() == nil {
					<-time.After(time.Millisecond)
				}
			}
			if err := refused.Load(); err != nil || ctx.Err() != nil {
				t.Errorf("its lease was not renewed: %v", err)
			}
			return errors.New("no")
		}
		if j.Attempt > 1 {
			again.Add(1)
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1, OnError: func(err error) { refused.Store(&err) }}))
	<-begun
	s.Do("CONFIG", "SET", "maxmemory", "1000000") // below what is used
	close(first)
	eventually(t, "all are done, and the first one twice", func() bool { return n.Load() == 51 && again.Load() == 1 })
}

// TestSameIDAgain: a job whose key is gone is over. One of its id takes its place,
// and has nothing of it but a larger fence.
func TestSameIDAgain(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Retry: 3})
	ctx := t.Context()
	ran, leave := make(chan string, 10), make(chan struct{})
	var lost, fences atomic.Int64
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		ran <- fmt.Sprint(j.Payload, " ", j.Attempt, " ", j.Crashes, " ", fences.Swap(j.Fence) < j.Fence)
		if j.Payload == "first" {
			<-leave
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1, OnError: func(err error) {
		if errors.Is(err, queue.ErrLost) {
			lost.Add(1)
		}
	}}))
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "a", Payload: "first"})))
	<-ran
	s.Do("DEL", "{mail}:job:a")
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "a", Payload: "second"})))
	close(leave)
	eventually(t, "the second one runs, or is gone", func() bool {
		_, err := q.State(ctx, "a")
		return len(ran) > 0 || errors.Is(err, keywright.ErrNotFound)
	})
	if len(ran) == 0 {
		t.Fatal("the end of the first one was that of the second")
	}
	if got := <-ran; got != "second 1 0 true" {
		t.Errorf("payload, attempt, crashes and whether the fence is larger: %s", got)
	}
	eventually(t, "the first one was lost", func() bool { return lost.Load() == 1 })

	const far = 4_000_000_000_000_000 // beyond what the clock gives
	s.Do("HSET", "{mail}:runs", "b", fmt.Sprintf("dead/1 %d 2 4 1 0 r1\nfailed\n", far))
	s.Do("ZADD", "{mail}:dead", "1", "b")
	s.Do("ZADD", "{mail}:leases", "99999999999999", "b")
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "b", Payload: "after the dead"})))
	if got := <-ran; got != "after the dead 1 0 true" || fences.Load() != far+1 {
		t.Errorf("payload, attempt, crashes and whether the fence is larger: %s; %d", got, fences.Load())
	}
	// The list of workers, and their answers.
	eventually(t, "nothing is left", func() bool { return s.Do("DBSIZE") == int64(2) })
}

// TestManyGone: of more jobs than Lua unpacks the keys were deleted; the
// one after them runs.
func TestManyGone(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx := t.Context()
	// 9000 jobs that have failed once and wait again; then the jobs are deleted
	for i := 0; i < 9000; i += 1000 {
		rpush, hset := []string{"RPUSH", "mail"}, []string{"HSET", "{mail}:runs"}
		for n := i; n < i+1000; n++ {
			rpush = append(rpush, fmt.Sprint("gone", n))
			hset = append(hset, fmt.Sprint("gone", n), "- 1 1 0 0 0 r1\nfailed\n")
		}
		s.Do(rpush...)
		s.Do(hset...)
	}
	id, err := q.Enqueue(ctx, queue.Task[string]{Payload: "good"})
	must(t, err)
	ran := make(chan string, 1)
	started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error { ran <- j.ID; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	if got := <-ran; got != id {
		t.Errorf("%s ran", got)
	}
	eventually(t, "nothing is known of those that are gone", func() bool {
		return s.Do("EXISTS",
			"{mail}:runs") == int64(0)
	})
}

// TestRunsForget: what is known of jobs that are in no place any more goes by and by.
func TestRunsForget(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	client, begun := watched(t, s.URL())
	q := queue.Open(client, "mail", value.Text(0), queue.Options{})
	for n := range 50 {
		s.Do("HSET", "{mail}:runs", fmt.Sprint("gone", n), "- 1 1 0 0 0 r1\nfailed\n")
	}
	started(t, q.Worker(func(context.Context, *queue.Job[string]) error { return nil },
		queue.WorkerOptions{Concurrency: 1}))
	eventually(t, "the worker looks", func() bool { return begun("fetch") > 0 })
	const calls = 300
	for range calls {
		before := begun("fetch")
		eventually(t, "it looks again", func() bool {
			s.Do("PUBLISH", "{mail}:ready",
				"due 0")
			return begun("fetch") > before
		})
	}
	if n := s.Do("HLEN", "{mail}:runs"); n != int64(0) {
		t.Errorf("after %d calls it still knows %v", calls, n)
	}
}

// TestKeysWithoutNames: keys of code that was generated before a queue had all it
// has now are refused.
func TestKeysWithoutNames(t *testing.T) {
	k, codec := queue.KeysOf("mail"), value.Text(0)
	k.Runs = ""
	s := keywrighttest.Start(t, keywrighttest.Redis)
	_, err := queue.New(keywright.Binding{Client: open(t, s.URL()), Entry: &keywright.Entry{Name: "mail"}}, k, &codec,
		&queue.Options{}).Enqueue(t.Context(), queue.Task[string]{})
	if class, _ := keywright.ClassOf(err); class != keywright.Invalid {
		t.Errorf("%v", err)
	}
}

// TestOddTexts: ids, names, payloads, errors and progress of any bytes.
func TestOddTexts(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		k := queue.KeysOf("mail", "x", "y")
		k.ID = func(string) error { return nil }
		codec := value.Text(0)
		q := queue.New(keywright.Binding{Client: open(t, url), Entry: &keywright.Entry{Name: "mail"}}, k, &codec,
			&queue.Options{Backoff: time.Millisecond, Retry: 3})
		ctx := t.Context()
		odd := []string{"-", " ", "a b", "%", "%41", "%zz", "a\nb", "\x00", "ü\xff", "+", "--", "\t", "\r\n", "a- -\n-",
			strings.Repeat("n", 5000), "1 1 0 - -\n"}
		payloads := append([]string{"", "\n", "\n\n- - -\n", "1 1 0 - -\nx", strings.Repeat("\x00\n", 1<<19)}, odd...)
		var mu sync.Mutex
		got := map[string]int{}
		fences := map[string][]int64{}
		n := 0
		for _, o := range odd {
			must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "id" + o, Unique: o, Payload: "u", Lane: "y"})))
			if other, err := q.Enqueue(ctx, queue.Task[string]{Unique: o}); !errors.Is(err, queue.ErrExists) || other != "id"+o {
				t.Errorf("%q: %q %v", o, other, err)
			}
			n++
		}
		for _, p := range payloads {
			must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{Payload: p})))
			n++
		}
		stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
			mu.Lock()
			fences[j.ID] = append(fences[j.ID], j.Fence)
			mu.Unlock()
			if j.Attempt == 1 {
				if err := j.Progress(ctx, "p\n- 1 1 1 1\n\x00"+j.ID); err != nil {
					return err
				}
				return errors.New("line\n- 9 9 9 1\nother")
			}
			st, err := q.State(ctx, j.ID)
			if err != nil || st.Progress != "p\n- 1 1 1 1\n\x00"+j.ID || st.Error != "line - 9 9 9 1 other" ||
				st.Attempt != 2 || st.Owner == "" {
				t.Errorf("%q: %+v %v", j.ID, st, err)
			}
			mu.Lock()
			got[j.Payload]++
			mu.Unlock()
			return nil
		}, queue.WorkerOptions{Name: " a  b\nc\x00%" + strings.Repeat("l", 3000), Concurrency: 3, Batch: 4}))
		eventually(t, "all", func() bool {
			st, err := q.Stats(ctx)
			must(t, err)
			return st.Waiting()+st.Leased+st.Delayed == 0
		})
		stop()
		mu.Lock()
		for _, p := range payloads {
			if got[p] == 0 {
				t.Errorf("%.40q did not run", p)
			}
		}
		if got["u"] != len(odd) {
			t.Errorf("%d", got["u"])
		}
		for id, f := range fences {
			if len(f) != 2 || f[0] >= f[1] {
				t.Errorf("%q %v", id, f)
			}
		}
		mu.Unlock()
		nothingLeft(t, servers)
	})
}

// TestRestrictedUser: the keys of the queue and its channel are all a user needs.
func TestRestrictedUser(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "w", "on", ">w", "resetkeys", "~mail", "~{mail}:*", "resetchannels", "&{mail}:ready",
			"+@all", "-@dangerous", "+info", "+role", "+client")
		q := queue.Open(open(t, strings.Replace(s.URL(), "redis://", "redis://w:w@", 1)), "mail", value.Text(0),
			queue.Options{Retry: 1})
		ctx := t.Context()
		_, err := q.EnqueueAll(ctx, []queue.Task[string]{{Payload: "a", ID: "a", Unique: "u"}, {Payload: "bad", ID: "b",
			Unique: "v"}, {In: time.Millisecond}})
		must(t, err)
		must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
		var n atomic.Int64
		stop := started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
			n.Add(1)
			if j.Payload == "bad" {
				return errors.New("bad")
			}
			j.SetResult("r")
			return j.Progress(ctx, "x")
		}, queue.WorkerOptions{OnError: func(err error) { t.Error(err) }}))
		eventually(t, "all", func() bool { return n.Load() == 4 })
		eventually(t, "dead", func() bool { st, err := q.Stats(ctx); must(t, err); return st.Dead == 1 })
		stop()
		if ok, err := q.Retry(ctx, "b"); !ok || err != nil {
			t.Error(err)
		}
		_, err = q.Reconcile(ctx, false)
		must(t, err)
	}
}
