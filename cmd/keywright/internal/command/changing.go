package command

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// changing are the flags of the verbs that change what a rule selects.
type changing struct {
	selecting
	pacing
	renaming
	db     int
	spread int  // of ttl, percent
	alone  bool // of delete: no other program uses the server
	apply  bool
	plan   string
	output string
}

// pacing are the flags that bound how fast keys are changed.
type pacing struct {
	rate       int
	byteRate   int
	maxLatency time.Duration
	progress   string
}

func (p *pacing) flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&p.rate, "rate", 0, "keys per second at most that are changed (0: as fast as the server takes them)")
	f.IntVar(&p.byteRate, "rate-mb", 0, "megabytes per second at most of the values that are changed (0: any)")
	f.DurationVar(&p.maxLatency, "max-latency", 50*time.Millisecond,
		"pause while the server needs longer than this to answer a PING (0: never)")
	f.StringVar(&p.progress, "progress", "auto", "auto, plain (a line every 10 s) or none")
	choices(c, "progress", "auto", "plain", "none")
}

func (p *pacing) check() error {
	if p.rate < 0 || p.byteRate < 0 || p.maxLatency < 0 {
		return usage("write a positive number, or leave it out", "--rate, --rate-mb and --max-latency cannot be negative")
	}
	return oneOf("progress", p.progress, "auto", "plain", "none")
}

func (o *changing) flags(a *app, c *cobra.Command) {
	a.serverFlags(c)
	a.namespaceFlag(c)
	o.selecting.flags(c)
	o.pacing.flags(c)
	f := c.Flags()
	f.IntVar(&o.db, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
	f.BoolVar(&o.apply, "apply", false, "do it")
	f.StringVar(&o.plan, "plan", "", "write the plan into this file, for `keywright apply FILE`")
	f.Lookup("plan").Annotations = map[string][]string{noVariable: {"a file of each run"}}
	outputs(c, &o.output, "table", "json")
}

// changingHelp explains what is common.
const changingHelp = `Without --apply it is a plan: it changes nothing, and says by entry what would be
done, and what is left alone and why. --plan FILE writes the plan, which
keywright apply FILE executes after it has checked that it still holds. --apply
plans and executes.

Each condition is checked by the server in the same step as the change. Locks that
are held, loads, workers and queues that work are left alone; items of entities go
through their store with their indexes, caches with the load that is under way.
Twice is as once: a run that was interrupted or killed is run again.`

// exitCodesOfChanges are those of all these verbs.
const exitCodesOfChanges = `Exit codes: 0 planned or done, 1 the server refused some changes, 2 usage, 3 the
server cannot be reached, 4 it refuses, or the plan does not hold any more, 5 not all
keys were seen or changed, 130 interrupted.`

// ruleVerb is a verb that changes what a rule selects.
type ruleVerb struct {
	would string // "%s would be deleted"
	did   string // "Deleted %s"
	rule  func(ks *keyspace.Keyspace, r selection.Request, o *changing, now time.Time) (plan.Rule, error)
}

var ruleVerbs = map[string]ruleVerb{
	"delete": {"would be deleted", "Deleted", func(ks *keyspace.Keyspace, r selection.Request, o *changing,
		_ time.Time) (plan.Rule, error) {
		return plan.NewDelete(ks, r, o.alone)
	}},
	"ttl": {"would get a TTL", "Gave a TTL to", func(ks *keyspace.Keyspace, r selection.Request, o *changing,
		_ time.Time) (plan.Rule, error) {
		return plan.NewTTL(ks, r, float64(o.spread)/100)
	}},
	"clean": {"would be deleted", "Deleted", func(ks *keyspace.Keyspace, r selection.Request, _ *changing,
		now time.Time) (plan.Rule, error) {
		return plan.NewClean(ks, r, now)
	}},
	"rename": {"would be renamed", "Renamed", nil}, // see changeRun.renameRule
}

// changeRun is one run of such a verb.
type changeRun struct {
	*changing
	*app
	verb    string
	ks      *keyspace.Keyspace
	request selection.Request
	config  connect.Config
	id      server.Identity
	rule    plan.Rule
	made    *plan.Plan
	clients *databases
	resumed bool

	asker   *server.Reader // of a rename: reads values; nil: it was not needed yet
	source  apply.Scan     // of an undo: the keys that were renamed; nil: the server is scanned
	once    bool           // nothing was counted before it is done
	undoing *apply.Undo    // where a rename writes what it does; nil: nowhere
}

// close closes what is open.
func (r *changeRun) close() {
	r.clients.close()
	if r.asker != nil {
		r.asker.Close()
	}
	_ = r.undoing.Close()
}

// change plans, and executes where that was asked for.
func (a *app) change(ctx context.Context, verb string, o *changing) error {
	if err := errors.Join(oneOf("output", o.output, "table", "json"), o.check()); err != nil {
		return err
	}
	if o.apply && o.plan != "" {
		return usage("look at the plan first: `keywright apply "+shellWord(o.plan)+"` executes it", "--plan and --apply exclude each other")
	}
	r, err := a.prepare(ctx, verb, o)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.makePlan(ctx); err != nil {
		return err
	}
	if o.plan != "" {
		if err := writePlan(o.plan, r.made); err != nil {
			return err
		}
	}
	if !o.apply {
		return r.showPlan(r.made, o.plan)
	}
	return r.execute(ctx, nil)
}

// prepare connects, and makes the rule.
func (a *app) prepare(ctx context.Context, verb string, o *changing) (*changeRun, error) {
	_, ks, err := a.selection(&o.selecting)
	if err != nil {
		return nil, err
	}
	if len(ks.Entries)+len(ks.Owns) == 0 && (verb != "delete" || o.undeclared) && len(o.maps) == 0 {
		return nil, usage("say where the declaration is with -f",
			"%s needs a declaration: without one no key is declared", verb)
	}
	if verb == "clean" && len(ks.Cleanup) == 0 {
		return nil, usage("add cleanup: to the declaration", "the declaration has no clean-up rule")
	}
	r := &changeRun{changing: o, app: a, verb: verb, ks: ks}
	if r.request, err = o.selecting.request(); err != nil {
		return nil, err
	}
	a.within(ks, &r.request)
	if r.config, err = a.server(); err != nil {
		return nil, err
	}
	if r.id, err = server.Identify(ctx, r.config); err != nil {
		return nil, err
	}
	if make := ruleVerbs[verb].rule; make != nil {
		r.rule, err = make(ks, r.request, o, r.id.Time)
	} else {
		r.rule, err = r.renameRule()
	}
	if err != nil {
		return nil, refusedSelection(err)
	}
	a.keyspace = ks
	r.clients = &databases{app: a, open: map[int]*keywright.Client{}}
	return r, nil
}

// scan yields all keys of the primaries that the rule may mean.
func (r *changeRun) scan(bar *terminal.Progress, what string) apply.Scan {
	began := r.app.now()
	return func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		s := server.New(r.config, server.Options{Role: server.Primary, OnlyDB: r.db, MaxLatency: r.maxLatency})
		return s.Scan(ctx, source.Request{Bytes: true, Match: r.rule.Glob(), Progress: func(p source.Progress) {
			bar.Show(terminal.State{What: what, Done: p.Keys, Total: p.Total, Elapsed: r.app.now().Sub(began)}, r.app.now())
		}}, each)
	}
}

