package event

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

// ack tells the server that a message is done: also when it is another's by now,
// since done is done, and when the consumer is to end.
func (c *consumer[M]) ack(d *delivery[M]) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(c.o.Lease, 5*time.Second))
	defer cancel()
	_, err := c.stream.Ack(ctx, c.group, d.ID)
	return err
}

// settle says what becomes of a message; 0 when it is not ours any more, or the
// server could not be asked.
func (c *consumer[M]) settle(alive context.Context, d *delivery[M], what string, reason error) int64 {
	limit := c.o.Lease
	if alive.Err() != nil {
		if d.cancel == nil { // nobody has begun with it: others claim it after a lease
			return 0
		}
		alive, limit = context.Background(), time.Second
	}
	ctx, cancel := context.WithTimeout(alive, limit)
	defer cancel()
	text := ""
	if reason != nil {
		text = fmt.Sprintf("%.1000s", reason.Error())
	}
	s := c.stream
	args := []string{c.group, c.o.Name, d.ID, what, text, fmt.Sprint(deadLetters), ms(s.config.Age), ms(2 * c.o.Lease)}
	deliveries, err := script(what, s.client, s.entry, keywright.Idempotent, settleScript, nil, []string{s.keys.Main, s.keys.Dead}, args, number).Do(ctx)
	c.tell(err)
	return deliveries
}

// bury makes a message a dead letter.
func (c *consumer[M]) bury(alive context.Context, d *delivery[M], reason error) {
	if c.settle(alive, d, "bury", reason) > 0 {
		c.tell(&Buried{ID: d.ID, Reason: reason, Messages: 1})
	}
}

// keep gives a sign of life for what is in hand until over is closed.
func (c *consumer[M]) keep(alive context.Context, over chan struct{}) {
	tick := time.NewTicker(max(c.o.Lease/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			c.pulse(alive)
		}
	}
}

// pulse renews the claim on what is in hand. What the server says is another's,
// and everything when it could not be reached for a lease, is lost: its handler's
// context ends.
func (c *consumer[M]) pulse(ctx context.Context) {
	began := time.Now()
	ids := c.ids()
	if len(ids) == 0 {
		c.mu.Lock()
		c.good = began
		c.mu.Unlock()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.Lease/3)
	defer cancel()
	s := c.stream
	lost, err := script("pulse", s.client, s.entry, keywright.Idempotent, pulseScript, nil, []string{s.keys.Main}, append([]string{c.group, c.o.Name}, ids...), func(r rueidis.RedisResult) ([]int64, error) { return r.AsIntSlice() }).Do(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.good = began
		for _, i := range lost {
			c.lose(ids[i-1])
		}
	case time.Since(c.good) > c.o.Lease*2/3: // the next one would come too late
		for _, id := range ids {
			c.lose(id)
		}
	}
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

// lose is called with the lock held.
func (c *consumer[M]) lose(id string) {
	if d := c.hand[id]; d != nil {
		d.lost = true
		if d.cancel != nil {
			d.cancel(ErrLost)
		}
	}
}

// leave removes the consumer, unless something is left for others to claim.
func (c *consumer[M]) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s := c.stream
	_, err := script("leave", s.client, s.entry, keywright.Idempotent, leaveScript, nil, []string{s.keys.Main}, []string{c.group, c.o.Name}, number).Do(ctx)
	c.tell(err)
}
