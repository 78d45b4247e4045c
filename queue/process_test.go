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
	"github.com/keywright/keywright/internal/gate"
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

// span represents one run of a job as its worker saw it.
type span struct {
	id                string
	fence             int64
	began, aliveUntil int64
	done              bool
}

// log describes what all workers said.
type log struct {
	mu    sync.Mutex
	spans map[string]*span // by id and fence
	done  map[string]bool
	last  map[string]*process // the process that began to run a job last, by id
}

func newLog() *log {
	return &log{spans: map[string]*span{}, done: map[string]bool{}, last: map[string]*process{}}
}

func (l *log) record(p *process, line string) {
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

// lastRunner returns the process that began to run a job last, nil if none has.
func (l *log) lastRunner(id string) *process { l.mu.Lock(); defer l.mu.Unlock(); return l.last[id] }

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

// wrong returns what must not be: a job that never ended, and one that two workers
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
			l.record(p, lines.Text())
		}
	})
	return p
}

// kill ends it as kill -9 does, and waits until all that it has said is read.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.end()
}

func (p *process) end() {
	p.stdin.Close()
	p.said.Wait()
	_ = p.cmd.Wait()
}

// TestDeadWorker: the jobs of a worker that was killed are claimed again when their leases
// are over, not before, and within a second, by the clock of the server: it has the end of a
// lease and the claim, which is the fence. On a machine that is busy the best of five counts,
// and by how much a timer is late meanwhile.
func TestDeadWorker(t *testing.T) {
	gate.Skip(t, "measures how late a job is claimed")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := processQueue(open(t, s.URL()))
	best := time.Duration(1 << 62)
	for round := range 5 {
		late, noise := abandoned(t, s, q, round)
		t.Logf("claimed %v after the end of the lease; a timer was late by %v", late, noise)
		if best = min(best, late-4*noise); best <= time.Second {
			return
		}
	}
	t.Errorf("jobs of a dead worker are claimed %v after the end of their leases", best)
}

// abandoned kills a worker in the middle of a job, while another one has nothing to do. It
// gives by how much the job was claimed later than its lease ended, and a timer was late.
func abandoned(t *testing.T, s *keywrighttest.Server, q queue.Queue[string], round int) (late, noise time.Duration) {
	l, dir := newLog(), t.TempDir()
	const alone = "KEYWRIGHT_QUEUE_RUNNERS=1" // it takes one job at a time
	victim := startProcess(t, l, s.URL(), dir, alone)
	id, err := q.Enqueue(t.Context(), queue.Task[string]{ID: fmt.Sprint("held-", round), Payload: held})
	must(t, err)
	eventually(t, "the victim runs it", func() bool { return l.lastRunner(id) == victim })
	other := startProcess(t, l, s.URL(), dir, alone)
	defer other.end()
	probe := 0
	eventually(t, "the other works", func() bool {
		id, err := q.Enqueue(t.Context(), queue.Task[string]{ID: fmt.Sprint("probe-", round, "-", probe)})
		must(t, err)
		probe++
		eventually(t, "it is done", func() bool { return l.isDone(id) })
		return l.lastRunner(id) == other
	})
	victim.kill()
	begun := time.Now()
	left := s.Do("EVAL", "return {redis.call('ZSCORE', KEYS[1], ARGV[1]), redis.call('HGET', KEYS[2], ARGV[1])}", "2",
		"{mail}:leases", "{mail}:runs", id).([]any)
	end, err := strconv.ParseFloat(fmt.Sprint(left[0]), 64)
	must(t, err)
	letGo(t, dir, id)
	over, idle := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		most := time.Duration(0)
		for due := begun; ; due = time.Now().Add(10 * time.Millisecond) {
			<-time.After(time.Until(due))
			most = max(most, time.Since(due))
			select {
			case <-over:
				idle <- most
				return
			default:
			}
		}
	}()
	eventually(t, "it is done", func() bool { return l.isDone(id) })
	close(over)
	noise = <-idle
	l.mu.Lock()
	defer l.mu.Unlock()
	last := int64(0)
	for _, one := range l.spans {
		if one.id == id {
			last = max(last, one.fence)
		}
	}
	if strings.Contains(fmt.Sprint(left[1]), fmt.Sprintf(" %d ", last)) {
		return 1 << 61, noise // this machine stood still for a lease: it was claimed before we looked
	}
	if late = time.Duration(last-int64(end)*1000) * time.Microsecond; late < 0 {
		t.Errorf("%s was claimed %v before the end of its lease", id, -late)
	}
	return late, noise
}
