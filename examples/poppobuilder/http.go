package poppobuilder

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// Handler returns what people and other programs ask a daemon: tasks in, state out. It
// has no login of its own; let it listen where only they are.
func (d *Daemon) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, fn func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { d.answer(w, r, fn) })
	}
	answer("POST /tasks", func(r *http.Request) (any, error) {
		var t Task
		if err := readRequest(r, &t); err != nil {
			return nil, err
		}
		id, err := d.Submit(r.Context(), t)
		return map[string]string{"id": id}, err
	})
	answer("GET /tasks/{id}", func(r *http.Request) (any, error) { return d.Task(r.Context(), r.PathValue("id")) })
	answer("GET /issues/{number}", func(r *http.Request) (any, error) {
		n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
		if err != nil {
			return nil, errAsked
		}
		return d.Issue(r.Context(), n)
	})
	answer("GET /status", func(r *http.Request) (any, error) { return d.Status(r.Context()) })
	answer("GET /settings", func(*http.Request) (any, error) { return d.Settings(), nil })
	answer("PUT /settings", func(r *http.Request) (any, error) {
		var p Patch
		if err := readRequest(r, &p); err != nil {
			return nil, err
		}
		err := d.Set(r.Context(), p)
		return d.Settings(), err
	})
	answer("DELETE /settings/{name}", func(r *http.Request) (any, error) {
		err := d.Unset(r.Context(), r.PathValue("name"))
		return d.Settings(), err
	})
	answer("POST /sessions", func(r *http.Request) (any, error) {
		var s struct{ User string }
		if err := readRequest(r, &s); err != nil {
			return nil, err
		}
		id := rand.Text()
		return map[string]string{"id": id},
			d.keys.Session(id).Set(poppokeys.SessionValue{User: s.User, Started: time.Now()}).Do(r.Context())
	})
	answer("GET /sessions/{id}", func(r *http.Request) (any,
		error) {
		return d.keys.Session(r.PathValue("id")).Get().Do(r.Context())
	})
	answer("DELETE /sessions/{id}", func(r *http.Request) (any,
		error) {
		return d.keys.Session(r.PathValue("id")).Delete().Do(r.Context())
	})
	return mux
}

// errAsked is what cannot be read of a request.
var errAsked = errors.New("the request cannot be read")

func readRequest(r *http.Request, into any) error {
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 64<<10))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return errAsked
	}
	return nil
}

func (d *Daemon) answer(w http.ResponseWriter, r *http.Request, fn func(*http.Request) (any, error)) {
	out, err := fn(r)
	var failed *keywright.Error
	code := http.StatusOK
	switch {
	case errors.Is(err, errAsked), errors.As(err, &failed) && failed.Class == keywright.Invalid:
		code = http.StatusBadRequest
	case errors.Is(err, keywright.ErrNotFound):
		code = http.StatusNotFound
	case err != nil:
		code = http.StatusServiceUnavailable
	}
	if err != nil {
		out = map[string]string{"error": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(out); err != nil {
		d.log.Debug("http", "error", err)
	}
}

// Issue represents the status of an issue.
type Issue struct {
	Status   string            `json:"status"`
	Metadata map[string]string `json:"metadata"`
}

// Issue gives the state of one; keywright.ErrNotFound if there was never a task.
func (d *Daemon) Issue(ctx context.Context, number int64) (Issue, error) {
	status, err := d.keys.IssueStatus(number).Get().Do(ctx)
	if err != nil {
		return Issue{}, err
	}
	metadata, err := d.keys.IssueMetadata(number).All().Do(ctx)
	return Issue{status, metadata}, err
}

// Status describes what goes on in the namespace. Lists have at most a hundred members.
type Status struct {
	Waiting    map[string]int64 `json:"waiting"` // tasks by lane
	Running    int64            `json:"running"`
	Dead       int64            `json:"dead"`
	Paused     bool             `json:"paused"`
	Processing []int64          `json:"processing"` // issues
	Completed  int64            `json:"completed_today"`
	Active     []string         `json:"active"` // processes
	Today      map[string]int64 `json:"today"`
	CPU        float64          `json:"cpu_percent"`
}

// Status gives a picture of the namespace; its parts are of moments of their own.
func (d *Daemon) Status(ctx context.Context) (s Status, err error) {
	stats, err := d.keys.Tasks().Stats(ctx)
	if err != nil {
		return s, err
	}
	s.Waiting, s.Running, s.Dead, s.Paused = map[string]int64{}, stats.Leased, stats.Dead, stats.Paused
	for _, lane := range stats.Lanes {
		s.Waiting[lane.Name] = lane.Length
	}
	var err1, err2, err3, err4, err5 error
	s.Processing, err1 = d.keys.IssuesProcessing().Random(100).Do(ctx)
	s.Completed, err2 = d.keys.IssuesCompletedToday().Len().Do(ctx)
	s.Active, err3 = d.keys.ProcessesActive().Random(100).Do(ctx)
	s.Today, err4 = d.keys.StatsIssuesDaily(time.Now().UTC()).All().Do(ctx)
	s.CPU, err5 = or(d.keys.MetricsCPUCurrent().Get().Do(ctx))(0)
	return s, errors.Join(err1, err2, err3, err4, err5)
}
