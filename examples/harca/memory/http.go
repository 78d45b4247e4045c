package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/fallback"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// largest says how many bytes a request may have.
const largest = 1 << 20

// Handler serves the memory over HTTP; README.md has the paths. A request may take
// as long as timeout, but for the events, which end with ctx.
func (m *Memory) Handler(ctx context.Context, timeout time.Duration) http.Handler {
	mux := http.NewServeMux()
	serve := func(pattern string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), timeout)
			defer cancel()
			r.Body = http.MaxBytesReader(w, r.Body, largest)
			status, body, err := h(r.WithContext(ctx))
			if err != nil {
				status, body = statusOf(err), map[string]string{"error": err.Error()}
			}
			answer(w, status, body)
		})
	}
	serve("POST /items", m.postItem)
	serve("POST /items/batch", m.postItems)
	serve("POST /items/read", m.readItems)
	serve("GET /items", m.getItems)
	serve("GET /items/{id}", m.getItem)
	serve("PATCH /items/{id}", m.patchItem)
	serve("DELETE /items/{id}", m.deleteItem)
	serve("POST /contexts", m.postContext)
	serve("GET /contexts", m.getContexts)
	serve("GET /contexts/{id}", m.getContext)
	serve("PATCH /contexts/{id}", m.patchContext)
	serve("DELETE /contexts/{id}", m.deleteContext)
	serve("GET /contexts/{id}/digest", m.getDigest)
	serve("POST /outdate", m.postOutdate)
	serve("PUT /state/{part}", m.putState)
	serve("GET /state/{part}", m.getState)
	serve("GET /health", m.getHealth)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { m.getEvents(ctx, w, r) })
	return mux
}

// handler answers a request; an error decides the status.
type handler func(*http.Request) (status int, body any, err error)

func answer(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// errRequest reports a request that cannot be read.
var errRequest = errors.New("the request")

func statusOf(err error) int {
	class, known := keywright.ClassOf(err)
	switch {
	case errors.Is(err, keywright.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, ErrNoContext):
		return http.StatusUnprocessableEntity
	case errors.Is(err, fallback.ErrConflict), errors.Is(err, entity.ErrExists), errors.Is(err, entity.ErrVersion):
		return http.StatusConflict
	case errors.Is(err, ErrQuery), errors.Is(err, errRequest), errors.Is(err, ErrMost), errors.Is(err, ErrNoChange):
		return http.StatusBadRequest
	case errors.Is(err, ErrLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, fallback.ErrFull), errors.Is(err, fallback.ErrNoCopy),
		class == keywright.NotApplied, class == keywright.Retryable, class == keywright.UnknownOutcome:
		return http.StatusServiceUnavailable
	case known && class == keywright.Invalid:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func readRequest[T any](r *http.Request) (v T, err error) {
	in := json.NewDecoder(r.Body)
	in.DisallowUnknownFields()
	if err = in.Decode(&v); err == nil && !errors.Is(in.Decode(new(json.RawMessage)), io.EOF) {
		err = errors.New("something follows it")
	}
	if err != nil {
		err = fmt.Errorf("%w is not the JSON it should be: %w", errRequest, err)
	}
	return v, err
}

func parseNumber(text, what string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		err = fmt.Errorf("%w: %s is no number", errRequest, what)
	}
	return n, err
}

// version returns that of If-Match, 0 without.
func version(r *http.Request) (int64, error) {
	text := strings.Trim(r.Header.Get("If-Match"), `"`)
	n, err := parseNumber(text, "If-Match")
	if err == nil && text != "" && n < 1 {
		err = fmt.Errorf("%w: If-Match is no version", errRequest)
	}
	return n, err
}

func (m *Memory) postItem(r *http.Request) (int, any, error) {
	i, err := readRequest[Item](r)
	if err != nil {
		return 0, nil, err
	}
	made, err := m.Create(r.Context(), i)
	return accepted(http.StatusCreated, made), made, err
}

// result describes what an answer to a batch says of one item.
type result struct {
	Written
	Item   *Item  `json:"item,omitempty"` // of one that was read
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
}

// batch represents the answer to one: 200, or 207 if some items have failed.
type batch struct {
	Results []result `json:"results"`
	Failed  int      `json:"failed"`
}

func (b *batch) add(r result, err error) {
	if err != nil {
		r.Status, r.Error, r.Item = statusOf(err), err.Error(), nil
		b.Failed++
	}
	b.Results = append(b.Results, r)
}

func (b *batch) status() int {
	if b.Failed > 0 {
		return http.StatusMultiStatus
	}
	return http.StatusOK
}

func (m *Memory) postItems(r *http.Request) (int, any, error) {
	asked, err := readRequest[struct{ Items []Item }](r)
	if err != nil {
		return 0, nil, err
	}
	done, err := m.CreateMany(r.Context(), asked.Items)
	var b batch
	for _, d := range done {
		b.add(result{Written: d.Written, Status: accepted(http.StatusCreated, d.Written)}, d.Err)
	}
	return b.status(), b, err
}

func (m *Memory) readItems(r *http.Request) (int, any, error) {
	asked, err := readRequest[struct{ IDs []string }](r)
	if err != nil {
		return 0, nil, err
	}
	found, err := m.GetMany(r.Context(), asked.IDs)
	var b batch
	for n, f := range found {
		b.add(result{Written: Written{ID: asked.IDs[n], Version: f.Item.Version}, Item: &f.Item, Status: http.StatusOK},
			f.Err)
	}
	return b.status(), b, err
}

// accepted returns 202 for a write that waits for Redis.
func accepted(status int, w Written) int {
	if w.Pending {
		return http.StatusAccepted
	}
	return status
}

func (m *Memory) getItem(r *http.Request) (int, any, error) {
	i, err := m.Get(r.Context(), r.PathValue("id"))
	return http.StatusOK, i, err
}

// patchItem changes an item if it has the version of If-Match; without, whatever
// it has.
func (m *Memory) patchItem(r *http.Request) (int, any, error) {
	c, err1 := readRequest[Change](r)
	version, err2 := version(r)
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, err
	}
	done, err := m.Update(r.Context(), r.PathValue("id"), version, c)
	return accepted(http.StatusOK, done), done, err
}

func (m *Memory) deleteItem(r *http.Request) (int, any, error) {
	done, err := m.Delete(r.Context(), r.PathValue("id"))
	return accepted(http.StatusOK, done), done, err
}

type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

func (m *Memory) getItems(r *http.Request) (int, any, error) {
	v := r.URL.Query()
	priority, err1 := parseNumber(v.Get("priority"), "priority")
	limit, err2 := parseNumber(v.Get("limit"), "limit")
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, err
	}
	q := Query{Type: v.Get("type"), ContextID: v.Get("contextId"), Priority: priority, Limit: int(limit),
		After: v.Get("after")}
	items, next, err := m.List(r.Context(), q)
	return http.StatusOK, page[Item]{items, next}, err
}

