package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// TestWorker is no test: it is a process that holds the lock again and again,
// until its standard input ends. It prints what it sees with the time.
func TestWorker(t *testing.T) {
	url, gates := os.Getenv("KEYWRIGHT_LOCK_WORKER"), os.Getenv("KEYWRIGHT_LOCK_GATE")
	if url == "" {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	c := open(t, url, keywright.Options{Timeout: time.Second, Attempts: 20})
	gate := lock.NewGate(open(t, gates, keywright.Options{}), "ledger", 0)
	l := lock.Open(c, "lock:p", lock.Options{Lease: 250 * time.Millisecond, Claim: 100 * time.Millisecond})
	for ctx.Err() == nil {
		lease, err := l.Acquire(ctx)
		if err != nil {
			continue
		}
		fmt.Println("began", lease.Fence(), time.Now().UnixNano())
		for range 5 {
			if now := time.Now(); lease.Context().Err() == nil {
				fmt.Println("alive", lease.Fence(), now.UnixNano())
			}
			pause(ctx, time.Millisecond)
		}
		_, err = gate.Do(context.WithoutCancel(ctx), lease.Fence(), "RPUSH", fmt.Sprint(lease.Fence()))
		if errors.Is(err, lock.ErrStale) {
			fmt.Println("stale", lease.Fence(), 0)
		}
		_ = lease.Release(context.WithoutCancel(ctx))
	}
}

// process represents one worker and what it said.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	said  sync.WaitGroup
}

func startWorker(t *testing.T, h *history, url, gate string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^TestWorker$")}
	p.cmd.Env = append(os.Environ(), "KEYWRIGHT_LOCK_WORKER="+url, "KEYWRIGHT_LOCK_GATE="+gate)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.cmd.Stderr = os.Stderr
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	must(t, p.cmd.Start())
	p.said.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			h.record(lines.Text())
		}
	})
	return p
}

// record notes what a worker says.
func (h *history) record(line string) {
	var word string
	var fence, at int64
	if n, _ := fmt.Sscan(line, &word, &fence, &at); n != 3 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch word {
	case "began":
		h.holds = append(h.holds, hold{fence: fence, began: time.Unix(0, at)})
	case "stale":
		h.stale++
	case "alive":
		for i := len(h.holds) - 1; i >= 0; i-- {
			if h.holds[i].fence == fence {
				h.holds[i].aliveUntil = time.Unix(0, at)
				return
			}
		}
	}
}

func (p *process) end() {
	p.stdin.Close()
	p.said.Wait()
	_ = p.cmd.Wait()
}

// TestProcesses: workers are killed and frozen in the middle, again and again.
// The others go on; no one believes to hold what another one holds. Messages of two
// databases of one server mix. KEYWRIGHT_KILLS says how often harm is done.
func TestProcesses(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	far := keywrighttest.NewProxy(t, keywrighttest.Start(t, keywrighttest.Valkey).Addr(),
		keywrighttest.Rules{Delay: 20 * time.Millisecond})
	kills := gate.Count(t, "KEYWRIGHT_KILLS", 2, 10)
	urls := map[string]string{
		"database 0 of two": s.URL() + "/0",
		"database 1 of two": s.URL() + "/1",
		"replies are slow":  "redis://" + far.Addr(),
	}
	for _, name := range gate.Pick(t, slices.Sorted(maps.Keys(urls))) {
		url := urls[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, ledger := chaos(t, url, keywrighttest.Start(t, keywrighttest.Redis), kills, func(*rand.Rand) {})
			for _, v := range violations(h, ledger) {
				t.Error(v)
			}
			report(t, h, ledger, 5*kills)
		})
	}
}

// TestFailovers: beside that the primary dies, with replicas that lagged.
// Two may then hold the lock; what it protects stays in order.
func TestFailovers(t *testing.T) {
	gate.Skip(t, "kills at random times")
	t.Parallel()
	s := keywrighttest.StartSentinel(t, keywrighttest.Valkey, 2, 3)
	stable := keywrighttest.Start(t, keywrighttest.Redis)
	alive := append([]*keywrighttest.Server{s.Primary}, s.Replicas...)
	h, ledger := chaos(t, s.URL(), stable, 8, func(*rand.Rand) { alive = loseWrites(t, alive) })
	for _, v := range violations(&history{}, ledger) {
		t.Error(v)
	}
	report(t, h, ledger, 5*8)
}

// loseWrites freezes the replicas, so that they never see what is written from
// now on, and kills the primary. It gives the servers that are left.
func loseWrites(t *testing.T, alive []*keywrighttest.Server) (left []*keywrighttest.Server) {
	var primary *keywrighttest.Server
	for _, n := range alive {
		if primary == nil && n.Info("role") == "master" {
			primary = n
			continue
		}
		left = append(left, n)
	}
	if primary == nil || len(left) == 0 {
		return alive
	}
	for _, n := range left {
		n.Stop()
	}
	pause(t.Context(), 300*time.Millisecond)
	primary.Kill()
	for _, n := range left {
		n.Continue()
	}
	return left
}

func report(t *testing.T, h *history, ledger []int64, enough int) {
	t.Helper()
	t.Logf("%d holds, %d protected writes, %d late ones refused", len(h.holds), len(ledger), h.stale)
	if len(h.holds) < enough {
		t.Errorf("%d holds: the chaos left no work to look at", len(h.holds))
	}
}

// chaos runs four workers and does harm so many times.
func chaos(t *testing.T, url string, stable *keywrighttest.Server, times int, more func(*rand.Rand)) (*history,
	[]int64) {
	r := gate.Rand(t)
	h := &history{}
	workers := make([]*process, 4)
	for i := range workers {
		workers[i] = startWorker(t, h, url, stable.URL())
	}
	seen := func() int { h.mu.Lock(); defer h.mu.Unlock(); return len(h.holds) }
	for round := range times {
		for before := seen(); seen() < before+5; { // the others go on
			pause(t.Context(), 5*time.Millisecond)
		}
		victim := r.IntN(len(workers))
		if round%4 == 3 {
			_ = workers[victim].cmd.Process.Signal(syscall.SIGSTOP)
			pause(t.Context(), 400*time.Millisecond)
			_ = workers[victim].cmd.Process.Signal(syscall.SIGCONT)
			continue
		}
		_ = workers[victim].cmd.Process.Kill()
		workers[victim].end()
		workers[victim] = startWorker(t, h, url, stable.URL())
		if round%4 == 2 {
			more(r)
		}
	}
	for _, p := range workers {
		p.end()
	}
	return h, protectedWrites(t, stable)
}
