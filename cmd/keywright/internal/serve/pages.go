package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/doctor"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source/server/examine"
)

// routes lists the paths of the API.
var routes = []route{
	{"GET", "/api/v1/me", "The user of the request", nil, reflect.TypeFor[Me](), nil, me},
	{"GET", "/api/v1/targets", "All targets", listParams, reflect.TypeFor[Targets](), nil, targets},
	{"GET", "/api/v1/t/{target}/overview", "A target on one page", []param{formatParam}, reflect.TypeFor[Overview](),
		nil, overview},
	{"GET", "/api/v1/t/{target}/entries/{name}", "One entry", nil, reflect.TypeFor[EntryPage](), nil, entryPage},
	{"GET", "/api/v1/t/{target}/history", "Figures over time", historyParams, reflect.TypeFor[Series](), nil, series},
	{"GET", "/api/v1/t/{target}/explain", "What there is to say of a key", []param{
		{"key", "the key; its bytes percent-encoded", "string", true}}, reflect.TypeFor[Explained](), nil, explain},
	{"GET", "/api/v1/t/{target}/undeclared", "What no entry declares", listParams, reflect.TypeFor[Undeclared](), nil,
		undeclared},
	{"GET", "/api/v1/t/{target}/findings", "What the audit has found", append([]param{
		{"code", "of this rule only", "string", false}, {"entry", "of this entry only", "string", false}},
		listParams...), reflect.TypeFor[Findings](), nil, findings},
	{"GET", "/api/v1/t/{target}/queues", "What the queues hold", listParams, reflect.TypeFor[QueueList](), nil, queues},
	{"GET", "/api/v1/t/{target}/queues/{entry}/{instance}", "One queue, and its dead jobs by error", nil,
		reflect.TypeFor[QueuePage](), nil, queuePage},
	{"GET", "/api/v1/t/{target}/queues/{entry}/{instance}/dead", "Dead jobs of a queue", append([]param{
		{"error", "of this group only", "string", false}, {"text", "with this in the id or the reason", "string",
			false}}, listParams...), reflect.TypeFor[DeadList](), nil, deadJobs},
	{"GET", "/api/v1/t/{target}/locks", "The locks that are held or waited for", listParams,
		reflect.TypeFor[LockList](), nil, locks},
	{"GET", "/api/v1/t/{target}/entities", "How many items the entities hold", listParams,
		reflect.TypeFor[EntityList](), nil, entities},
	{"GET", "/api/v1/t/{target}/streams", "The streams and their groups", listParams, reflect.TypeFor[StreamList](),
		nil, streams},
	{"GET", "/api/v1/t/{target}/rankings", "The keys of rankings", listParams, reflect.TypeFor[RankingList](), nil,
		rankings},
	{"GET", "/api/v1/t/{target}/caches", "The caches", listParams, reflect.TypeFor[CacheList](), nil, caches},
	{"GET", "/api/v1/t/{target}/server", "The server, and what is dangerous about it", nil,
		reflect.TypeFor[ServerPage](), nil, serverPage},
}

func me(q *request) (any, error) {
	return Me{User: q.user.Name, Role: string(q.user.Role), AllowApply: q.server.Guard.AllowApply, Session: q.session,
		ShowValues: q.server.Guard.ShowValues && q.user.Role == Operator,
		CSRF:       q.server.csrf(q.caller), Version: q.server.Version}, nil
}

