package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/queue"
)

// crashing lists the contestants that can lose a worker.
func (o *options) crashing() []contestant {
	return []contestant{oursWith("keywright", 1, queue.Options{Lease: o.lease}), withAsynq("asynq", 0)}
}

// beKilled is a worker in a process of its own that takes a job and never ends it.
func (o *options) beKilled(ctx context.Context, name string, stdout io.Writer) error {
	all := o.crashing()
	i := slices.IndexFunc(all, func(c contestant) bool { return c.name == name })
	if i < 0 {
		return errors.New("no contestant is called " + name)
	}
	q, err := all[i].open(ctx, o.addr)
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

// crash kills a worker in mid-job, with another one waiting, and says how long it
// takes until the job runs there.
func (o *options) crash(ctx context.Context, peer contestant) (took time.Duration, err error) {
	err = o.on(ctx, peer, func(server *live.Server, q jobs) error {
		victim, err := o.midJob(ctx, server, peer, q)
		if err != nil {
			return err
		}
		defer victim.Process.Kill()
		again := make(chan time.Time, 1)
		stop, err := q.work(ctx, 1, 1, func(string) { again <- time.Now() })
		if err != nil {
			return err
		}
		defer stop()
		live.Pause(ctx, o.idle/4)
		killed := time.Now()
		victim.Process.Kill()
		victim.Wait() // killed: its status says nothing
		at, err := await(ctx, again, o.crashLimit)
		took = at.Sub(killed)
		return err
	})
	return took, err
}

// midJob starts a worker process and waits until it is in the middle of a job.
func (o *options) midJob(ctx context.Context, server *live.Server, peer contestant, q jobs) (*exec.Cmd, error) {
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

// crashes kills workers. asynq takes a minute and a half: only with -slow, and once.
func (o *options) crashes(ctx context.Context, out *report.Report) error {
	t := out.Table(fmt.Sprintf("A worker is killed in mid-job, keywright's lease %v", o.lease),
		"contestant", "runs again after, median s", "worst s", "kills")
	for i, peer := range o.crashing() {
		if i > 0 && !o.slow {
			break
		}
		runs, err := turns.Rounds([]int{o.kills, 1}[i], []contestant{peer},
			func(c contestant) (time.Duration, error) { return o.crash(ctx, c) })
		if err != nil {
			return err
		}
		all := runs.All[0]
		worst := slices.Max(all)
		t.Add(peer.name, fmt.Sprintf("%.1f", report.Median(all).Seconds()), fmt.Sprintf("%.1f", worst.Seconds()), len(all))
		if i == 0 {
			out.AtMost(1, (worst - o.lease).Seconds(), "killed worker, keywright, job back, worst, s beyond the lease")
		}
	}
	return nil
}
