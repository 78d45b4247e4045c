package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/finding"
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
	state  observe.State
	query  url.Values
	caller
	user      User
	setCookie *http.Cookie // of the answer
}

// failure represents an error with a status.
type failure struct {
	status int
	ProblemText
}

func (f *failure) Error() string { return f.Message }

func problem(status int, code, message, hint string) *failure {
	return &failure{status, ProblemText{code, message, hint}}
}

func refuse(w http.ResponseWriter, f *failure) {
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="keywright"`)
	}
	respond(w, f.status, Problem{f.ProblemText})
}

// respond writes a document. Names of keys in it cannot steer what shows it.
func respond(w http.ResponseWriter, status int, document any) {
	status, text := encoded(status, document)
	sendJSON(w, status, text)
}

// encoded returns a document as it is sent; one that is no JSON is an answer of its own.
func encoded(status int, document any) (int, []byte) {
	text, err := json.Marshal(document)
	if err != nil {
		status, text = http.StatusInternalServerError,
			[]byte(`{"error":{"code":"bug","message":"this is a bug in keywright: the answer is no JSON"}}`)
	}
	return status, append(finding.EscapeJSON(text), '\n')
}

func sendJSON(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// api answers requests of a route.
func (s *Server) api(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, raw *http.Request) {
		q := &request{Request: raw, server: s, caller: callerOf(raw)}
		q.user = q.User
		value, err := q.answer(r)
		if q.setCookie != nil {
			http.SetCookie(w, q.setCookie)
		}
		if err == nil && q.query.Get("format") == "csv" {
			writeCSV(w, q, r, value)
			return
		}
		var failed *failure
		switch {
		case err == nil && r.method == http.MethodGet:
			s.respondNewer(w, raw, value)
		case err == nil:
			respond(w, http.StatusOK, value)
		case errors.As(err, &failed):
			refuse(w, failed)
		default:
			refuse(w, problem(http.StatusInternalServerError, "failed", finding.Printable(err.Error()), ""))
		}
	}
}

func (q *request) answer(r route) (any, error) {
	var err error
	if q.query, err = url.ParseQuery(q.URL.RawQuery); err != nil {
		return nil, problem(http.StatusBadRequest, "bad-query", "the query cannot be read", "")
	}
	for name := range q.query {
		if !slices.ContainsFunc(r.params, func(p param) bool { return p.name == name }) {
			return nil, problem(http.StatusBadRequest, "no-such-parameter",
				fmt.Sprintf("this path has no parameter %q", finding.Printable(name)), r.names())
		}
	}
	for _, p := range r.params {
		if p.needed && q.query.Get(p.name) == "" {
			return nil, problem(http.StatusBadRequest, "parameter-missing", "the parameter "+p.name+" is missing",
				r.names())
		}
	}
	if form := q.query.Get("format"); form != "" && form != "csv" {
		return nil, problem(http.StatusBadRequest, "bad-parameter", "format takes csv; without it the answer is JSON", "")
	}
	if strings.Contains(r.path, "{target}") {
		if q.target = q.server.find(q.PathValue("target")); q.target == nil {
			return nil, problem(http.StatusNotFound, "no-such-target", "there is no such target",
				"there are: "+strings.Join(q.server.ids(), ", "))
		}
		q.target.Look()
		q.state = q.target.State()
	}
	return r.handle(q)
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
func page[T any](q *request, all []T) ([]T, Page, error) {
	usual := usualLimit
	if q.query.Get("format") == "csv" {
		usual = mostLimit
	}
	limit, err := q.number("limit", usual, 1, mostLimit)
	if err != nil {
		return nil, Page{}, err
	}
	from, err := q.number("cursor", 0, 0, 1<<40)
	if err != nil {
		return nil, Page{}, err
	}
	p := Page{Total: int64(len(all))}
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
		return 0, problem(http.StatusBadRequest, "bad-parameter",
			fmt.Sprintf("%s takes a number from %d to %d", name, least, most), "")
	}
	return n, nil
}
