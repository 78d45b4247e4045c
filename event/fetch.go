package event

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

const (
	fetchMost = 1000                   // messages of one reply
	fetchWait = 500 * time.Millisecond // how long a fetch waits at the server, and Run at its end for it
)

// read fetches messages until ctx ends.
func (c *consumer[M]) read(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		free := c.free()
		if free <= 0 {
			c.await(ctx)
			continue
		}
		err := c.next(ctx, free)
		if err == nil || ctx.Err() != nil {
			failures = 0
			continue
		}
		if c.made = c.made && !isNoGroup(err); !c.made && c.create(ctx) == nil {
			continue
		}
		failures++
		c.tell(err)
		if kernel.Permanent(err) != nil {
			c.halt(err)
		}
		c.pause(ctx, min(time.Second, 10*time.Millisecond<<min(failures, 10)))
	}
}

// next takes the step that is due. What this consumer has been given comes before
// what others have left, and that before new messages.
func (c *consumer[M]) next(ctx context.Context, free int) error {
	now := time.Now()
	switch {
	case !c.made:
		return c.create(ctx)
	case c.recount:
		return c.recall(ctx, free)
	case !now.Before(c.due):
		return c.claim(ctx, free)
	case !now.Before(c.tidy):
		return c.clean(ctx)
	}
	return c.fetch(ctx, free, min(time.Until(c.due), fetchWait))
}

// isNoGroup reports whether an error says that the group, or its stream, is not there.
func isNoGroup(err error) bool { return err != nil && strings.Contains(err.Error(), "NOGROUP") }

func (c *consumer[M]) create(ctx context.Context) error {
	begin := "0"
	if c.o.New && !c.began { // one that begins again with its stream must miss nothing
		begin = "$"
	}
	s := c.stream
	args := []string{c.group, begin, ms(s.config.Age)}
	made, err := script("group", s, keywright.Idempotent, standard.group, s.keys.main(), args, readInteger).Do(ctx)
	if err == nil {
		c.made, c.began = true, true
	}
	if made == 1 { // the stream begins again
		c.last, c.from = "0-0", "-"
	}
	return err
}

func (c *consumer[M]) await(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.room:
	}
}

func (c *consumer[M]) pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// fetch waits at the server for new messages. It does not end with ctx: what the
// server gives at that moment is given back, uncounted.
func (c *consumer[M]) fetch(ctx context.Context, free int, block time.Duration) error {
	wait, cancel := lingering(ctx, min(fetchWait+time.Second, max(c.o.Grace, fetchWait)))
	defer cancel()
	wait, stop := context.WithTimeout(wait, block+5*time.Second)
	defer stop()
	entries, err := c.readGroup(wait, free, max(block, time.Millisecond))
	if err != nil { // its reply may be lost, or the request still under way
		c.recount, c.doubt = true, time.Now().Add(block+time.Second)
		return err
	}
	for _, e := range entries {
		c.last = e.ID
		c.take(e, 1)
	}
	return nil
}

// readGroup reads new messages; it waits for them if block is not 0.
func (c *consumer[M]) readGroup(ctx context.Context, free int, block time.Duration) ([]kernel.XRangeSlice, error) {
	s := c.stream
	key := s.keys.Main
	return kernel.NewOp(kernel.Spec[[]kernel.XRangeSlice]{
		Action: kernel.Action{Client: s.client, Name: "fetch", Entry: s.entry, Effect: keywright.Writes, Key: key},
		Build: func(b kernel.Builder) kernel.Command {
			read := b.Xreadgroup().Group(c.group, c.o.Name).Count(int64(free))
			if block > 0 {
				return read.Block(block.Milliseconds()).Streams().Key(key).Id(">").Build()
			}
			return read.Streams().Key(key).Id(">").Build()
		},
		Decode: func(r kernel.Reply) ([]kernel.XRangeSlice, error) {
			found, err := r.AsXReadSlices()
			if kernel.IsNil(err) {
				return nil, nil
			}
			return found[key], nameKey(err, key)
		},
	}).Do(ctx)
}

// recall takes what the server has given to this consumer and it does not know
// of: the reply was lost, or the name was used before. Taken later, when others
// could claim it, it would come after newer messages of the same key. While the
// lost request may still be under way, what is new is read without waiting for
// it, and taken with what that request has got, in the order of the stream.
func (c *consumer[M]) recall(ctx context.Context, free int) error {
	doubt := time.Now().Before(c.doubt)
	if doubt {
		if _, err := c.readGroup(ctx, free, 0); err != nil {
			return err
		}
	}
	rows, err := c.pending(ctx, "("+c.last, c.o.Name, free)
	if err != nil {
		return err
	}
	var unknown []row
	for _, r := range rows {
		if !c.knows(r.id) {
			unknown = append(unknown, r)
		}
	}
	if err := c.load(ctx, unknown); err != nil {
		return err
	}
	if len(rows) > 0 {
		c.last = rows[len(rows)-1].id
		return nil
	}
	if c.recount = doubt; doubt {
		c.pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// load reads messages that are this consumer's and takes them.
func (c *consumer[M]) load(ctx context.Context, rows []row) error {
	found, err := c.stream.texts(ctx, rows)
	if err != nil {
		return err
	}
	var trimmed []string
	for i, r := range rows {
		if found[i] == nil {
			trimmed = append(trimmed, r.id)
			continue
		}
		c.take(*found[i], r.count)
	}
	return c.trimmed(ctx, trimmed)
}

// trimmed acknowledges messages that are not in the stream any more, and tells.
func (c *consumer[M]) trimmed(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := c.stream.ack(c.group, ids...).Do(ctx)
	c.tell(&Trimmed{ids})
	return err
}

// take puts a message into the line of its key. What does not decode will not do
// so later either, and becomes a dead letter in its turn.
func (c *consumer[M]) take(e kernel.XRangeSlice, count int64) {
	d := &delivery[M]{raw: e.FieldValues, count: count, taken: time.Now(), keyed: c.inTurn()}
	d.ID, d.Channel = e.ID, c.stream.keys.Main
	err := guarded("decoding", func() (err error) { d.Stored, err = c.stream.stored(e.ID, e.FieldValues); return err })
	if leaves(err) { // whatever has the key, or knows the form, can handle it
		c.leave(e.ID, err)
		return
	}
	if err == nil && c.o.Key != nil {
		err = guarded("RunOptions.Key", func() error { d.key, d.keyed = c.o.Key(d.Data), true; return nil })
	}
	d.doom = err
	c.enlist(d)
}

// leaves reports whether a message is to be left to other consumers.
func leaves(err error) bool {
	if _, newer := err.(*NewerForm); newer {
		return true
	}
	_, sealed := keywright.ClassOf(err)
	return sealed
}

// leave lets a message be claimed by others, after a lease. It stays pending.
func (c *consumer[M]) leave(id string, err error) {
	if len(c.left) >= mostInHand {
		clear(c.left)
	}
	c.left[id] = true
	c.tell(err)
}

// knows reports whether a message is in hand, or left to others.
func (c *consumer[M]) knows(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hand[id] != nil || c.left[id]
}

// share returns a random part of d, so that many consumers do not act at once.
func share(d time.Duration) time.Duration { return rand.N(max(d, 1)) }
