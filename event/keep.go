package event

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// chunk says how many messages or consumers one call of a script is about.
const chunk = 100

// pulses lists the signs of life that may be without a reply at a time.
const pulses = 8

// keep gives a sign of life for what is in hand until over ends, eight times a
// lease, whether the one before was answered or not: replies may be slow.
func (c *consumer[M]) keep(over context.Context) {
	ctx, cancel := lingering(over, time.Second)
	defer cancel()
	var calls sync.WaitGroup
	defer calls.Wait()
	slots := make(chan struct{}, pulses)
	tick := time.NewTicker(max(c.o.Lease/16, time.Millisecond))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-over.Done():
			return
		case <-tick.C:
		}
		if c.watch() || n%2 != 0 {
			continue
		}
		select {
		case slots <- struct{}{}:
			calls.Go(func() { c.pulse(ctx); <-slots })
		default:
		}
	}
}

// watch tells handlers to stop, since others may claim their messages, if no sign
// of life that arrived was sent in the last nine tenths of a lease. It reports
// whether nothing is in hand.
func (c *consumer[M]) watch() (idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hand) == 0 {
		c.good = time.Now()
		return true
	}
	if time.Since(c.good) > c.o.Lease*9/10 {
		for _, d := range c.hand {
			d.stop()
		}
	}
	return false
}

// pulse renews the claim on what is in hand. What the server says is another's is
// lost.
func (c *consumer[M]) pulse(ctx context.Context) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.o.Lease)
	defer cancel()
	lost, err := c.renew(ctx, c.ids())
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range lost {
		if d := c.hand[id]; d != nil && !d.taken.After(began) {
			d.lost = true
			d.stop()
		}
	}
	if err == nil && began.After(c.good) {
		c.good = began
	}
}

// stop tells the handler of a message to stop. It is called with the lock held.
func (d *delivery[M]) stop() {
	if d.cancel != nil {
		d.cut = true
		d.cancel(ErrLost)
	}
}

// renew gives a sign of life for messages, and returns those that are another's.
// The script goes as a text, in one batch: a server that does not know it would
// cost a second round trip, for which there may be no time.
func (c *consumer[M]) renew(ctx context.Context, ids []string) (lost []string, err error) {
	s := c.stream
	var batch keywright.Batch
	var replies []*keywright.Pending[[]int64]
	for part := range slices.Chunk(ids, chunk) {
		args := append([]string{c.group, c.o.Name}, part...)
		op := script("pulse", s, keywright.Idempotent, standard.pulse, s.keys.main(), args, numbers)
		replies = append(replies, keywright.Queue(&batch, op))
	}
	if err := batch.Run(ctx); isNoGroup(err) {
		return ids, nil
	} else if err != nil {
		return nil, err
	}
	for i, r := range replies {
		others, _ := r.Result()
		for _, n := range others {
			lost = append(lost, ids[i*chunk+int(n)-1])
		}
	}
	return lost, nil
}

func numbers(r kernel.Reply) ([]int64, error) { return r.AsIntSlice() }

func (c *consumer[M]) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, 0, len(c.hand))
	for id := range c.hand {
		out = append(out, id)
	}
	return out
}

// givenBack is the consumer that has what was given back until another one claims it. It
// gives no sign of life, so that all of it can be claimed while handlers of the one that
// has given it back still run.
const givenBack = "given back"

// giveBack returns, without counting an attempt, the messages that have not begun and those that the shutdown
// interrupted. Their claims are not renewed any more, even if the server does not receive this call.
func (c *consumer[M]) giveBack(ctx context.Context) error {
	s := c.stream
	for part := range slices.Chunk(c.letGo(), 2*chunk) {
		args := append([]string{c.group, c.o.Name, ms(2 * c.o.Lease), givenBack}, part...)
		_, err := script("give back", s, keywright.Idempotent, standard.giveBack, s.keys.main(), args, readInteger).Do(ctx)
		if err != nil && !isNoGroup(err) {
			return err
		}
	}
	return nil
}

// letGo takes out of the hand what has not begun: ids, and how often each was delivered.
func (c *consumer[M]) letGo() (back []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, d := range c.hand {
		if d.begun {
			continue
		}
		if back = append(back, id, strconv.FormatInt(d.count, 10)); d.timer != nil {
			d.timer.Stop()
		}
		delete(c.hand, id)
	}
	return back
}

// end gives back what is in hand and removes the consumer, unless something is pending
// for it. It takes no longer than most.
func (c *consumer[M]) end(ctx context.Context, most time.Duration) {
	ctx, cancel := lingering(ctx, min(c.calls(), most))
	defer cancel()
	err := c.giveBack(ctx)
	if err == nil {
		err = c.remove(ctx, []string{c.o.Name})
	}
	if !isNoGroup(err) {
		c.tell(err)
	}
}

// remove removes consumers that have nothing pending.
func (c *consumer[M]) remove(ctx context.Context, names []string) error {
	s := c.stream
	for part := range slices.Chunk(names, chunk) {
		args := append([]string{c.group}, part...)
		if _, err := script("leave", s, keywright.Idempotent, standard.leave, s.keys.main(), args, readInteger).Do(
			ctx); err != nil {
			return err
		}
	}
	return nil
}
