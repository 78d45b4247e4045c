package queue_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

const processLease = 600 * time.Millisecond

// processQueue has the lanes of the environment of the process.
func processQueue(c *keywright.Client, lanes ...string) queue.Queue[string] {
	return queue.Open(c, "mail", value.Text(0), queue.Options{Lease: processLease, Retry: 1, Crashes: 1000,
		Backoff: time.Millisecond}, lanes...)
}

const processLanes = "KEYWRIGHT_QUEUE_LANES"

// held is the payload of a job that goes on until it is let go (see letGo), or its
// worker is killed: the process that runs it is in the middle of a job, on every machine.
const held = "held"

// bulk is the payload of a job that says nothing.
const bulk = "bulk"

// letGo ends a held job, in the process that runs it now or later.
func letGo(t *testing.T, dir, id string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, id), nil, 0o600))
}

// TestWorkerProcess is no test: it is a process that works until its standard
// input ends, and prints what it does with the time.
func TestWorkerProcess(t *testing.T) {
	url, dir := os.Getenv("KEYWRIGHT_QUEUE_WORKER"), os.Getenv("KEYWRIGHT_QUEUE_DIR")
	if url == "" {
		return
	}
	var guards []string
	must(t, json.Unmarshal([]byte(cmp.Or(os.Getenv("KEYWRIGHT_QUEUE_MUTATE"), "[]")), &guards))
	queue.Mutate(t, guards...)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	runners, _ := strconv.Atoi(os.Getenv("KEYWRIGHT_QUEUE_RUNNERS"))
	handle := func(ctx context.Context, j *queue.Job[string]) error { return runAloud(ctx, j, dir) }
	for ctx.Err() == nil { // the server may be away when it begins
		c, err := keywright.Open(ctx, url, keywright.Options{Attempts: 20, Timeout: 2 * time.Second})
		if err != nil {
			continue
		}
		_ = processQueue(c, strings.Fields(os.Getenv(processLanes))...).Worker(handle,
			queue.WorkerOptions{Concurrency: cmp.Or(runners, 4), Batch: min(2, cmp.Or(runners, 2)), Grace: time.Second}).Run(ctx)
		c.Close()
	}
}

// runAloud runs a job and prints when it was seen alive.
func runAloud(ctx context.Context, j *queue.Job[string], dir string) error {
	if j.Payload == bulk {
		return nil
	}
	say := func(word string) {
		if now := time.Now(); ctx.Err() == nil { // looked at after the clock
			fmt.Println(word, j.ID, j.Fence, now.UnixNano())
		}
	}
	say("began")
	for i := 0; i < 3 || j.Payload == held && ctx.Err() == nil; i++ {
		say("alive")
		<-time.After(time.Millisecond)
		if _, err := os.Stat(filepath.Join(dir, j.ID)); err == nil {
			break
		}
	}
	say("done")
	return context.Cause(ctx)
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
	last  map[string]*process // the process that began to run a job last, by id
}

func newLog() *log {
	return &log{spans: map[string]*span{}, done: map[string]bool{}, last: map[string]*process{}}
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
		l.last[id] = p
	case s != nil:
		s.aliveUntil = at
		if word == "done" {
			s.done, l.done[id] = true, true
		}
	}
}

// runner is the process that began to run a job last, nil if none has.
func (l *log) runner(id string) *process { l.mu.Lock(); defer l.mu.Unlock(); return l.last[id] }

func (l *log) count() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.done) }

func (l *log) doneOf(ids []string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if l.done[id] {
			n++
		}
	}
	return n
}

func (l *log) isDone(id string) bool { l.mu.Lock(); defer l.mu.Unlock(); return l.done[id] }

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
				out = append(out, fmt.Sprintf("job %s ran twice at the same time: run %d began %v before run %d was over", id,
					runs[i+1].fence, time.Duration(runs[i].aliveUntil-runs[i+1].began), runs[i].fence))
			}
			if runs[i+1].fence <= runs[i].fence {
				out = append(out, fmt.Sprintf("job %s: run %d after run %d", id, runs[i+1].fence, runs[i].fence))
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

func startProcess(t *testing.T, l *log, url, dir string, env ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")}
	p.cmd.Env = append(append(os.Environ(), "KEYWRIGHT_QUEUE_WORKER="+url, "KEYWRIGHT_QUEUE_DIR="+dir), env...)
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

// kill ends it as kill -9 does, and waits until all it has said is heard.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.end()
}

func (p *process) end() {
	p.stdin.Close()
	p.said.Wait()
	_ = p.cmd.Wait()
}

// TestDeadWorker: the jobs of a worker that was killed run again within its
// lease and a second. How long it took is logged; what must hold is that it took
// no longer than the server's clock says a lease and a second are, with a
// generous allowance for this machine.
func TestDeadWorker(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := processQueue(open(t, s.URL()))
	l := newLog()
	var longest time.Duration
	for range 3 {
		victim := startProcess(t, l, s.URL(), t.TempDir())
		tasks := make([]queue.Task[string], 200)
		ids, err := q.EnqueueAll(t.Context(), tasks)
		must(t, err)
		done := l.count()
		eventually(t, "some are done", func() bool { return l.count() > done+5 })
		killed := time.Now()
		victim.kill()
		other := startProcess(t, l, s.URL(), t.TempDir())
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
