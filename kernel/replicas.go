package kernel

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// DoAndWait runs an operation and then waits until so many replicas have confirmed
// its connection's writes, at most for timeout; confirmed is how many have. Both
// go on one connection: WAIT on another one answers for that one's writes, which
// are none, and so with all replicas
// (https://redis.io/docs/latest/commands/wait/). One round trip on a connection
// of its own, of which a client has as many as for transactions.
func (o Op[T]) DoAndWait(ctx context.Context, replicas int, timeout time.Duration) (value T, confirmed int, err error) {
	o.ready()
	send := func(ctx context.Context) rueidis.RedisResult {
		conn, err := o.Client.rooms.own(ctx, o.Client.raw)
		if err != nil {
			return rueidis.NewErrorResult(err)
		}
		ran := false
		defer func() { conn.giveBack(ctx, false, ran) }()
		wait := func() rueidis.Completed {
			return conn.B().Wait().Numreplicas(int64(replicas)).Timeout(max(timeout.Milliseconds(), 1)).Build()
		}
		results := conn.do(ctx, o.command(conn.B()), wait())
		if reply, ok := rueidis.IsRedisErr(results[0].Error()); ok && reply.IsNoScript() {
			results = conn.do(ctx, o.script.byText(conn.B(), o.keys, o.args), wait())
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
