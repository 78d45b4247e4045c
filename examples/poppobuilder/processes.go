package poppobuilder

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// process is one run, as others see it.
type process struct {
	id, instance, task string
	issue, fence       int64
}

// errDead is why a process ends that others have given up.
var errDead = errors.New("the process has been found dead, or begun again elsewhere")

// begin registers a process and lets its heart beat until end is called. Its
// context ends when others take it for dead.
func (d *Daemon) begin(ctx context.Context, p process) (alive context.Context, end func(), err error) {
	ttl := d.o.Heartbeat
	own, err := d.keys.LockProcess(p.id).Acquire(ctx) // one process of a name
	if err != nil {
		return nil, nil, err
	}
	release := func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = own.Release(ctx)
	}
	if _, err := d.keys.RegisterProcess(ctx, p.id, p.id, p.instance, poppokeys.RegisterProcessProgramPoppo, p.issue, p.task, p.fence, ttl.Milliseconds()); err != nil {
		release()
		return nil, nil, err
	}
	alive, dead := context.WithCancelCause(own.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		d.beat(alive, p, ttl, dead)
	}()
	return alive, func() {
		dead(context.Canceled)
		<-stopped
		defer release()
		ctx, stop := after(ctx)
		defer stop()
		if _, err := d.keys.EndProcess(ctx, p.id, p.id, p.instance); err != nil {
			d.log.Warn("the end of a process was not written; it will be found", "error", err)
		}
	}, nil
}

// beat gives a sign of life every third of the time after which there must be one.
// A sign that could not be sent counts as none.
func (d *Daemon) beat(ctx context.Context, p process, ttl time.Duration, dead context.CancelCauseFunc) {
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
		alive, err := d.keys.BeatProcess(within, p.id, p.id, p.instance, ttl.Milliseconds())
		stop()
		switch {
		case err == nil && alive:
			last = at
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
		dead, err := d.keys.BuryProcess(ctx, id, id)
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
	info, err := d.keys.ProcessInfo(id).All(ctx)
	if err != nil {
		return err
	}
	issue, _ := strconv.ParseInt(info["issue"], 10, 64)
	fence, _ := strconv.ParseInt(info["fence"], 10, 64)
	if info["program"] == string(poppokeys.RegisterProcessProgramPoppo) && issue > 0 && fence > 0 {
		if _, err := d.change(ctx, issue, change{status: "interrupted", task: info["task"], fence: fence}); err != nil {
			return err
		}
	}
	data, err := json.Marshal(map[string]any{"process": id, "issue": issue, "task": info["task"]})
	if err != nil {
		return err
	}
	if err := d.keys.OtherEventsTopic("process-dead").Publish(ctx, poppokeys.OtherEventsMessage{Data: data}); err != nil {
		return err
	}
	_, err = d.keys.ProcessesZombies().Remove(ctx, id)
	return err
}
