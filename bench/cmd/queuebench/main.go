// Command queuebench compares queues: jobs in, jobs through a worker, how soon an
// idle worker has one and what it sends meanwhile, and how long the job of a
// killed worker is away. Peers are asynq, and bare rueidis with a list by hand.
// All run in turns in one process, each turn with an empty server; killed workers
// are processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "queuebench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds                int
	slice                 time.Duration
	drains, jobs          int
	idles, singles, kills int
	idle                  time.Duration
	limit, crashLimit     time.Duration
	lease                 time.Duration
	slow                  bool
	server                string
	asJSON                bool
	child, addr           string
	profile, what, only   string
	callers               int
	backlog               int
	rated                 time.Duration
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("queuebench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 10, "interleaved rounds of enqueueing")
	flags.DurationVar(&o.slice, "slice", 200*time.Millisecond, "how long a contestant enqueues each time")
	flags.IntVar(&o.drains, "drains", 5, "interleaved rounds of processing")
	flags.IntVar(&o.jobs, "jobs", 20_000, "jobs in the queue then")
	flags.IntVar(&o.idles, "idles", 2, "interleaved rounds with an idle worker")
	flags.IntVar(&o.singles, "singles", 60, "jobs, one at a time, in each of them")
	flags.DurationVar(&o.idle, "idle", 8*time.Second, "how long an idle worker's commands are counted")
	flags.IntVar(&o.kills, "kills", 3, "workers that are killed in mid-job")
	flags.DurationVar(&o.limit, "limit", time.Minute, "a job that takes longer to be handled fails the run")
	flags.DurationVar(&o.lease, "lease", defaultLease, "keywright's lease of jobs whose workers are killed")
	flags.DurationVar(&o.crashLimit, "crash-limit", 5*time.Minute, "the same for a killed worker's job")
	flags.IntVar(&o.backlog, "backlog", 100_000, "jobs that are due, or left by a worker, at once")
	flags.DurationVar(&o.rated, "rated", 5*time.Second, "how long each rate is kept up")
	flags.BoolVar(&o.slow, "slow", false, "kill a worker of asynq, too: a minute and a half")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.StringVar(&o.only, "only", "", "these parts alone: enqueue,process,idle,kill,backlog,rate")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.profile, "cpuprofile", "", "let keywright work alone, and write a CPU profile into this file")
	flags.StringVar(&o.what, "what", "process", "what is profiled: enqueue, bulk, process, batches")
	flags.IntVar(&o.callers, "callers", billed, "goroutines that enqueue then")
	flags.StringVar(&o.child, "child", "", "be a worker of this contestant, to be killed")
	flags.StringVar(&o.addr, "addr", "", "the server of -child")
	return o, flags.Parse(args)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.child != "" {
		return child(ctx, o, stdout)
	}
	if o.profile != "" {
		return profile(ctx, o, stdout)
	}
	out := &report.Report{Title: fmt.Sprintf("Queues on %s: %d interleaved rounds of %v, %d of %d jobs", o.server,
		o.rounds, o.slice, o.drains, o.jobs),
		Notes: []string{
			"ratios are medians of the ratios within a round; server commands are INFO commandstats, those in scripts too"}}
	with := func(part func(context.Context, options) ([]report.Table, []report.Goal,
		error)) func(context.Context) ([]report.Table, []report.Goal, error) {
		return func(ctx context.Context) ([]report.Table, []report.Goal, error) { return part(ctx, o) }
	}
	err = out.Run(ctx, o.only, report.Part{Name: "enqueue", Run: with(enqueueing)}, report.Part{Name: "process",
		Run: with(processing)},
		report.Part{Name: "idle", Run: with(idling)}, report.Part{Name: "kill", Run: with(crashes)},
		report.Part{Name: "backlog", Run: with(backlogs)}, report.Part{Name: "rate", Run: with(rates)})
	return errors.Join(err, out.Print(stdout, o.asJSON))
}
