package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// route represents a path of the API: what it is for, and what it answers.
type route struct {
	method, path string
	what         string
	params       []param
	answer       reflect.Type
	takes        reflect.Type // what a POST sends as JSON; nil: nothing
	handle       func(*request) (any, error)
}

// param represents a parameter of a query.
type param struct {
	name, what string
	kind       string // of its schema: string or integer
	needed     bool
}

// The parameters that lists have.
var (
	limitParam  = param{"limit", "how many items at most", "integer", false}
	cursorParam = param{"cursor", "where to go on: next of the answer before", "string", false}
	formatParam = param{"format", "csv: the items as a table", "string", false}
	listParams  = []param{limitParam, cursorParam, formatParam}
)

// request represents a request, and the target that it is about.
type request struct {
	*http.Request
	server *Server
	target *observe.Target
	broken []Broken // the one that it is about, if that cannot be watched: then there is no target
	state  observe.State
	query  url.Values
	auth.Caller
	setCookie *http.Cookie // of the answer
}

// api answers requests of a route.
func (s *Server) api(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, raw *http.Request) {
		q := &request{Request: raw, server: s, Caller: auth.CallerOf(raw)}
		value, err := q.answer(r)
		if q.setCookie != nil {
			http.SetCookie(w, q.setCookie)
		}
		if err == nil && q.query.Get("format") == "csv" {
			reply.WriteCSV(w, q.table(r), value)
			return
		}
		var failed *reply.Failure
		switch {
		case err == nil && r.method == http.MethodGet:
			s.bases.Respond(w, raw, value)
		case err == nil:
			reply.Respond(w, http.StatusOK, value)
		case errors.As(err, &failed):
			reply.Refuse(w, failed)
		default:
			reply.Refuse(w, reply.Fail(http.StatusInternalServerError, "failed", finding.Printable(err.Error()), ""))
		}
	}
}

func (q *request) answer(r route) (any, error) {
	var err error
	if q.query, err = url.ParseQuery(q.URL.RawQuery); err != nil {
		return nil, reply.Fail(http.StatusBadRequest, "bad-query", "the query cannot be read", "")
	}
	for name := range q.query {
		if !slices.ContainsFunc(r.params, func(p param) bool { return p.name == name }) {
			return nil, reply.Fail(http.StatusBadRequest, "no-such-parameter",
				fmt.Sprintf("this path has no parameter %q", finding.Printable(name)), r.names())
		}
	}
	for _, p := range r.params {
		if p.needed && q.query.Get(p.name) == "" {
			return nil, reply.Fail(http.StatusBadRequest, "parameter-missing", "the parameter "+p.name+" is missing",
				r.names())
		}
	}
	if form := q.query.Get("format"); form != "" && form != "csv" {
		return nil, reply.Fail(http.StatusBadRequest, "bad-parameter", "format takes csv; without it the answer is JSON", "")
	}
	if strings.Contains(r.path, "{target}") {
		id := q.PathValue("target")
		if q.target = q.server.find(id); q.target == nil {
			broken, _ := q.server.fleetNow()
			i := slices.IndexFunc(broken, func(b Broken) bool { return b.ID == id })
			if i < 0 {
				return nil, reply.Fail(http.StatusNotFound, "no-such-target", "there is no such target",
					"there are: "+strings.Join(q.server.ids(), ", "))
			}
			if q.broken = broken[i : i+1]; r.path != nowPath {
				return nil, reply.Fail(http.StatusNotFound, "not-watched",
					"the target is not watched: "+finding.Printable(broken[i].Why), "/api/v1/now says what helps")
			}
			return r.handle(q)
		}
		q.target.Look()
		q.state = q.target.State()
	}
	return r.handle(q)
}

// table returns the name of the file that a table comes in.
func (q *request) table(r route) string {
	name := r.path[strings.LastIndexByte(r.path, '/')+1:]
	if id := q.PathValue("target"); id != "" {
		name = id + "-" + name
	}
	return name
}

// names returns the parameters of a route.
func (r route) names() string {
	var names []string
	for _, p := range r.params {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(names, ", ")
}

// Bounds of lists.
const (
	usualLimit = 500
	mostLimit  = 10_000
)

// page cuts a list to what a request asks for.
func page[T any](q *request, all []T) ([]T, reply.Page, error) {
	usual := usualLimit
	if q.query.Get("format") == "csv" {
		usual = mostLimit
	}
	limit, err := q.number("limit", usual, 1, mostLimit)
	if err != nil {
		return nil, reply.Page{}, err
	}
	from, err := q.number("cursor", 0, 0, 1<<40)
	if err != nil {
		return nil, reply.Page{}, err
	}
	p := reply.Page{Total: int64(len(all))}
	all = all[min(from, len(all)):]
	if len(all) > limit {
		all, p.Cut, p.Next = all[:limit], true, strconv.Itoa(from+limit)
	}
	if all == nil {
		all = []T{}
	}
	return all, p, nil
}

// number reads a parameter.
func (q *request) number(name string, otherwise, least, most int) (int, error) {
	text := q.query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, reply.Fail(http.StatusBadRequest, "bad-parameter",
			fmt.Sprintf("%s takes a number from %d to %d", name, least, most), "")
	}
	return n, nil
}

// maxBody bounds what a request may send.
const maxBody = 64 << 10

// read reads the JSON that a request has sent.
func (q *request) read(into any) error {
	if kind, _, err := mime.ParseMediaType(q.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return reply.Fail(http.StatusUnsupportedMediaType, "no-json", "this path takes JSON",
			"send Content-Type: application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(nil, q.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something comes after it")
		}
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return reply.Fail(http.StatusRequestEntityTooLarge, "too-long", "what was sent has more than 64 KiB", "")
	}
	if err != nil {
		return reply.Fail(http.StatusBadRequest, "bad-json",
			"what was sent cannot be read: "+finding.Printable(err.Error()), "")
	}
	return nil
}

// askedFor bounds how long a request waits for the server.
const askedFor = 5 * time.Second

// ask lets a request ask the server: a few may at a time, each for a while.
func (q *request) ask() (ctx context.Context, end func(), failed *reply.Failure) {
	select {
	case q.server.asking <- struct{}{}:
	default:
		return nil, nil, reply.Fail(http.StatusServiceUnavailable, "busy", "too many requests ask the server just now",
			"try again in a second")
	}
	ctx, cancel := context.WithTimeout(q.Context(), askedFor)
	return ctx, func() { cancel(); <-q.server.asking }, nil
}

// of returns what a reading is worth now. Nothing is read of a file but its keys.
func (q *request) of(m observe.Mark) (out document.Measured) {
	if out = q.server.write.Reading(q.state.Began, m); q.target.Server == nil {
		out.Partial = observe.NoServer
	}
	return out
}
