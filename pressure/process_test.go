package pressure_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

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
	_ = watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Batch: 10, Pause: 5 * time.Millisecond, Lease: 500 * time.Millisecond}).Run(ctx)
}

// victim starts such a process; kill ends it at once.
func victim(t *testing.T, url string) (kill func()) {
	t.Helper()
	p := exec.Command(os.Args[0], "-test.run=^TestProcess$")
	p.Env = append(os.Environ(), "KEYWRIGHT_PRESSURE_URL="+url)
	stdin, err := p.StdinPipe()
	must(t, err)
	must(t, p.Start())
	var over bool
	kill = func() {
		if !over {
			over = true
			_ = p.Process.Kill()
			_ = p.Wait()
			stdin.Close()
		}
	}
	t.Cleanup(kill)
	return kill
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
		out = ends(s, 1)
		for id, at := range out {
			if at > five {
				delete(out, id)
			}
		}
		return out
	}
	kill := victim(t, s.URL())
	probe := func(i int) bool { at, _ := s.Do("PEXPIRETIME", "item:"+name(1, i)).(int64); return at < five }
	eventually(t, "some are shortened", func() bool { return probe(100) })
	kill()
	first := short()
	if len(first) < 100 || len(first) == 5000 {
		t.Fatalf("%d were shortened before the kill", len(first))
	}
	var done []pressure.Report
	ctx, cancel := context.WithCancel(t.Context())
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Pause: time.Nanosecond, Done: func(r pressure.Report) { done = append(done, r); cancel() }})
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
	kill := victim(t, s.URL())
	eventually(t, "some are released", func() bool { return count(s, 1) < 5900 })
	kill()
	if fmt.Sprint(s.Do("EXISTS", "lease")) != "1" {
		t.Error("the dead process has left no lease: the test tests nothing")
	}
	left := count(s, 1)
	if left < 5500 {
		t.Fatalf("%d are left: it was killed too late", left)
	}
	var done []pressure.Report
	ctx, cancel := context.WithCancel(t.Context())
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: 5 * time.Millisecond, Batch: 10, Pause: time.Nanosecond, Done: func(r pressure.Report) { done = append(done, r); cancel() }})
	must(t, w.Run(ctx))
	if len(done) == 0 || done[0].Released != left-count(s, 1) || done[0].End != pressure.Below || done[0].After.Ratio() < .84 || count(s, 2) != 6000 {
		t.Errorf("%d were left, then %d: %+v", left, count(s, 1), done)
	}
	if n := s.Do("ZCARD", "expiry"); n != int64(6000+count(s, 1)) {
		t.Errorf("the expiry index has %v of %d", n, 6000+count(s, 1))
	}
}
