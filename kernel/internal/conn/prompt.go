// Package conn makes connections that follow contexts: a call ends with its context or with the client, says of itself
// whether anything was sent, and waits for no server that is down. The client library looks at no context while a
// connection is made or its ring of commands is full.
//
// It knows commands as bytes of others: no operations, no retries, no constructs. Package kernel is built on it.
package conn

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/keywright/keywright/internal/coalesce"
	"github.com/redis/rueidis"
)

// Client represents a rueidis client whose calls end with their context, and with the
// client. rueidis itself looks at no context while a connection is made, its own or
// that of another caller, and while the ring of commands that await their reply is
// full. Where that may happen, a call runs on a goroutine of its own, which its
// caller can leave; else it costs nothing more.
type Client struct {
	rueidis.Client
	*CallLimiter
}

// CallLimiter bounds what is under way.
type CallLimiter struct {
	Gate     *DialGate // nil: another one makes the connections
	life     context.Context
	Indirect chan struct{} // room for calls on goroutines of their own
	conns    chan struct{} // room for connections of one transaction each
	Blocks   chan struct{} // room for commands that block, each with a connection of its own
	Nodes    *nodeMap      // nil: it is no cluster

	direct [stripes]Stripe // calls on the goroutines of their callers
}

// Stripe counts some of the calls. Every call writes one: one counter for all would be taken from processor to
// processor with each call, which costs as much as a fifth of a read that is answered in this process.
type Stripe struct {
	_ [64]byte // the line of the processor's cache that it is in has nothing else
	n atomic.Int32
	_ [60]byte
}

const (
	// MostDirect is half of what fits into the ring of one connection.
	MostDirect   = 512
	stripes      = 16
	mostIndirect = 256
	MostOwn      = 64
)

// MostBlocking says how many commands block at a time.
var MostBlocking = 1024

// DedicatedConnections returns how many connections for one caller each the pool of rueidis
// holds: all that this package takes, and one per slot for subscriptions. No caller
// waits there: the pool does not say that nothing was sent, and a long transaction
// must not keep subscriptions waiting.
func DedicatedConnections() int { return MostBlocking + MostOwn + 1<<14 }

// NewCallLimiter returns the bounds of the calls of one client.
func NewCallLimiter(gate *DialGate, life context.Context) *CallLimiter {
	return &CallLimiter{Gate: gate, life: life, Indirect: make(chan struct{}, mostIndirect),
		conns: make(chan struct{}, MostOwn), Blocks: make(chan struct{}, MostBlocking)}
}

// ErrClosed is what a call fails with whose client was closed.
var ErrClosed = errors.New("the client is closed")

// Unsent represents the error of a call of which nothing was sent.
type Unsent struct{ Err error }

// Error implements error.
func (u *Unsent) Error() string { return u.Err.Error() }

// Unwrap gives why nothing was sent.
func (u *Unsent) Unwrap() error { return u.Err }

// checkOpen returns an error if a call need not begin.
func (r *CallLimiter) checkOpen(ctx context.Context) error {
	if r.life.Err() != nil {
		return &Unsent{ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return &Unsent{err}
	}
	return nil
}

// Enter takes a place for a call on the goroutine of its caller, if that can do no
// harm; nil: it cannot be had. The caller gives it back with leave.
func (r *CallLimiter) Enter(ctx context.Context) *Stripe {
	if !r.Gate.Calm() {
		return nil
	}
	s := r.stripe()
	if s == nil {
		return nil
	}
	if f := coalesce.FlightOf(ctx); f != nil && !f.Go() { // none of its callers is left
		s.Leave()
		return nil
	}
	return s
}

// stripe takes a place in one of the stripes: in that of the goroutine, by where its stack is, or in one after it. A
// stripe that is drawn would be that of another processor most of the time.
func (r *CallLimiter) stripe() *Stripe {
	var here byte
	for at, tries := uintptr(unsafe.Pointer(&here))>>11*0x9E3779B1>>16, uintptr(0); tries < stripes; tries++ {
		s := &r.direct[(at+tries)%stripes]
		if s.n.Add(1) <= MostDirect/stripes {
			return s
		}
		s.Leave()
	}
	return nil
}

// Leave gives the place back.
func (s *Stripe) Leave() { s.n.Add(-1) }

// callError returns the error of a call on the goroutine of its caller.
func (r *CallLimiter) callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		r.Gate.Suspect()
	}
	if r.life.Err() != nil && !errors.Is(err, ErrClosed) {
		return errors.Join(ErrClosed, err)
	}
	return err
}

