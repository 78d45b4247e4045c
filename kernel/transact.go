package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/kernel/internal/conn"
	"github.com/redis/rueidis"
)

// ErrConflict reports a transaction whose keys were changed by others each time it
// was tried. Nothing of it was applied.
var ErrConflict = errors.New("others changed the keys in between")

// ErrPartial reports a transaction of which the server refused some operations while it
// ran, as for the wrong type of a key: the others were applied, since EXEC takes
// nothing back (https://redis.io/docs/latest/develop/interact/transactions/). Each
// Pending says what has become of its operation.
var ErrPartial = errors.New("part of the transaction was applied")

// Tx represents a transaction under way: what it reads with Watch is watched, what is
// queued runs at its end, all or nothing.
type Tx struct {
	ctx    context.Context
	client *Client
	conn   *conn.DedicatedConn
	ops    []queued
	keys   []string // watched
	failed error    // of a Watch, for a passing reason
}

func (t *Tx) enqueue(q queued) { t.ops = append(t.ops, q) }

// Watch reads in a transaction: the key of the operation is watched first, so
// that a change by another one between this read and the end lets the
// transaction begin again. Two commands, one round trip. It renews no TTL.
func Watch[T any](t *Tx, op Op[T]) (T, error) {
	var zero T
	if op.Err != nil {
		return zero, op.fail(0, op.Err)
	}
	if op.Effect != Reads && op.peek == nil {
		return zero,
			&Error{Class: Invalid, Op: op.Name, Entry: op.call().Entry, Err: errors.New("Watch takes operations that read"),
				Hint: "queue writes with Queue: they run when the function returns"}
	}
	if op.peek != nil { // renewing the TTL would be the change that is watched for
		op.build, op.brief, op.script = op.peek, Brief{}, nil
	}
	t.keys = append(t.keys, op.Key)
	if err := t.client.checkSameSlot(t.keys...); err != nil {
		return zero, op.fail(0, err)
	}
	p := Pending[T]{op: op}
	watch := t.conn.B().Watch().Key(op.Key).Build()
	results := t.conn.Send(t.ctx, watch, p.command(t.conn.B()))
	if err := results[0].Error(); err != nil {
		p.err = op.fail(1, err)
	} else {
		p.resolve(results[1])
	}
	if err := p.failure(); err != nil {
		if _, again, _ := judge(err, false); again {
			t.failed = err
		}
	}
	return p.Result()
}

// Transact runs fn and then what fn has queued, as MULTI … EXEC on one
// connection. If a watched key was changed meanwhile, nothing is applied and fn
// runs again, up to the client's Attempts with backoff between; then the error
// is an *Error with ErrConflict. So it does while the server cannot be reached, or
// takes no writes for a passing reason. fn must be free of side effects: it may run
// several times. An error of fn ends it, applies nothing and is returned as it is.
// In a cluster all keys must share a slot.
//
// The server checks an operation only when it runs it: if it refuses one then, the
// others are applied, and the error says ErrPartial.
//
// A transaction has a connection for itself; 64 of a client run at a time, and more
// wait for their turn. In a cluster, where a node may not answer, it is 64 of each node.
//
// WATCH also notices that a watched key expired or was evicted
// (https://redis.io/docs/latest/develop/interact/transactions/).
func (c *Client) Transact(ctx context.Context, fn func(*Tx) error) error {
	seen := c.observe(ctx, Call{Op: "transact", Write: true, Size: 1})
	for attempts := 1; ; attempts++ {
		applied, again, err := c.transactOnce(seen.ctx, fn)
		if err == nil && !applied {
			again, err = true,
				&Error{Class: NotApplied, Op: "transact", Server: c.server, Err: ErrConflict,
					Hint: "try again later, or use one script for what is contended"}
		}
		if again && attempts < c.retry.attempts && c.pause(seen.ctx, c.retry.delay(attempts)) {
			continue
		}
		if own, ok := err.(*Error); ok && own.Op == "transact" {
			own.Attempts = attempts
		}
		seen.done(attempts, err)
		return err
	}
}

