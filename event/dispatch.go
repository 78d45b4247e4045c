package event

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
)

// enlist takes a message into the hand. It may begin at once, unless its key is busy:
// then it waits in the line of the key.
func (c *consumer[M]) enlist(d *delivery[M]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hand[d.ID] != nil { // claimed from ourselves
		return
	}
	c.hand[d.ID] = d
	line, busy := c.lines[d.key]
	switch {
	case d.keyed && busy:
		c.lines[d.key] = append(line, d)
		return
	case d.keyed:
		c.lines[d.key] = nil
	}
	c.ready <- d
}

// drop takes a message out of the hand. The next one of its key may begin.
func (c *consumer[M]) drop(d *delivery[M]) {
	c.mu.Lock()
	if c.hand[d.ID] == d {
		delete(c.hand, d.ID)
		if next := c.heir(d); next != nil {
			c.ready <- next
		} else if d.keyed {
			delete(c.lines, d.key)
		}
	}
	c.mu.Unlock()
	c.signal()
}

// heir returns the next message of the key of d, which has the key from now on. The
// caller holds mu.
func (c *consumer[M]) heir(d *delivery[M]) *delivery[M] {
	line := c.lines[d.key]
	if !d.keyed || len(line) == 0 {
		return nil
	}
	d.keyed, c.lines[d.key] = false, line[1:]
	return line[0]
}

// again lets a message begin once more after a wait. Its key is busy until then, and no
// worker is.
func (c *consumer[M]) again(d *delivery[M], wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d.begun, d.timer = false, time.AfterFunc(wait, func() { c.ready <- d })
}

// work handles messages until ctx ends. One that is done is acknowledged with the
// beginning of the next one, in one round trip.
func (c *consumer[M]) work(ctx, alive context.Context) {
	var done *delivery[M]
	for {
		d := c.following(ctx, done)
		switch {
		case d != nil:
			done = c.one(ctx, alive, d, done)
		case done != nil:
			c.ack(ctx, done)
			done = nil
		default:
			return
		}
	}
}

// following returns a message that may begin. With one that is done it does not wait: where
// nothing else may begin, the next one of its key does.
func (c *consumer[M]) following(ctx context.Context, done *delivery[M]) *delivery[M] {
	select {
	case d := <-c.ready:
		return d
	default:
	}
	if done != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.heir(done)
	}
	c.idle.Add(1)
	defer c.idle.Add(-1)
	c.signal() // it may be that all in hand waits
	select {
	case d := <-c.ready:
		return d
	case <-ctx.Done():
		return nil
	}
}

// one tries a message. done was handled before it and is not acknowledged yet; the result
// is the message itself if that is so of it now.
func (c *consumer[M]) one(ctx, alive context.Context, d, done *delivery[M]) *delivery[M] {
	if dead := d.doom != nil || d.count > int64(c.stream.config.Retry); dead || ctx.Err() != nil {
		c.ack(ctx, done)
		if ctx.Err() == nil { // else it is given back
			c.bury(ctx, d)
		}
		return nil
	}
	mine, asked := c.begin(ctx, d, done)
	switch {
	case !asked: // ctx has ended
		c.ack(ctx, done)
	case !mine:
		c.drop(d)
	default:
		err := c.try(alive, d)
		if err == nil {
			return d
		}
		c.failed(ctx, alive, d, err)
	}
	return nil
}

// failed says what becomes of a message whose handler has failed.
func (c *consumer[M]) failed(ctx, alive context.Context, d *delivery[M], err error) {
	c.mu.Lock()
	lost, cut := d.lost, d.cut
	c.mu.Unlock()
	given := (*discard)(nil)
	switch {
	case lost:
		c.notice(notice.MessageLost, 0, ErrLost)
		c.tell(ErrLost)
		c.drop(d)
	case errors.As(err, &given):
		d.doom = err
		c.bury(ctx, d)
	case cut || alive.Err() != nil: // it failed because it had to stop
		d.count--
		c.again(d, 0)
	case d.count > int64(c.stream.config.Retry):
		d.reason = err
		c.bury(ctx, d)
	default:
		c.again(d, min(c.o.Backoff<<min(d.failures, 20), c.o.Lease))
		d.failures++
	}
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
		n, err := script("begin", s, keywright.Idempotent, standard.begin, s.keys.main(), args, readInteger).Do(ctx)
		mine = n == 1
		return err
	})
	if asked && done != nil {
		c.drop(done)
	}
	if !asked || !mine {
		return mine, asked
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.Deliveries = d.count
	d.count++
	d.begun = c.hand[d.ID] == d // else it was given back meanwhile
	return d.begun, true
}

// insist asks the server until it answers; false if ctx or the client ended
// before. A group that is gone is an answer: nothing is pending for it.
func (c *consumer[M]) insist(ctx context.Context, ask func(context.Context) error) bool {
	for failures := 0; ctx.Err() == nil && c.life.Err() == nil; failures++ {
		err := ask(ctx)
		if err == nil || isNoGroup(err) {
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
// since done is done, and when the consumer is to end. It reports whether the server has
// received it.
func (c *consumer[M]) ack(ctx context.Context, d *delivery[M]) (heard bool) {
	if d == nil {
		return true
	}
	ctx, cancel := lingering(ctx, c.calls())
	defer cancel()
	heard = c.insist(ctx, func(ctx context.Context) error {
		_, err := c.stream.ack(c.group, d.ID).Do(ctx)
		return err
	})
	c.drop(d)
	return heard
}

// try calls the handler once.
func (c *consumer[M]) try(alive context.Context, d *delivery[M]) error {
	ctx, cancel := context.WithCancelCause(alive)
	defer cancel(nil)
	c.mu.Lock()
	d.cancel, d.cut, d.since = cancel, false, time.Now()
	if d.lost {
		cancel(ErrLost)
	}
	c.mu.Unlock()
	if limit := c.stream.config.Timeout; limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(ErrTimeout) }).Stop()
	}
	began := d.since
	err := guarded("the handler", func() error { return c.handle(ctx, d.Stored) })
	if err != nil && errors.Is(context.Cause(ctx), ErrTimeout) {
		err = fmt.Errorf("%w after %v: %w", ErrTimeout, c.stream.config.Timeout, err)
	}
	c.mu.Lock()
	d.cancel, d.since = nil, time.Time{}
	c.mu.Unlock()
	if err == nil {
		c.notice(notice.MessageDone, time.Since(began), nil)
	} else {
		c.notice(notice.MessageFailed, time.Since(began), errFailed)
	}
	return err
}
