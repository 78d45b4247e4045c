// Package change has the verbs that change keys by a plan, delete, ttl, clean and rename, and what all verbs that plan
// share: a Verb is a row with words, a function that loads and one that finds what would be changed; a Run plans,
// prints, executes and reports. Package live has the verbs of constructs, package access those of users and seals.
package change

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/value/seal"
	"github.com/spf13/cobra"
)

// Changing holds the flags of every command that changes a server by a plan.
type Changing struct {
	cli.Selecting // of verbs with a rule
	Pacing
	renaming
	db     int
	spread int    // of ttl, percent
	alone  bool   // of delete: no other program uses the server
	Keep   string // of delete and clean: the archive that what is deleted goes into
	Apply  bool
	plan   string
	Output string
	Ring   sources.Ringing // of those that seal
}

// Pacing holds the flags that bound how fast keys are changed.
type Pacing struct {
	Rate       int
	byteRate   int
	MaxLatency time.Duration
	Progress   string
}

func (p *Pacing) Flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&p.Rate, "rate", 0, "keys per second at most that are changed (0: as fast as the server takes them)")
	f.IntVar(&p.byteRate, "rate-mb", 0, "megabytes per second at most of the values that are changed (0: any)")
	f.DurationVar(&p.MaxLatency, "max-latency", UsualLatency,
		"pause while the server needs longer than this to answer a PING (0: never)")
	cli.ProgressFlag(c, &p.Progress)
}

// UsualLatency is the --max-latency of what changes a server.
const UsualLatency = 50 * time.Millisecond

func (p *Pacing) Check() error {
	if p.Rate < 0 || p.byteRate < 0 || p.MaxLatency < 0 {
		return cli.Usage("write a positive number, or leave it out", "--rate, --rate-mb and --max-latency cannot be negative")
	}
	return cli.CheckProgress(p.Progress)
}

func (o *Changing) Flags(a *cli.App, c *cobra.Command) {
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	o.Pacing.Flags(c)
	f := c.Flags()
	f.BoolVar(&o.Apply, "apply", false, "do it")
	f.StringVar(&o.plan, "plan", "", "write the plan into this file, for `keywright apply FILE`")
	cli.Outputs(c, &o.Output, "table", "json")
}

// PlanHelp explains what all these commands have in common.
const PlanHelp = `Without --apply it is a plan: it changes nothing, and says what would be done, and
what is left alone and why. --plan FILE writes the plan, which keywright apply FILE
executes after it has checked that it still holds. --apply plans and executes. Twice
is as once: a run that was interrupted or killed is run again.`

// changingHelp explains what is common.
const changingHelp = `Without --apply it is a plan: it changes nothing, and says by entry what would be
done, and what is left alone and why. --plan FILE writes the plan, which
keywright apply FILE executes after it has checked that it still holds. --apply
plans and executes.

Each condition is checked by the server in the same step as the change. Locks that
are held, loads, workers and queues that work are left alone; items of entities go
through their store with their indexes, caches with the load that is under way.
Twice is as once: a run that was interrupted or killed is run again.`

// ExitCodesOfChanges lists those of all these verbs.
const ExitCodesOfChanges = `Exit codes: 0 planned or done, 1 the server refused some changes, 2 usage, 3 the
server cannot be reached, 4 it refuses, or the plan does not hold any more, 5 not all
keys were seen or changed, 130 interrupted.`

// Run represents one run of a verb: a plan, and its execution where that was asked for.
type Run struct {
	*Changing
	*cli.App
	Name    string // of the verb
	verb    *Verb
	Request plan.Request
	File    *plan.Plan // the plan that is executed; nil: it is made now
	Schema  *keyspace.Keyspace
	Keys    *seal.Ring // of verbs that seal
	Users   []acl.User // of acl apply
	Config  connect.Config
	id      server.Identity
	clients *cli.Databases
	work    Work
	Made    *plan.Plan // what the request gives now
	resumed bool
	Closers []func()

	selects selection.Request // of verbs with a rule
	rule    plan.Rule
	asker   *server.Reader // of a rename: reads values; nil: it was not needed yet
	source  apply.Scan     // of an undo: the keys that were changed; nil: the server is scanned
	once    bool           // nothing was counted before it is done
	unended bool           // of an undo: its file has no end
	keeps   *backup        // where a deletion writes what it deletes; nil: not written
	undoing *apply.Undo    // where a rename or ttl writes what it does; nil: not written
}

