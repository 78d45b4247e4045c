package githubbroker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/lock"
)

// Handler returns what agents and people ask a broker. It has no login: let it listen where only
// they are.
func (b *Broker) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, fn func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			ctx, stop := context.WithTimeout(r.Context(), b.o.Wait)
			defer stop()
			out, err := fn(r.WithContext(ctx))
			reply(w, out, err)
		})
	}
	answer("POST /agents/{agent}/task", func(r *http.Request) (any, error) {
		return noneIsNil(b.RequestTask(r.Context(), r.PathValue("agent")))
	})
	answer("GET /agents/{agent}/task", func(r *http.Request) (any, error) {
		n, err := b.CurrentTask(r.Context(), r.PathValue("agent"))
		return map[string]int64{"number": n}, err
	})
	answer("POST /agents/{agent}/keep", withAgent(func(ctx context.Context, agent string, s show) (any, error) {
		left, err := b.Keep(ctx, agent, s.Ticket)
		return map[string]float64{"seconds": left.Seconds()}, err
	}))
	answer("POST /agents/{agent}/done", withAgent(func(ctx context.Context, agent string, s show) (any, error) {
		return nil, b.Done(ctx, agent, s.Ticket)
	}))
	answer("POST /agents/{agent}/giveback", withAgent(func(ctx context.Context, agent string, s show) (any, error) {
		return nil, b.GiveBack(ctx, agent, s.Ticket, s.Reason)
	}))
	answer("GET /issues/{number}", func(r *http.Request) (any, error) {
		n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
		if err != nil {
			return nil, errAsked
		}
		return b.Issue(r.Context(), n)
	})
	answer("GET /status", func(r *http.Request) (any, error) { return b.Status(r.Context()) })
	return mux
}

// show describes what an agent sends with its ticket.
type show struct {
	Ticket string `json:"ticket"`
	Reason string `json:"reason,omitempty"` // of a failure
}

// errAsked is what cannot be read of a request.
var errAsked = errors.New("the request cannot be read")

func withAgent(fn func(ctx context.Context, agent string, s show) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var s show
		in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 16<<10))
		in.DisallowUnknownFields()
		if err := in.Decode(&s); err != nil {
			return nil, errAsked
		}
		return fn(r.Context(), r.PathValue("agent"), s)
	}
}

// noneIsNil keeps a nil of a type from becoming something.
func noneIsNil(t *Task, err error) (any, error) {
	if t == nil {
		return nil, err
	}
	return t, err
}

// reply answers: 200, 204 for nothing, 400, 404, 409 for work that the agent has no more, or
// 503 while Redis cannot be asked.
func reply(w http.ResponseWriter, out any, err error) {
	var failed *keywright.Error
	code := http.StatusOK
	switch {
	case errors.Is(err, errAsked), errors.Is(err, ErrTicket), errors.As(err, &failed) && failed.Class == keywright.Invalid:
		code = http.StatusBadRequest
	case errors.Is(err, lock.ErrLost):
		code = http.StatusConflict
	case errors.Is(err, keywright.ErrNotFound):
		code = http.StatusNotFound
	case err != nil:
		code = http.StatusServiceUnavailable
	case out == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err != nil {
		out = map[string]string{"error": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(out); err != nil {
		slog.Debug("http", "error", err)
	}
}

// State describes what the broker knows of an issue or a pull request.
type State struct {
	Number  int64           `json:"number"`
	Kind    Kind            `json:"kind,omitempty"` // of what there is to do, "" if nothing is
	Worker  string          `json:"worker,omitempty"`
	Seconds float64         `json:"seconds,omitempty"` // that the worker has it still
	Since   *time.Time      `json:"needs_review_since,omitempty"`
	Done    *Mark           `json:"done,omitempty"`
	Issue   json.RawMessage `json:"issue,omitempty"` // as GitHub sent it
	Fix     *Fix            `json:"fix,omitempty"`
}

// Mark describes what was done last.
type Mark struct {
	Kind Kind      `json:"kind"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// Issue gives the state of an issue, or of a pull request that has a fix task;
// keywright.ErrNotFound of what is not open.
func (b *Broker) Issue(ctx context.Context, number int64) (s State, err error) {
	s.Number = number
	done, there, err := maybe(b.keys.TaskDone(number).Get().Do(ctx))
	if err != nil {
		return s, err
	}
	if there {
		s.Done = &Mark{done.Kind, done.By, done.At}
	}
	worker, left, err := b.Worker(ctx, number)
	if err != nil {
		return s, err
	}
	s.Worker, s.Seconds = worker, left.Seconds()
	raw, isIssue, err1 := maybe(b.keys.Issue(number).Get().Do(ctx))
	fix, isFix, err2 := maybe(b.keys.FixTask(number).Get().Do(ctx))
	since, waits, err3 := maybe(b.keys.ReviewDetected(number).Get().Do(ctx))
	if err := errors.Join(err1, err2, err3); err != nil {
		return s, err
	}
	switch {
	case isIssue:
		issue, err := parseIssue(raw)
		if s.Issue = raw; err == nil && !doneWith(done, issue) {
			s.Kind = issue.Kind()
		}
		if waits {
			s.Since = &since
		}
		return s, err
	case isFix:
		if s.Fix, err = unseen(fix, done.Comment); s.Fix != nil {
			s.Kind = FixTask
		}
		return s, err
	}
	return s, keywright.ErrNotFound
}

// Status describes what goes on.
type Status struct {
	Issues  int64      `json:"issues"`  // open ones
	Reviews int64      `json:"reviews"` // that have the label
	Fixes   int64      `json:"fixes"`   // pull requests with comments to see to
	Synced  *time.Time `json:"synced"`  // when GitHub was read last; null: never
}

// Status gives a picture; its parts are of moments of their own.
func (b *Broker) Status(ctx context.Context) (s Status, err error) {
	var err1, err2, err3 error
	s.Issues, err1 = b.keys.OpenIssues().Len().Do(ctx)
	s.Reviews, err2 = b.keys.ReviewIssues().Len().Do(ctx)
	s.Fixes, err3 = b.keys.OpenFixes().Len().Do(ctx)
	at, there, err4 := maybe(b.keys.Synced().Get().Do(ctx))
	if there {
		s.Synced = &at
	}
	return s, errors.Join(err1, err2, err3, err4)
}

// maybe returns what is read, if it is there.
func maybe[T any](v T, err error) (T, bool, error) {
	if errors.Is(err, keywright.ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}