func targets(q *request) (any, error) {
	var rows []TargetRow
	for _, t := range q.server.all() {
		rows = append(rows, q.server.row(t, t.State()))
	}
	broken, _ := q.server.fleetNow()
	for _, b := range broken {
		rows = append(rows, rowOfBroken(b))
	}
	var out Targets
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

// row returns a target in the list of targets.
func (s *Server) row(t *observe.Target, st observe.State) TargetRow {
	row := TargetRow{ID: t.ID, Name: t.Name, Declaration: t.Declaration.File, Labels: t.Labels,
		Kind: "server", State: "ok", Measured: s.measured(t, &st)}
	if t.Server == nil {
		row.Kind, row.State = "snapshot", "snapshot"
	}
	if a := st.Shown(); a != nil {
		row.Keys, row.Bytes = a.Report.Total.Keys, a.Report.Total.Bytes
		for _, e := range s.rows(t, a) {
			row.Violations, row.Errors = row.Violations+e.Violations, row.Errors+e.Errors
		}
	}
	switch {
	case st.Failed != nil || t.Server != nil && st.Server.Failed != nil:
		row.State = "away"
	case st.Shown() == nil:
		row.State = "starting"
	case row.Partial != "":
		row.State = "partial"
	case row.Stale:
		row.State = "stale"
	}
	row.Why = row.Partial
	if old := s.old(&st); old != "" && row.State == "ok" {
		row.State, row.Why = "stale", "what is known of these is old: "+old
	}
	if f := cmp.Or(st.Failed, st.Server.Failed); f != nil {
		row.Why = f.What
	}
	return row
}

// old names the parts of a target of which no reading is of now.
func (s *Server) old(st *observe.State) string {
	var names []string
	for _, p := range st.Parts() {
		if p.Stale(st.Began, s.Now()) {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, ", ")
}

// measured returns what an audit is worth now.
func (s *Server) measured(t *observe.Target, st *observe.State) (m Measured) {
	if r := st.Running; r != nil {
		m.Running = &RunningNow{stampOf(r.Since), r.Keys, r.Total, r.Paused}
	}
	if f := st.Failed; f != nil {
		m.Failed, m.Stale = &Failed{stampOf(f.At), f.What}, true
	}
	a := st.Shown()
	if a == nil {
		return m
	}
	m.At = stampOf(a.At)
	switch {
	case !a.Whole():
		m.Partial = finding.Printable(a.Report.Incomplete.String())
	case !a.All():
		m.Partial = fmt.Sprintf("it is a sample of %d keys of %d", a.Report.Total.Keys, a.Report.Expected)
	}
	if p := st.Partial; p != nil && p != a {
		m.Failed = &Failed{stampOf(p.At), "the audit was not whole: " +
			finding.Printable(p.Report.Incomplete.String())}
	}
	if t.Server != nil {
		m.Every = t.Every.Seconds()
		took := time.Duration(a.Report.Seconds * float64(time.Second))
		m.Stale = m.Stale || st.Server.Failed != nil || s.Now().Sub(a.At) > 2*t.Every+took
	}
	return m
}

// of returns what a reading is worth now.
func (q *request) of(m observe.Mark) (out Measured) { return q.server.of(q.state.Began, m) }

func (s *Server) of(began time.Time, m observe.Mark) (out Measured) {
	out.At, out.Every, out.Stale = stampOf(m.At), m.Every.Seconds(), m.Stale(began, s.Now())
	if m.Failed != nil {
		out.Failed = &Failed{stampOf(m.Failed.At), m.Failed.What}
	}
	return out
}

// gaps says in Measured what a reading has not, and gives what could not be read.
func gaps(m *Measured, g answer.Gaps) []answer.Unread {
	var why []string
	for _, c := range g.Cut {
		why = append(why, c.Entry+" may have more than is listed here")
	}
	for _, u := range g.Unread {
		why = append(why, "not read: "+finding.Printable(u.String()))
	}
	if len(why) > 5 {
		why = append(why[:5], "and more")
	}
	m.Partial = strings.Join(why, "; ")
	return append([]answer.Unread{}, g.Unread...)
}

// listed returns what a reading has, as a list.
func listed[T, R any](q *request, r observe.Reading[T], rows func(*T) ([]R, answer.Gaps)) (items []R,
	unread []answer.Unread, p Page, m Measured, err error) {
	m, unread = q.of(r.Mark), []answer.Unread{}
	if r.Value != nil {
		var g answer.Gaps
		items, g = rows(r.Value)
		unread = gaps(&m, g)
	}
	items, p, err = page(q, items)
	return items, unread, p, m, err
}

func queues(q *request) (any, error) {
	var out QueueList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Queues,
		func(v *answer.Queues) (rows []QueueRow, g answer.Gaps) {
			for _, one := range v.Queues {
				rows = append(rows, rowOfQueue(one))
			}
			return rows, v.Gaps
		})
	return out, err
}

// instanceOf returns a queue of an entry in URLs.
func instanceOf(of *finding.JSONKey) string {
	if of == nil {
		return "-"
	}
	return string(*of)
}

func locks(q *request) (any, error) {
	var out LockList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Locks,
		func(v *answer.Locks) (rows []answer.Lock, g answer.Gaps) {
			out.Untimed = v.Untimed
			for _, l := range v.Locks {
				l.Token = nil // with it anyone could give the lock back
				rows = append(rows, l)
			}
			return rows, v.Gaps
		})
	return out, err
}

func entities(q *request) (any, error) {
	var out EntityList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Entities,
		func(v *answer.Entities) ([]answer.Entity, answer.Gaps) { return v.Entities, v.Gaps })
	return out, err
}

func streams(q *request) (any, error) {
	var out StreamList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Streams,
		func(v *answer.Streams) ([]answer.Stream, answer.Gaps) { return v.Streams, v.Gaps })
	return out, err
}

func rankings(q *request) (any, error) {
	var out RankingList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Rankings,
		func(v *answer.Rankings) ([]answer.Ranking, answer.Gaps) { return v.Rankings, v.Gaps })
	return out, err
}

