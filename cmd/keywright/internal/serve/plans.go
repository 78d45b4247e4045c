package serve

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/plan"
)

// RunList holds plans, and what became of them, the newest first.
type RunList struct {
	Items []RunRow `json:"items"`
	Page
}

// RunRow represents a plan, and what became of it.
type RunRow struct {
	ID      string `json:"id"`
	Target  string `json:"target"`
	Verb    string `json:"verb"`
	Title   string `json:"title"`
	State   string `json:"state" enum:"planning,planned,refused,running,stopping,stopped,interrupted,done,failed"`
	By      string `json:"by"`
	At      Stamp  `json:"at"` // when it was asked for
	Ended   Stamp  `json:"ended,omitempty"`
	Done    int64  `json:"done"`  // things that were decided about
	Total   int64  `json:"total"` // that are meant
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// PlanPage represents a plan in short, and what was done of it.
type PlanPage struct {
	RunRow
	Select  map[string]string  `json:"select"`         // what is meant, as it was asked for
	Plan    string             `json:"plan,omitempty"` // the ID of the plan, by its content
	Change  int64              `json:"change"`         // things that would be changed
	Leave   int64              `json:"leave"`
	Bytes   int64              `json:"bytes"`
	Entries []plan.Part        `json:"entries"`      // the first of them
	More    int                `json:"more_entries"` // that are not among them
	Left    []LeftAlone        `json:"refusals"`     // why things are left alone
	Lacks   []plan.Reason      `json:"incomplete"`   // why not all may have been seen
	Changes []plan.Change      `json:"changes"`      // the first that the plan lists
	Listed  int                `json:"listed"`       // how many it lists
	Did     *journal.KeyCounts `json:"did,omitempty"`
	DidLeft []LeftAlone        `json:"did_left"` // why things were left alone when it was executed
}

// LeftAlone represents a reason for which things are left alone.
type LeftAlone struct {
	Code string `json:"code"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
	Keys int64  `json:"keys"`
}

// PlanAsk describes what a plan is asked for.
type PlanAsk struct {
	Verb    string            `json:"verb"`             // as the command is named, with a point or a space: queues.retry
	Select  map[string]string `json:"select,omitempty"` // by what the verb selects: entry, instance, error, text, id …
	Options map[string]string `json:"options,omitempty"`
}

var planRoutes = []route{
	{method: "POST", path: sessionPath, what: "Sign in on a page: the answer has a cookie",
		takes:  reflect.TypeFor[SignIn](),
		answer: reflect.TypeFor[Me](), handle: signIn},
	{method: "DELETE", path: sessionPath, what: "Sign out", answer: reflect.TypeFor[SignedOut](), handle: signOut},
	{method: "GET", path: "/api/v1/t/{target}/runs", what: "Plans, and what became of them", params: listParams,
		answer: reflect.TypeFor[RunList](), handle: runs},
	{method: "GET", path: "/api/v1/t/{target}/plans/{id}", what: "One plan", answer: reflect.TypeFor[PlanPage](),
		handle: planPage},
	{method: "POST", path: "/api/v1/t/{target}/plans", what: "Makes a plan, which changes nothing",
		takes:  reflect.TypeFor[PlanAsk](),
		answer: reflect.TypeFor[PlanPage](), handle: makePlan},
	{method: "POST", path: "/api/v1/t/{target}/plans/{id}/apply", what: "Executes a plan, or goes on with it",
		answer: reflect.TypeFor[PlanPage](), handle: applyPlan},
	{method: "POST", path: "/api/v1/t/{target}/plans/{id}/stop",
		what:   "Stops what is under way: what has begun is waited for",
		answer: reflect.TypeFor[PlanPage](), handle: stopPlan},
}

func rowOfRun(target string, r *observe.Run) RunRow {
	return RunRow{r.ID, target, r.Verb, r.Title, string(r.State), r.By, stampOf(r.At), stampOf(r.Ended), r.Done,
		r.Total, r.Problem, r.Hint}
}

func runs(q *request) (any, error) {
	rows := []RunRow{}
	for _, r := range q.state.Runs {
		rows = append(rows, rowOfRun(q.target.ID, &r))
	}
	var out RunList
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

func planPage(q *request) (any, error) { return q.planPage(q.PathValue("id")) }

func (q *request) planPage(id string) (any, error) {
	d, ok := operate.Detail{}, false
	if q.server.Desk != nil {
		d, ok = q.server.Desk.Get(q.target.ID, id)
	}
	if !ok {
		return nil, problem(http.StatusNotFound, "no-such-plan", "there is no such plan", "/runs lists them")
	}
	out := PlanPage{RunRow: rowOfRun(q.target.ID, &d.Run), Plan: d.Plan, Select: map[string]string{},
		Change: d.Change, Leave: d.Leave, Bytes: d.Bytes,
		Entries: append([]plan.Part{}, d.Entries...), More: d.MoreParts, Left: leftAlone(d.Left),
		Lacks:   append([]plan.Reason{}, d.Incomplete...),
		Changes: append([]plan.Change{}, d.Changes...), Listed: d.Listed, DidLeft: []LeftAlone{}}
	maps.Copy(out.Select, d.Select)
	if d.Did != nil {
		out.Did, out.DidLeft = &d.Did.Total, leftAlone(d.Did.Left)
	}
	return out, nil
}

func leftAlone(all []plan.Left) []LeftAlone {
	out := []LeftAlone{}
	for _, l := range all {
		out = append(out, LeftAlone{string(l.Code), finding.Printable(l.What), finding.Printable(l.Fix), l.Keys})
	}
	return out
}

// plannedSoon says how long a request waits for its plan; it is made further after that.
const plannedSoon = 3 * time.Second

func makePlan(q *request) (any, error) {
	if failed := q.changes(); failed != nil {
		return nil, failed
	}
	var ask PlanAsk
	if err := q.read(&ask); err != nil {
		return nil, err
	}
	id, made, err := q.server.Desk.Make(q.target.ID, q.by(), operate.Ask{Verb: strings.ReplaceAll(ask.Verb, ".", " "),
		Select: ask.Select, Options: ask.Options})
	if err != nil {
		return nil, refused(err)
	}
	timer := time.NewTimer(plannedSoon)
	defer timer.Stop()
	select {
	case <-made:
	case <-timer.C:
	case <-q.Context().Done():
	}
	return q.planPage(id)
}

func applyPlan(q *request) (any, error) {
	return q.act(func(d *operate.PlanQueue, id string) error { return d.Apply(q.target.ID, id, q.by()) })
}

func stopPlan(q *request) (any, error) {
	return q.act(func(d *operate.PlanQueue, id string) error { return d.Stop(q.target.ID, id, q.by()) })
}

// act does something with the plan of a path.
func (q *request) act(do func(d *operate.PlanQueue, id string) error) (any, error) {
	if failed := q.changes(); failed != nil {
		return nil, failed
	}
	if err := do(q.server.Desk, q.PathValue("id")); err != nil {
		return nil, refused(err)
	}
	return planPage(q)
}

// by returns the user of a request, for the log.
func (q *request) by() operate.By {
	return operate.By{User: q.user.Name, From: q.server.address(q.Request)}
}

// statuses lists those of refusals; others are conflicts.
var statuses = map[string]int{"no-such-plan": http.StatusNotFound, "no-such-verb": http.StatusBadRequest,
	"bad-select": http.StatusBadRequest,
	"bad-option": http.StatusBadRequest, "not-logged": http.StatusInsufficientStorage}

func refused(err error) error {
	r, ok := errors.AsType[*operate.Refusal](err)
	if !ok {
		return err
	}
	status := statuses[r.Code]
	if status == 0 {
		status = http.StatusConflict
	}
	return problem(status, r.Code, finding.Printable(r.Message), finding.Printable(r.Hint))
}

// maxBody bounds what a request may send.
const maxBody = 64 << 10

// read reads the JSON that a request has sent.
func (q *request) read(into any) error {
	if kind, _, err := mime.ParseMediaType(q.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, "no-json", "this path takes JSON",
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
		return problem(http.StatusRequestEntityTooLarge, "too-long", "what was sent has more than 64 KiB", "")
	}
	if err != nil {
		return problem(http.StatusBadRequest, "bad-json",
			"what was sent cannot be read: "+finding.Printable(err.Error()), "")
	}
	return nil
}

// routes of everything.
var allRoutes = slices.Concat(routes, planRoutes, janitorRoutes, migrationRoutes, valueRoutes, nowRoutes, jobRoutes)
