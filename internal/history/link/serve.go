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

// Limits of what one client may ask for.
const (
	patience = 30 * time.Second // of one request; a turn may be waited for longer
	atOnce   = 300              // requests
)

// Opener opens the store that a client names.
type Opener func(ctx context.Context, store string) (history.Store, error)

// server answers one client.
type server struct {
	conn  io.ReadWriter
	open  Opener
	store history.Store

	writing sync.Mutex

	mu      sync.Mutex
	running map[uint64]context.CancelFunc
}

// Serve answers the requests of a client until it closes the connection, and closes the store that it has opened.
func Serve(ctx context.Context, conn io.ReadWriter, open Opener) (err error) {
	ctx, stop := context.WithCancel(ctx)
	s := &server{conn: conn, open: open, running: map[uint64]context.CancelFunc{}}
	var work sync.WaitGroup
	defer func() {
		stop()
		work.Wait()
		if s.store != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	for {
		var q request
		if err := readMessage(conn, &q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch {
		case q.Do == "cancel":
			s.end(q.ID)
		case q.Do == "open":
			if err := s.opened(ctx, &q); err != nil {
				return err
			}
		case s.store == nil:
			return errors.New("nothing is open")
		default:
			each, ok := s.begin(ctx, q.ID)
			if !ok {
				return fmt.Errorf("more than %d requests at once", atOnce)
			}
			work.Go(func() {
				defer s.end(q.ID)
				s.answer(each, &q)
			})
		}
	}
}

// begin notes a request that is answered now.
func (s *server) begin(ctx context.Context, id uint64) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) >= atOnce {
		return nil, false
	}
	ctx, s.running[id] = context.WithCancel(ctx)
	return ctx, true
}

// end ends a request: it is answered, or the client waits no longer.
func (s *server) end(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.running[id]; stop != nil {
		stop()
		delete(s.running, id)
	}
}

func (s *server) send(r *reply) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return write(s.conn, r)
}

// opened opens the store.
func (s *server) opened(ctx context.Context, q *request) error {
	var err error
	switch {
	case s.store != nil:
		err = errors.New("a store is open already")
	case q.Form != Form:
		err = fmt.Errorf("keywright speaks form %d and keywrightd form %d: install both of the same version", q.Form, Form)
	default:
		s.store, err = s.open(ctx, q.Store)
	}
	return s.send(failed(q.ID, err))
}

// failed returns the reply that something has failed, or has not.
func failed(id uint64, err error) *reply {
	if err == nil {
		return &reply{ID: id}
	}
	r := &reply{ID: id, Code: "failed", Error: err.Error()}
	for code, is := range codes {
		if errors.Is(err, is) {
			r.Code = code
		}
	}
	return r
}

// answer does what is asked for and replies.
func (s *server) answer(ctx context.Context, q *request) {
	bound, done := context.WithTimeout(ctx, patience)
	defer done()
	r := &reply{ID: q.ID}
	do := answers[q.Do]
	if do == nil {
		_ = s.send(failed(q.ID, fmt.Errorf("it is not known how to %q", q.Do)))
		return
	}
	if q.Do == "turn" {
		bound = ctx
	}
	if err := do(bound, s, q, r); err != nil {
		r = failed(q.ID, err)
	}
	if err := s.send(r); errors.Is(err, history.ErrTooMany) {
		_ = s.send(failed(q.ID, err))
	}
	if q.Do == "turn" && r.Code == "" {
		<-ctx.Done() // the client has it until it says that it ends
	}
}

// answers say what a client may ask for.
var answers = map[string]func(ctx context.Context, s *server, q *request, r *reply) error{
	"append": func(ctx context.Context, s *server, q *request, _ *reply) error {
		points, err := pointsOf(q.Rows)
		if err != nil {
			return err
		}
		return s.store.Append(ctx, string(q.Target), time.Unix(q.From, 0), points)
	},
	"range": func(ctx context.Context, s *server, q *request, r *reply) error {
		points, err := s.store.Range(ctx,
			history.Query{Target: string(q.Target), Entry: string(q.Entry), Step: history.Step(q.Step),
				From: time.Unix(q.From, 0), To: time.Unix(q.To, 0)})
		if err == nil && len(points) > 0 {
			r.Rows = []row{{Points: chunk.Encode(points)}}
		}
		return err
	},
	"at": func(ctx context.Context, s *server, q *request, r *reply) error {
		points, err := s.store.At(ctx, string(q.Target), history.Step(q.Step), time.Unix(q.From, 0))
		r.Rows = rowsOf(points)
		return err
	},
	"first": func(ctx context.Context, s *server, q *request, r *reply) error {
		first, err := s.store.First(ctx, string(q.Target))
		if err == nil && !first.IsZero() {
			at := first.Unix()
			r.At = &at
		}
		return err
	},
	"prune": func(ctx context.Context, s *server, q *request, _ *reply) error {
		return s.store.Prune(ctx, time.Unix(q.From, 0))
	},
	"turn": func(ctx context.Context, s *server, q *request, _ *reply) error {
		turns, ok := s.store.(history.Turns)
		if !ok {
			return nil
		}
		end, err := turns.Turn(ctx, string(q.Target))
		if err == nil {
			context.AfterFunc(ctx, end)
		}
		return err
	},
}
