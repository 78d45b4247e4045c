package poppobuilder

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// process represents one run, as others see it.
type process struct {
	who, instance, task string
	number, fence       int64 // of the issue, and of its lock
}

// id returns how the sets of processes call it.
func (p process) id() string { return fmt.Sprintf("issue-%d-%s", p.number, p.who) }

// parseProcess reads an id: issue-123-poppo.
func parseProcess(id string) (number int64, who string, err error) {
	text, who, ok := strings.Cut(strings.TrimPrefix(id, "issue-"), "-")
	number, err = strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return 0, "", fmt.Errorf("%q is no id of a process", id)
	}
	return number, who, nil
}

// errDead is why a process ends that others have given up.
var errDead = errors.New("the process has been found dead, or begun again elsewhere")

// begin registers a process and renews its heartbeat until end is called. Its
// context ends when others take it for dead.
func (d *Daemon) begin(ctx context.Context, p process) (alive context.Context, end func(), err error) {
	ttl := d.o.Heartbeat
	own, err := d.keys.LockProcess(p.number, p.who).Acquire(ctx) // one process of a name
	if err != nil {
		return nil, nil, err
	}
	release := func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = own.Release(ctx)
	}
	if _, err := d.keys.RegisterProcess(p.number, p.who, p.id(), p.instance, poppokeys.RegisterProcessProgramPoppo,
		p.number, p.task, p.fence, ttl.Milliseconds()).Do(ctx); err != nil {
		release()
		return nil, nil, err
	}
	alive, dead := context.WithCancelCause(own.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		d.renewHeartbeat(alive, p, ttl, dead)
	}()
	return alive, func() {
		dead(context.Canceled)
		<-stopped
		defer release()
		ctx, stop := after(ctx)
		defer stop()
		if _, err := d.keys.EndProcess(p.number, p.who, p.id(), p.instance).Do(ctx); err != nil {
			d.log.Warn("the end of a process was not written; it will be found", "error", err)
		}
	}, nil
}

// renewHeartbeat renews the heartbeat every third of the time after which there must be one.
// A sign that could not be sent counts as none.
func (d *Daemon) renewHeartbeat(ctx context.Context, p process, ttl time.Duration, dead context.CancelCauseFunc) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := time.Now()
		within, stop := context.WithTimeout(ctx, ttl/3)
		alive, err := d.keys.BeatProcess(p.number, p.who, p.id(), p.instance, ttl.Milliseconds()).Do(within)
		stop()
		switch {
		case err == nil && alive:
			last = at
			d.log.Debug("a sign of life", "process", p.id())
		case err == nil || time.Since(last) >= ttl:
			dead(errDead)
			return
		}
	}
}

// findDead moves processes without a heartbeat to the zombies, and repairs what
// zombies have left. It may be killed at any point: a zombie is one until it is
// repaired.
func (d *Daemon) findDead(ctx context.Context) error {
	for id, err := range d.keys.ProcessesActive().Each(ctx, 100) {
		if err != nil {
			return err
		}
		number, who, err := parseProcess(id)
		if err != nil {
			return err
		}
		dead, err := d.keys.BuryProcess(number, who, id).Do(ctx)
		if err != nil {
			return err
		}
		if dead {
			d.log.Info("a process is dead", "process", id)
		}
	}
	for id, err := range d.keys.ProcessesZombies().Each(ctx, 100) {
		if err != nil {
			return err
		}
		if err := d.repair(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// repair does what a dead process did not: its issue is not in work any more,
// unless another one has it. Its lock and its task come free by their leases.
func (d *Daemon) repair(ctx context.Context, id string) error {
	number, who, err := parseProcess(id)
	if err != nil {
		return err
	}
	info, err := d.keys.ProcessInfo(number, who).All().Do(ctx)
	if err != nil {
		return err
	}
	fence, _ := strconv.ParseInt(info["fence"], 10, 64)
	if info["program"] == string(poppokeys.RegisterProcessProgramPoppo) && fence > 0 {
		if _, err := d.change(ctx, number, change{status: "interrupted", task: info["task"], fence: fence}); err != nil {
			return err
		}
	}
	if err := d.keys.ProcessDeadTopic().Publish(ctx, poppokeys.ProcessDeadMessage{Process: id, Issue: number,
		Task: info["task"]}); err != nil {
		return err
	}
	_, err = d.keys.ProcessesZombies().Remove(id).Do(ctx)
	return err
}
