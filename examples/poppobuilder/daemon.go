// Package poppobuilder works on GitHub issues: tasks by priority, a lock per issue,
// processes with heartbeats, agents that do the work, and what a system like that
// keeps an eye on: the dead, figures, settings, sessions, a backup a day.
//
// A Daemon is one process. Any number may run in one namespace; they share the
// queue, and take turns where one is enough. Agents are programs of their own, in
// TypeScript (worker/worker.ts): they read what daemons hand over, and answer.
package poppobuilder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/queue"
)

// Options of a daemon. What is left zero is as the page says.
type Options struct {
	Name        string        // of its processes, issue-123-NAME; "": poppo
	Namespace   string        // "": poppo
	Concurrency int           // issues at once; 0: 4
	Heartbeat   time.Duration // a process without a sign for so long is dead; 0: 30 m
	Lease       time.Duration // of locks and tasks; 0: 30 s
	Backoff     time.Duration // before a failed task is tried again, and doubled; 0: that of the queue
	Look        time.Duration // between two looks at the settings; 0: 1 s
	Upkeep      time.Duration // between two looks for the dead, and samples; 0: 30 s
	MirinWait   time.Duration // for an answer of Mirin; 0: 1 m
	Wait        time.Duration // of a task for which there is no call, no agent or no Mirin; 0: 1 m
	Patience    time.Duration // with a run, before others have their turn; 0: 2 × the limit of Claude + 5 m
	Tool        Tool          // what backs up and cleans up
	Backup      Backup
	Cleanup     Cleanup
	Log         *slog.Logger // nil: slog.Default
	Level       *slog.LevelVar
}

// Daemon represents one process that works on issues.
type Daemon struct {
	keys    *poppokeys.Keyspace
	o       Options
	log     *slog.Logger
	mu      sync.Mutex
	now     Settings
	outcome *waiters
	load    load // at the last look
}

var names = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// New makes a daemon. It refuses a name or a namespace that the keys cannot have.
func New(c *keywright.Client, o Options) (*Daemon, error) {
	o.Name, o.Namespace = cmp.Or(o.Name, "poppo"), cmp.Or(o.Namespace, poppokeys.Namespace{}.String())
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.Heartbeat, o.Lease = cmp.Or(o.Heartbeat, 30*time.Minute), cmp.Or(o.Lease, 30*time.Second)
	o.Look, o.Upkeep, o.MirinWait = cmp.Or(o.Look, time.Second), cmp.Or(o.Upkeep, 30*time.Second), cmp.Or(o.MirinWait,
		time.Minute)
	o.Wait, o.Backup.Every, o.Cleanup.Every = cmp.Or(o.Wait, time.Minute), cmp.Or(o.Backup.Every,
		time.Minute), cmp.Or(o.Cleanup.Every, time.Hour)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if !names.MatchString(o.Name) {
		return nil, fmt.Errorf("%q is no name of a daemon: a letter, then letters and digits", o.Name)
	}
	ns, err := poppokeys.InNamespace(o.Namespace)
	if err != nil {
		return nil, err
	}
	leases := lock.Options{Lease: o.Lease, Owner: o.Name}
	keys := poppokeys.NewTuned(c, poppokeys.Tuning{
		Namespace: ns, LockIssue: leases, LockProcess: leases, LockMigration: leases, LockBackupDaily: leases,
		LockUpkeep: leases, LockCleanup: leases,
		Tasks: queue.Options{Lease: o.Lease, Backoff: o.Backoff},
	})
	return &Daemon{keys: keys, o: o, log: o.Log.With("daemon", o.Name, "namespace", o.Namespace), now: defaults,
		outcome: newWaiters(), load: readLoad()}, nil
}

// Keys returns the keys of the daemon's namespace.
func (d *Daemon) Keys() *poppokeys.Keyspace { return d.keys }

// Run works until ctx ends, then gives back what it has not ended.
func (d *Daemon) Run(ctx context.Context) error {
	stop, err := d.prepare(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was asked to end before it began
		}
		return err
	}
	defer stop()
	worker := d.keys.Tasks().Worker(d.work, queue.WorkerOptions{Concurrency: d.o.Concurrency, Name: d.o.Name,
		Grace: 3 * time.Second, OnError: func(err error) { d.log.Warn("queue", "error", err) }})
	var all sync.WaitGroup
	all.Go(func() { d.every(ctx, d.o.Look, "settings", d.settings) })
	all.Go(func() { d.every(ctx, d.o.Upkeep, "upkeep", d.upkeep) })
	if d.o.Backup.Dir != "" {
		all.Go(func() { d.every(ctx, d.o.Backup.Every, "backup", d.backup) })
	}
	if d.o.Tool.Declaration != "" {
		all.Go(func() { d.every(ctx, min(d.o.Cleanup.Every, time.Minute), "clean-up", d.cleanUp) })
	}
	err = worker.Run(ctx)
	all.Wait()
	return err
}

// prepare does what comes before the first task. It returns what ends listening; ctx ends it, too.
func (d *Daemon) prepare(ctx context.Context) (stop func(), err error) {
	if err := d.keys.LockMigration().Do(ctx, d.migrate); err != nil {
		return nil, err
	}
	if err := d.settings(ctx); err != nil {
		return nil, err
	}
	return d.listen(ctx)
}

// migrate brings the namespace to what this version needs: one daemon at a time,
// under poppo:lock:process:migration. It may run again.
func (d *Daemon) migrate(ctx context.Context) error {
	return d.keys.TaskRunsAgentsGroup().Ensure().Do(ctx)
}

// every calls fn at once and then again and again, until ctx ends.
func (d *Daemon) every(ctx context.Context, pause time.Duration, what string, fn func(context.Context) error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if err := fn(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, lock.ErrHeld) {
			d.log.Warn(what, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// after returns a context for what must still be said when ctx has ended.
func after(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}