// Change plans, and executes where that was asked for.
func Change(ctx context.Context, a *cli.App, v *Verb, q plan.Request, o *Changing) error {
	if err := errors.Join(cli.OneOf("output", o.Output, "table", "json"), o.Check()); err != nil {
		return err
	}
	if err := PlanOrApply(o.plan, o.Apply); err != nil {
		return err
	}
	if o.Keep != "" && !o.Apply {
		return cli.Usage("say it with --apply, or to `keywright apply`", "--keep is for what is done, and this is a plan")
	}
	r, err := Prepare(ctx, a, v, q, o, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.MakePlan(ctx); err != nil {
		return err
	}
	if o.plan != "" {
		if err := WritePlan(o.plan, r.Made); err != nil {
			return err
		}
	}
	if !o.Apply {
		return r.showPlan(r.Made, o.plan)
	}
	return r.Execute(ctx, r.Made, nil)
}

// PlanOrApply refuses to write a plan and to execute it at once.
func PlanOrApply(plan string, apply bool) error {
	if !apply || plan == "" {
		return nil
	}
	return cli.Usage("look at the plan first: `keywright apply "+cli.ShellWord(plan)+"` executes it",
		"--plan and --apply exclude each other")
}

// Prepare reads what the verb needs, and connects. file is the plan that is executed.
func Prepare(ctx context.Context, a *cli.App, v *Verb, q plan.Request, o *Changing, file *plan.Plan) (*Run,
	error) {
	q.Namespace = a.Namespace
	r := &Run{Changing: o, App: a, Name: v.Name, verb: v, Request: q, File: file}
	err := r.verb.Load(ctx, r)
	if err != nil {
		return nil, err
	}
	a.Keyspace = r.Schema
	if r.Config, err = a.Server(); err != nil {
		return nil, err
	}
	r.Request.DB = r.database(q.DB)
	if r.id, err = server.Identify(ctx, r.Config, server.Primary); err != nil {
		return nil, err
	}
	r.clients = a.Databases(a.URL)
	r.Closers = append(r.Closers, r.clients.Close)
	if r.work, err = r.verb.Open(ctx, r); err != nil {
		r.Close()
		return nil, cli.ServerFailure(err)
	}
	r.scoped()
	return r, nil
}

// database returns what the URL names, where it names one, else what was asked for. A plan is for one,
// or for all, and does not hold for another one.
func (r *Run) database(asked int) int {
	switch named := r.Config.DB > 0; {
	case r.verb.NoDB, asked >= 0 && !r.verb.OneDB && r.File == nil: // --db
	case named, r.verb.OneDB && r.File == nil:
		return r.Config.DB
	}
	return asked
}

// scoped notes where the verb works.
func (r *Run) scoped() {
	db := max(r.Request.DB, cli.AllDatabases)
	switch {
	case r.verb.NoDB:
		db = cli.AboutNoDatabase
	case r.verb.OneDB:
		db = max(db, 0)
	}
	r.NoteScope(r.Config.String(), db, r.Schema, r.Request.Anywhere)
	if rule, ok := r.rule.(*plan.Delete); ok && len(r.Scope.Namespaces) == 0 {
		r.Scope.Within = rule.Within()
	}
}

func (r *Run) Close() {
	for _, c := range r.Closers {
		c()
	}
	_ = r.undoing.Close()
}

// Client returns the client of the database that the verb is about.
func (r *Run) Client() (*keywright.Client, error) {
	return r.clients.Client(max(r.Request.DB, 0))
}

// MakePlan looks at what there is now.
func (r *Run) MakePlan(ctx context.Context) error {
	p := NewPlan(r.App, r.Name, PlanServer(r.Config, r.id), r.Schema, r.Request)
	bar := terminal.NewProgress(r.ProgressMode(r.Progress), r.App.Err, r.App.Now())
	err := r.work.Plan(ctx, p, bar)
	bar.Clear()
	if err != nil {
		return cli.ServerFailure(err)
	}
	r.Made = p
	return p.Seal()
}

// NewPlan returns a plan without what it counts.
func NewPlan(a *cli.App, verb string, of plan.Server, ks *keyspace.Keyspace, q plan.Request) *plan.Plan {
	return &plan.Plan{Format: plan.Format, Verb: verb, Made: a.Now().UTC().Truncate(time.Millisecond),
		Tool: cli.Version().Version, Server: of, Declaration: plan.Digest(ks), Request: q, Entries: []plan.Part{}}
}

// uncounted makes the plan without what it counts.
func (r *Run) uncounted() error {
	r.once = true
	r.Made = NewPlan(r.App, r.Name, PlanServer(r.Config, r.id), r.Schema, r.Request)
	return r.Made.Seal()
}

// PlanServer returns the identity of a server as plans have it.
func PlanServer(config connect.Config, id server.Identity) plan.Server {
	s := plan.Server{Name: config.String(), Cluster: id.Cluster, Shards: []plan.Shard{}}
	for _, sh := range id.Shards {
		s.Shards = append(s.Shards, plan.Shard{Address: sh.Address, Brand: sh.Brand, Version: sh.Version,
			RunID: sh.RunID, ReplID: sh.ReplID, Flushes: sh.Flushes, Slots: sh.Slots})
	}
	return s
}

// WritePlan writes a plan into a file that only its owner may read.
func WritePlan(path string, p *plan.Plan) error {
	f, err := archivefile.Create(path, true)
	if err != nil {
		return cli.Unwritable("the plan", err)
	}
	if err := p.Write(f); err != nil {
		return errors.Join(err, f.Remove())
	}
	return f.Finish()
}

func ReadPlan(path string) (*plan.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usage("name the file that --plan wrote", "%v", err)
	}
	defer f.Close()
	p, err := plan.Read(f)
	if err != nil {
		return nil, cli.Usage("make a new plan with --plan", "%s cannot be used: %v", path, err)
	}
	return p, nil
}

