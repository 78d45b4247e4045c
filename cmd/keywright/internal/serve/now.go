package serve

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/keyspace/finding"
)

var nowRoutes = []route{
	{method: "GET", path: "/api/v1/now", what: "What is wrong now, of all targets, the worst first", params: listParams,
		answer: reflect.TypeFor[document.NowList](),
		handle: func(q *request) (any, error) { return q.now(q.server.all()...) }},
	{method: "GET", path: "/api/v1/t/{target}/now", what: "What is wrong now, the worst first", params: listParams,
		answer: reflect.TypeFor[document.NowList](), handle: func(q *request) (any, error) { return q.now(q.target) }},
}

func (q *request) now(of ...*observe.Target) (any, error) {
	out := document.NowList{Starting: []string{}, NotKnown: []document.NotKnown{}}
	rows := []document.NowRow{}
	for _, t := range of {
		st := t.State()
		if t.Server != nil && starting(&st) {
			out.Starting = append(out.Starting, t.ID)
		}
		for _, u := range t.Unknown(&st, q.server.Now()) {
			out.NotKnown = append(out.NotKnown, document.NotKnown{Target: t.ID, Part: u.Part, Why: u.Why})
		}
		if q.server.Alerts == nil {
			continue
		}
		alerts, left := q.server.Alerts(t.ID)
		out.Left += left
		for _, a := range alerts {
			row := document.NowRow{Condition: a.Condition, Since: document.StampOf(a.Since), Silent: a.Silent}
			row.Text, row.Page = finding.Printable(row.Text), append([]string{}, row.Page...)
			rows = append(rows, row)
		}
	}
	if broken, _ := q.server.fleetNow(); q.target == nil {
		for _, b := range broken {
			rows = append(rows, document.NowRow{Condition: alert.Condition{ID: b.ID + "/target", Kind: alert.Away, Target: b.ID,
				Text: "the target is not watched: " + finding.Printable(b.Why), Next: "mend its lines in the file of --targets",
				Page: []string{}}})
		}
	}
	slices.SortStableFunc(rows, func(a, b document.NowRow) int {
		return cmp.Compare(alert.Harm(a.Kind), alert.Harm(b.Kind))
	})
	out.Quiet = len(rows)+len(out.NotKnown) == 0 && out.Left == 0
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

// starting reports whether a part of a server was never read, and no attempt has failed.
func starting(st *observe.State) bool {
	return slices.ContainsFunc(st.Parts(), func(p observe.Part) bool { return p.At.IsZero() && p.Failed == nil })
}

var janitorRoutes = []route{
	{method: "GET", path: "/api/v1/janitor", what: "The jobs of the janitor, of all targets", params: listParams,
		answer: reflect.TypeFor[document.JobList](), handle: allJobs},
	{method: "GET", path: "/api/v1/t/{target}/janitor", what: "The jobs of the janitor", params: listParams,
		answer: reflect.TypeFor[document.JobList](), handle: jobs},
}

func jobs(q *request) (any, error) { return q.jobs(q.target) }

func allJobs(q *request) (any, error) { return q.jobs(q.server.all()...) }

func (q *request) jobs(of ...*observe.Target) (any, error) {
	rows := []document.JobRow{}
	for _, t := range of {
		st := t.State()
		for _, j := range st.Jobs {
			rows = append(rows, document.RowOfJob(t.ID, j, q.server.Now()))
		}
	}
	var out document.JobList
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}
