// Command poppobuilderd works on issues until it is interrupted.
//
//	poppobuilderd -redis redis://localhost:6379 -namespace poppo-test -http :3001
//
// Every flag has a variable: POPPO_REDIS, POPPO_NAMESPACE, POPPO_HTTP, …; a URL with
// a password belongs into POPPO_REDIS.
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
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	asked := ctx.Err() != nil // to stop, perhaps before it had begun
	stop()
	if err != nil && !(asked && errors.Is(err, context.Canceled)) {
		fmt.Fprintln(os.Stderr, "poppobuilderd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := poppobuilder.Options{Level: new(slog.LevelVar)}
	redis, listen, mirin, answers := flags(&o)
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
		all.Go(func() { serve(ctx, l, d.Handler()) })
	}
	return d.Run(ctx)
}

// asMirin connects as Mirin, which is a program of its own with a user of its own. The
// connection ends with the process.
func asMirin(ctx context.Context, url string, o poppobuilder.Options) (*poppobuilder.Daemon, error) {
	c, err := keywright.Open(ctx, url, keywright.Options{Name: o.Name + "-mirin", Attempts: 16})
	if err != nil {
		return nil, err
	}
	return poppobuilder.New(c, o)
}

// flags reads the options, of the variables where no flag is given.
func flags(o *poppobuilder.Options) (redis, listen, mirin string, answers bool) {
	flag.StringVar(&redis, "redis", "redis://127.0.0.1:6379", "URL of the server")
	flag.StringVar(&listen, "http", "", "address to listen on; none: no HTTP")
	flag.BoolVar(&answers, "mirin", false, "answer Mirin's requests, too")
	flag.StringVar(&mirin, "mirin-redis", "", "URL of the server for that (default: that of -redis)")
	flag.StringVar(&o.Namespace, "namespace", "", "first part of all keys (default: poppo)")
	flag.StringVar(&o.Name, "name", "", "of this daemon: letters and digits (default: poppo)")
	flag.IntVar(&o.Concurrency, "concurrency", 0, "issues at once (default: 4)")
	flag.DurationVar(&o.Heartbeat, "heartbeat", 0, "a process without a sign for so long is dead (default: 30m)")
	flag.DurationVar(&o.Lease, "lease", 0, "of locks and tasks (default: 30s)")
	flag.DurationVar(&o.Look, "look", 0, "between two looks at the settings (default: 1s)")
	flag.DurationVar(&o.Upkeep, "upkeep", 0, "between two looks for the dead (default: 30s)")
	flag.DurationVar(&o.MirinWait, "mirin-wait", 0, "for an answer of Mirin (default: 1m)")
	flag.DurationVar(&o.Wait, "wait", 0, "of a task that lacks a call, an agent or Mirin (default: 1m)")
	flag.DurationVar(&o.Patience, "patience", 0, "with a run, before other tasks have their turn (default: 2 × the limit of Claude + 5m)")
	flag.StringVar(&o.Backup.Dir, "backup", "", "folder of the daily backups; none: no backup")
	flag.StringVar(&o.Tool.Keywright, "keywright", "keywright", "the program that backs up and cleans up")
	flag.StringVar(&o.Tool.Declaration, "declaration", "keyspace.yaml", "by which it does; none: no clean-up, and no backup")
	flag.DurationVar(&o.Backup.Every, "backup-every", 0, "between two looks whether one is due (default: 1m)")
	flag.IntVar(&o.Backup.Keep, "keep", 0, "how many backups are kept (default: 7)")
	flag.StringVar(&o.Backup.URL, "backup-redis", "", "URL of the server for backups (default: that of -redis)")
	flag.StringVar(&o.Cleanup.URL, "cleanup-redis", "", "URL of the server for clean-up (default: that of -redis)")
	flag.DurationVar(&o.Cleanup.Every, "cleanup", 0, "between two clean-ups (default: 1h)")
	flag.VisitAll(func(f *flag.Flag) {
		if value := os.Getenv("POPPO_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))); value != "" {
			if err := f.Value.Set(value); err != nil {
				fmt.Fprintf(os.Stderr, "poppobuilderd: the variable of -%s cannot be read\n", f.Name)
				os.Exit(2)
			}
		}
	})
	flag.Parse()
	o.Name = cmp.Or(o.Name, "poppo")
	return redis, listen, mirin, answers
}

// serve answers until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		_ = s.Shutdown(ctx)
	})
	defer stopped()
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		slog.Warn("http", "error", err)
	}
}

// approve is a Mirin that reads the prompt: what says please may be done.
func approve(q poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error) {
	switch {
	case strings.Contains(q.Prompt, "!"):
		return poppokeys.MirinRequestsReply{}, errors.New("no shouting")
	case strings.Contains(q.Prompt, "please"):
		return poppokeys.MirinRequestsReply{Approved: true}, nil
	}
	return poppokeys.MirinRequestsReply{Comment: "it does not say please"}, nil
}
