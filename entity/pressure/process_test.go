package pressure_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// after says after how many batches of ten a process sends itself a signal.
const after = 10

// TestProcess is no test: it is a process that watches until its standard input
// ends, and sends itself a signal on the way.
func TestProcess(t *testing.T) {
	url := os.Getenv("KEYWRIGHT_PRESSURE_URL")
	if url == "" {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	c := open(t, url)
	signal, _ := strconv.Atoi(os.Getenv("KEYWRIGHT_PRESSURE_SIGNAL"))
	pages := 0
	target := &shelf{c: c, before: func() {
		if pages++; pages == after+1 {
			_ = syscall.Kill(os.Getpid(), syscall.Signal(signal))
		}
	}}
	_ = watcher(c, target, pressure.Options{Interval: 5 * time.Millisecond, Batch: 10, Pause: time.Nanosecond,
		Lease: time.Hour}).Run(ctx)
}

// victim starts such a process, and waits until it is dead or stopped.
func victim(t *testing.T, url string, signal syscall.Signal) *process {
	t.Helper()
	p := exec.Command(os.Args[0], "-test.run=^TestProcess$")
	p.Env = append(os.Environ(), "KEYWRIGHT_PRESSURE_URL="+url, fmt.Sprintf("KEYWRIGHT_PRESSURE_SIGNAL=%d", signal))
	stdin, err := p.StdinPipe()
	must(t, err)
	must(t, p.Start())
	v := &process{p, stdin, false}
	t.Cleanup(v.kill)
	if signal == syscall.SIGKILL {
		_ = p.Wait()
		v.over = true
		return v
	}
	var status syscall.WaitStatus
	for !status.Stopped() {
		_, err := syscall.Wait4(p.Process.Pid, &status, syscall.WUNTRACED, nil)
		must(t, err)
	}
	return v
}

// process represents a watcher of its own.
type process struct {
	*exec.Cmd
	stdin io.Closer
	over  bool
}

// kill ends it at once.
func (p *process) kill() {
	if !p.over {
		p.over = true
		_ = p.Process.Kill()
		_ = p.Wait()
		p.stdin.Close()
	}
}

// TestKillWhileShortening: what the dead process has shortened is left alone, the
// rest is shortened by the next one, which takes over when the lease has ended.
func TestKillWhileShortening(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 5000, 1)
	c := open(t, s.URL())
	press(t, s, .85)
	five := time.Now().Add(lifetime - time.Minute).UnixMilli()
	short := func() (out map[string]int64) {
		out = ends(t, s, 1)
		for id, at := range out {
			if at > five {
				delete(out, id)
			}
		}
		return out
	}
	victim(t, s.URL(), syscall.SIGKILL)
	first := short()
	if len(first) != 10*after {
		t.Fatalf("%d were shortened before the kill", len(first))
	}
	s.Do("DEL", "lease") // as at its end
	var done []pressure.Report
	ctx, cancel := context.WithCancel(t.Context())
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Pause: time.Nanosecond,
		Done: func(r pressure.Report) { done = append(done, r); cancel() }})
	must(t, w.Run(ctx))
	if len(done) == 0 || done[0].Shortened != 5000-len(first) || done[0].Skipped != len(first) {
		t.Fatalf("%d were short, then: %+v", len(first), done)
	}
	for id, at := range short() {
		if old, ok := first[id]; ok && old != at {
			t.Fatalf("%s was shortened twice", id)
		}
	}
}

// TestKillWhileReleasing: the next one releases what is still too much and no
// more.
func TestKillWhileReleasing(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	fill(s, 6000, 1, 2)
	c := open(t, s.URL())
	press(t, s, .97)
	victim(t, s.URL(), syscall.SIGKILL)
	if fmt.Sprint(s.Do("EXISTS", "lease")) != "1" {
		t.Error("the dead process has left no lease: the test tests nothing")
	}
	s.Do("DEL", "lease") // as at its end
	left := count(s, 1)
	if left != 6000-10*after {
		t.Fatalf("%d are left", left)
	}
	var done []pressure.Report
	ctx, cancel := context.WithCancel(t.Context())
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Batch: 10, Pause: time.Nanosecond,
		Done: func(r pressure.Report) { done = append(done, r); cancel() }})
	must(t, w.Run(ctx))
	if len(done) == 0 || done[0].Released != left-count(s, 1) || done[0].End != pressure.Below ||
		done[0].After.Ratio() < .84 || count(s, 2) != 6000 {
		t.Errorf("%d were left, then %d: %+v", left, count(s, 1), done)
	}
	if n := s.Do("ZCARD", "expiry"); n != int64(6000+count(s, 1)) {
		t.Errorf("the expiry index has %v of %d", n, 6000+count(s, 1))
	}
}

// TestStopWhileReleasing: a process that was stopped for longer than its lease, in
// the middle, does one batch more at most.
func TestStopWhileReleasing(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 6000, 1, 2)
	c := open(t, s.URL())
	press(t, s, .97)
	v := victim(t, s.URL(), syscall.SIGSTOP)
	s.Do("DEL", "lease") // as at its end
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	var runs []pressure.Report
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Batch: 10, Pause: time.Nanosecond,
		Done: func(r pressure.Report) { runs = append(runs, r); cancel() }})
	go func() { ended <- w.Run(ctx) }()
	must(t, <-ended)
	if len(runs) == 0 || runs[0].End != pressure.Below {
		t.Fatalf("%+v", runs)
	}
	left, asked := count(s, 1), calls(s.Info("cmdstat_evalsha"))
	must(t, v.Process.Signal(syscall.SIGCONT))
	eventually(t, "it asks for the lease again", func() bool { return calls(s.Info("cmdstat_evalsha")) > asked+5 })
	if now := count(s, 1); now < left-10 {
		t.Errorf("%d were left, now %d: the process that was stopped went on", left, now)
	}
}

// calls reads calls=7,usec=… of a command's statistics.
func calls(stat string) (n int) {
	_, _ = fmt.Sscanf(stat, "calls=%d,", &n)
	return n
}

// TestFailover: the primary dies in the middle; the watchers go on with the new
// one, which has a maxmemory of its own.
func TestFailover(t *testing.T) {
	gate.Skip(t, "a sentinel elects a new primary")
	t.Parallel()
	s := keywrighttest.StartSentinel(t, keywrighttest.Valkey, 1, 3)
	fill(s.Primary, 4000, 1, 2)
	c := open(t, s.URL())
	s.Primary.Copied(s.Replicas...)
	press(t, s.Primary, .95)
	press(t, s.Replicas[0], .95)
	replica := s.Replicas[0]
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: 20 * time.Millisecond, Batch: 10,
		Pause: 20 * time.Millisecond, Lease: time.Second, Rest: time.Hour})
	go func() { ended <- w.Run(ctx) }()
	eventually(t, "some are released", func() bool { return count(s.Primary, 1) < 3950 })
	s.Primary.Kill()
	full := func() bool {
		m, err := c.Memory(t.Context(), replica.Addr())
		return err != nil || float64(m[0].Used) >= .9*float64(m[0].Max)
	}
	eventually(t, "the new primary is relieved", func() bool { return replica.Info("role") == "master" && !full() })
	cancel()
	must(t, <-ended)
	if count(replica, 2) != 4000 {
		t.Errorf("%d of priority 2 are left", count(replica, 2))
	}
}
