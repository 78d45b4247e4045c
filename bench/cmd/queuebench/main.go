// Command queuebench compares queues: jobs in, jobs through a worker, how soon an
// idle worker has one and what it sends meanwhile, and how long the job of a
// killed worker is away. Peers are asynq, and bare rueidis with a list by hand.
// All run in turns in one process, each turn with an empty server; killed workers
// are processes.
package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/queue"
)

func main() { benchmark().Main() }

type options struct {
	*harness.Program
	drains, jobs          int
	idles, singles, kills int
	idle                  time.Duration
	limit, crashLimit     time.Duration
	lease                 time.Duration
	slow                  bool
	addr, what            string
	callers, backlog      int
	rated                 time.Duration
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "queuebench", Rounds: 10, RoundsOf: " of enqueueing", Slice: 200 * time.Millisecond,
		Server: harness.Redis, Notes: []string{
			"ratios are medians of the ratios within a round; server commands are INFO commandstats, those in scripts too"}}
	o := &options{Program: p}
	p.Flags.IntVar(&o.drains, "drains", 5, "interleaved rounds of processing")
	p.Flags.IntVar(&o.jobs, "jobs", 20_000, "jobs in the queue then")
	p.Flags.IntVar(&o.idles, "idles", 2, "interleaved rounds with an idle worker")
	p.Flags.IntVar(&o.singles, "singles", 60, "jobs, one at a time, in each of them")
	p.Flags.DurationVar(&o.idle, "idle", 8*time.Second, "how long an idle worker's commands are counted")
	p.Flags.IntVar(&o.kills, "kills", 3, "workers that are killed in mid-job")
	p.Flags.DurationVar(&o.limit, "limit", time.Minute, "a job that takes longer to be handled fails the run")
	p.Flags.DurationVar(&o.lease, "lease", defaultLease, "keywright's lease of jobs whose workers are killed")
	p.Flags.DurationVar(&o.crashLimit, "crash-limit", 5*time.Minute, "the same for a killed worker's job")
	p.Flags.IntVar(&o.backlog, "backlog", 100_000, "jobs that are due, or left by a worker, at once")
	p.Flags.DurationVar(&o.rated, "rated", 5*time.Second, "how long each rate is kept up")
	p.Flags.BoolVar(&o.slow, "slow", false, "kill a worker of asynq, too: a minute and a half")
	p.Flags.StringVar(&o.what, "what", "process", "what is profiled: enqueue, bulk, process, batches")
	p.Flags.IntVar(&o.callers, "callers", billed, "goroutines that enqueue then")
	p.Flags.StringVar(&o.addr, "addr", "", "the server of -child")
	p.Title = func() string {
		return fmt.Sprintf("Queues on %s: %d interleaved rounds of %v, %d of %d jobs", p.Server, p.Rounds, p.Slice, o.drains,
			o.jobs)
	}
	p.Parts = []report.Part{{Name: "enqueue", Run: o.enqueueing}, {Name: "process", Run: o.processing},
		{Name: "idle", Run: o.idling}, {Name: "kill", Run: o.crashes}, {Name: "backlog", Run: o.backlogs},
		{Name: "rate", Run: o.rates}}
	p.Child = harness.Instead{Flag: "child", Usage: "be a worker of this contestant, to be killed", Run: o.beKilled}
	p.Profile = harness.Instead{Flag: "cpuprofile", Run: o.profile,
		Usage: "let keywright work alone, and write a CPU profile into this file"}
	return p
}

// profile lets keywright enqueue or process; the latter with a concurrency of 100.
func (o *options) profile(ctx context.Context, file string, stdout io.Writer) error {
	size, enqueues := map[string]int{"enqueue": 1, "bulk": bulk}[o.what]
	batch, processes := map[string]int{"process": 1, "batches": 10}[o.what]
	switch {
	case enqueues:
		race := o.race(producer{ours(o.what, 1), size})
		return harness.Profiled(file, func() error { return race.Profile(ctx, stdout, o.callers, 3*time.Second, "jobs") })
	case !processes:
		return fmt.Errorf("-what %q: enqueue, bulk, process or batches", o.what)
	}
	o.jobs *= 10
	return harness.Profiled(file, func() error {
		run, err := o.process(ctx, ours(o.what, batch), 100)
		if err == nil {
			fmt.Fprintf(stdout, "%s: %.0f jobs/s\n", o.what, run.rate)
		}
		return err
	})
}

// on opens a contestant's queue on a new and empty server.
func (o *options) on(ctx context.Context, peer contestant, do func(*live.Server, jobs) error) error {
	server, err := live.Start(ctx, o.Server)
	if err != nil {
		return err
	}
	defer server.Stop()
	q, err := peer.open(ctx, server.Addr)
	if err != nil {
		return err
	}
	defer q.close()
	return do(server, q)
}

// onOurs opens keywright's queue on a new and empty server.
func (o *options) onOurs(ctx context.Context, with queue.Options, do func(*live.Server, oursJobs) error) error {
	return o.on(ctx, oursWith("keywright", 1, with), func(s *live.Server, q jobs) error { return do(s, q.(oursJobs)) })
}

// await waits until something comes: a job that was handled.
func await(ctx context.Context, handled <-chan time.Time, limit time.Duration) (time.Time, error) {
	select {
	case at := <-handled:
		return at, nil
	case <-time.After(limit):
		return time.Time{}, fmt.Errorf("a job was not handled within %v", limit)
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}
