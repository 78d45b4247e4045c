package event

import (
	"context"
	"errors"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/notice"
)

func (c *consumer[M]) lane(m M) int {
	if c.o.Key == nil {
		c.turn++
		return c.turn % len(c.lanes)
	}
	return int(maphash.String(c.seed, c.o.Key(m)) % uint64(len(c.lanes)))
}

// work handles the messages of a lane, one after the other. One that is done is
// acknowledged with the beginning of the next one, in one round trip.
func (c *consumer[M]) work(ctx, alive context.Context, lane chan *delivery[M]) {
	var done *delivery[M]
	for {
		d, open := following(lane, done != nil)
		if d == nil && done != nil {
			c.ack(ctx, done)
			done = nil
		}
		if d != nil {
			done = c.one(ctx, alive, d, done)
		} else if !open {
			return
		}
	}
}

// following returns the next message of a lane; nil without one if it may not wait.
func following[D any](lane chan *D, hurry bool) (d *D, open bool) {
	if !hurry {
		d, open = <-lane
		return d, open
	}
	select {
	case d, open = <-lane:
		return d, open
	default:
		return nil, true
	}
}

// one tries a message until it is done, dead, lost or to be given back. done was
// handled before it and is not acknowledged yet; the result is the message itself
// if that is so of it now.
func (c *consumer[M]) one(ctx, alive context.Context, d, done *delivery[M]) *delivery[M] {
	reason := ErrAbandoned
	for try := 0; ; try++ {
		dead := d.doom != nil || d.count > int64(c.stream.config.Retry)
		if ctx.Err() != nil && (!dead || try == 0) {
			c.ack(ctx, done)
			return nil // it is given back at the end
		}
		if dead {
			c.ack(ctx, done)
			c.bury(ctx, d, reason)
			return nil
		}
		mine, asked := c.begin(ctx, d, done)
		if !asked {
			continue // ctx has ended
		}
		done = nil
		if !mine {
			c.drop(d)
			return nil
		}
		err := c.try(alive, d)
		if err == nil {
			return d
		}
		if c.failed(ctx, alive, d, err, try) {
			return nil
		}
		reason = err
	}
}

// failed says what becomes of a message whose handler has failed; over if it is
// not this consumer's any more.
func (c *consumer[M]) failed(ctx, alive context.Context, d *delivery[M], err error, try int) (over bool) {
	c.mu.Lock()
	lost, cut := d.lost, d.cut
	c.mu.Unlock()
	if lost {
		c.tell(ErrLost)
		c.drop(d)
		return true
	}
	if given := (*discard)(nil); errors.As(err, &given) {
		d.doom = err
		return false
	}
	if cut || alive.Err() != nil { // it failed because it had to stop
		d.count--
		return false
	}
	if d.count <= int64(c.stream.config.Retry) {
		c.pause(ctx, min(c.o.Backoff<<min(try, 20), c.o.Lease))
	}
	return false
}

// begin counts a delivery of d at the server, if it still is this consumer's, and
// acknowledges done. It asks until there is an answer: what comes after d must
// wait, too. Not asked if ctx ended before.
func (c *consumer[M]) begin(ctx context.Context, d, done *delivery[M]) (mine, asked bool) {
	s, id := c.stream, ""
	if done != nil {
		id = done.ID
	}
	args := []string{c.group, c.o.Name, d.ID, strconv.FormatInt(d.count+1, 10), id}
	asked = c.insist(ctx, func(ctx context.Context) error {
		n, err := script("begin", s, keywright.Idempotent, standard.begin, s.keys.main(), args, number).Do(ctx)
		mine = n == 1
		return err
	})
	if asked && done != nil {
		c.drop(done)
	}
	if asked && mine {
		d.Deliveries = d.count
		d.count++
	}
	return mine, asked
}

// insist asks the server until it answers; false if ctx or the client ended
// before. A group that is gone is an answer: nothing is pending for it.
func (c *consumer[M]) insist(ctx context.Context, ask func(context.Context) error) bool {
	for failures := 0; ctx.Err() == nil && c.life.Err() == nil; failures++ {
		err := ask(ctx)
		if err == nil || gone(err) {
			return true
		}
		if ctx.Err() == nil {
			c.tell(err)
		}
		c.pause(ctx, min(time.Second, 10*time.Millisecond<<min(failures, 10)))
	}
	return false
}

// calls bounds what is asked at the end: a server that does not answer keeps
// messages pending, and does not keep Run.
func (c *consumer[M]) calls() time.Duration { return min(c.o.Lease, 5*time.Second) }

// ack tells the server that a message is done: also when it is another's by now,
// since done is done, and when the consumer is to end.
func (c *consumer[M]) ack(ctx context.Context, d *delivery[M]) {
	if d == nil {
		return
	}
	ctx, cancel := lingering(ctx, c.calls())
	defer cancel()
	c.insist(ctx, func(ctx context.Context) error {
		_, err := c.stream.ack(c.group, d.ID).Do(ctx)
		return err
	})
	c.drop(d)
}

// try calls the handler once.
func (c *consumer[M]) try(alive context.Context, d *delivery[M]) error {
	ctx, cancel := context.WithCancelCause(alive)
	defer cancel(nil)
	c.mu.Lock()
	d.cancel, d.cut = cancel, false
	if d.lost {
		cancel(ErrLost)
	}
	c.mu.Unlock()
	began := time.Now()
	err := guarded("the handler", func() error { return c.handle(ctx, d.Stored) })
	c.mu.Lock()
	d.cancel = nil
	c.mu.Unlock()
	if err == nil {
		c.notice(notice.MessageDone, time.Since(began), nil)
	} else {
		c.notice(notice.MessageFailed, time.Since(began), errFailed)
	}
	return err
}