// learn shows the rule all keys, where it must know all of them to decide about one.
func (r *changeRun) learn(ctx context.Context) (source.Summary, error) {
	c, ok := r.rule.(*plan.Clean)
	if !ok || !c.Keeps() {
		return source.Summary{}, nil
	}
	return r.scan(nil, "keys")(ctx, func(batch []source.Key) error {
		for i := range batch {
			c.Learn(&batch[i])
		}
		return nil
	})
}

// makePlan looks at all keys.
func (r *changeRun) makePlan(ctx context.Context) error {
	learned, err := r.learn(ctx)
	if err != nil {
		return err
	}
	bar := terminal.NewProgress(r.progressMode(r.progress), r.app.err, r.app.now())
	c := plan.NewCollector(r.rule)
	sum, err := r.scan(bar, "keys looked at")(ctx, func(batch []source.Key) error {
		decisions := c.Decide(batch)
		if clean, ok := r.rule.(*plan.Clean); ok && clean.Idles() {
			if err := apply.Due(ctx, r.clients.client, batch, decisions); err != nil {
				return aclFailure(cannot("ask for idle times", err))
			}
		}
		if r.verb == "rename" {
			if err := r.blocked(ctx, batch, decisions); err != nil {
				return aclFailure(cannot("ask for keys with the new names", err))
			}
		}
		c.Count(batch, decisions)
		return nil
	})
	bar.Clear()
	if err != nil {
		return err
	}
	p, err := r.bare()
	if err != nil {
		return err
	}
	c.Into(p)
	for _, why := range slices.Concat(learned.Incomplete, sum.Incomplete) {
		p.Incomplete = append(p.Incomplete, plan.Reason{Code: plan.Code(why.Code), What: why.String()})
	}
	r.made = p
	return p.Seal()
}

// bare is the plan without what it counts.
func (r *changeRun) bare() (*plan.Plan, error) {
	p := &plan.Plan{Format: plan.Format, Verb: r.verb, Made: r.app.now().UTC().Truncate(time.Millisecond),
		Tool: version().Version, Server: planServer(r.config, r.id), Declaration: plan.Digest(r.ks)}
	p.Request = plan.Request{Entries: r.entries, Owners: r.owners, Globs: r.globs, Where: r.where,
		Undeclared: r.undeclared, DB: r.db, Namespace: r.app.namespace}
	switch {
	case r.verb == "ttl":
		p.Request.Options = map[string]string{"spread": strconv.Itoa(r.spread)}
	case r.verb == "rename":
		p.Request.Options = r.options()
	case r.alone:
		p.Request.Options = map[string]string{"not-shared": "true"}
	}
	p.Entries = []plan.Part{}
	return p, p.Seal()
}

