// Command brokerd has the three programs of the broker:
//
//	brokerd poll  -repo owner/name                 keeps the cache in line with GitHub
//	brokerd serve -http localhost:8090             hands work to agents
//	brokerd agent -name agent-7 -- claude -p       asks for work, and runs a command for it
//
// Every flag has a variable: BROKER_REDIS, BROKER_REPO, BROKER_HTTP, …. Secrets have no
// flags, since any user of the machine sees those: the token of GitHub is in GITHUB_TOKEN,
// and a URL of Redis with a password in BROKER_REDIS.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	asked := ctx.Err() != nil // to stop, perhaps before it had begun
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil && !(asked && errors.Is(err, context.Canceled)):
		fmt.Fprintln(os.Stderr, "brokerd:", err)
		os.Exit(1)
	}
}

var programs = map[string]func(context.Context, *flag.FlagSet, []string) error{
	"poll": poll, "serve": serve, "agent": agent,
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || programs[args[0]] == nil {
		return errors.New("say what to do: brokerd poll, brokerd serve, or brokerd agent (each has -help)")
	}
	return programs[args[0]](ctx, flag.NewFlagSet("brokerd "+args[0], flag.ContinueOnError), args[1:])
}

// open reads the options and connects to Redis.
func open(ctx context.Context, f *flag.FlagSet, args []string, name string) (*keywright.Client, error) {
	redis := f.String("redis", "redis://127.0.0.1:6379", "URL of the server; with a password only in BROKER_REDIS")
	if err := program.Parse(f, args, "BROKER", "redis"); err != nil {
		return nil, err
	}
	return keywright.Open(ctx, *redis, keywright.Options{Name: name, Attempts: 16})
}

func poll(ctx context.Context, f *flag.FlagSet, args []string) error {
	var o githubbroker.PollerOptions
	var g githubbroker.GitHubOptions
	repo := f.String("repo", "", "repository on GitHub, as owner/name")
	f.StringVar(&g.Base, "github", "", "URL of the API (default: https://api.github.com)")
	f.DurationVar(&o.Poll, "poll", 0, "between two looks at GitHub (default: 1m)")
	f.DurationVar(&o.Lease, "lease", 0, "of the lock of a look (default: 30s)")
	c, err := open(ctx, f, args, "brokerd-poll")
	if err != nil {
		return err
	}
	defer c.Close()
	g.Token = os.Getenv("GITHUB_TOKEN")
	hub, err := githubbroker.NewGitHub(*repo, g)
	if err != nil {
		return err
	}
	githubbroker.NewPoller(c, hub, o).Run(ctx, func(err error) { slog.Warn("poll", "error", err) })
	return nil
}

func serve(ctx context.Context, f *flag.FlagSet, args []string) error {
	var o githubbroker.Options
	listen := f.String("http", "127.0.0.1:8090", "address to listen on")
	f.DurationVar(&o.ReviewDelay, "review-delay", 0, "between the label needs-review and the review (default: 5m)")
	f.DurationVar(&o.Lease, "lease", 0, "of work, without a sign of its agent (default: 10m)")
	rest := "until an agent is offered again what it failed at, doubled each time (default: 10m)"
	f.DurationVar(&o.Rest, "rest", 0, rest)
	c, err := open(ctx, f, args, "brokerd-serve")
	if err != nil {
		return err
	}
	defer c.Close()
	return program.Listen(ctx, *listen, githubbroker.New(c, o).Handler(), githubbroker.Wait+2*time.Second)
}

func agent(ctx context.Context, f *flag.FlagSet, args []string) error {
	var a githubbroker.Agent
	f.StringVar(&a.Name, "name", "", "of this agent, and of no other one: letters, digits, . _ -")
	f.StringVar(&a.Broker, "broker", "http://127.0.0.1:8090", "URL of a broker")
	f.DurationVar(&a.Idle, "idle", 0, "between two questions when there is no work (default: 5s)")
	if err := program.Parse(f, args, "BROKER"); err != nil {
		return err
	}
	host, _ := os.Hostname()
	a.Name, a.Command = cmp.Or(a.Name, fmt.Sprintf("%s-%d", host, os.Getpid())), f.Args()
	return a.Run(ctx)
}
