package keywright

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// DoAndWait runs a script and then waits until so many replicas have confirmed
// its connection's writes, at most for timeout; confirmed is how many have. Both
// go on one connection: WAIT on another one answers for that one's writes, which
// are none, and so with all replicas
// (https://redis.io/docs/latest/commands/wait/). One round trip on a connection
// of its own.
func (o Op[T]) DoAndWait(ctx context.Context, replicas int, timeout time.Duration) (value T, confirmed int, err error) {
	o.ready()
	send := func(ctx context.Context) (first rueidis.RedisResult) {
		_ = o.Client.raw.Dedicated(func(conn rueidis.DedicatedClient) error {
			wait := func() rueidis.Completed {
				return conn.B().Wait().Numreplicas(int64(replicas)).Timeout(timeout.Milliseconds()).Build()
			}
			results := conn.DoMulti(ctx, o.script.bySHA(conn.B(), o.keys, o.args), wait())
			if reply, ok := rueidis.IsRedisErr(results[0].Error()); ok && reply.IsNoScript() {
				results = conn.DoMulti(ctx, o.script.byText(conn.B(), o.keys, o.args), wait())
			}
			n, failed := results[1].AsInt64()
			if failed != nil {
				n = 0
			}
			first, confirmed = results[0], int(n)
			return nil
		})
		return first
	}
	value, err = Run(ctx, &o.Action, send, o.decode)
	return value, confirmed, err
}
