package operate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/keyspace/finding"
)

// By represents the user that asks for something, and the address it comes from.
type By struct{ User, From string }

// Make begins to make a plan, which changes nothing, and gives its id and a channel that is
// closed when it is made or refused.
func (d *PlanQueue) Make(target string, by By, a Ask) (id string, made <-chan struct{}, err error) {
	d.mu.Lock()
	planner := d.planner(target)
	d.mu.Unlock()
	if planner == nil {
		return "", nil, refusal("no-server", "", "%s is a snapshot file: there is nothing to change", target)
	}
	q, title, err := planner.Request(a)
	if err != nil {
		return "", nil, err
	}
	if n := sizeOf(a.Select); n > maxSelect {
		return "", nil, refusal("bad-select", "select by a shorter text",
			"what is selected by has %d bytes, and not %d at most", n, maxSelect)
	}
	r := &run{record: record{Format: recordFormat, Target: target, Select: a.Select,
		Run: observe.Run{ID: strings.ToLower(rand.Text()[:16]), Verb: a.Verb,
			Title: title, State: observe.Planning, By: by.User, At: d.Now()}}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return "", nil, stopping()
	}
	if busy := d.busy(target, observe.Planning); busy != nil {
		return "", nil, refusal("busy", "wait until it is made, or stop it", "another plan is being made: %s",
			busy.Title)
	}
	if err := d.room(); err != nil {
		return "", nil, err
	}
	if err := d.asked.write("plan", d.entry(r, by, "plan")); err != nil {
		return "", nil, unlogged(err)
	}
	if err := d.save(&r.record); err != nil {
		return "", nil, err
	}
	d.runs[r.ID] = r
	ctx, stop := context.WithTimeout(d.ctx, planFor)
	r.stop = stop
	done := make(chan struct{})
	d.work.Go(func() {
		defer close(done)
		defer stop()
		d.plan(ctx, r, planner, q)
	})
	d.tell(r)
	return r.ID, done, nil
}

// maxSelect bounds what one plan is selected by: the log has it in each line.
const maxSelect = 4 << 10

func sizeOf(of map[string]string) (n int) {
	for name, text := range of {
		n += len(name) + len(text)
	}
	return n
}

// stopping refuses what would begin during the shutdown.
func stopping() error { return refusal("stopping", "", "keywright serve is stopping") }

// unlogged refuses what cannot be written into the log.
func unlogged(err error) error {
	return refusal("not-logged", "free some room on the disk", "it cannot be logged, so it is not done: %v", err)
}

// plan makes a plan.
func (d *PlanQueue) plan(ctx context.Context, r *run, planner Planner, q plan.Request) {
	p, err := planner.Plan(ctx, r.Verb, q)
	if err == nil {
		err = d.keep(r.ID, p)
	}
	_ = d.change(r, func() {
		r.stop = nil
		if err != nil {
			r.State, r.Ended = observe.Refused, d.Now()
			r.Problem, r.Hint = describeError(err)
			if r.asked && interrupted(err) {
				r.Problem, r.Hint = "it was stopped before it was made", ""
			}
			return
		}
		r.State, r.Total, r.Brief = observe.Planned, p.Total.Keys, brief(p)
	})
}

// interrupted reports whether an error says only that the work was ended.
func interrupted(err error) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && r.Code == Interrupted || errors.Is(err, context.Canceled)
}

// describeError returns what to tell of an error.
func describeError(err error) (message, hint string) {
	if r, ok := errors.AsType[*Refusal](err); ok {
		hint = r.Hint
	}
	return finding.Printable(err.Error()), finding.Printable(hint)
}

// goesOn lists the states from which a plan can be applied.
var goesOn = map[observe.RunState]bool{observe.Planned: true, observe.Stopped: true, observe.Interrupted: true,
	observe.Failing: true}

// Apply begins to execute a plan, or goes on with it.
func (d *PlanQueue) Apply(target, id string, by By) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[id]
	switch {
	case r == nil || r.Target != target:
		return refusal("no-such-plan", "", "there is no such plan")
	case d.ctx.Err() != nil:
		return stopping()
	case !goesOn[r.State]:
		return refusal("state", "make a new plan", "this plan is %s", r.State)
	case r.Brief.Change == 0 && r.Brief.Listed == 0:
		return refusal("nothing", "", "there is nothing to change")
	}
	planner := d.planner(target)
	if planner == nil {
		return refusal("no-server", "", "%s is not watched: there is nothing to change", target)
	}
	if busy := d.busy(target, observe.Underway, observe.Stopping); busy != nil {
		return refusal("busy", "wait until it has ended, or stop it", "another plan is being executed: %s", busy.Title)
	}
	if err := d.log.write("apply", d.entry(r, by, "apply")); err != nil {
		return unlogged(err)
	}
	was := r.record
	r.State, r.AppliedBy, r.Began, r.Problem, r.Hint = observe.Underway, by.User, d.Now(), "", ""
	r.Ended, r.asked = time.Time{}, false
	if err := d.save(&r.record); err != nil {
		r.record = was
		return err
	}
	ctx, stop := context.WithCancel(d.ctx)
	r.stop, r.ended = stop, make(chan struct{})
	d.work.Go(func() {
		defer close(r.ended)
		defer stop()
		d.execute(ctx, r, planner)
	})
	d.tell(r)
	return nil
}

