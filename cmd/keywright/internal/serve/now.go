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
		handle: func(q *request) (any, error) {
			broken, _ := q.server.fleetNow()
			return q.now(q.server.all(), broken)
		}},
	{method: "GET", path: nowPath, what: "What is wrong now, the worst first", params: listParams,
		answer: reflect.TypeFor[document.NowList](), handle: func(q *request) (any, error) {
			if q.target == nil {
				return q.now(nil, q.broken)
			}
			return q.now([]*observe.Target{q.target}, nil)
		}},
}

// nowPath is the path of what is wrong with a target, also with one that cannot be watched.
const nowPath = "/api/v1/t/{target}/now"

func (q *request) now(of []*observe.Target, broken []Broken) (any, error) {
	out := document.NowList{Starting: []string{}, NotKnown: []document.NotKnown{}}
	rows := []document.NowRow{}
	judge := func(id string) {
		if q.server.Alerts == nil {
			return
		}
		alerts, left := q.server.Alerts(id)
		out.Left += left
		for _, a := range alerts {
			row := document.NowRow{Condition: a.Condition, Since: document.StampOf(a.Since), Silent: a.Silent}
			row.Text, row.Page = finding.Printable(row.Text), append([]string{}, row.Page...)
			rows = append(rows, row)
		}
	}
	for _, t := range of {
		st := t.State()
		if t.Server != nil && starting(&st) {
			out.Starting = append(out.Starting, t.ID)
		}
		for _, u := range t.Unknown(&st, q.server.Now()) {
			out.NotKnown = append(out.NotKnown, document.NotKnown{Target: t.ID, Part: u.Part, Why: u.Why})
		}
		judge(t.ID)
	}
	for _, b := range broken {
		out.NotKnown = append(out.NotKnown, document.NotKnown{Target: b.ID, Part: "target",
			Why: "it is not watched: " + finding.Printable(b.Why)})
		judge(b.ID)
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
