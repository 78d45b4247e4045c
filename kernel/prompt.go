package kernel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/keywright/keywright/internal/gather"
	"github.com/redis/rueidis"
)

// prompt represents a rueidis client whose calls end with their context, and with the
// client. rueidis itself looks at no context while a connection is made, its own or
// that of another caller, and while the ring of commands that await their reply is
// full. Where that may happen, a call runs on a goroutine of its own, which its
// caller can leave; else it costs nothing more.
type prompt struct {
	rueidis.Client
	*rooms
}

// rooms bounds what is under way.
type rooms struct {
	gate     *dialGate // nil: another one makes the connections
	life     context.Context
	indirect chan struct{} // room for calls on goroutines of their own
	conns    chan struct{} // room for connections of one transaction each
	blocks   chan struct{} // room for commands that block, each with a connection of its own
	nodes    *nodeMap      // nil: it is no cluster

	direct [stripes]stripe // calls on the goroutines of their callers
}

// stripe counts some of the calls. Every call writes one: one counter for all would be taken from processor to
// processor with each call, which costs as much as a fifth of a read that is answered in this process.
type stripe struct {
	_ [64]byte // the line of the processor's cache that it is in has nothing else
	n atomic.Int32
	_ [60]byte
}

const (
	// mostDirect is half of what fits into the ring of one connection.
	mostDirect   = 512
	stripes      = 16
	mostIndirect = 256
	mostOwn      = 64
)

// mostBlocking says how many commands block at a time.
var mostBlocking = 1024

// ownConnections returns how many connections for one caller each the pool of rueidis
// holds: all that this package takes, and one per slot for subscriptions. No caller
// waits there: the pool does not say that nothing was sent, and a long transaction
// must not keep subscriptions waiting.
func ownConnections() int { return mostBlocking + mostOwn + 1<<14 }

func newRooms(gate *dialGate, life context.Context) *rooms {
	return &rooms{gate: gate, life: life, indirect: make(chan struct{}, mostIndirect),
		conns: make(chan struct{}, mostOwn), blocks: make(chan struct{}, mostBlocking)}
}

// unsent represents the error of a call of which nothing was sent.
type unsent struct{ err error }

func (u *unsent) Error() string { return u.err.Error() }
func (u *unsent) Unwrap() error { return u.err }

// gone returns an error if a call need not begin.
func (r *rooms) gone(ctx context.Context) error {
	if r.life.Err() != nil {
		return &unsent{ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return &unsent{err}
	}
	return nil
}

// enter takes a place for a call on the goroutine of its caller, if that can do no
// harm; nil: it cannot be had. The caller gives it back with leave.
func (r *rooms) enter(ctx context.Context) *stripe {
	if !r.gate.calm() {
		return nil
	}
	s := r.stripe()
	if s == nil {
		return nil
	}
	if f := gather.FlightOf(ctx); f != nil && !f.Go() { // none of its callers is left
		s.leave()
		return nil
	}
	return s
}

// stripe takes a place in one of the stripes: in that of the goroutine, by where its stack is, or in one after it. A
// stripe that is drawn would be that of another processor most of the time.
func (r *rooms) stripe() *stripe {
	var here byte
	for at, tries := uintptr(unsafe.Pointer(&here))>>11*0x9E3779B1>>16, uintptr(0); tries < stripes; tries++ {
		s := &r.direct[(at+tries)%stripes]
		if s.n.Add(1) <= mostDirect/stripes {
			return s
		}
		s.leave()
	}
	return nil
}

func (s *stripe) leave() { s.n.Add(-1) }

// told returns the error of a call on the goroutine of its caller.
func (r *rooms) told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		r.gate.suspect()
	}
	if r.life.Err() != nil && !errors.Is(err, ErrClosed) {
		return errors.Join(ErrClosed, err)
	}
	return err
}

// departure represents the context of a call whose caller may leave: a connection that is
// being made goes on to be made, but a command is sent only while its caller is
// there. rueidis asks for Err before it sends.
type departure struct {
	context.Context                // the caller's
	gate            *dialGate      // of its connections
	flight          *gather.Flight // of several callers; nil: it is of one
	state           atomic.Int32
}

