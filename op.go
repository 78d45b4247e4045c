package keywright

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// Entry is what the runtime knows of one declared key. Generated code has one
// per key, as a variable.
type Entry struct {
	Name    string // "product_detail", "tasks.job"
	Pattern string // "cache:product:detail:{productId}"
	Type    string // the Redis type: "string", "hash" …
	TTL     TTL
}

// Effect is what an operation does to its key.
type Effect uint8

// The effects. They decide what may be retried.
const (
	Reads      Effect = iota
	Writes            // sent once, unless the reply proves that it was not applied
	Idempotent        // a write that has the same result when it is applied twice
)

// Op is one operation that has not run yet: Do runs it alone, Queue puts it into
// a Batch or a transaction. It can be run once or several times.
type Op[T any] struct {
	client *Client
	name   string
	entry  *Entry
	effect Effect
	err    error // of building the key or the arguments: nothing is sent
	key    string

	build  func(rueidis.Builder) rueidis.Completed
	script *Script // instead of build
	keys   []string
	args   []string
	cache  func(rueidis.Builder) rueidis.Cacheable // instead of build
	maxAge time.Duration

	decode func(rueidis.RedisResult) (T, error)
}

// Spec are the parts of an Op. It is for typed handles and generated code.
type Spec[T any] struct {
	Client *Client
	Name   string
	Entry  *Entry
	Effect Effect
	Err    error  // makes the operation fail without sending anything
	Key    string // watched in a transaction, and named in errors of decoding

	Build  func(rueidis.Builder) rueidis.Completed // one command, or
	Script *Script                                 // a script with
	Keys   []string
	Args   []string

	Cache  func(rueidis.Builder) rueidis.Cacheable // or a read through client-side caching
	MaxAge time.Duration

	Decode func(rueidis.RedisResult) (T, error)
}

// NewOp makes an operation.
func NewOp[T any](s Spec[T]) Op[T] {
	return Op[T]{client: s.Client, name: s.Name, entry: s.Entry, effect: s.Effect, err: s.Err, key: s.Key, build: s.Build, script: s.Script, keys: s.Keys, args: s.Args, cache: s.Cache, maxAge: s.MaxAge, decode: s.Decode}
}

func (o *Op[T]) call() Call {
	call := Call{Op: o.name, Write: o.effect != Reads, Size: 1}
	if o.entry != nil {
		call.Entry = o.entry.Name
	}
	return call
}

// Do runs the operation: one round trip. The error is ErrNotFound, an *Error or
// a *DecodeError.
func (o Op[T]) Do(ctx context.Context) (T, error) {
	var zero T
	if o.err != nil {
		return zero, o.fail(1, o.err)
	}
	seen := o.client.observe(ctx, o.call())
	attempts := 0
	for {
		attempts++
		result := o.send(seen.ctx)
		value, err := o.decode(result)
		if err == nil || err == ErrNotFound {
			seen.done(attempts, err)
			return value, err
		}
		if again := o.again(seen.ctx, err, attempts); !again {
			err = o.fail(attempts, err)
			seen.done(attempts, err)
			return zero, err
		}
	}
}

func (o *Op[T]) send(ctx context.Context) rueidis.RedisResult {
	if o.script != nil {
		return o.script.run(ctx, o.client.raw, o.keys, o.args)
	}
	if o.cache != nil {
		return o.client.raw.DoCache(ctx, o.cache(o.client.raw.B()), o.maxAge)
	}
	return o.client.raw.Do(ctx, o.build(o.client.raw.B()))
}

// again waits before the next attempt, if there is to be one.
func (o *Op[T]) again(ctx context.Context, err error, attempts int) bool {
	if _, ours := err.(*DecodeError); ours || attempts >= o.client.retry.attempts {
		return false
	}
	_, again, _ := judge(err, o.effect == Writes)
	return again && sleep(ctx, o.client.retry.delay(attempts)) == nil
}

// fail is err as callers see it.
func (o *Op[T]) fail(attempts int, err error) error {
	switch e := err.(type) {
	case *DecodeError:
		if o.entry != nil {
			e.Entry = o.entry.Name
		}
		e.Key = o.key
		return e
	case *Error: // of this operation alone: it may be run several times
		own := *e
		own.Op = o.name
		if o.entry != nil {
			own.Entry = o.entry.Name
		}
		return &own
	}
	out := &Error{Op: o.name, Attempts: attempts, Err: err}
	if o.entry != nil {
		out.Entry = o.entry.Name
	}
	if err == o.err {
		return out // Invalid
	}
	out.Server = o.client.server
	out.Class, _, out.Hint = judge(err, o.effect != Reads)
	return out
}

// Failing is the operation failing with err before anything is sent, unless err
// is nil or it fails already.
func (o Op[T]) Failing(err error) Op[T] {
	if o.err == nil {
		o.err = err
	}
	return o
}

// Map is an operation with another result.
func Map[T, U any](o Op[T], f func(T) (U, error)) Op[U] {
	decode := o.decode
	return Op[U]{client: o.client, name: o.name, entry: o.entry, effect: o.effect, err: o.err, key: o.key, build: o.build, script: o.script, keys: o.keys, args: o.args, cache: o.cache, maxAge: o.maxAge,
		decode: func(r rueidis.RedisResult) (U, error) {
			v, err := decode(r)
			if err != nil {
				var zero U
				return zero, err
			}
			return f(v)
		}}
}

// retryPolicy bounds how often and how fast is tried again.
type retryPolicy struct {
	attempts int
	backoff  time.Duration
}

// delay is the wait behind attempt n: doubling, at most a second, half at
// random. Eight attempts span about two seconds, sixteen a failover.
func (r retryPolicy) delay(n int) time.Duration {
	d := r.backoff << min(n-1, 16)
	if d <= 0 || d > time.Second {
		d = time.Second
	}
	return jitter(d)
}