func (m *Memory) postContext(r *http.Request) (int, any, error) {
	c, err := readRequest[Context](r)
	if err != nil {
		return 0, nil, err
	}
	made, err := m.CreateContext(r.Context(), c)
	return http.StatusCreated, made, err
}

func (m *Memory) getContext(r *http.Request) (int, any, error) {
	c, err := m.Context(r.Context(), r.PathValue("id"))
	return http.StatusOK, c, err
}

// patchContext changes a context if it has the version of If-Match; without, whatever it
// has.
func (m *Memory) patchContext(r *http.Request) (int, any, error) {
	c, err1 := readRequest[ContextChange](r)
	version, err2 := version(r)
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, err
	}
	done, err := m.UpdateContext(r.Context(), r.PathValue("id"), version, c)
	return http.StatusOK, done, err
}

func (m *Memory) getContexts(r *http.Request) (int, any, error) {
	contexts, next, err := m.Active(r.Context(), r.URL.Query().Get("type"), r.URL.Query().Get("after"))
	return http.StatusOK, page[Context]{contexts, next}, err
}

func (m *Memory) deleteContext(r *http.Request) (int, any, error) {
	there, err := m.DeleteContext(r.Context(), r.PathValue("id"))
	if err == nil && !there {
		err = keywright.ErrNotFound
	}
	return http.StatusNoContent, nil, err
}

func (m *Memory) getDigest(r *http.Request) (int, any, error) {
	d, err := m.Digest(r.Context(), r.PathValue("id"))
	return http.StatusOK, d, err
}

func (m *Memory) postOutdate(r *http.Request) (int, any, error) {
	generation, err := m.Outdate(r.Context())
	return http.StatusOK, map[string]int64{"generation": generation}, err
}

func (m *Memory) putState(r *http.Request) (int, any, error) {
	seconds, err1 := parseNumber(r.URL.Query().Get("ttl"), "ttl")
	state, err2 := readRequest[json.RawMessage](r)
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, m.SetState(r.Context(), r.PathValue("part"), state,
		lasting(seconds))
}

func (m *Memory) getState(r *http.Request) (int, any, error) {
	state, err := m.State(r.Context(), r.PathValue("part"))
	return http.StatusOK, state, err
}

func (m *Memory) getHealth(r *http.Request) (int, any, error) {
	h := m.Health(r.Context())
	if h.Status != "healthy" {
		return http.StatusServiceUnavailable, h, nil
	}
	return http.StatusOK, h, nil
}

// getEvents streams events, as text/event-stream, until the client goes or ctx ends.
func (m *Memory) getEvents(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	events := make(chan Event, 64)
	stop, err := m.Subscribe(r.Context(), func(e Event) {
		select {
		case events <- e:
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	})
	if err != nil {
		answer(w, statusOf(err), map[string]string{"error": err.Error()})
		return
	}
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Time{})
	_ = out.SetReadDeadline(time.Time{}) // the server's own ends a request, too
	_ = out.Flush()
	for {
		select {
		case e := <-events:
			text, _ := json.Marshal(e)
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-ctx.Done():
			return
		}
	}
}
