package serving

import (
	"context"
	"errors"
	"sync"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/history/daemon"
	"github.com/keywright/keywright/cmd/keywright/internal/history/file"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/internal/history"
)

// serveDeps describes what the targets of serve share.
type serveDeps struct {
	app     *cli.App
	server  *serve.Server
	store   history.Store      // nil: none
	plans   *operate.PlanQueue // nil: nothing can be changed
	alerter *alerter

	mu       sync.Mutex
	janitors map[string]func(context.Context) // by target
	work     sync.WaitGroup
}

// join prepares what a target needs beside its observer. a is its command line.
func (h *serveDeps) join(a *cli.App, o *Serving, t *observe.Target) error {
	t.Keep = func(ctx context.Context, found *observe.Audit) error {
		if h.store == nil {
			return nil
		}
		return errors.Join(h.store.Append(ctx, t.ID, found.At, h.server.Points(t, found)), h.store.Prune(ctx, h.app.Now()))
	}
	if shared, ok := h.store.(*daemon.Store); ok {
		if o.targets == "" { // others that share it have a default one, too
			shared.Call(t.ID, t.ID+" "+t.Name)
		}
		t.Turn = func(ctx context.Context) (func(), error) { return shared.Turn(ctx, t.ID) }
	}
	// without a declaration a plan would look for one
	if h.plans == nil || t.Server == nil || o.targets != "" && a.File == "" {
		return nil
	}
	p := &planner{a, o.ring, o.pace, o.Scan.OnlyDB}
	run, err := newJanitor(a, o, t, p, h.plans)
	if err != nil {
		return err
	}
	h.plans.Attend(t.ID, p)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.janitors == nil {
		h.janitors = map[string]func(context.Context){}
	}
	if h.janitors[t.ID] = run; run == nil {
		delete(h.janitors, t.ID)
	}
	return nil
}

// wrong gives what is wrong with a target now.
func (h *serveDeps) wrong(target string) ([]alert.Alert, int64) { return h.alerter.book.Now(target) }

// runChanged is called when a run of a target has changed.
func (h *serveDeps) runChanged(target string, all []observe.Run, changed observe.Run) {
	if h.server == nil {
		return // it is reported again when a target is attended to
	}
	if t := h.server.Target(target); t != nil {
		t.Ran(all, changed)
	}
}

// run watches a target until ctx or the member ends.
func (h *serveDeps) run(ctx context.Context, m *member) {
	ctx, m.stop = context.WithCancel(ctx)
	m.ended = make(chan struct{})
	h.mu.Lock()
	tidy := h.janitors[m.target.ID]
	h.mu.Unlock()
	h.work.Go(func() {
		defer close(m.ended)
		var work sync.WaitGroup
		// it has the connection with which a job gives its turn back
		watched, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		work.Go(func() { m.target.Run(watched) })
		work.Go(func() { h.alerter.watch(ctx, m.target) })
		if tidy != nil {
			tidy(ctx)
		}
		<-ctx.Done()
		end()
		work.Wait()
	})
}

// Leave forgets what a target that is not watched any more had.
func (h *serveDeps) Leave(id string, gone bool) {
	h.mu.Lock()
	delete(h.janitors, id)
	h.mu.Unlock()
	if h.plans != nil {
		h.plans.Attend(id, nil)
	}
	if gone {
		h.alerter.Leave(id)
	}
}

// openHistory opens the store of --store. A snapshot file has no history.
func openHistory(ctx context.Context, a *cli.App, o *Serving) (history.Store, error) {
	if o.store == "none" || o.IsFile() {
		return nil, nil
	}
	if daemon.Is(o.store) {
		return openDaemon(ctx, a, o.store)
	}
	f, err := file.Open(o.store, a.Now())
	var damaged *history.Damaged
	switch {
	case errors.As(err, &damaged):
		a.Say("warning: %v", err)
	case errors.Is(err, history.ErrInUse):
		return nil, cli.Usage("stop it, or name another file with --store", "%v: is another keywright serve running?", err)
	case err != nil:
		return nil, cli.Usage("name another file with --store, or write --store none", "%v", err)
	}
	return f, nil
}