// outcome describes what a call on a goroutine of its own has come to.
type outcome[T any] struct {
	value    T
	panicked any
}

// RunDetached runs a call on a goroutine of its own, and waits for it until ctx or the
// client ends. The room is taken until the call is over.
func RunDetached[T any](ctx context.Context, r *CallLimiter, room chan struct{}, call func(context.Context) T) (value T,
	err error) {
	r.Gate.Forget()
	if err := r.take(ctx, room); err != nil {
		return value, err
	}
	d := &Departure{Context: ctx, gate: r.Gate, flight: coalesce.FlightOf(ctx)}
	return awaited(ctx, r, room, func() T { return call(d) }, d.Leave)
}

// take waits for a place in a room.
func (r *CallLimiter) take(ctx context.Context, room chan struct{}) error {
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &Unsent{ctx.Err()}
	case <-r.life.Done():
		return &Unsent{ErrClosed}
	}
}

// awaited runs a call on a separate goroutine and waits for it until ctx or the client ends; leave then makes the
// error of the caller. The place in the room is freed when the call has ended.
func awaited[T any](ctx context.Context, r *CallLimiter, room chan struct{}, call func() T,
	leave func(error) error) (value T,
	err error) {
	done := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			o.panicked = recover() // what rueidis refuses by a panic is for its caller
			<-room
			done <- o
		}()
		o.value = call()
	}()
	var o outcome[T]
	select {
	case o = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.life.Done():
		err = ErrClosed
	}
	if err != nil {
		select {
		case o = <-done: // both at once: what has come of the call says more
		default:
			return value, leave(err)
		}
	}
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.value, nil
}

// Do implements rueidis.Client.
func (p *Client) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if err := p.checkOpen(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	if cmd.IsBlock() {
		return p.block(ctx, cmd)
	}
	place := p.Enter(ctx)
	if place == nil {
		return p.doApart(ctx, cmd)
	}
	r := p.Client.Do(ctx, cmd)
	place.Leave()
	if err := r.NonRedisError(); err != nil {
		return rueidis.NewErrorResult(p.callError(ctx, err))
	}
	return r
}

// doApart is Do on a goroutine of its own. It is no part of Do, where its closure
// would cost an allocation; so are its likes.
func (p *Client) doApart(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return p.result(RunDetached(ctx, p.CallLimiter, p.Indirect,
		func(ctx context.Context) rueidis.RedisResult { return p.Client.Do(ctx, cmd) }))
}

func (p *Client) doCacheApart(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	return p.result(RunDetached(ctx, p.CallLimiter, p.Indirect,
		func(ctx context.Context) rueidis.RedisResult { return p.Client.DoCache(ctx, cmd, ttl) }))
}

func (p *Client) doMultiApart(ctx context.Context, multi []rueidis.Completed) []rueidis.RedisResult {
	slots := make([]uint16, len(multi))
	for i := range multi {
		slots[i] = multi[i].Slot()
	}
	return p.perNode(ctx, slots, func(ctx context.Context, places []int) []rueidis.RedisResult {
		return p.Client.DoMulti(ctx, chosen(multi, places)...)
	})
}

