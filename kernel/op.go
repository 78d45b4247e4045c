package kernel

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/keywright/keywright/kernel/internal/conn"
	"github.com/redis/rueidis"
)

// Entry describes what the runtime knows of one declared key. Generated code has one
// per key, as a variable.
type Entry struct {
	Name    string // "product_detail", "tasks.job"
	Pattern string // "cache:product:detail:{productId}"
	Type    string // the Redis type: "string", "hash" …
	TTL     TTL
	Schema  string // the package of the declaration: what is sealed is bound to it
}

// Effect describes what an operation does to its key.
type Effect uint8

// The effects. They decide what may be retried.
const (
	Reads      Effect = iota
	Writes            // sent once, unless the reply proves that it was not applied
	Idempotent        // a write that has the same result when it is applied twice
)

// Action describes what an operation is about: enough to run it, to retry it and to say
// what failed.
type Action struct {
	Client *Client
	Name   string // "get", "set" …
	Entry  *Entry
	Effect Effect
	Err    error  // makes the operation fail without sending anything
	Key    string // watched in a transaction, and named in errors of decoding

	several bool // keys, so that an error need not be about Key
}

// Op represents one operation that has not run yet: Do runs it alone, Queue puts it into
// a Batch or a transaction. It can be run once or several times.
type Op[T any] struct {
	Action
	build  func(rueidis.Builder) rueidis.Completed
	brief  Brief                                   // instead of build
	peek   func(rueidis.Builder) rueidis.Completed // the same without a renewal of the TTL, for Watch; nil: build
	script *Script                                 // instead of build
	keys   []string
	args   []string
	cache  func(rueidis.Builder) rueidis.Cacheable // instead of build
	maxAge time.Duration

	decode Decode[T]
	reader Reader[T] // instead of decode
}

// Decode reads the reply of an operation.
type Decode[T any] func(rueidis.RedisResult) (T, error)

// Brief describes a command as values: an Op that has one costs no allocation, as one with
// a function does that knows them.
type Brief struct {
	Build func(rueidis.Builder, Brief) rueidis.Completed // nil: there is none
	Key   string
	Text  string
	MS    int64
}

// Reader reads a reply. An Op that has one costs no allocation, where it is a pointer.
type Reader[T any] interface {
	Reply(rueidis.RedisResult) (T, error)
}

// Spec holds the parts of an Op. It is for typed handles and generated code.
type Spec[T any] struct {
	Action

	Build  func(rueidis.Builder) rueidis.Completed // one command, or
	Brief  Brief                                   // the same as values, or
	Peek   func(rueidis.Builder) rueidis.Completed // of a read that renews a TTL: the same without
	Script *Script                                 // a script with
	Keys   []string
	Args   []string

	Cache  func(rueidis.Builder) rueidis.Cacheable // or a read through client-side caching
	MaxAge time.Duration

	Decode Decode[T] // or
	Reader Reader[T]
}

// NewOp makes an operation.
func NewOp[T any](s Spec[T]) Op[T] {
	s.several = len(s.Keys) > 1
	if s.Script != nil && s.Err == nil {
		s.Err = s.Script.refuse(s.Keys, s.Args)
	}
	return Op[T]{Action: s.Action, build: s.Build, brief: s.Brief, peek: s.Peek, script: s.Script, keys: s.Keys,
		args: s.Args, cache: s.Cache, maxAge: s.MaxAge, decode: s.Decode, reader: s.Reader}
}

// single returns an operation that is one command.
func (o *Op[T]) single(b rueidis.Builder) rueidis.Completed {
	switch {
	case o.cache != nil:
		return rueidis.Completed(o.cache(b))
	case o.brief.Build != nil:
		return o.brief.Build(b, o.brief)
	}
	return o.build(b)
}

// read reads the reply.
func (o *Op[T]) read(r rueidis.RedisResult) (T, error) {
	if o.reader != nil {
		return o.reader.Reply(r)
	}
	return o.decode(r)
}

func (a *Action) call() Call {
	call := Call{Op: a.Name, Write: a.Effect != Reads, Size: 1}
	if a.Entry != nil {
		call.Entry = a.Entry.Name
	}
	return call
}

// Do runs the operation: one round trip. The error is ErrNotFound, an *Error or
// a *DecodeError.
func (o Op[T]) Do(ctx context.Context) (T, error) {
	o.ready()
	value, err := Run(ctx, &o.Action, o.send, o.read)
	if err != nil {
		err = o.named(err)
	}
	return value, err
}

