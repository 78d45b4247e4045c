package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// TestMain lets the test's own program be the worker that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		main()
		return
	}
	os.Exit(m.Run())
}

// All contestants get through everything, asynq's wait for a killed worker excepted.
func TestAllRun(t *testing.T) {
	harnesstest.Shows(t, benchmark(),
		"-rounds 1 -slice 10ms -drains 1 -jobs 500 -idles 1 -singles 2 -idle 200ms -kills 1 -lease 500ms -backlog 500 -rated 100ms",
		"Enqueue, jobs per second", "Process, no-op jobs", "500 jobs in the queue", "Idle queue, 2 jobs",
		"killed in mid-job", "left by a frozen worker", "left by two workers in turn", "A rate", "keywright",
		"bare rueidis", "asynq")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, map[string]string{"unknown": "-child unknown", `-what "x"`: "-cpuprofile " + os.DevNull + " -what x"})
}

// A queue that loses a job, gives one twice or damages one is not fast: the run
// fails.
func TestSeenJobs(t *testing.T) {
	for _, c := range []struct {
		name    string
		handled []string
		want    string
	}{
		{"all", []string{payload(0), payload(1), payload(2)}, ""},
		{"lost", []string{payload(0), payload(2)}, "1 of 3 jobs were not handled"},
		{"twice", []string{payload(0), payload(0), payload(1), payload(2)}, "1 jobs were handled twice"},
		{"cut", []string{payload(0), payload(1)[:50], payload(1), payload(2)}, "1 jobs were handled twice or are not"},
		{"unknown", []string{payload(0), payload(7), payload(1), payload(2)}, "1 jobs were handled twice or are not"},
	} {
		l := newSeenJobs(3)
		for _, p := range c.handled {
			l.handle(p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.name == "lost" {
			cancel()
		}
		_, err := l.rate(ctx, time.Minute)
		cancel()
		if got := ""; err != nil && !strings.Contains(err.Error(), c.want) || (err == nil) != (c.want == got) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