// Wait waits until what is executed has ended. Where ctx ends first it is stopped, and waited for.
func (d *PlanQueue) Wait(ctx context.Context, target, id string, by By) (Detail, bool) {
	d.mu.Lock()
	r := d.runs[id]
	var ended chan struct{}
	if r != nil {
		ended = r.ended
	}
	d.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
			_ = d.Stop(target, id, by)
			<-ended
		}
	}
	return d.Get(target, id)
}

// Forget removes a plan that nothing came of: nothing was changed, and nothing is under way.
func (d *PlanQueue) Forget(target, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[id]
	if r == nil || r.Target != target || r.stop != nil || r.Did != nil {
		return nil
	}
	if err := d.remove(id); err != nil {
		return err
	}
	delete(d.runs, id)
	d.Changed(target, d.listed(target), observe.Run{})
	return nil
}

// execute executes a plan.
func (d *PlanQueue) execute(ctx context.Context, r *run, planner Planner) {
	out, err := planner.Execute(ctx, d.planFile(r.ID), func(done int64) { d.progress(r, done) })
	_ = d.change(r, func() {
		r.stop, r.Ended = nil, d.Now()
		if out.Total.Keys > 0 || err == nil {
			r.Did, r.Done = &out, out.Total.Keys
		}
		r.State, r.Problem, r.Hint = d.ended(r, out, err)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.log.write("end", d.entry(r, By{User: r.AppliedBy}, "end")); err != nil {
		r.Problem = strings.TrimPrefix(r.Problem+"; ", "; ") + "its end could not be logged: " +
			finding.Printable(err.Error())
		_ = d.save(&r.record) // the disk is full: the page says it still
		d.tell(r)
	}
}

// ended returns the state of a run that has ended.
func (d *PlanQueue) ended(r *run, out Outcome, err error) (state observe.RunState, problem, hint string) {
	switch {
	case err == nil && out.Complete:
		return observe.Done, "", ""
	case err != nil && !interrupted(err):
		problem, hint = describeError(err)
		return observe.Failing, problem, hint
	case r.asked:
		return observe.Stopped, "", "apply it again to go on where it was"
	case d.ctx.Err() != nil:
		return observe.Interrupted, "keywright serve was stopped while it ran", "apply it again to go on where it was"
	case err != nil:
		problem, hint = describeError(err)
		return observe.Failing, problem, hint
	}
	return observe.Failing, finding.Printable(out.Problem), "apply it again: what was done is not done twice"
}

// Stop stops what is under way: what has begun is waited for.
func (d *PlanQueue) Stop(target, id string, by By) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[id]
	switch {
	case r == nil || r.Target != target:
		return refusal("no-such-plan", "", "there is no such plan")
	case r.stop == nil:
		return refusal("state", "", "it does not run: it is %s", r.State)
	}
	_ = d.log.write("stop", d.entry(r, by, "stop")) // what is dangerous must stop also where the disk is full
	r.asked = true
	if r.State == observe.Underway {
		r.State = observe.Stopping
	}
	r.stop()
	d.tell(r)
	return nil
}

// busy returns a run of a target that is in one of some states; nil: none is.
func (d *PlanQueue) busy(target string, states ...observe.RunState) *run {
	for _, r := range d.runs {
		for _, s := range states {
			if r.Target == target && r.State == s {
				return r
			}
		}
	}
	return nil
}

// room removes the oldest runs, those that are over first, until there is room for one more.
func (d *PlanQueue) room() error {
	for len(d.runs) >= maxRuns {
		var oldest *run
		for _, r := range d.runs {
			if r.stop != nil {
				continue
			}
			if oldest == nil || over(r) && !over(oldest) || over(r) == over(oldest) && r.At.Before(oldest.At) {
				oldest = r
			}
		}
		if oldest == nil {
			return refusal("too-many", "wait until some have ended", "%d plans are under way", len(d.runs))
		}
		if err := d.remove(oldest.ID); err != nil {
			return err
		}
		delete(d.runs, oldest.ID)
	}
	return nil
}

// over reports whether nothing can go on with a run.
func over(r *run) bool { return r.State == observe.Done || r.State == observe.Refused }

// keep writes the plan of a run.
func (d *PlanQueue) keep(id string, p *plan.Plan) error {
	f, err := os.OpenFile(d.planFile(id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(p.Write(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("the plan cannot be kept: %w", err), os.Remove(d.planFile(id)))
	}
	return nil
}
