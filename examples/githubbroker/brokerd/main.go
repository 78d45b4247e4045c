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
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker"
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

var programs = map[string]func(context.Context, *flag.FlagSet, []string) error{"poll": poll, "serve": serve, "agent": agent}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || programs[args[0]] == nil {
		return errors.New("say what to do: brokerd poll, brokerd serve, or brokerd agent (each has -help)")
	}
	return programs[args[0]](ctx, flag.NewFlagSet("brokerd "+args[0], flag.ContinueOnError), args[1:])
}

// parse reads the options, of the variables where no flag is given.
func parse(f *flag.FlagSet, args []string) error {
	var wrong error
	f.VisitAll(func(f *flag.Flag) {
		name := "BROKER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := os.Getenv(name); value != "" && f.Value.Set(value) != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s cannot be read", name))
		}
	})
	return errors.Join(wrong, f.Parse(args))
}

// open connects to Redis. A flag with a password is refused.
func open(ctx context.Context, f *flag.FlagSet, args []string, name string) (*keywright.Client, error) {
	redis := f.String("redis", "redis://127.0.0.1:6379", "URL of the server; with a password only in BROKER_REDIS")
	if err := parse(f, args); err != nil {
		return nil, err
	}
	if u, err := url.Parse(*redis); err == nil && u.User != nil && *redis != os.Getenv("BROKER_REDIS") {
		if _, has := u.User.Password(); has {
			return nil, errors.New("-redis has a password, which any user of the machine can see: put the URL into BROKER_REDIS")
		}
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
	f.DurationVar(&o.Rest, "rest", 0, "until an agent is offered again what it failed at, doubled each time (default: 10m)")
	c, err := open(ctx, f, args, "brokerd-serve")
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	s := &http.Server{Handler: githubbroker.New(c, o).Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan struct{})
	go func() { // what is under way is answered
		defer close(done)
		<-ctx.Done()
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		_ = s.Shutdown(ctx)
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-done
	return nil
}

func agent(ctx context.Context, f *flag.FlagSet, args []string) error {
	var a githubbroker.Agent
	f.StringVar(&a.Name, "name", "", "of this agent, and of no other one: letters, digits, . _ -")
	f.StringVar(&a.Broker, "broker", "http://127.0.0.1:8090", "URL of a broker")
	f.DurationVar(&a.Idle, "idle", 0, "between two questions when there is no work (default: 5s)")
	if err := parse(f, args); err != nil {
		return err
	}
	host, _ := os.Hostname()
	a.Name, a.Command = cmp.Or(a.Name, fmt.Sprintf("%s-%d", host, os.Getpid())), f.Args()
	return a.Run(ctx)
}
