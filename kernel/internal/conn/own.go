package conn

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// DedicatedConn represents a connection that one transaction has for itself. There are mostOwn of
// them at a time; the next caller waits for its turn.
type DedicatedConn struct {
	rueidis.DedicatedClient
	rooms  *CallLimiter
	room   chan struct{} // nil: none is taken yet. In a cluster the first command says of which node
	back   func()        // into the pool
	turn   chan struct{} // one call at a time
	broken bool          // a call has failed or was left: none knows what it has done
}

// TakeConn takes a connection. rueidis waits for one, and makes one, without a context:
// it does so on a goroutine that the caller can leave, and that gives back what it
// gets then.
func (r *CallLimiter) TakeConn(ctx context.Context, raw rueidis.Client) (*DedicatedConn, error) {
	if err := r.checkOpen(ctx); err != nil {
		return nil, err
	}
	var room chan struct{}
	if r.Nodes == nil {
		room = r.conns
		if err := r.take(ctx, room); err != nil {
			return nil, err
		}
	}
	taken := make(chan *DedicatedConn)
	go func() {
		conn, back := raw.Dedicate()
		o := &DedicatedConn{DedicatedClient: conn, rooms: r, room: room, back: back, turn: make(chan struct{}, 1)}
		select {
		case taken <- o:
		case <-ctx.Done():
			o.end(false)
		case <-r.life.Done():
			o.end(false)
		}
	}()
	select {
	case o := <-taken:
		return o, nil
	case <-ctx.Done():
		return nil, &Unsent{ctx.Err()}
	case <-r.life.Done():
		return nil, &Unsent{ErrClosed}
	}
}

// Send sends commands, and waits for the replies no longer than ctx lives.
func (o *DedicatedConn) Send(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	results, err := o.sent(ctx, commands)
	if err != nil {
		results = make([]rueidis.RedisResult, len(commands))
		for i := range results {
			results[i] = rueidis.NewErrorResult(err)
		}
	}
	o.broken = o.broken || results[len(results)-1].NonRedisError() != nil
	return results
}

// sent takes a place, if there is none yet, and sends.
func (o *DedicatedConn) sent(ctx context.Context, commands []rueidis.Completed) ([]rueidis.RedisResult, error) {
	if o.room == nil {
		room := o.rooms.room(ctx, commands)
		if err := o.rooms.take(ctx, room); err != nil {
			return nil, err
		}
		o.room = room
	}
	return RunDetached(ctx, o.rooms, o.turn,
		func(ctx context.Context) []rueidis.RedisResult { return o.DoMulti(ctx, commands...) })
}

// GiveBack gives the connection back, or closes it, and waits for that while ctx
// lives: the next transaction then finds it in the pool.
func (o *DedicatedConn) GiveBack(ctx context.Context, watching, keep bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		keep := keep && !o.broken
		if keep && watching {
			keep = o.unwatch()
		}
		o.end(keep)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-o.rooms.life.Done():
	}
}

// unwatch frees the connection of its watches, which would let the transaction of
// another caller fail.
func (o *DedicatedConn) unwatch() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return o.Do(ctx, o.B().Unwatch().Build()).Error() == nil
}

func (o *DedicatedConn) end(keep bool) {
	if keep {
		o.back()
	} else {
		o.Close()
	}
	if o.room != nil {
		<-o.room
	}
}