// transactOnce runs a transaction. It reports whether one that has failed may run
// again: nothing of it was applied, and the reason passes.
func (c *Client) transactOnce(ctx context.Context, fn func(*Tx) error) (applied, again bool, err error) {
	conn, err := c.rooms.TakeConn(ctx, c.raw)
	if err != nil {
		class, again, hint := judge(err, true)
		return false, again, &Error{Class: class, Op: "transact", Server: c.server, Err: err, Hint: hint}
	}
	tx := &Tx{ctx: ctx, client: c, conn: conn}
	ran := false // fn returned: it neither panicked nor ended its goroutine
	defer func() { conn.GiveBack(ctx, len(tx.keys) > 0, ran) }()
	err = fn(tx)
	ran = true
	if err == nil {
		err = tx.refuse()
	}
	if err != nil {
		for _, op := range tx.ops {
			op.abandon(err)
		}
		return false, tx.failed != nil && errors.Is(err, tx.failed), err
	}
	return tx.exec()
}

// refuse returns why nothing of the transaction can be sent.
func (t *Tx) refuse() error {
	if err := errors.Join(check(t.ops), t.checkSameSlot()); err != nil {
		return err
	}
	return owned(t.client, "transact", t.ops)
}

// checkSameSlot checks the slots of all keys of the transaction.
func (t *Tx) checkSameSlot() error {
	keys := t.keys
	for _, op := range t.ops {
		keys = append(keys, op.keys()...)
	}
	err := t.client.checkSameSlot(keys...)
	if e, ok := err.(*Error); ok {
		e.Op = "transact"
	}
	return err
}

func (t *Tx) exec() (applied, again bool, err error) {
	if len(t.ops) == 0 {
		return true, false, nil
	}
	commands := make([]rueidis.Completed, 0, len(t.ops)+2)
	commands = append(commands, t.conn.B().Multi().Build())
	for _, op := range t.ops {
		commands = append(commands, op.command(t.conn.B()))
	}
	commands = append(commands, t.conn.B().Exec().Build())
	results := t.conn.Send(t.ctx, commands...)
	replies, err := results[len(results)-1].ToArray()
	if rueidis.IsRedisNil(err) {
		t.keys = nil // EXEC has freed them
		return false, true, nil
	}
	if err != nil {
		again, err = t.refused(results, err)
		return false, again, err
	}
	t.keys = nil
	if len(replies) != len(t.ops) {
		return false, false,
			&Error{Class: UnknownOutcome, Op: "transact", Server: t.client.server,
				Err: fmt.Errorf("EXEC answered %d of %d commands", len(replies), len(t.ops))}
	}
	return t.resolve(replies)
}

// resolve gives each operation its reply. If some of them were refused, the error says whether others were applied;
// where none was and the reasons pass, the transaction may begin again.
func (t *Tx) resolve(replies []rueidis.RedisMessage) (applied, again bool, _ error) {
	var errs []error
	written, passing := 0, 0
	for i, op := range t.ops {
		op.resolve(rueidis.NewResult(replies[i], nil))
		if err := op.failure(); err != nil {
			errs = append(errs, err)
		}
		if op.writes() && replies[i].Error() == nil {
			written++
		}
		if refusals[refusal(replies[i].Error())].again {
			passing++
		}
	}
	err := errors.Join(errs...)
	if err == nil || written == 0 {
		again = err != nil && passing == len(errs)
		return !again, again, err
	}
	return true, false, t.partly(written, err)
}

// partly returns the error of a transaction of which not all was applied.
func (t *Tx) partly(written int, err error) error {
	return &Error{Class: Partial, Op: "transact", Server: t.client.server, Attempts: 1,
		Hint: "the results of the operations say which",
		Err:  fmt.Errorf("%w: %d writes of %d operations: %w", ErrPartial, written, len(t.ops), err)}
}

// refused returns the error of an EXEC that was refused or whose reply was lost, and
// whether it may be sent again: a refused command before it says why.
func (t *Tx) refused(results []rueidis.RedisResult, err error) (again bool, _ error) {
	_, again, _ = judge(err, true)
	for _, r := range results[:len(results)-1] {
		if cause := r.Error(); refusal(cause) != "" {
			again = refusal(err) != "" && refusals[refusal(cause)].again
			err = fmt.Errorf("%w: %w", err, cause)
			break
		}
	}
	out := &Error{Op: "transact", Server: t.client.server, Err: err}
	out.Class, _, out.Hint = judge(err, true)
	for _, op := range t.ops {
		op.abandon(out)
	}
	return again, out
}