// Run sends until there is an answer or no reason to go on. It is for typed
// handles; neither function is kept, so that the hot ones cost no allocation.
func Run[T any](ctx context.Context, a *Action, send func(context.Context) rueidis.RedisResult,
	decode func(rueidis.RedisResult) (T, error)) (T, error) {
	var zero T
	if a.Err != nil {
		return zero, a.fail(1, a.Err)
	}
	if !a.Client.Observed() {
		value, _, err := try(ctx, a, send, decode)
		return value, err
	}
	seen := a.Client.observe(ctx, a.call())
	value, attempts, err := try(seen.ctx, a, send, decode)
	seen.done(attempts, err)
	return value, err
}

func try[T any](ctx context.Context, a *Action, send func(context.Context) rueidis.RedisResult,
	decode func(rueidis.RedisResult) (T, error)) (value T, attempts int, err error) {
	if ended := ctx.Err(); ended != nil { // below, it would wait for a connection that another one makes
		return value, 0, a.fail(0, &conn.Unsent{Err: ended})
	}
	doubt := false // whether an attempt may have been applied
	for attempts = 1; ; attempts++ {
		value, err = decode(send(ctx))
		if err == nil || err == ErrNotFound {
			return value, attempts, err
		}
		if again := a.again(ctx, err, attempts); !again {
			if part, ok := err.(*DecodeError); !ok || !part.Partial {
				var zero T
				value = zero
			}
			return value, attempts, a.doubted(doubt, a.fail(attempts, err))
		}
		class, _, _ := judge(err, a.Effect != Reads)
		doubt = doubt || class == UnknownOutcome
	}
}

var errUnmade = errors.New("it has no client: handles are made by a Keyspace or a constructor")

// ready finds what would fail for certain: nothing is sent then.
func (o *Op[T]) ready() {
	switch {
	case o.Err != nil:
	case o.Client == nil:
		o.Err = errUnmade
	case len(o.keys) > 1:
		o.Err = o.Client.checkSameSlot(o.keys...)
	}
}

func (o *Op[T]) send(ctx context.Context) rueidis.RedisResult {
	raw := o.Client.raw
	switch {
	case o.script != nil:
		return o.script.run(ctx, raw, o.keys, o.args)
	case o.cache != nil:
		return DoCache(ctx, raw, o.cache, o.maxAge)
	}
	return raw.Do(ctx, o.single(raw.B()))
}

// DoCache sends a read through client-side caching. The client library puts such a read into a transaction, and Redis
// 7.0 refuses every command of one while its memory is full: then the read is sent once more alone, and is not cached.
// It is for constructs.
func DoCache(ctx context.Context, c Raw, build func(Builder) Cacheable, maxAge time.Duration) Reply {
	reply := c.DoCache(ctx, build(c.B()), maxAge)
	if refusal(reply.Error()) == "OOM" {
		return c.Do(ctx, Command(build(c.B())))
	}
	return reply
}

// again waits before the next attempt, if there is to be one.
func (a *Action) again(ctx context.Context, err error, attempts int) bool {
	return a.passing(ctx, err, attempts) && a.Client.pause(ctx, a.Client.retry.delay(attempts))
}

// passing reports whether an operation that has failed may be sent again.
func (a *Action) passing(ctx context.Context, err error, attempts int) bool {
	if _, ours := err.(*DecodeError); ours || attempts >= a.Client.retry.attempts {
		return false
	}
	_, again, _ := judge(err, a.Effect == Writes)
	// Several callers wait for one connection to be made, and it is made with the
	// deadline of the first: what has ended may be another one's.
	ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	return again || ended && attempts == 1 && a.Effect != Writes && ctx.Err() == nil
}

// pause waits between two attempts; false if ctx or the client ends meanwhile.
func (c *Client) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return c.life.Err() == nil
	case <-ctx.Done():
	case <-c.life.Done():
	}
	return false
}

// fail returns err as callers see it.
func (a *Action) fail(attempts int, err error) error {
	name := ""
	if a.Entry != nil {
		name = a.Entry.Name
	}
	switch e := err.(type) {
	case *DecodeError:
		e.Entry, e.Key = name, a.Key
		return e
	case *Error: // of this operation alone: it may be run several times
		own := *e
		own.Op, own.Entry = a.Name, name
		return &own
	}
	out := &Error{Op: a.Name, Entry: name, Attempts: attempts, Err: err}
	if err == a.Err {
		return out // Invalid
	}
	out.Server = a.Client.server
	out.Class, _, out.Hint = judge(err, a.Effect != Reads)
	if lasting(err) {
		a.blame(out)
	}
	return out
}

