package event

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

// chunk is how many messages or consumers one call of a script is about.
const chunk = 100

// keep gives a sign of life for what is in hand until over is closed.
func (c *consumer[M]) keep(over chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		began := time.Now()
		c.pulse(ctx)
		// One whose reply was slow is followed by the next one soon.
		c.pause(ctx, max(c.o.Lease/4-time.Since(began), c.o.Lease/50, time.Millisecond))
	}
}

// pulse renews the claim on what is in hand. What the server says is another's is
// lost. If there is no reply until nine tenths of a lease have passed since the
// last sign of life that has arrived, handlers are told to stop: others may claim
// their messages.
func (c *consumer[M]) pulse(ctx context.Context) {
	began := time.Now()
	ids := c.ids()
	c.mu.Lock()
	if len(ids) == 0 {
		c.good = began
	}
	limit := c.good.Add(c.o.Lease * 9 / 10)
	c.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	call, cancel := context.WithDeadline(ctx, later(limit, began.Add(c.o.Lease/4)))
	defer cancel()
	lost, err := c.renew(call, ids)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range lost {
		if d := c.hand[id]; d != nil {
			d.lost = true
			d.stop()
		}
	}
	if err == nil {
		c.good = began
		return
	}
	if !time.Now().Before(limit) && ctx.Err() == nil {
		for _, d := range c.hand {
			d.stop()
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stop tells the handler of a message to stop. It is called with the lock held.
func (d *delivery[M]) stop() {
	if d.cancel != nil {
		d.cut = true
		d.cancel(ErrLost)
	}
}

// renew gives a sign of life for messages, and returns those that are another's.
func (c *consumer[M]) renew(ctx context.Context, ids []string) (lost []string, err error) {
	s := c.stream
	for part := range slices.Chunk(ids, chunk) {
		args := append([]string{c.group, c.o.Name}, part...)
		numbers, err := script("pulse", s, keywright.Idempotent, pulseScript, s.keys.main(), args, func(r rueidis.RedisResult) ([]int64, error) { return r.AsIntSlice() }).Do(ctx)
		if gone(err) {
			return ids, nil
		}
		if err != nil {
			return lost, err
		}
		for _, n := range numbers {
			lost = append(lost, part[n-1])
		}
	}
	return lost, nil
}

func (c *consumer[M]) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, 0, len(c.hand))
	for id := range c.hand {
		out = append(out, id)
	}
	return out
}

// end gives back what is in hand, uncounted where no handler has begun or the end
// cut it off, and removes the consumer, unless something is pending for it.
func (c *consumer[M]) end(ctx context.Context) {
	ctx, cancel := lingering(ctx, c.calls())
	defer cancel()
	s := c.stream
	var back []string
	c.mu.Lock()
	for id, d := range c.hand {
		back = append(back, id, strconv.FormatInt(d.count, 10))
	}
	c.mu.Unlock()
	for part := range slices.Chunk(back, 2*chunk) {
		args := append([]string{c.group, c.o.Name, ms(2 * c.o.Lease)}, part...)
		if _, err := script("give back", s, keywright.Idempotent, giveBackScript, s.keys.main(), args, number).Do(ctx); err != nil && !gone(err) {
			c.tell(err)
			return
		}
	}
	if err := c.remove(ctx, []string{c.o.Name}); !gone(err) {
		c.tell(err)
	}
}

// remove removes consumers that have nothing pending.
func (c *consumer[M]) remove(ctx context.Context, names []string) error {
	s := c.stream
	for part := range slices.Chunk(names, chunk) {
		args := append([]string{c.group}, part...)
		if _, err := script("leave", s, keywright.Idempotent, leaveScript, s.keys.main(), args, number).Do(ctx); err != nil {
			return err
		}
	}
	return nil
}
