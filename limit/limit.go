// Package limit is rate limits that many processes share: one key per limit, one
// script per question, the server's clock, and the TTL written in the same step,
// so that an idle limit leaves nothing on the server.
//
// Three rules: GCRA (even flow with a burst), Sliding (never more than the limit
// in any window) and Fixed (a quota; twice the limit can pass at its edge). All
// keep a Redis string.
//
// A call whose reply is lost is an *Error of class UnknownOutcome: it may have
// been counted. Whether a caller lets work through then is the caller's choice;
// this package does not hide it. A limit is as durable as the server: a failover
// may forget what the replica had not got yet, and then lets that many more
// through.
//
// It is not a semaphore (what has passed is not given back), and it does not
// wait: RetryAfter says how long the caller should.
//
// API: may change until 1.0.
package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// Limits holds the limits of one entry: one rule, one limiter per key.
type Limits struct {
	bound keywright.Binding
	rule  Rule
	args  []string
	one   []string // the arguments of the commonest call
	err   error
}

// New makes the limits of an entry. A rule that cannot be kept within the
// entry's declared TTL is what every operation then says (class Invalid).
func New(b keywright.Binding, r Rule) *Limits {
	e := b.Entry
	l := &Limits{bound: b, rule: r, args: r.args[:len(r.args):len(r.args)]}
	if a := r.algorithm; a != nil && a.bounded {
		l.args = append(l.args, strconv.FormatInt(bound(e), 10))
	}
	l.one = append([]string{"1"}, l.args...)
	if err := r.fits(e); err != nil {
		l.err = &keywright.Error{Class: keywright.Invalid, Entry: e.Name, Err: err,
			Hint: "change the rule, or the entry's ttl"}
	}
	return l
}

// Of returns the limiter of one key. An err of building the key is what its
// operations give: limits.Of(keys.LoginKey(user)).
func (l *Limits) Of(key string, err error) Limiter {
	if l.err != nil {
		err = l.err
	}
	b := l.bound.To(key, err)
	return Limiter{l, key, b.Invalid("")}
}

// Limiter represents the limit of one key. It is a small value and keeps nothing.
type Limiter struct {
	limits *Limits
	key    string
	err    error
}

// Result represents the answer of a limit.
type Result struct {
	Allowed    bool
	Remaining  int64         // how many would pass now
	RetryAfter time.Duration // until what was asked for would pass; 0 if it did
	ResetAfter time.Duration // until the limit is as if never used
}

// Allow asks for one. One round trip.
func (l Limiter) Allow(ctx context.Context) (Result, error) { return l.LaterAllow(1).Do(ctx) }

// AllowN asks for n, all or none. More than can ever pass at once is an error of
// class Invalid. One round trip.
func (l Limiter) AllowN(ctx context.Context, n int64) (Result, error) {
	return l.LaterAllow(n).Do(ctx)
}

// LaterAllow queues AllowN in a Batch or a transaction.
func (l Limiter) LaterAllow(n int64) keywright.Op[Result] {
	err := l.err
	if err == nil && (n < 1 || n > l.limits.rule.limit) {
		err = &keywright.Error{Class: keywright.Invalid,
			Err: fmt.Errorf("%d at once were asked for, and 1 to %d can pass", n, l.limits.rule.limit)}
		if n > 0 {
			err.(*keywright.Error).Hint = "divide the work, or raise the limit"
		}
	}
	args := l.limits.one
	if n != 1 {
		args = append([]string{strconv.FormatInt(n, 10)}, l.limits.args...)
	}
	return l.op("allow", keywright.Writes, l.limits.rule.algorithm.allow, args, err)
}

// Peek says whether one would pass, and counts nothing: it only reads, on the
// server too (EVALSHA_RO), and is tried again like any read. One round trip.
func (l Limiter) Peek(ctx context.Context) (Result, error) {
	return l.op("peek", keywright.Reads, l.limits.rule.algorithm.peek, append([]string{"0"}, l.limits.args...),
		l.err).Do(ctx)
}

// Reset forgets what has passed. One round trip.
func (l Limiter) Reset(ctx context.Context) error {
	key := l.key
	_, err := kernel.NewOp(kernel.Spec[int64]{
		Action: l.action("reset", keywright.Idempotent, l.err),
		Build:  func(b kernel.Builder) kernel.Command { return b.Unlink().Key(key).Build() },
		Decode: kernel.Reply.AsInt64,
	}).Do(ctx)
	return err
}

func (l Limiter) op(name string, effect keywright.Effect, s *keywright.Script, args []string,
	err error) keywright.Op[Result] {
	return kernel.NewOp(kernel.Spec[Result]{Action: l.action(name, effect, err), Script: s, Keys: []string{l.key},
		Args: args, Decode: decode})
}

func (l Limiter) action(name string, effect keywright.Effect, err error) kernel.Action {
	b := &l.limits.bound
	return kernel.Action{Client: b.Client, Name: name, Entry: b.Entry, Effect: effect, Err: err, Key: l.key}
}

// ErrForm is in the *keywright.DecodeError of a key that holds what another rule
// keeps there, or a newer version of this program. The key stays as it is, and
// nothing passes. Reset forgets what is there.
var ErrForm = errors.New("the key holds what another rule or a newer program has written")

// decode reads what the scripts return: numbers, as text where they may be large.
func decode(r kernel.Reply) (out Result, err error) {
	values, err := r.ToArray()
	if reply, ok := kernel.IsServerError(err); ok && strings.HasPrefix(reply.Error(), "FORM ") {
		return out, &keywright.DecodeError{Err: ErrForm}
	}
	if err != nil {
		return out, err
	}
	if len(values) != 4 {
		return out, &keywright.DecodeError{Err: fmt.Errorf("the script answers %d numbers, not 4", len(values))}
	}
	var ns [4]int64
	for i, v := range values {
		if ns[i], err = v.AsInt64(); err != nil {
			return out, err
		}
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	return Result{ns[0] == 1, ns[1], us(ns[2]), us(ns[3])}, nil
}