// blame says of a refusal that lasts which command and which key it is about. A script of several keys says itself
// which
// has the wrong type.
func (a *Action) blame(e *Error) {
	reply, _ := errors.AsType[*rueidis.RedisError](e.Err)
	if found := refusedCommand.FindStringSubmatch(reply.Error()); found != nil {
		e.Command = strings.ToLower(found[1])
	}
	wrong := refusal(e.Err) == "WRONGTYPE"
	if !wrong || !a.several && !strings.HasPrefix(reply.Error(), "WRONGTYPE the key ") {
		e.Key = a.Key
	}
}

// named says of an error which command or script was refused for good, where the server has not said it.
func (o *Op[T]) named(err error) error {
	e, ok := err.(*Error)
	if !ok || e.Command != "" || !lasting(e.Err) {
		return err
	}
	if o.script != nil {
		e.Command = "script " + o.script.name
	} else {
		command := o.single(o.Client.raw.B())
		e.Command = strings.ToLower(command.Commands()[0])
	}
	return e
}

// doubted returns the error of the last attempt where an earlier one may have been
// applied: that this one was not says nothing then.
func (a *Action) doubted(doubt bool, err error) error {
	if own, ok := err.(*Error); ok && doubt && (own.Class == NotApplied || own.Class == Refused) {
		own.Class, own.Hint = UnknownOutcome, "an earlier attempt may have been applied: read before you write again"
	}
	return err
}

// Failing returns the operation failing with err before anything is sent, unless err
// is nil or it fails already.
func (o Op[T]) Failing(err error) Op[T] {
	if o.Err == nil {
		o.Err = err
	}
	return o
}

// retryPolicy bounds how often and how fast is tried again.
type retryPolicy struct {
	attempts int
	backoff  time.Duration
}

// delay returns the wait after attempt n: doubling, at most a second, half at
// random. Eight attempts span about a second, sixteen about seven.
func (r retryPolicy) delay(n int) time.Duration {
	d := r.backoff << min(n-1, 16)
	if d <= 0 || d > time.Second {
		d = time.Second
	}
	return conn.Jitter(d)
}

// Act represents an operation that gives nothing but an error, as a write of a value. It
// is used as an Op is.
type Act struct{ Op[struct{}] }

// NewAct makes one.
func NewAct(s Spec[struct{}]) Act { return Act{NewOp(s)} }

// Do runs the operation: one round trip. The error is ErrNotFound, an *Error or
// a *DecodeError.
func (a Act) Do(ctx context.Context) error {
	_, err := a.Op.Do(ctx)
	return err
}

// DoAndWait runs the operation and waits for replicas; see Op.DoAndWait.
func (a Act) DoAndWait(ctx context.Context, replicas int, timeout time.Duration) (confirmed int, err error) {
	_, confirmed, err = a.Op.DoAndWait(ctx, replicas, timeout)
	return confirmed, err
}

// Failing works as that of Op does.
func (a Act) Failing(err error) Act { return Act{a.Op.Failing(err)} }

// Operation is what can be queued: an Op or an Act.
type Operation[T any] interface{ operation() Op[T] }

func (o Op[T]) operation() Op[T] { return o }

// DoAndWait runs an operation and then waits until so many replicas have confirmed
// its connection's writes, at most for timeout; confirmed is how many have. Both
// go on one connection: WAIT on another one answers for that one's writes, which
// are none, and so with all replicas
// (https://redis.io/docs/latest/commands/wait/). One round trip on a connection
// of its own, of which a client has as many as for transactions.
func (o Op[T]) DoAndWait(ctx context.Context, replicas int, timeout time.Duration) (value T, confirmed int, err error) {
	o.ready()
	send := func(ctx context.Context) rueidis.RedisResult {
		conn, err := o.Client.rooms.TakeConn(ctx, o.Client.raw)
		if err != nil {
			return rueidis.NewErrorResult(err)
		}
		ran := false
		defer func() { conn.GiveBack(ctx, false, ran) }()
		wait := func() rueidis.Completed {
			return conn.B().Wait().Numreplicas(int64(replicas)).Timeout(max(timeout.Milliseconds(), 1)).Build()
		}
		results := conn.Send(ctx, o.command(conn.B()), wait())
		if reply, ok := rueidis.IsRedisErr(results[0].Error()); ok && reply.IsNoScript() {
			results = conn.Send(ctx, o.script.byText(conn.B(), o.keys, o.args), wait())
		}
		ran = true
		n, err := results[1].AsInt64()
		if err != nil {
			n = 0
		}
		confirmed = int(n)
		return results[0]
	}
	value, err = Run(ctx, &o.Action, send, o.read)
	return value, confirmed, err
}

// command returns the operation as one command; a script by its name.
func (o *Op[T]) command(b rueidis.Builder) rueidis.Completed {
	if o.script != nil {
		return o.script.bySHA(b, o.keys, o.args)
	}
	return o.single(b)
}
