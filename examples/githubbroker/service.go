package githubbroker

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Agent is one worker: it asks for work, does it, and reports.
type Agent struct {
	Name string
	// Work does it. It must stop when ctx ends, and passes the fence on with
	// everything it writes.
	Work func(ctx context.Context, a *Assignment) error
	Idle time.Duration // between two questions when there is no work; 0: 1 s
}

// Serve runs the broker's poll and some agents until ctx ends. Work under way is
// given back.
func (b *Broker) Serve(ctx context.Context, agents []Agent, failed func(error)) {
	var all sync.WaitGroup
	all.Go(func() { b.Poll(ctx, failed) })
	for _, a := range agents {
		all.Go(func() { b.serve(ctx, a, failed) })
	}
	all.Wait()
}

func (b *Broker) serve(ctx context.Context, agent Agent, failed func(error)) {
	idle := agent.Idle
	if idle == 0 {
		idle = time.Second
	}
	for ctx.Err() == nil {
		did, err := b.once(ctx, agent)
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		if did && err == nil {
			continue
		}
		select {
		case <-time.After(idle):
		case <-ctx.Done():
		}
	}
}

// once is one piece of work; did is false when there is none.
func (b *Broker) once(ctx context.Context, agent Agent) (did bool, err error) {
	a, err := b.RequestTask(ctx, agent.Name)
	if err != nil || a == nil {
		return false, err
	}
	end := context.WithoutCancel(ctx)
	if err := agent.Work(a.Context(), a); err != nil {
		return true, errors.Join(err, a.GiveBack(end))
	}
	return true, a.Done(end)
}