// Execute changes the server as a plan says, and prints what was done. journal may be nil.
func (r *Run) Execute(ctx context.Context, p *plan.Plan, journal *journal.Journal) error {
	began := r.App.Now()
	bar := terminal.NewProgress(r.ProgressMode(r.Progress), r.App.Err, began)
	report, err := r.Perform(ctx, p, journal, bar, func(done int64) {
		bar.Show(terminal.State{What: r.verb.Unit + "s", Done: done, Total: p.Total.Keys,
			Elapsed: r.App.Now().Sub(began)}, r.App.Now())
	})
	bar.Clear()
	if _, unbegun := errors.AsType[*notBegun](err); unbegun {
		return errors.Unwrap(err)
	}
	return r.showDone(ctx, p, &report, err)
}

// notBegun describes why nothing of a plan was done.
type notBegun struct{ error }

func (n *notBegun) Unwrap() error { return n.error }

// Perform changes the server as a plan says. journal and bar may be nil.
func (r *Run) Perform(ctx context.Context, p *plan.Plan, journal *journal.Journal,
	bar *terminal.Progress, told func(int64)) (report apply.KeysReport, err error) {
	acting, err := Act(ctx, r.clients, r.Config, server.ToChangeKeys(), &r.Made.Server)
	if err != nil {
		return report, &notBegun{err}
	}
	defer acting.Release()
	if r.Keep != "" {
		if r.keeps, err = r.openBackup(); err != nil {
			return report, &notBegun{err}
		}
	}
	return r.work.Do(ctx, p, apply.KeysOptions{
		Rate: r.Rate, ByteRate: int64(r.byteRate) << 20, Journal: journal, StillHeld: acting.Held, Progress: told,
		Waiting: cli.Patience(bar, r.Config)})
}

// Act takes the right to change keys, on servers that have the commands which that needs, and are still those that were
// looked at. was may be nil.
func Act(ctx context.Context, clients *cli.Databases, config connect.Config, needs []string,
	was *plan.Server) (*writelease.Lease, error) {
	c, err := clients.Client(0)
	if err == nil && len(needs) > 0 {
		err = server.Has(ctx, config, needs)
	}
	if err != nil {
		return nil, err
	}
	a := clients.App
	acting, err := writelease.Acquire(ctx, c)
	began, last := time.Now(), (*writelease.HeldError)(nil)
	for {
		busy, ok := errors.AsType[*writelease.HeldError](err)
		if !ok || !busy.MayBeDead(last) && time.Since(began) >= a.Patience {
			break
		}
		if last == nil {
			a.Say("waiting: %s changes keys on this server; if it was killed its right ends in %s",
				cmp.Or(busy.Owner, "another program"), terminal.Duration(busy.Left))
		}
		last = busy
		if err := cli.Pause(ctx, actingAgain); err != nil {
			return nil, err
		}
		acting, err = writelease.Acquire(ctx, c)
	}
	if errors.Is(err, writelease.ErrHeld) {
		return nil, cli.Refused("run it again when that one has ended", "%v", err)
	}
	if err != nil {
		return nil, cli.ServerFailure(Cannot("take the right to change keys ("+writelease.Key+")", err))
	}
	if err := unmoved(ctx, a, config, was); err != nil {
		acting.Release()
		return nil, err
	}
	return acting, nil
}

// actingAgain says how long it is until the right to change keys is asked for again.
const actingAgain = 500 * time.Millisecond

// unmoved returns an error if the servers are not those that were looked at: there may have been
// a failover since. nil: none were.
func unmoved(ctx context.Context, a *cli.App, config connect.Config, was *plan.Server) error {
	id, err := server.Identify(ctx, config, server.Primary)
	if err != nil || was == nil {
		return err
	}
	now := PlanServer(config, id)
	why := was.Drift(&now)
	if len(why) == 0 {
		return nil
	}
	tellReasons(a.Print, why)
	return cli.Refused("run it again",
		"the servers are not those that were looked at: %s; nothing was changed", why[0].What)
}

// OnePlan takes the file of a plan.
func OnePlan(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cli.Usage("name the file that --plan wrote", "%s takes one plan, but got %d", cmd.CommandPath(), len(args))
	}
	return nil
}
