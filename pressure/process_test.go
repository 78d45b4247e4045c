package pressure_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/pressure"
)

// TestProcess is no test: it is a process that watches until its standard input
// ends, slowly.
func TestProcess(t *testing.T) {
	url := os.Getenv("KEYWRIGHT_PRESSURE_URL")
	if url == "" {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	c := open(t, url)
	_ = watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Batch: 10, Pause: 5 * time.Millisecond,
		Lease: 500 * time.Millisecond}).Run(ctx)
}

// victim starts such a process.
func victim(t *testing.T, url string) *process {
	t.Helper()
	p := exec.Command(os.Args[0], "-test.run=^TestProcess$")
	p.Env = append(os.Environ(), "KEYWRIGHT_PRESSURE_URL="+url)
	stdin, err := p.StdinPipe()
	must(t, err)
	must(t, p.Start())
	v := &process{p, stdin, false}
	t.Cleanup(v.kill)
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
	v := victim(t, s.URL())
	probe := func(i int) bool { at, _ := s.Do("PEXPIRETIME", "item:"+name(1, i)).(int64); return at < five }
	eventually(t, "some are shortened", func() bool { return probe(100) })
	v.kill()
	first := short()
	if len(first) < 100 || len(first) == 5000 {
		t.Fatalf("%d were shortened before the kill", len(first))
	}
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
	v := victim(t, s.URL())
	eventually(t, "some are released", func() bool { return count(s, 1) < 5900 })
	v.kill()
	if fmt.Sprint(s.Do("EXISTS", "lease")) != "1" {
		t.Error("the dead process has left no lease: the test tests nothing")
	}
	left := count(s, 1)
	if left < 5500 {
		t.Fatalf("%d are left: it was killed too late", left)
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
	v := victim(t, s.URL())
	eventually(t, "some are released", func() bool { return count(s, 1) < 5900 })
	must(t, v.Process.Signal(syscall.SIGSTOP))
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
