package serve

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// PlanAsk describes what a plan is asked for.
type PlanAsk struct {
	Verb    string            `json:"verb"`             // as the command is named, with a point or a space: queues.retry
	Select  map[string]string `json:"select,omitempty"` // by what the verb selects: entry, instance, error, text, id …
	Options map[string]string `json:"options,omitempty"`
}

var planRoutes = []route{
	{method: "POST", path: auth.SessionPath, what: "Sign in on a page: the answer has a cookie",
		takes:  reflect.TypeFor[SignIn](),
		answer: reflect.TypeFor[Me](), handle: signIn},
	{method: "DELETE", path: auth.SessionPath, what: "Sign out", answer: reflect.TypeFor[SignedOut](), handle: signOut},
	{method: "GET", path: "/api/v1/t/{target}/runs", what: "Plans, and what became of them", params: listParams,
		answer: reflect.TypeFor[document.RunList](), handle: runs},
	{method: "GET", path: "/api/v1/t/{target}/plans/{id}", what: "One plan", answer: reflect.TypeFor[document.PlanPage](),
		handle: planPage},
	{method: "POST", path: "/api/v1/t/{target}/plans", what: "Makes a plan, which changes nothing",
		takes:  reflect.TypeFor[PlanAsk](),
		answer: reflect.TypeFor[document.PlanPage](), handle: makePlan},
	{method: "POST", path: "/api/v1/t/{target}/plans/{id}/apply", what: "Executes a plan, or goes on with it",
		answer: reflect.TypeFor[document.PlanPage](), handle: applyPlan},
	{method: "POST", path: "/api/v1/t/{target}/plans/{id}/stop",
		what:   "Stops what is under way: what has begun is waited for",
		answer: reflect.TypeFor[document.PlanPage](), handle: stopPlan},
}

func runs(q *request) (any, error) {
	rows := []document.RunRow{}
	for _, r := range q.state.Runs {
		rows = append(rows, document.RowOfRun(q.target.ID, &r))
	}
	var out document.RunList
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
		return nil, reply.Fail(http.StatusNotFound, "no-such-plan", "there is no such plan", "/runs lists them")
	}
	out := document.PlanPage{RunRow: document.RowOfRun(q.target.ID, &d.Run), Plan: d.Plan, Select: map[string]string{},
		Change: d.Change, Leave: d.Leave, Bytes: d.Bytes,
		Entries: append([]plan.Part{}, d.Entries...), More: d.MoreParts, Left: document.LeftAloneOf(d.Left),
		Lacks:   append([]plan.Reason{}, d.Incomplete...),
		Changes: append([]plan.Change{}, d.Changes...), Listed: d.Listed, DidLeft: []document.LeftAlone{}}
	maps.Copy(out.Select, d.Select)
	if d.Did != nil {
		out.Did, out.DidLeft = &d.Did.Total, document.LeftAloneOf(d.Did.Left)
	}
	return out, nil
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
	return operate.By{User: q.User.Name, From: q.server.auth.Address(q.Request)}
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
	return reply.Fail(status, r.Code, finding.Printable(r.Message), finding.Printable(r.Hint))
}
