package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
)

// arena represents the loaded server on which contestants run one at a time.
type arena struct {
	server *live.Server
	truth  *dataset.Manifest
	count  int // COUNT of the loops' SCAN
}

// sample represents one run of one contestant.
type sample struct {
	wall   time.Duration
	server time.Duration // CPU of the server's main thread
	client time.Duration // CPU of the contestant
	rss    int64         // bytes, its peak
	calls  map[string]int64
}

// warmUp runs the audit once outside the rounds; its mean page becomes the
// COUNT of the loops.
func (a *arena) warmUp(ctx context.Context, audit *contestant) error {
	if err := a.runOnce(ctx, audit); err != nil {
		return err
	}
	calls := audit.samples[0].calls["scan"]
	audit.samples = nil
	if a.count == 0 {
		a.count = max(1, a.truth.Keys/int(max(1, calls)))
	}
	return nil
}

func (a *arena) runOnce(ctx context.Context, c *contestant) error {
	cpu, calls, err := a.counters()
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd := c.command(ctx, a.server.Addr, a.count)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	s := sample{wall: time.Since(start)}
	if exit := exitStatus(err); exit != c.exit {
		return fmt.Errorf("%s: exit status %d, want %d: %w\n%s", c.name, exit, c.exit, err, stderr.Bytes())
	}
	cpuAfter, callsAfter, err := a.counters()
	if err != nil {
		return err
	}
	s.server = cpuAfter - cpu
	s.client = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	for name, n := range calls {
		callsAfter[name] -= n
	}
	s.calls = callsAfter
	c.samples = append(c.samples, s)
	if err := c.verify(stdout.Bytes(), a.truth); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

func (a *arena) counters() (time.Duration, map[string]int64, error) {
	calls, err := a.server.Calls()
	if err != nil {
		return 0, nil, err
	}
	cpu, err := a.server.CPU()
	return cpu, calls, err
}

func exitStatus(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