func caches(q *request) (any, error) {
	out := CacheList{Measured: q.server.measured(q.target, &q.state)}
	var rows []CacheRow
	if a := q.state.Shown(); a != nil {
		for _, r := range a.Report.Entries {
			if e, k := q.target.Declaration.Lookup(r.Name); e != nil && e.Construct == keyspace.Cache && k == e.Keys[0] {
				about := answer.EntryOf(q.target.Declaration.Keyspace, e, "")
				rows = append(rows, CacheRow{r.Name, r.Pattern, r.Keys, r.Bytes, r.NoTTL, r.TTL,
					append([]string{}, about.Deletes...)})
			}
		}
	}
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

func serverPage(q *request) (any, error) {
	out := ServerPage{Measured: q.of(q.state.Server.Mark), Facts: []examine.Fact{}, Advice: []Advice{},
		NotKnown: []examine.Fact{}, Shards: []observe.Shard{}}
	if d := q.state.Server.Value; d != nil {
		out.Facts, out.Advice = append(out.Facts, d.Facts...), append(out.Advice, advice(d.Findings)...)
		out.NotKnown = append(out.NotKnown, d.NotKnown...)
	}
	if shards := q.state.Shards.Value; shards != nil {
		out.Shards = append(out.Shards, *shards...)
	}
	shards := q.of(q.state.Shards.Mark)
	out.Stale, out.Failed = out.Stale || shards.Stale, cmp.Or(out.Failed, shards.Failed)
	if a := q.state.Shown(); a != nil {
		out.Report = scopeOf(a.Report)
	}
	return out, nil
}

// advice returns findings of the doctor, each with the reason of its rule.
func advice(found []finding.Finding) (out []Advice) {
	level := map[finding.Severity]string{finding.Error: "danger", finding.Warning: "warning", finding.Note: "note"}
	why := map[string]string{}
	for _, r := range doctor.Rules() {
		why[r.Code] = r.Explain
	}
	for _, f := range found {
		out = append(out, Advice{f.Code, level[f.Severity], f.Message, why[f.Code], f.Fix})
	}
	return out
}

func findings(q *request) (any, error) {
	out := Findings{Measured: q.server.measured(q.target, &q.state)}
	var all []finding.Finding
	if a := q.state.Shown(); a != nil {
		for _, f := range a.Report.Findings {
			if cmp.Or(q.query.Get("code"), f.Code) == f.Code && cmp.Or(q.query.Get("entry"), f.Entry) == f.Entry {
				all = append(all, f)
			}
		}
	}
	var err error
	out.Items, out.Page, err = page(q, all)
	return out, err
}

func undeclared(q *request) (any, error) {
	out := Undeclared{Measured: q.server.measured(q.target, &q.state), Others: Others{Why: []string{}}}
	var rows []UndeclaredGroup
	if a := q.state.Shown(); a != nil {
		for _, g := range a.Groups {
			row := UndeclaredGroup{Pattern: g.Pattern, Types: map[string]int64{}, Software: g.Software, Proposal: g.YAML,
				Examples: []finding.JSONKey{}, Keys: g.Keys, Bytes: g.Bytes, NoTTL: g.NoTTL}
			if g.Type != "" {
				row.Types[g.Type] = g.Keys
			}
			if g.Example != nil {
				row.Examples = append(row.Examples, g.Example)
			}
			if len(g.Near) > 0 {
				row.Near = &g.Near[0]
			}
			rows = append(rows, row)
			out.Keys, out.Bytes = out.Keys+g.Keys, out.Bytes+g.Bytes
		}
		out.Others = Others{a.Others.Keys, a.Others.Bytes, append([]string{}, a.Others.Why...)}
		out.Keys, out.Bytes = out.Keys+a.Others.Keys, out.Bytes+a.Others.Bytes
	}
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

// askedFor bounds how long a request waits for the server.
const askedFor = 5 * time.Second

// ask lets a request ask the server: a few may at a time, each for a while.
func (q *request) ask() (ctx context.Context, end func(), failed *failure) {
	select {
	case q.server.asking <- struct{}{}:
	default:
		return nil, nil, problem(http.StatusServiceUnavailable, "busy", "too many requests ask the server just now",
			"try again in a second")
	}
	ctx, cancel := context.WithTimeout(q.Context(), askedFor)
	return ctx, func() { cancel(); <-q.server.asking }, nil
}

func explain(q *request) (any, error) {
	key := q.query.Get("key")
	if len(key) > maxKey {
		return nil, problem(http.StatusBadRequest, "bad-parameter", "the key is longer than 64 KiB", "")
	}
	l := q.target.Find([]byte(key))
	out := Explained{}
	if q.target.Server != nil {
		ctx, cancel, failed := q.ask()
		if failed != nil {
			return nil, failed
		}
		defer cancel()
		if err := l.Inspect(ctx, q.target.Server.Config); err != nil {
			out.Failed = &Failed{stampOf(q.server.Now()), finding.Printable(err.Error())}
		}
	}
	out.Located = *l
	return out, nil
}
