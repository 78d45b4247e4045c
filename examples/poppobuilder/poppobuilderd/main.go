// Command poppobuilderd works on issues until it is interrupted.
//
//	poppobuilderd -redis redis://localhost:6379 -namespace poppo-test -http :3001
//
// Every flag has a variable: POPPO_REDIS, POPPO_NAMESPACE, POPPO_HTTP, … A URL of Redis with a
// password is in its variable only, since any user of the machine sees flags.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/internal/program"
	"github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
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
		fmt.Fprintln(os.Stderr, "poppobuilderd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o := poppobuilder.Options{Level: new(slog.LevelVar)}
	redis, listen, mirin, answers, err := options(&o, args)
	if err != nil {
		return err
	}
	c, err := keywright.Open(ctx, redis, keywright.Options{Name: o.Name, Attempts: 16})
	if err != nil {
		return err
	}
	defer c.Close()
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: o.Level}))
	o.Backup.URL, o.Cleanup.URL = cmp.Or(o.Backup.URL, redis), cmp.Or(o.Cleanup.URL, redis)
	d, err := poppobuilder.New(c, o)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if answers {
		m, err := asMirin(ctx, cmp.Or(mirin, redis), o)
		if err != nil {
			return err
		}
		all.Go(func() {
			if err := m.ServeMirin(ctx, approve); err != nil && ctx.Err() == nil {
				o.Log.Warn("mirin", "error", err)
			}
		})
	}
	if listen != "" {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		all.Go(func() {
			if err := program.Serve(ctx, l, d.Handler(), 5*time.Second); err != nil {
				o.Log.Warn("http", "error", err)
			}
		})
	}
	return d.Run(ctx)
}

// asMirin connects as Mirin, which is a program of its own with a user of its own. The
// connection ends with the process.
func asMirin(ctx context.Context, url string, o poppobuilder.Options) (*poppobuilder.Daemon, error) {
	c, err := keywright.Open(ctx, url, keywright.Options{Name: o.Name + "-mirin", Attempts: 16, NoCache: true}) // its user may not cache
	if err != nil {
		return nil, err
	}
	return poppobuilder.New(c, o)
}

// options reads the flags and their variables.
func options(o *poppobuilder.Options, args []string) (redis, listen, mirin string, answers bool, err error) {
	f := flag.NewFlagSet("poppobuilderd", flag.ContinueOnError)
	f.StringVar(&redis, "redis", "redis://127.0.0.1:6379", "URL of the server; with a password only in POPPO_REDIS")
	f.StringVar(&listen, "http", "", "address to listen on; none: no HTTP")
	f.BoolVar(&answers, "mirin", false, "answer Mirin's requests, too")
	f.StringVar(&mirin, "mirin-redis", "", "URL of the server for that (default: that of -redis)")
	f.StringVar(&o.Namespace, "namespace", "", "first part of all keys (default: poppo)")
	f.StringVar(&o.Name, "name", "", "of this daemon: letters and digits (default: poppo)")
	f.IntVar(&o.Concurrency, "concurrency", 0, "issues at once (default: 4)")
	f.DurationVar(&o.Heartbeat, "heartbeat", 0, "a process without a sign for so long is dead (default: 30m)")
	f.DurationVar(&o.Lease, "lease", 0, "of locks and tasks (default: 30s)")
	f.DurationVar(&o.Look, "look", 0, "between two looks at the settings (default: 1s)")
	f.DurationVar(&o.Upkeep, "upkeep", 0, "between two looks for the dead (default: 30s)")
	f.DurationVar(&o.MirinWait, "mirin-wait", 0, "for an answer of Mirin (default: 1m)")
	f.DurationVar(&o.Wait, "wait", 0, "of a task that lacks a call, an agent or Mirin (default: 1m)")
	patience := "with a run, before other tasks have their turn (default: 2 × the limit of Claude + 5m)"
	f.DurationVar(&o.Patience, "patience", 0, patience)
	f.StringVar(&o.Backup.Dir, "backup", "", "folder of the daily backups; none: no backup")
	f.StringVar(&o.Tool.Keywright, "keywright", "keywright", "the program that backs up and cleans up")
	f.StringVar(&o.Tool.Declaration, "declaration", "keyspace.yaml", "by which it does; none: no clean-up, and no backup")
	f.DurationVar(&o.Backup.Every, "backup-every", 0, "between two looks whether one is due (default: 1m)")
	f.IntVar(&o.Backup.Keep, "keep", 0, "how many backups are kept (default: 7)")
	f.StringVar(&o.Backup.URL, "backup-redis", "", "URL of the server for backups (default: that of -redis)")
	f.StringVar(&o.Cleanup.URL, "cleanup-redis", "", "URL of the server for clean-up (default: that of -redis)")
	f.DurationVar(&o.Cleanup.Every, "cleanup", 0, "between two clean-ups (default: 1h)")
	err = program.Parse(f, args, "POPPO", "redis", "mirin-redis", "backup-redis", "cleanup-redis")
	o.Name = cmp.Or(o.Name, "poppo")
	return redis, listen, mirin, answers, err
}

// approve returns a Mirin that reads the prompt: what says please may be done.
func approve(q poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error) {
	switch {
	case strings.Contains(q.Prompt, "!"):
		return poppokeys.MirinRequestsReply{}, errors.New("no shouting")
	case strings.Contains(q.Prompt, "please"):
		return poppokeys.MirinRequestsReply{Approved: true}, nil
	}
	return poppokeys.MirinRequestsReply{Comment: "it does not say please"}, nil
}
