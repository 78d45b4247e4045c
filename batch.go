package keywright

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
)

// Queuer takes operations to run later: a *Batch or a *Tx.
type Queuer interface {
	enqueue(q queued)
}

// queued is an operation in a batch, without its result type.
type queued interface {
	keys() []string
	check() error
	command(b rueidis.Builder) rueidis.Completed
	settle(r rueidis.RedisResult)
	abandon(err error)
	writes() bool
}

// Pending is the result of a queued operation. It is valid once the batch or
// transaction has run.
type Pending[T any] struct {
	op    Op[T]
	value T
	err   error
}

// ErrNotRun is a result that was asked for before its batch or transaction ran.
var ErrNotRun = errors.New("the batch or transaction has not run")

// Result is what the operation gave.
func (p *Pending[T]) Result() (T, error) { return p.value, p.err }

// Queue adds an operation to a batch or a transaction.
func Queue[T any](q Queuer, op Op[T]) *Pending[T] {
	p := &Pending[T]{op: op, err: ErrNotRun}
	q.enqueue(p)
	return p
}

func (p *Pending[T]) check() error {
	if p.op.ready(); p.op.Err == nil {
		return nil
	}
	return p.op.fail(0, p.op.Err)
}

func (p *Pending[T]) keys() []string {
	if p.op.Key == "" {
		return p.op.keys
	}
	return append([]string{p.op.Key}, p.op.keys...)
}

func (p *Pending[T]) command(b rueidis.Builder) rueidis.Completed {
	if p.op.script != nil {
		return p.op.script.byText(b, p.op.keys, p.op.args)
	}
	return p.op.build(b)
}

func (p *Pending[T]) settle(r rueidis.RedisResult) {
	value, err := p.op.decode(r)
	if err != nil && err != ErrNotFound {
		err = p.op.fail(1, err)
	}
	p.value, p.err = value, err
}

func (p *Pending[T]) writes() bool { return p.op.Effect != Reads }

func (p *Pending[T]) abandon(err error) { p.err = err }

// Batch groups operations into one pipeline: one round trip per server, in the
// order they were queued for each key. It is not a transaction: each operation
// succeeds or fails alone, and nothing in it is retried. The zero value is ready.
type Batch struct {
	ops []queued
}

func (b *Batch) enqueue(q queued) { b.ops = append(b.ops, q) }

// Len is how many operations are queued.
func (b *Batch) Len() int { return len(b.ops) }

// Run sends what is queued and empties the batch. If an operation is invalid
// nothing is sent. Otherwise the error joins those of all operations but
// ErrNotFound, and each Pending has its own.
func (b *Batch) Run(ctx context.Context, c *Client) error {
	ops := b.ops
	b.ops = nil
	if err := check(ops); err != nil || len(ops) == 0 {
		return err
	}
	seen := c.observe(ctx, Call{Op: "batch", Write: true, Size: len(ops)})
	commands := make([]rueidis.Completed, len(ops))
	for i, op := range ops {
		commands[i] = op.command(c.raw.B())
	}
	var errs []error
	for i, r := range c.raw.DoMulti(seen.ctx, commands...) {
		ops[i].settle(r)
		if err := failure(ops[i]); err != nil {
			errs = append(errs, err)
		}
	}
	err := errors.Join(errs...)
	seen.done(1, err)
	return err
}

// check refuses a group in which some operation cannot be sent.
func check(ops []queued) error {
	var errs []error
	for _, op := range ops {
		if err := op.check(); err != nil {
			op.abandon(err)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p *Pending[T]) failure() error {
	if p.err == ErrNotFound {
		return nil
	}
	return p.err
}

func failure(q queued) error { return q.(interface{ failure() error }).failure() }

// DoAll runs idempotent operations in one pipeline. Those that failed for a
// passing reason are run again alone, with the client's retries.
func DoAll[T any](ctx context.Context, c *Client, ops ...Op[T]) error {
	var b Batch
	pending := make([]*Pending[T], len(ops))
	for i, op := range ops {
		pending[i] = Queue(&b, op)
	}
	if b.Run(ctx, c) == nil {
		return nil
	}
	var errs []error
	for i, p := range pending {
		_, err := p.Result()
		if class, ok := ClassOf(err); ok && class != Invalid && class != Refused && ops[i].Effect != Writes {
			_, err = ops[i].Do(ctx)
		}
		if err != nil && err != ErrNotFound {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
