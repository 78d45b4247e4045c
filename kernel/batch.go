package kernel

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"
)

// Queuer takes operations to run later: a *Batch or a *Tx.
type Queuer interface {
	enqueue(q queued)
}

// queued represents an operation in a batch, without its result type.
type queued interface {
	owner() *Client
	keys() []string
	check() error
	command(b rueidis.Builder) rueidis.Completed
	resolve(r rueidis.RedisResult)
	abandon(err error)
	writes() bool
	failure() error
	passing(ctx context.Context) bool
}

// Pending represents the result of a queued operation. It is valid once the batch or
// transaction has run.
type Pending[T any] struct {
	op       Op[T]
	value    T
	err      error
	attempts int
	doubt    bool // whether an attempt may have been applied
}

// ErrNotRun reports a result that was asked for before its batch or transaction ran.
var ErrNotRun = errors.New("the batch or transaction has not run")

// Result returns what the operation gave.
func (p *Pending[T]) Result() (T, error) { return p.value, p.err }

// Queue adds an operation to a batch or a transaction.
func Queue[T any, O Operation[T]](q Queuer, op O) *Pending[T] {
	p := &Pending[T]{op: op.operation(), err: ErrNotRun}
	q.enqueue(p)
	return p
}

func (p *Pending[T]) owner() *Client { return p.op.Client }

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
	return p.op.single(b)
}

func (p *Pending[T]) resolve(r rueidis.RedisResult) {
	p.attempts++
	value, err := p.op.read(r)
	if err != nil && err != ErrNotFound {
		err = p.op.doubted(p.doubt, p.op.fail(p.attempts, err))
		class, ok := ClassOf(err)
		p.doubt = p.doubt || ok && class == UnknownOutcome
	}
	p.value, p.err = value, err
}

// passing reports whether the operation may be sent again, by itself.
func (p *Pending[T]) passing(ctx context.Context) bool {
	return p.failure() != nil && p.op.passing(ctx, p.err, p.attempts)
}

func (p *Pending[T]) writes() bool { return p.op.Effect != Reads }

func (p *Pending[T]) abandon(err error) { p.err = err }

// Batch groups operations into one pipeline: one round trip per server, in the
// order they were queued for each key. It is not a transaction: each operation
// succeeds or fails alone. What may be tried again alone is tried again here, with
// the same pauses, unless a later operation of the same key has had its turn. The
// zero value is ready.
type Batch struct {
	ops []queued
}

func (b *Batch) enqueue(q queued) { b.ops = append(b.ops, q) }

// Len returns how many operations are queued.
func (b *Batch) Len() int { return len(b.ops) }

// Run sends what is queued, by the client that the operations have, and empties the
// batch. If an operation is invalid, or has another client than the others, nothing is
// sent. Otherwise the error joins those of all operations but ErrNotFound, and each
// Pending has its own.
func (b *Batch) Run(ctx context.Context) error {
	ops := b.ops
	b.ops = nil
	if len(ops) == 0 {
		return nil
	}
	c := ops[0].owner()
	if err := check(ops); err != nil {
		return err
	}
	if err := owned(c, "batch", ops); err != nil {
		return err
	}
	seen := c.observe(ctx, Call{Op: "batch", Write: true, Size: len(ops)})
	attempts := 1
	for left := ops; ; attempts++ {
		c.sendAll(seen.ctx, left)
		if left = again(seen.ctx, left); len(left) == 0 || !c.pause(seen.ctx, c.retry.delay(attempts)) {
			break
		}
	}
	var errs []error
	for _, op := range ops {
		if err := op.failure(); err != nil {
			errs = append(errs, err)
		}
	}
	err := errors.Join(errs...)
	seen.done(attempts, err)
	return err
}

// sendAll sends operations in one pipeline, and gives each its reply.
func (c *Client) sendAll(ctx context.Context, ops []queued) {
	commands := make([]rueidis.Completed, len(ops))
	for i, op := range ops {
		commands[i] = op.command(c.raw.B())
	}
	for i, r := range c.raw.DoMulti(ctx, commands...) {
		ops[i].resolve(r)
	}
}

// again returns the operations that are to be sent once more, in their order. One
// that comes before another of the same key is not sent after it.
func again(ctx context.Context, ops []queued) (left []queued) {
	if !slices.ContainsFunc(ops, func(op queued) bool { return op.passing(ctx) }) {
		return nil
	}
	over := map[string]bool{}
	for _, op := range slices.Backward(ops) {
		keys := op.keys()
		if op.passing(ctx) && !slices.ContainsFunc(keys, func(k string) bool { return over[k] }) {
			left = append(left, op)
			continue
		}
		for _, k := range keys {
			over[k] = true
		}
	}
	slices.Reverse(left)
	return left
}

// owned refuses a group in which some operation is of another client than c.
func owned(c *Client, group string, ops []queued) error {
	if !slices.ContainsFunc(ops, func(op queued) bool { return op.owner() != c }) {
		return nil
	}
	err := &Error{Class: Invalid, Op: group, Err: errors.New("its operations are of several clients"),
		Hint: "put the operations of each client into a group of their own"}
	for _, op := range ops {
		op.abandon(err)
	}
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

// DoAll runs idempotent operations in one pipeline. Those that failed for a
// passing reason are sent again, with the client's retries.
func DoAll[T any](ctx context.Context, ops ...Op[T]) error {
	var b Batch
	for _, op := range ops {
		Queue(&b, op)
	}
	return b.Run(ctx)
}
