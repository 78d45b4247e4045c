package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/chunk"
)

// maxWaiting bounds the requests of a client that wait for their replies.
const maxWaiting = 256

// Client represents a store at the other end of a connection.
type Client struct {
	conn io.ReadWriteCloser

	writing sync.Mutex

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan reply // nil: the other end has gone
}

// Open asks the other end to open a store.
func Open(ctx context.Context, conn io.ReadWriteCloser, store string) (*Client, error) {
	c := &Client{conn: conn, waiting: map[uint64]chan reply{}}
	go c.receive()
	_, err := c.ask(ctx, &request{Do: "open", Form: Form, Store: store})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// receive gives replies to those that wait, until the other end has gone.
func (c *Client) receive() {
	for {
		var r reply
		err := readMessage(c.conn, &r)
		c.mu.Lock()
		if err != nil {
			for _, to := range c.waiting {
				close(to)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		to := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if to != nil {
			to <- r
		}
	}
}

// ask sends a request and waits for its reply.
func (c *Client) ask(ctx context.Context, q *request) (reply, error) {
	back := make(chan reply, 1)
	c.mu.Lock()
	c.next++
	q.ID = c.next
	n, gone := len(c.waiting), c.waiting == nil
	if !gone && n < maxWaiting {
		c.waiting[q.ID] = back
	}
	c.mu.Unlock()
	if gone {
		return reply{}, ErrClosed
	}
	if n >= maxWaiting {
		return reply{}, fmt.Errorf("%d questions wait for the history already", n)
	}
	if err := c.send(q); err != nil {
		c.forget(q.ID)
		return reply{}, err
	}
	select {
	case <-ctx.Done():
		c.forget(q.ID)
		_ = c.send(&request{ID: q.ID, Do: "cancel"})
		return reply{}, ctx.Err()
	case r, ok := <-back:
		if !ok {
			return r, ErrClosed
		}
		if r.Code != "" {
			return r, &remoteError{r.Error, codes[r.Code]}
		}
		return r, nil
	}
}

func (c *Client) send(q *request) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := write(c.conn, q); errors.Is(err, history.ErrTooMany) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %v", ErrClosed, err)
	}
	return nil
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Append implements history.Store.
func (c *Client) Append(ctx context.Context, target string, at time.Time, points map[string]history.Point) error {
	if err := history.Check(target, at, points); err != nil {
		return err
	}
	_, err := c.ask(ctx, &request{Do: "append", Target: []byte(target), From: at.Unix(), Rows: rowsOf(points)})
	return err
}

// Range implements history.Store.
func (c *Client) Range(ctx context.Context, q history.Query) ([]history.Point, error) {
	from, to := wholeSeconds(q.From, q.To)
	r, err := c.ask(ctx, &request{Do: "range", Target: []byte(q.Target), Entry: []byte(q.Entry), Step: string(q.Step),
		From: from, To: to})
	if err != nil || len(r.Rows) == 0 {
		return nil, err
	}
	return chunk.Decode(r.Rows[0].Points)
}

// At implements history.Store.
func (c *Client) At(ctx context.Context, target string, step history.Step, at time.Time) (map[string]history.Point,
	error) {
	r, err := c.ask(ctx, &request{Do: "at", Target: []byte(target), Step: string(step), From: at.Unix()})
	if err != nil {
		return nil, err
	}
	return pointsOf(r.Rows)
}

// First implements history.Store.
func (c *Client) First(ctx context.Context, target string) (time.Time, error) {
	r, err := c.ask(ctx, &request{Do: "first", Target: []byte(target)})
	if err != nil || r.At == nil {
		return time.Time{}, err
	}
	return time.Unix(*r.At, 0).UTC(), nil
}

// Prune implements history.Store.
func (c *Client) Prune(ctx context.Context, now time.Time) error {
	_, err := c.ask(ctx, &request{Do: "prune", From: now.Unix()})
	return err
}

// Turn implements history.Turns.
func (c *Client) Turn(ctx context.Context, target string) (end func(), err error) {
	q := &request{Do: "turn", Target: []byte(target)}
	if _, err := c.ask(ctx, q); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { _ = c.send(&request{ID: q.ID, Do: "cancel"}) }), nil
}

// Close lets the other end go.
func (c *Client) Close() error { return c.conn.Close() }
