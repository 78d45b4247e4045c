// Command brokerd is the broker as a service: it polls for issues and runs some
// agents, until it is interrupted. What an agent does here is to wait a while
// and report that the issue is done.
//
//	brokerd -redis redis://localhost:6379 -github http://localhost:8080 -agents 3
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "brokerd:", err)
		os.Exit(1)
	}
}

func run() error {
	redis := flag.String("redis", "redis://127.0.0.1:6379", "URL of the server")
	github := flag.String("github", "http://127.0.0.1:8080", "where issues come from")
	agents := flag.Int("agents", 3, "how many agents")
	name := flag.String("name", "agent", "what their names begin with")
	work := flag.Duration("work", time.Second, "how long an agent works on an issue")
	poll := flag.Duration("poll", time.Minute, "between two looks at the issues")
	delay := flag.Duration("review-delay", 5*time.Minute, "how long a review waits")
	lease := flag.Duration("lease", 0, "of the locks; 0: as declared")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := keywright.Open(ctx, *redis, keywright.Options{Name: *name, Attempts: 16})
	if err != nil {
		if ctx.Err() != nil { // asked to stop before it had begun
			return nil
		}
		return err
	}
	defer c.Close()
	tracker := githubbroker.HTTP{Base: *github, Client: &http.Client{Timeout: 5 * time.Second}}
	b := githubbroker.New(c, tracker, githubbroker.Options{Poll: *poll, ReviewDelay: *delay, Lease: *lease})
	all := make([]githubbroker.Agent, *agents)
	for i := range all {
		agent := fmt.Sprintf("%s-%d", *name, i+1)
		all[i] = githubbroker.Agent{Name: agent, Idle: *work / 2, Work: func(ctx context.Context, a *githubbroker.Assignment) error {
			select {
			case <-time.After(*work):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			report := githubbroker.Report{Agent: agent, Kind: a.Kind, ID: a.Issue.Number, Fence: a.Fence()}
			if a.Kind == githubbroker.FixTask {
				report.ID = a.Fix.PullRequest
			}
			return tracker.Done(ctx, report)
		}}
	}
	b.Serve(ctx, all, func(err error) { slog.Warn("broker", "error", err) })
	return nil
}