type (
	departureKey struct{} // for the value: this is a departure
	asideKey     struct{} // for the value: this is the context of a command that blocks
)

// The states of a departure.
const (
	waiting int32 = iota
	mayBeSent
	left
)

// Deadline implements context.Context.
func (*departure) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (*departure) Done() <-chan struct{} { return nil }

// Err implements context.Context. Without a connection nothing will be sent after
// it: the call is about to fail, and its caller may leave before that.
func (d *departure) Err() error {
	if d.gate.unconnected() && d.state.Load() != left {
		return nil
	}
	if !d.state.CompareAndSwap(waiting, mayBeSent) && d.state.Load() != mayBeSent || d.flight != nil && !d.flight.Go() {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (d *departure) Value(key any) any {
	if key == (departureKey{}) {
		return d
	}
	return d.Context.Value(key)
}

// leave returns the error of a caller that leaves.
func (d *departure) leave(err error) error {
	if d.state.CompareAndSwap(waiting, left) {
		return &unsent{err}
	}
	return err
}

// outcome describes what a call on a goroutine of its own has come to.
type outcome[T any] struct {
	value    T
	panicked any
}

// apart runs a call on a goroutine of its own, and waits for it until ctx or the
// client ends. The room is taken until the call is over.
func apart[T any](ctx context.Context, r *rooms, room chan struct{}, call func(context.Context) T) (value T,
	err error) {
	r.gate.look()
	if err := r.take(ctx, room); err != nil {
		return value, err
	}
	d := &departure{Context: ctx, gate: r.gate, flight: gather.FlightOf(ctx)}
	return awaited(ctx, r, room, func() T { return call(d) }, d.leave)
}

// take waits for a place in a room.
func (r *rooms) take(ctx context.Context, room chan struct{}) error {
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &unsent{ctx.Err()}
	case <-r.life.Done():
		return &unsent{ErrClosed}
	}
}

// awaited runs a call on a separate goroutine and waits for it until ctx or the client ends; leave then makes the
// error of the caller. The place in the room is freed when the call has ended.
func awaited[T any](ctx context.Context, r *rooms, room chan struct{}, call func() T, leave func(error) error) (value T,
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
func (p *prompt) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if err := p.gone(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	if cmd.IsBlock() {
		return p.block(ctx, cmd)
	}
	place := p.enter(ctx)
	if place == nil {
		return p.doApart(ctx, cmd)
	}
	r := p.Client.Do(ctx, cmd)
	place.leave()
	if err := r.NonRedisError(); err != nil {
		return rueidis.NewErrorResult(p.told(ctx, err))
	}
	return r
}

// doApart is Do on a goroutine of its own. It is no part of Do, where its closure
// would cost an allocation; so are its likes.
func (p *prompt) doApart(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return p.result(apart(ctx, p.rooms, p.indirect,
		func(ctx context.Context) rueidis.RedisResult { return p.Client.Do(ctx, cmd) }))
}

func (p *prompt) doCacheApart(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	return p.result(apart(ctx, p.rooms, p.indirect,
		func(ctx context.Context) rueidis.RedisResult { return p.Client.DoCache(ctx, cmd, ttl) }))
}

func (p *prompt) doMultiApart(ctx context.Context, multi []rueidis.Completed) []rueidis.RedisResult {
	slots := make([]uint16, len(multi))
	for i := range multi {
		slots[i] = multi[i].Slot()
	}
	return p.perNode(ctx, slots, func(ctx context.Context, places []int) []rueidis.RedisResult {
		return p.Client.DoMulti(ctx, chosen(multi, places)...)
	})
}

func (p *prompt) doMultiCacheApart(ctx context.Context, multi []rueidis.CacheableTTL) []rueidis.RedisResult {
	slots := make([]uint16, len(multi))
	for i := range multi {
		slots[i] = multi[i].Cmd.Slot()
	}
	return p.perNode(ctx, slots, func(ctx context.Context, places []int) []rueidis.RedisResult {
		return p.Client.DoMultiCache(ctx, chosen(multi, places)...)
	})
}

// aside represents the context of a command that blocks. It notes whether rueidis, which asks
// for Err before it sends, may have sent it: a dial comes before that.
type aside struct {
	context.Context
	state atomic.Int32
}

// Deadline implements context.Context. rueidis then makes a context of its own for
// the login, and does not ask this one.
func (*aside) Deadline() (time.Time, bool) { return time.Time{}, false }

// Err implements context.Context.
func (a *aside) Err() error {
	if err := a.Context.Err(); err != nil {
		return err
	}
	if !a.state.CompareAndSwap(waiting, mayBeSent) && a.state.Load() == left {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (a *aside) Value(key any) any {
	if key == (asideKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// dials notes that a connection is made: what was sent before that was refused.
func (a *aside) dials() { a.state.CompareAndSwap(mayBeSent, waiting) }

// leave returns the error of a caller that leaves, or whose call has failed.
func (a *aside) leave(err error) error {
	if a.state.Swap(left) != mayBeSent {
		return &unsent{err}
	}
	return err
}

// block sends a command that blocks: it has a connection of its own meanwhile, and
// ends with the client. Its caller does not wait for the end of that connection: rueidis
// holds the lock of the pool while it closes others, which takes up to a second each
// if the server is silent.
func (p *prompt) block(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if err := p.take(ctx, p.blocks); err != nil {
		return rueidis.NewErrorResult(err)
	}
	bounded, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.life, func() { end(ErrClosed) })
	a := &aside{Context: bounded}
	r, err := awaited(ctx, p.rooms, p.blocks, func() rueidis.RedisResult {
		defer end(nil)
		defer stop()
		return p.Client.Do(a, cmd)
	}, a.leave)
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
	return rueidis.NewErrorResult(a.leave(failed))
}

// result returns that of a call on a goroutine of its own.
func (p *prompt) result(r rueidis.RedisResult, err error) rueidis.RedisResult {
	if err != nil {
		return rueidis.NewErrorResult(err)
	}
	if failed := r.NonRedisError(); failed != nil && p.life.Err() != nil {
		return rueidis.NewErrorResult(errors.Join(ErrClosed, failed))
	}
	return r
}

// DoCache implements rueidis.Client.
func (p *prompt) DoCache(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	if err := p.gone(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	place := p.enter(ctx)
	if place == nil {
		return p.doCacheApart(ctx, cmd, ttl)
	}
	r := p.Client.DoCache(ctx, cmd, ttl)
	place.leave()
	if err := r.NonRedisError(); err != nil {
		return rueidis.NewErrorResult(p.told(ctx, err))
	}
	return r
}

// DoMulti implements rueidis.Client.
func (p *prompt) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if err := p.gone(ctx); err != nil {
		return p.all(len(multi), err)
	}
	place := p.enter(ctx)
	if place == nil {
		return p.doMultiApart(ctx, multi)
	}
	all := p.Client.DoMulti(ctx, multi...)
	place.leave()
	return p.results(ctx, len(multi), all, nil)
}

// DoMultiCache implements rueidis.Client.
func (p *prompt) DoMultiCache(ctx context.Context, multi ...rueidis.CacheableTTL) []rueidis.RedisResult {
	if err := p.gone(ctx); err != nil {
		return p.all(len(multi), err)
	}
	place := p.enter(ctx)
	if place == nil {
		return p.doMultiCacheApart(ctx, multi)
	}
	all := p.Client.DoMultiCache(ctx, multi...)
	place.leave()
	return p.results(ctx, len(multi), all, nil)
}

func (p *prompt) all(n int, err error) []rueidis.RedisResult {
	out := make([]rueidis.RedisResult, n)
	for i := range out {
		out[i] = rueidis.NewErrorResult(err)
	}
	return out
}

func (p *prompt) results(ctx context.Context, n int, all []rueidis.RedisResult, err error) []rueidis.RedisResult {
	if err != nil {
		return p.all(n, err)
	}
	for i := range all {
		if failed := all[i].NonRedisError(); failed != nil {
			all[i] = rueidis.NewErrorResult(p.told(ctx, failed))
		}
	}
	return all
}

// Nodes implements rueidis.Client.
func (p *prompt) Nodes() map[string]rueidis.Client {
	nodes := p.Client.Nodes()
	for addr, node := range nodes {
		nodes[addr] = &prompt{node, p.rooms}
	}
	return nodes
}
