package pressure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// relieve does what is due on one server: releases first, as they free memory at
// once, each kind by its ratio.
func (w *Watcher) relieve(ctx context.Context, now Reading, term lease.Term) (reports []Report, err error) {
	here, err := w.slots(ctx, now.Server)
	if err != nil {
		return nil, err
	}
	for _, i := range w.order {
		if now.Ratio() < w.steps[i].At || w.resting(place{now.Server, i}) {
			continue
		}
		r := &run{w: w, step: &w.steps[i], here: here, term: term}
		r.Report = Report{Process: w.o.Process, Fence: term.Fence, Server: now.Server, Entry: r.step.Entry, Step: i,
			At: r.step.At, Release: r.step.Shorten == 0, Before: now, After: now}
		r.do(ctx)
		reports, now = append(reports, r.Report), r.After
		w.over(&r.Report)
		if r.End != Below && r.End != Through {
			return reports, r.Err
		}
	}
	return reports, nil
}

// over notes a run that is over.
func (w *Watcher) over(r *Report) {
	w.tell(func() {
		if r.End == Through {
			w.rests[place{r.Server, r.Step}] = time.Now().Add(cmp.Or(max(w.o.Rest, 0), max(10*time.Second, 10*r.Took)))
		}
		if w.o.Done != nil {
			w.o.Done(*r)
		}
	})
}

func (w *Watcher) resting(at place) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.rests[at])
}

// run represents one run of a step on one server.
type run struct {
	Report
	w    *Watcher
	step *Step
	here func(key string) bool // does the server have the key?
	term lease.Term
}

func (r *run) do(ctx context.Context) {
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	for _, value := range r.step.Values {
		if !r.value(ctx, value) {
			return
		}
	}
	r.End = Through
	r.look(ctx)
}

// value goes through the items of one value; false ends the run.
func (r *run) value(ctx context.Context, value string) bool {
	for after := ""; ; {
		if !r.goOn(ctx) {
			return false
		}
		began := time.Now()
		next, err := r.page(ctx, value, after)
		if err != nil && !time.Now().Before(r.term.Until) && !r.renew(ctx) { // it failed because the lease was over
			return false
		}
		if err != nil {
			return r.failed(ctx, err)
		}
		if after = next; after == "" {
			return true
		}
		if !wait(ctx, max(r.w.o.Pause, time.Since(began))) {
			return r.stop(Stopped)
		}
	}
}

// page does one batch, within the lease.
func (r *run) page(ctx context.Context, value, after string) (next string, err error) {
	ctx, cancel := context.WithDeadline(ctx, r.term.Until)
	defer cancel()
	ids, next, err := r.step.Target.Page(ctx, value, after, r.w.o.Batch)
	if err == nil {
		err = r.batch(ctx, value, ids)
	}
	return next, err
}

// goOn looks at the memory and the lease before every batch.
func (r *run) goOn(ctx context.Context) bool {
	if !r.look(ctx) {
		return false
	}
	if r.After.Ratio() < r.step.down() {
		return r.stop(Below)
	}
	return r.renew(ctx)
}

// renew makes the lease last longer; false ends the run.
func (r *run) renew(ctx context.Context) bool {
	var err error
	if r.term, err = r.w.lease.Renew(ctx, r.term); errors.Is(err, lease.ErrLost) {
		return r.stop(Lost)
	}
	return err == nil || r.failed(ctx, err)
}

func (r *run) look(ctx context.Context) bool {
	readings, err := r.w.read(ctx, r.Server)
	if err != nil {
		return r.failed(ctx, err)
	}
	r.After = readings[0]
	return true
}

// batch shortens or releases the items that are on the server.
func (r *run) batch(ctx context.Context, value string, ids []string) (err error) {
	r.Seen += len(ids)
	here := make([]string, 0, len(ids))
	for _, id := range ids {
		if r.here(r.step.Target.Key(id)) {
			here = append(here, id)
		}
	}
	n := 0
	switch {
	case len(here) == 0:
	case r.Release:
		n, err = r.step.Target.Release(ctx, value, here)
		r.Released += n
	default:
		n, err = r.step.Target.Shorten(ctx, value, here, r.step.Shorten)
		r.Shortened += n
	}
	if err == nil {
		r.Skipped += len(ids) - n
	}
	return err
}

func (r *run) stop(e End) bool {
	r.End = e
	return false
}

func (r *run) failed(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return r.stop(Stopped)
	}
	r.End, r.Err = Failure, fmt.Errorf("memory pressure on %s: %s: %w", r.Server, r.Entry, err)
	return false
}

// slots tells which keys a server has: all of them, or in a cluster those of its
// slots, as it says itself. One round trip in a cluster; needs +cluster|nodes.
func (w *Watcher) slots(ctx context.Context, address string) (func(string) bool, error) {
	if !w.client.Clustered() {
		return func(string) bool { return true }, nil
	}
	node, ok := w.client.Raw().Nodes()[address]
	if !ok {
		return nil, &keywright.Error{Class: keywright.Retryable, Op: "pressure", Server: address,
			Err: errors.New("the server has left the cluster")}
	}
	nodes, err := topology.ReadNodes(ctx, kernel.AskNode(node), address)
	if err != nil {
		return nil, &keywright.Error{Class: keywright.Retryable, Op: "pressure", Server: address, Err: err,
			Hint: "it needs +cluster|nodes"}
	}
	own, _ := nodes.Myself()
	return func(key string) bool { return own.Holds(int(slot.Of([]byte(key)))) }, nil
}
