package queue_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

const processLease = 600 * time.Millisecond

func processQueue(t *testing.T, url string) queue.Queue[string] {
	return queue.Open(open(t, url), "mail", value.Text(0), queue.Options{Lease: processLease, Retry: 1, Crashes: 1000, Backoff: time.Millisecond})
}

// held is the payload of a job whose first run takes long: whoever is killed while
// it runs has died in the middle of a job.
const held = "held"

// TestWorkerProcess is no test: it is a process that works until its standard
// input ends, and prints what it does with the time.
func TestWorkerProcess(t *testing.T) {
	url := os.Getenv("KEYWRIGHT_QUEUE_WORKER")
	if url == "" {
		return
	}
	if guard := os.Getenv("KEYWRIGHT_QUEUE_MUTATE"); guard != "" {
		queue.Mutate(t, guard, os.Getenv("KEYWRIGHT_QUEUE_INSTEAD"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	say := func(word string, j *queue.Job[string], at time.Time) { fmt.Println(word, j.ID, j.Fence, at.UnixNano()) }
	worker := processQueue(t, url).Worker(func(ctx context.Context, j *queue.Job[string]) error {
		say("began", j, time.Now())
		for i := 0; i < 3 || j.Payload == held && j.Fence == 1 && i < 500 && ctx.Err() == nil; i++ {
			if now := time.Now(); ctx.Err() == nil {
				say("alive", j, now)
			}
			<-time.After(time.Millisecond)
		}
		if now := time.Now(); ctx.Err() == nil {
			say("done", j, now)
		}
		return context.Cause(ctx)
	}, queue.WorkerOptions{Concurrency: 4, Batch: 2, Grace: time.Second})
	for ctx.Err() == nil {
		_ = worker.Run(ctx) // the server may be away when it begins
	}
}

// span is one run of a job as its worker saw it.
type span struct {
	id                string
	fence             int64
	began, aliveUntil int64
	done              bool
}

// log is what all workers said.
type log struct {
	mu    sync.Mutex
	spans map[string]*span // by id and fence
	done  map[string]bool
	first map[string]*process // who ran a job first, by id
}

func newLog() *log {
	return &log{spans: map[string]*span{}, done: map[string]bool{}, first: map[string]*process{}}
}

func (l *log) hear(p *process, line string) {
	var word, id string
	var fence, at int64
	if n, _ := fmt.Sscan(line, &word, &id, &fence, &at); n != 4 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := id + " " + strconv.FormatInt(fence, 10)
	s := l.spans[key]
	switch {
	case s == nil && word == "began":
		l.spans[key] = &span{id: id, fence: fence, began: at, aliveUntil: at}
		if l.first[id] == nil {
			l.first[id] = p
		}
	case s != nil:
		s.aliveUntil = at
		if word == "done" {
			s.done, l.done[id] = true, true
		}
	}
}

// runsFirst is who ran a job first, if that has begun.
func (l *log) runsFirst(id string) *process { l.mu.Lock(); defer l.mu.Unlock(); return l.first[id] }

// await waits, not for ever: a server that was killed may have lost what it had
// not yet answered.
func (l *log) await(true_ func() bool) {
	for end := time.Now().Add(2*processLease + 5*time.Second); !true_() && time.Now().Before(end); {
		<-time.After(time.Millisecond)
	}
}

func (l *log) count() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.done) }

// wrong is what must not be: a job that never ended, and one that two workers
// ran at the same time and both believed to have.
func (l *log) wrong(ids []string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := 0
	for _, id := range ids {
		if !l.done[id] {
			lost++
		}
	}
	if lost > 0 {
		out = append(out, fmt.Sprintf("%d of %d jobs are lost", lost, len(ids)))
	}
	byID := map[string][]*span{}
	for _, s := range l.spans {
		byID[s.id] = append(byID[s.id], s)
	}
	for id, runs := range byID {
		slices.SortFunc(runs, func(a, b *span) int { return cmp.Compare(a.began, b.began) })
		for i := range runs[1:] {
			if runs[i+1].began < runs[i].aliveUntil {
				out = append(out, fmt.Sprintf("job %s ran twice at the same time: run %d began %v before run %d was over", id, runs[i+1].fence, time.Duration(runs[i].aliveUntil-runs[i+1].began), runs[i].fence))
			}
			if runs[i+1].fence <= runs[i].fence {
				out = append(out, fmt.Sprintf("job %s: run %d behind run %d", id, runs[i+1].fence, runs[i].fence))
			}
		}
	}
	return out
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	said  sync.WaitGroup
}

func startProcess(t *testing.T, l *log, url string, env ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")}
	p.cmd.Env = append(append(os.Environ(), "KEYWRIGHT_QUEUE_WORKER="+url), env...)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	must(t, p.cmd.Start())
	p.said.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.hear(p, lines.Text())
		}
	})
	return p
}