// planServer is the identity of a server as plans have it.
func planServer(config connect.Config, id server.Identity) plan.Server {
	s := plan.Server{Name: config.String(), Cluster: id.Cluster, Shards: []plan.Shard{}}
	for _, sh := range id.Shards {
		s.Shards = append(s.Shards, plan.Shard{Address: sh.Address, Brand: sh.Brand, Version: sh.Version,
			RunID: sh.RunID, ReplID: sh.ReplID, Flushes: sh.Flushes, Slots: sh.Slots})
	}
	return s
}

// writePlan writes a plan into a file that only its owner may read.
func writePlan(path string, p *plan.Plan) error {
	f, err := archivefile.Create(path, true)
	if err != nil {
		return usage("name a file in a folder that you may write to", "the plan cannot be written: %v", err)
	}
	if err := p.Write(f); err != nil {
		return errors.Join(err, f.Remove())
	}
	return f.Finish()
}

// readPlan reads a plan.
func readPlan(path string) (*plan.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("name the file that --plan wrote", "%v", err)
	}
	defer f.Close()
	p, err := plan.Read(f)
	if err != nil {
		return nil, usage("make a new plan with --plan", "%s cannot be used: %v", path, err)
	}
	return p, nil
}

// execute changes keys. journal may be nil.
func (r *changeRun) execute(ctx context.Context, journal *apply.Journal) error {
	first, err := r.clients.client(0)
	if err != nil {
		return err
	}
	acting, err := r.act(ctx, first)
	if err != nil {
		return err
	}
	defer acting.End()
	began := r.app.now()
	bar := terminal.NewProgress(r.progressMode(r.progress), r.app.err, began)
	stores := &itemStores{app: r.app, ks: r.ks, clients: r.clients, open: map[string]*bind.Items{}}
	scan := r.source
	var values apply.Asker
	if r.verb == "rename" {
		if values, err = r.values(ctx); err != nil {
			return err
		}
		if scan == nil {
			scan = r.toChange()
		}
	} else {
		scan = r.scan(nil, "")
	}
	report, err := apply.Keys(ctx, r.clients.client, scan, r.rule, apply.KeysOptions{
		Live: values, Undo: r.undoing,
		Rate: r.rate, ByteRate: int64(r.byteRate) << 20, Journal: journal, StillActs: acting.Still, Item: stores.delete,
		Progress: func(done int64) {
			bar.Show(terminal.State{What: "keys", Done: done, Total: r.made.Total.Keys,
				Elapsed: r.app.now().Sub(began)}, r.app.now())
		},
	})
	bar.Clear()
	return r.showDone(ctx, &report, err)
}

// act takes the right to change keys.
func (r *changeRun) act(ctx context.Context, c *keywright.Client) (*apply.Acting, error) {
	acting, err := apply.Act(ctx, c)
	if errors.Is(err, apply.ErrActing) {
		return nil, &exit{exitRefused, err.Error(), "wait until it has ended; a killed one is forgotten after 15 s"}
	}
	if err != nil {
		return nil, aclFailure(cannot("take the right to change keys", err))
	}
	return acting, nil
}

// databases are the clients of a server, by database.
type databases struct {
	*app
	open map[int]*keywright.Client
}

// client opens a database, once.
func (d *databases) client(db int) (*keywright.Client, error) {
	if c := d.open[db]; c != nil {
		return c, nil
	}
	at, err := withDatabase(d.url, d.Getenv, db)
	if err != nil {
		return nil, err
	}
	o := d.connect
	c, err := keywright.Open(context.Background(), at, keywright.Options{CAFile: o.CAFile, CertFile: o.CertFile,
		KeyFile: o.KeyFile, ServerName: o.ServerName, Insecure: o.Insecure, Timeout: o.Timeout, NoCache: true, Connections: 2, Getenv: d.Getenv})
	if err != nil {
		return nil, aclFailure(err)
	}
	d.open[db] = c
	return c, nil
}

func (d *databases) close() {
	for _, db := range slices.Sorted(maps.Keys(d.open)) {
		d.open[db].Close()
	}
}

// request is what the flags ask for.
func (s *selecting) request() (selection.Request, error) {
	r := selection.Request{Entries: s.entries, Owners: s.owners, Globs: s.globs, Undeclared: s.undeclared}
	for _, text := range s.where {
		c, err := selection.ParseCondition(text)
		if err != nil {
			return r, refusedSelection(err)
		}
		r.Where = append(r.Where, c)
	}
	return r, nil
}

// everything is whether the flags do not narrow what is meant.
func (s *selecting) everything() bool {
	return len(s.entries)+len(s.owners)+len(s.globs)+len(s.where) == 0 && !s.undeclared
}

// someKeys refuses a selection of everything, for a verb that must be told.
func someKeys(verb string, s *selecting) error {
	if s.everything() {
		return usage("name entries with --entry, a glob with --match, or say --undeclared",
			"%s must be told which keys", verb)
	}
	return nil
}

// onePlan takes the file of a plan.
func onePlan(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usage("name the file that --plan wrote", "%s takes one plan, but got %d", cmd.CommandPath(), len(args))
	}
	return nil
}
