package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

// crashing lists the contestants that can lose a worker. asynq takes a minute and a half: only with
// -slow.
func crashing(o options) []contestant {
	all := []contestant{leasing("keywright", 1, o.lease)}
	if o.slow {
		all = append(all, withAsynq("asynq", 0))
	}
	return all
}

// child returns a worker in a process of its own that takes a job and never ends it.
func child(ctx context.Context, o options, stdout io.Writer) error {
	o.slow = true
	for _, peer := range crashing(o) {
		if peer.name != o.child {
			continue
		}
		q, err := peer.open(ctx, o.addr)
		if err != nil {
			return err
		}
		_, err = q.work(ctx, 1, 1, func(string) {
			fmt.Fprintln(stdout, "started")
			<-ctx.Done()
		})
		if err == nil {
			<-ctx.Done()
		}
		return err
	}
	return errors.New("no contestant is called " + o.child)
}

// crash kills a worker in mid-job, with another one waiting, and says how long it
// takes until the job runs there.
func crash(ctx context.Context, peer contestant, o options) (time.Duration, error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	q, err := peer.open(ctx, server.Addr)
	if err != nil {
		return 0, err
	}
	defer q.close()
	victim, err := midJob(ctx, server, peer, q, o)
	if err != nil {
		return 0, err
	}
	defer victim.Process.Kill()
	again := make(chan time.Time, 1)
	stop, err := q.work(ctx, 1, 1, func(string) { again <- time.Now() })
	if err != nil {
		return 0, err
	}
	defer stop()
	pause(ctx, o.idle/4)
	killed := time.Now()
	victim.Process.Kill()
	victim.Wait() // killed: its status says nothing
	select {
	case at := <-again:
		return at.Sub(killed), nil
	case <-time.After(o.crashLimit):
		return 0, fmt.Errorf("the job of the killed worker did not run again within %v", o.crashLimit)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// midJob starts a worker process and waits until it is in the middle of a job.
func midJob(ctx context.Context, server *live.Server, peer contestant, q jobs, o options) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", peer.name, "-addr", server.Addr, "-lease", o.lease.String())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err = q.enqueue(ctx, payload(0))
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("the worker that is to be killed: %w\n%s", err, stderr.String())
	}
	return cmd, nil
}

func crashes(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	t := report.Table{Title: fmt.Sprintf("A worker is killed in mid-job, keywright's lease %v", o.lease),
		Columns: []string{"contestant", "runs again after, median s", "worst s", "kills"}}
	var goals []report.Goal
	for i, peer := range crashing(o) {
		var all []time.Duration
		worst := time.Duration(0)
		for range o.kills {
			d, err := crash(ctx, peer, o)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", peer.name, err)
			}
			all, worst = append(all, d), max(worst, d)
			if peer.poll > 0 {
				break // the slow one, once
			}
		}
		t.Add(peer.name, fmt.Sprintf("%.1f", turns.Median(all).Seconds()), fmt.Sprintf("%.1f", worst.Seconds()), len(all))
		if i == 0 {
			goals = []report.Goal{{What: "killed worker, keywright, job back, worst, s beyond the lease",
				Value: (worst - o.lease).Seconds(), Bound: 1}}
		}
	}
	return []report.Table{t}, goals, nil
}