func (p *Client) doMultiCacheApart(ctx context.Context, multi []rueidis.CacheableTTL) []rueidis.RedisResult {
	slots := make([]uint16, len(multi))
	for i := range multi {
		slots[i] = multi[i].Cmd.Slot()
	}
	return p.perNode(ctx, slots, func(ctx context.Context, places []int) []rueidis.RedisResult {
		return p.Client.DoMultiCache(ctx, chosen(multi, places)...)
	})
}

// block sends a command that blocks: it has a connection of its own meanwhile, and
// ends with the client. Its caller does not wait for the end of that connection: rueidis
// holds the lock of the pool while it closes others, which takes up to a second each
// if the server is silent.
func (p *Client) block(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if err := p.take(ctx, p.Blocks); err != nil {
		return rueidis.NewErrorResult(err)
	}
	bounded, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.life, func() { end(ErrClosed) })
	a := &aside{Context: bounded}
	r, err := awaited(ctx, p.CallLimiter, p.Blocks, func() rueidis.RedisResult {
		defer end(nil)
		defer stop()
		return p.Client.Do(a, cmd)
	}, a.Leave)
	if err != nil {
		return rueidis.NewErrorResult(err)
	}
	failed := r.NonRedisError()
	if failed == nil {
		return r
	}
	if p.life.Err() != nil {
		failed = ErrClosed
	}
	return rueidis.NewErrorResult(a.Leave(failed))
}

// result returns that of a call on a goroutine of its own.
func (p *Client) result(r rueidis.RedisResult, err error) rueidis.RedisResult {
	if err != nil {
		return rueidis.NewErrorResult(err)
	}
	if failed := r.NonRedisError(); failed != nil && p.life.Err() != nil {
		return rueidis.NewErrorResult(errors.Join(ErrClosed, failed))
	}
	return r
}

// DoCache implements rueidis.Client.
func (p *Client) DoCache(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	if err := p.checkOpen(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	place := p.Enter(ctx)
	if place == nil {
		return p.doCacheApart(ctx, cmd, ttl)
	}
	r := p.Client.DoCache(ctx, cmd, ttl)
	place.Leave()
	if err := r.NonRedisError(); err != nil {
		return rueidis.NewErrorResult(p.callError(ctx, err))
	}
	return r
}

// DoMulti implements rueidis.Client.
func (p *Client) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if err := p.checkOpen(ctx); err != nil {
		return p.all(len(multi), err)
	}
	place := p.Enter(ctx)
	if place == nil {
		return p.doMultiApart(ctx, multi)
	}
	all := p.Client.DoMulti(ctx, multi...)
	place.Leave()
	return p.results(ctx, len(multi), all, nil)
}

// DoMultiCache implements rueidis.Client.
func (p *Client) DoMultiCache(ctx context.Context, multi ...rueidis.CacheableTTL) []rueidis.RedisResult {
	if err := p.checkOpen(ctx); err != nil {
		return p.all(len(multi), err)
	}
	place := p.Enter(ctx)
	if place == nil {
		return p.doMultiCacheApart(ctx, multi)
	}
	all := p.Client.DoMultiCache(ctx, multi...)
	place.Leave()
	return p.results(ctx, len(multi), all, nil)
}

func (p *Client) all(n int, err error) []rueidis.RedisResult {
	out := make([]rueidis.RedisResult, n)
	for i := range out {
		out[i] = rueidis.NewErrorResult(err)
	}
	return out
}

func (p *Client) results(ctx context.Context, n int, all []rueidis.RedisResult, err error) []rueidis.RedisResult {
	if err != nil {
		return p.all(n, err)
	}
	for i := range all {
		if failed := all[i].NonRedisError(); failed != nil {
			all[i] = rueidis.NewErrorResult(p.callError(ctx, failed))
		}
	}
	return all
}

// Nodes implements rueidis.Client.
func (p *Client) Nodes() map[string]rueidis.Client {
	nodes := p.Client.Nodes()
	for addr, node := range nodes {
		nodes[addr] = &Client{node, p.CallLimiter}
	}
	return nodes
}
