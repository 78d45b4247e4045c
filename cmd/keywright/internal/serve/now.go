package serve

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/finding"
)

// NowList says what is wrong now, the worst first.
type NowList struct {
	Quiet bool     `json:"quiet"` // nothing is known to be wrong, and everything that is watched has been read
	Items []NowRow `json:"items"`
	Left  int64    `json:"left_out"` // that are not in the list: there are too many
	// targets of which nothing can be said yet: they have not been read
	Starting []string `json:"starting"`
	Page
}

// NowRow represents something that is wrong now.
type NowRow struct {
	alert.Condition
	Since  Stamp `json:"since"`
	Silent bool  `json:"silenced"` // webhooks are not called for it
}

var nowRoutes = []route{
	{method: "GET", path: "/api/v1/now", what: "What is wrong now, of all targets, the worst first", params: listParams,
		answer: reflect.TypeFor[NowList](), handle: func(q *request) (any, error) { return q.now(q.server.all()...) }},
	{method: "GET", path: "/api/v1/t/{target}/now", what: "What is wrong now, the worst first", params: listParams,
		answer: reflect.TypeFor[NowList](), handle: func(q *request) (any, error) { return q.now(q.target) }},
}

func (q *request) now(of ...*observe.Target) (any, error) {
	out := NowList{Starting: []string{}}
	rows := []NowRow{}
	for _, t := range of {
		st := t.State()
		if t.Server != nil && starting(&st) {
			out.Starting = append(out.Starting, t.ID)
		}
		if q.server.Alerts == nil {
			continue
		}
		alerts, left := q.server.Alerts(t.ID)
		out.Left += left
		for _, a := range alerts {
			row := NowRow{a.Condition, stampOf(a.Since), a.Silent}
			row.Text, row.Page = finding.Printable(row.Text), append([]string{}, row.Page...)
			rows = append(rows, row)
		}
	}
	if broken, _ := q.server.fleetNow(); q.target == nil {
		for _, b := range broken {
			rows = append(rows, NowRow{Condition: alert.Condition{ID: b.ID + "/target", Kind: alert.Away, Target: b.ID,
				Text: "the target is not watched: " + finding.Printable(b.Why), Next: "mend its lines in the file of --targets",
				Page: []string{}}})
		}
	}
	slices.SortStableFunc(rows, func(a, b NowRow) int { return cmp.Compare(alert.Harm(a.Kind), alert.Harm(b.Kind)) })
	out.Quiet = len(rows)+len(out.Starting) == 0 && out.Left == 0
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

// starting reports whether a part of a server was never read, and no attempt has failed.
func starting(st *observe.State) bool {
	return slices.ContainsFunc(st.Parts(), func(p observe.Part) bool { return p.At.IsZero() && p.Failed == nil })
}

// measureNow adds how much is wrong, by kind.
func (s *Server) measureNow(x *exposition, id string) {
	if s.Alerts == nil {
		return
	}
	alerts, _ := s.Alerts(id)
	by := map[alert.Kind]int{}
	for _, a := range alerts {
		by[a.Kind]++
	}
	for _, k := range alert.Kinds() {
		x.add("keywright_wrong", "Things that are wrong now, by kind.", float64(by[k]), "target", id, "kind", string(k))
	}
}