func (p *process) end() {
	p.stdin.Close()
	p.said.Wait()
	_ = p.cmd.Wait()
}

// kills runs jobs in three processes and kills processes and the server, which
// writes every command to its disk before it answers. It gives what was wrong.
func kills(t *testing.T, workers, servers int, env ...string) []string {
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"), keywrighttest.Config("appendfsync", "always"))
	q := processQueue(t, s.URL())
	l := newLog()
	all := make([]*process, 3)
	for i := range all {
		all[i] = startProcess(t, l, s.URL(), env...)
	}
	var ids []string
	r := rand.New(rand.NewPCG(5, 5))
	for workers > 0 || servers > 0 {
		for i := range 20 {
			task := queue.Task[string]{ID: fmt.Sprint("job-", len(ids))}
			if i == 10 && workers > 0 {
				task.Payload = held
			}
			id, err := q.Enqueue(t.Context(), task)
			if err != nil {
				t.Logf("enqueue: %v", err) // it may be there or not: it is counted if it is
			}
			ids = append(ids, id)
		}
		// In the middle of the work: some of it is done, some is not.
		want := l.count() + 1 + r.IntN(10)
		l.await(func() bool { return l.count() >= min(want, len(ids)) })
		if workers > 0 {
			victim := r.IntN(len(all))
			id := ids[len(ids)-10]
			l.await(func() bool { return l.runsFirst(id) != nil })
			if p := l.runsFirst(id); p != nil {
				victim = slices.Index(all, p)
			}
			_ = all[victim].cmd.Process.Kill()
			all[victim].end()
			all[victim] = startProcess(t, l, s.URL(), env...)
			workers--
		}
		if servers > 0 {
			s.Kill()
			s.Restart()
			servers--
		}
	}
	for end := time.Now().Add(20 * processLease); l.count() < len(ids) && time.Now().Before(end); {
		<-time.After(5 * time.Millisecond)
	}
	for _, p := range all {
		p.end()
	}
	t.Logf("%d jobs in %d runs", len(ids), len(l.spans))
	return l.wrong(ids)
}

// TestKills: 0 jobs lost, 0 run twice at the same time. KEYWRIGHT_KILLS makes it
// longer: `make soak` has 200 workers and 50 servers.
func TestKills(t *testing.T) {
	workers, servers := 30, 10
	if text := os.Getenv("KEYWRIGHT_KILLS"); text != "" {
		workers, _ = strconv.Atoi(text)
		servers = workers / 4
	}
	for _, w := range kills(t, workers, servers) {
		t.Error(w)
	}
}

// TestMutations: with any guard taken out the suites show it.
func TestMutations(t *testing.T) {
	for name, m := range map[string]struct{ guard, instead string }{
		"a claim leaves no lease":            {"redis.call('ZADD', KEYS[1], unpack(leased))\n  keep", "keep"},
		"nobody brings back what is expired": {"for _, id in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', stamp", "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', '0'"},
		"a claim lasts no time":              {"local ends = string.format('%.0f', now + tonumber(ARGV[3]))\nfor", "local ends = stamp\nfor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if wrong := kills(t, 12, 0, "KEYWRIGHT_QUEUE_MUTATE="+m.guard, "KEYWRIGHT_QUEUE_INSTEAD="+m.instead); len(wrong) == 0 {
				t.Error("the suite stays green without this guard")
			} else {
				t.Logf("%s", wrong[0])
			}
		})
	}
	t.Run("the owner is not asked when a job is settled", func(t *testing.T) {
		queue.Mutate(t, "if f[1] ~= ARGV[i + 2] then", "if false then")
		if wrong := zombie(t); len(wrong) == 0 {
			t.Error("the suite stays green without this guard")
		} else {
			t.Logf("%s", wrong[0])
		}
	})
}

// TestDeadWorker: the jobs of a worker that was killed run again within its
// lease and a second. How long it took is logged; what must hold is that it took
// no longer than the server's clock says a lease and a second are, with a
// generous allowance for this machine.
func TestDeadWorker(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := processQueue(t, s.URL())
	l := newLog()
	var longest time.Duration
	for range 3 {
		victim := startProcess(t, l, s.URL())
		tasks := make([]queue.Task[string], 200)
		ids, err := q.EnqueueAll(t.Context(), tasks)
		must(t, err)
		done := l.count()
		eventually(t, "some are done", func() bool { return l.count() > done+5 })
		_ = victim.cmd.Process.Kill()
		killed := time.Now()
		victim.end()
		other := startProcess(t, l, s.URL())
		eventually(t, "all are done", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return !slices.ContainsFunc(ids, func(id string) bool { return !l.done[id] })
		})
		longest = max(longest, time.Since(killed))
		other.end()
	}
	t.Logf("at most %v, with a lease of %v", longest, processLease)
	if longest > processLease+time.Second+5*time.Second {
		t.Errorf("%v", longest)
	}
}
