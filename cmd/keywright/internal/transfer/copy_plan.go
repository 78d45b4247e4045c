package transfer

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source/server"
)

// asPlan returns a copy that was planned, as a plan. It has no passwords.
func (r *copyRun) asPlan(ctx context.Context, out *CopyReport) (*plan.Plan, error) {
	var sides [2]plan.Server
	var urls [2]string
	roles := []server.Role{server.Auto, server.Primary}
	for i, at := range []*sources.Place{r.from, r.to} {
		id, err := server.Identify(ctx, at.Reader.Config(), roles[i])
		if err != nil {
			return nil, err
		}
		sides[i] = change.PlanServer(at.Reader.Config(), id)
		if urls[i], err = connect.WithoutPasswords(at.URL); err != nil {
			return nil, err
		}
	}
	for i := range sides[0].Shards { // a server gets another one with its first replica, which a snapshot is
		sides[0].Shards[i].ReplID = ""
	}
	p := &plan.Plan{Format: plan.Format, Verb: "copy", Made: r.Now().UTC().Truncate(time.Millisecond),
		Tool:   cli.Version().Version,
		Server: sides[1], From: &sides[0], Declaration: plan.Digest(r.sel.Schema)}
	p.Request = plan.Request{Entries: r.Entries, Owners: r.Owners, Globs: r.Globs, Where: r.Where,
		Undeclared: r.Undeclared, Anywhere: r.Anywhere,
		DB: r.Scan.OnlyDB, Namespace: r.App.Namespace}
	p.Request.Options = map[string]string{"from": urls[0], "to": urls[1], "existing": r.existing, "ttl": r.ttl,
		"to-db":     strconv.Itoa(r.toDB),
		"momentary": strconv.FormatBool(r.momentary), "snapshot": strconv.FormatBool(r.Snapshot),
		"forks":   strconv.Itoa(r.Forks),
		"writers": strconv.Itoa(r.writers), "rounds": strconv.Itoa(r.rounds), "read-from": r.Role,
		"from-namespace": r.Mapping.From}
	if r.evict {
		p.Request.Options["evict"] = "true"
	}
	entries := map[string]journal.Counts{}
	for _, e := range out.Entries {
		entries[e.Entry] = e.Counts
	}
	planCounts(p, out.Total, entries, out.leftOut)
	p.Libraries = plannedLibraries(out.Libraries)
	for _, why := range out.Incomplete {
		p.Incomplete = append(p.Incomplete, plan.Reason{Code: plan.Code(why.Code), What: why.String()})
	}
	return p, p.Seal()
}

// databaseIn returns the database that a URL names, -1 if it names none.
func databaseIn(text string) int {
	if config, err := connect.New(connect.Options{URL: text}); err == nil && config.DB > 0 {
		return config.DB
	}
	return -1
}

// ApplyCopy executes a plan of copy. What is at the target already, with the same value, is
// not written again, so that a run that was interrupted goes on.
func ApplyCopy(ctx context.Context, a *cli.App, path string, p *plan.Plan, o *change.Applying) error {
	if a.Given("url", "-u") {
		return cli.Usage("name the servers with --from and --to", "a plan of copy is for two servers")
	}
	q := p.Request
	again := copying{Selecting: *change.Selected(&q), Mapping: sources.Mapping{From: q.Options["from-namespace"]},
		existing: q.Options["existing"], evict: q.Options["evict"] == "true", ttl: q.Options["ttl"],
		momentary: q.Options["momentary"] == "true", output: o.Output, progress: o.Progress}
	numbers := map[string]*int{"to-db": &again.toDB, "writers": &again.writers, "rounds": &again.rounds,
		"forks": &again.Forks}
	for name, into := range numbers {
		n, err := strconv.Atoi(q.Options[name])
		if err != nil {
			return cli.Usage("make a new plan", "%s has no %s", path, name)
		}
		*into = n
	}
	again.Snapshot, again.Role = q.Options["snapshot"] == "true", q.Options["read-from"]
	again.Scan = server.Options{OnlyDB: q.DB, Rate: o.Rate, MaxLatency: o.MaxLatency}
	urls := []string{q.Options["from"], q.Options["to"]}
	for i, given := range []string{o.From, o.To} {
		if given == "" {
			continue
		}
		if why := plan.OtherDatabaseThan(databaseIn(urls[i]), databaseIn(given)); why != nil {
			return change.Drifted(a, o.Output, path, why)
		}
		urls[i] = given
	}
	now, err := replanCopy(ctx, a, urls, again)
	if err != nil {
		return err
	}
	if err := change.Drifted(a, o.Output, path, p.Drift(now, o.Tolerance(fewer(p, now), nil))); err != nil {
		return err
	}
	again.apply, again.planned = true, &now.Server
	return copyKeys(ctx, a, urls, &again)
}

// replanCopy plans a copy again.
func replanCopy(ctx context.Context, a *cli.App, urls []string, o copying) (*plan.Plan, error) {
	defer cli.LimitMemory()()
	r, err := openCopy(ctx, a, urls, &o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	report, err := r.pass(ctx)
	if err != nil {
		return nil, err
	}
	return r.asPlan(ctx, r.report(&report, nil))
}
