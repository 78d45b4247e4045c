package serve

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/server/examine"
)

// routes lists the paths of the API.
var routes = []route{
	{"GET", "/api/v1/me", "The user of the request", nil, reflect.TypeFor[Me](), nil, me},
	{"GET", "/api/v1/targets", "All targets", listParams, reflect.TypeFor[document.Targets](), nil, targets},
	{"GET", "/api/v1/t/{target}/overview", "A target on one page", []param{formatParam},
		reflect.TypeFor[document.Overview](), nil, overview},
	{"GET", "/api/v1/t/{target}/entries/{name}", "One entry", nil, reflect.TypeFor[document.EntryPage](), nil, entryPage},
	{"GET", "/api/v1/t/{target}/history", "Figures over time", historyParams, reflect.TypeFor[document.Series](),
		nil, series},
	{"GET", "/api/v1/t/{target}/explain", "What there is to say of a key", []param{
		{"key", "the key; its bytes percent-encoded", "string", true}}, reflect.TypeFor[Explained](), nil, explainKey},
	{"GET", "/api/v1/t/{target}/undeclared", "What no entry declares", listParams,
		reflect.TypeFor[document.Undeclared](), nil, undeclared},
	{"GET", "/api/v1/t/{target}/findings", "What the audit has found", append([]param{
		{"code", "of this rule only", "string", false}, {"entry", "of this entry only", "string", false}},
		listParams...), reflect.TypeFor[document.Findings](), nil, findings},
	{"GET", "/api/v1/t/{target}/queues", "What the queues hold", listParams,
		reflect.TypeFor[document.QueueList](), nil, queues},
	{"GET", "/api/v1/t/{target}/queues/{entry}/{instance}", "One queue, and its dead jobs by error", nil,
		reflect.TypeFor[document.QueuePage](), nil, queuePage},
	{"GET", "/api/v1/t/{target}/queues/{entry}/{instance}/dead", "Dead jobs of a queue", append([]param{
		{"error", "of this group only", "string", false}, {"text", "with this in the id or the reason", "string",
			false}}, listParams...), reflect.TypeFor[document.DeadList](), nil, deadJobs},
	{"GET", "/api/v1/t/{target}/locks", "The locks that are held or waited for", listParams,
		reflect.TypeFor[document.LockList](), nil, locks},
	{"GET", "/api/v1/t/{target}/entities", "How many items the entities hold", listParams,
		reflect.TypeFor[document.EntityList](), nil, entities},
	{"GET", "/api/v1/t/{target}/streams", "The streams and their groups", listParams,
		reflect.TypeFor[document.StreamList](), nil, streams},
	{"GET", "/api/v1/t/{target}/rankings", "The keys of rankings", listParams,
		reflect.TypeFor[document.RankingList](), nil, rankings},
	{"GET", "/api/v1/t/{target}/caches", "The caches", listParams, reflect.TypeFor[document.CacheList](), nil, caches},
	{"GET", "/api/v1/t/{target}/server", "The server, and what is dangerous about it", nil,
		reflect.TypeFor[document.ServerPage](), nil, serverPage},
}

// routes of everything.
var allRoutes = slices.Concat(routes, planRoutes, janitorRoutes, migrationRoutes, valueRoutes, nowRoutes, jobRoutes)

func overview(q *request) (any, error) {
	return q.server.write.Overview(q.Context(), q.target, &q.state), nil
}

func entryPage(q *request) (any, error) {
	e, _ := q.target.Declaration.Lookup(q.PathValue("name"))
	if e == nil {
		return nil, reply.Fail(http.StatusNotFound, "no-such-entry", "the declaration has no such entry",
			"the overview lists them")
	}
	return q.server.write.Entry(q.target, &q.state, e), nil
}

func targets(q *request) (any, error) {
	var rows []document.TargetRow
	for _, t := range q.server.all() {
		rows = append(rows, q.server.write.Target(t, t.State()))
	}
	broken, _ := q.server.fleetNow()
	for _, b := range broken {
		rows = append(rows, rowOfBroken(b))
	}
	var out document.Targets
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

// rowOfBroken returns a target that cannot be watched in the list of targets.
func rowOfBroken(b Broken) document.TargetRow {
	return document.TargetRow{ID: b.ID, Name: b.Name, Declaration: b.Declaration, Labels: b.Labels,
		Kind: "server", State: "broken", Why: b.Why, Measured: document.Measured{Read: document.Read{Stale: true}}}
}

func serverPage(q *request) (any, error) {
	out := document.ServerPage{Measured: q.of(q.state.Server.Mark), Facts: []examine.Fact{}, Advice: []document.Advice{},
		NotKnown: []examine.Fact{}, Shards: []observe.Shard{}}
	if d := q.state.Server.Value; d != nil {
		out.Facts, out.Advice = append(out.Facts, d.Facts...), append(out.Advice, document.AdviceOf(d.Findings)...)
		out.NotKnown = append(out.NotKnown, d.NotKnown...)
	}
	if shards := q.state.Shards.Value; shards != nil {
		out.Shards = append(out.Shards, *shards...)
	}
	shards := q.of(q.state.Shards.Mark)
	out.Stale, out.Failed = out.Stale || shards.Stale, cmp.Or(out.Failed, shards.Failed)
	if a := q.state.Shown(); a != nil {
		out.Report = document.ScopeOf(a.Report)
	}
	return out, nil
}

func findings(q *request) (any, error) {
	out := document.Findings{Measured: q.server.write.Measured(q.target, &q.state)}
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
	out := document.Undeclared{Measured: q.server.write.Measured(q.target, &q.state),
		Others: document.Others{Why: []string{}}}
	var rows []document.UndeclaredGroup
	if a := q.state.Shown(); a != nil {
		for _, g := range a.Groups {
			row := document.UndeclaredGroup{Pattern: g.Pattern, Types: map[string]int64{}, Software: g.Software,
				Proposal: g.YAML, Examples: []finding.JSONKey{}, Keys: g.Keys, Bytes: g.Bytes, NoTTL: g.NoTTL}
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
		out.Others = document.Others{Keys: a.Others.Keys, Bytes: a.Others.Bytes,
			Why: append([]string{}, a.Others.Why...)}
		out.Keys, out.Bytes = out.Keys+a.Others.Keys, out.Bytes+a.Others.Bytes
	}
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

var migrationRoutes = []route{
	{method: "GET", path: "/api/v1/t/{target}/migrations", what: "The parts of migrations, their phases and gates",
		params: listParams,
		answer: reflect.TypeFor[document.MigrationList](), handle: migrations},
}

func migrations(q *request) (any, error) {
	out := document.MigrationList{Measured: q.of(q.state.Moves.Mark)}
	var rows []document.MigrationRow
	var why []string
	if all := q.state.Moves.Value; all != nil {
		for _, m := range *all {
			if m.Away != "" {
				why = append(why, m.Name+": "+m.Away)
			}
			for _, p := range m.Parts {
				rows = append(rows, document.MigrationRow{Migration: m.Name, MigrationPart: p, Unfit: m.Unfit})
			}
		}
	}
	out.Partial = cmp.Or(finding.Printable(strings.Join(why, "; ")), out.Partial)
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}
