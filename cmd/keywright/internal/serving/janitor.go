package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/janitor"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tidying holds the flags of what does the jobs of the janitor.
type tidying struct {
	backups string
	limits  janitor.Limits
}

func (o *tidying) Flags(f *pflag.FlagSet, given string) {
	f.StringVar(&o.backups, "backups", "keywright.backups", given+"the folder that keeps its backups")
	f.IntVar(&o.limits.Memory, "janitor-memory", 90,
		given+"jobs that free no memory wait while a server uses this percentage of its maxmemory")
	f.DurationVar(&o.limits.Latency, "janitor-latency", change.UsualLatency,
		given+"jobs wait while a server needs longer than this to answer a PING (0: any)")
}

func (o *tidying) Check() error {
	if o.limits.Memory < 1 || o.limits.Memory > 100 {
		return cli.Usage("write --janitor-memory 90", "--janitor-memory is a percentage from 1 to 100")
	}
	if o.limits.Latency < 0 {
		return cli.Usage("write --janitor-latency 50ms", "--janitor-latency cannot be negative")
	}
	return nil
}

func JanitorCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "janitor",
		Short: "Do the jobs that the declaration has for the janitor",
		Long: `The section janitor of a declaration has jobs that are done again and again: audits,
sweeps of entities, clean-ups, expiries that are not as declared, backups. keywright
serve --janitor does them when they are due. For those that have cron or another
scheduler of their own there is keywright janitor run.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(janitorRunCommand(a), janitorNextCommand(a))
	return c
}

// tidyOnce holds the flags of janitor run.
type tidyOnce struct {
	tidying
	apply bool
}

func janitorRunCommand(a *cli.App) *cobra.Command {
	var o tidyOnce
	c := &cobra.Command{
		Use:   "run JOB",
		Short: "Do one job of the janitor now",
		Long: `Does a job of the declaration now, whenever it is due. Without --apply it changes
nothing: of a clean-up and of TTLs it shows the plan, of other jobs what they are.

With --apply it takes the turn on the server first: where another program does jobs, or
where memory is short or the server is slow, it says so and does nothing. Twice is as
once: a run that was killed is run again.

Exit codes: 0 done, 1 the server refused some changes, 2 usage, 3 the server cannot be
reached, 4 it refuses or the job has to wait, 5 not all was done, 130 interrupted.`,
		Example: `  keywright janitor run nightly
  keywright janitor run nightly --apply
  keywright janitor run saves --apply --backups /var/backups/redis`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("`keywright janitor next` lists them", "%s takes the name of one job", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return janitorRun(c.Context(), a, args[0], &o) },
	}
	c.ValidArgsFunction = func(p0 *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
		return completeJobs(a, p0, p1, p2)
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	o.Flags(c.Flags(), "")
	c.Flags().BoolVar(&o.apply, "apply", false, "do it")
	return c
}

// completeJobs completes the names of jobs.
func completeJobs(a *cli.App, _ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, _, err := a.LoadDeclaration()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, j := range d.Janitor {
		out = append(out, j.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// job returns the job of that name.
func job(ks *keyspace.Keyspace, name string) (*keyspace.Job, error) {
	for _, j := range ks.Janitor {
		if j.Name == name {
			return j, nil
		}
	}
	return nil, cli.Usage("`keywright janitor next` lists them", "there is no job %q in the declaration",
		finding.Printable(name))
}

func janitorRun(ctx context.Context, a *cli.App, name string, o *tidyOnce) error {
	if err := o.Check(); err != nil {
		return err
	}
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	j, err := job(d.Keyspace, name)
	if err != nil {
		return err
	}
	if j.Do == keyspace.WorkAudit {
		return cli.Usage("`keywright audit` audits", "the job %s is an audit, whose report is for keywright serve", j.Name)
	}
	if !o.apply {
		if verb := jobVerbs[j.Do]; verb != "" {
			return change.Change(ctx, a, change.KeyVerbs()[verb], jobRequest(j), jobFlags(j, false))
		}
		a.Print("%s: %s; --apply does it", j.Name, j)
		return nil
	}
	if _, err := a.Server(); err != nil {
		return err
	}
	client, err := janitorClient(ctx, a)
	if err != nil {
		return cli.ServerFailure(err)
	}
	defer client.Close()
	return janitorApply(ctx, a, client, d.Keyspace, j, o)
}

// janitorApply does a job in its turn.
func janitorApply(ctx context.Context, a *cli.App, client *keywright.Client, ks *keyspace.Keyspace, j *keyspace.Job,
	o *tidyOnce) error {
	if err := janitor.Ready(ctx, client, j, o.limits); err != nil {
		return waits(j, err)
	}
	turn := &janitor.ServerTurn{Of: ks.Package,
		Client: func(context.Context) (*keywright.Client, error) { return client, nil }}
	now := a.Now()
	// it is asked for: when it was done last does not matter
	held, end, err := turn.Take(ctx, j.Name, now.Add(time.Hour), now)
	if err != nil {
		return waits(j, err)
	}
	did := ""
	switch j.Do {
	case keyspace.WorkSweep:
		did, err = sweepOnce(held, a, j)
	case keyspace.WorkBackup:
		did, err = backupOnce(held, quietly(a), j, o.backups, "default", "", func(string) error { return nil })
	default:
		err = change.Change(held, a, change.KeyVerbs()[jobVerbs[j.Do]], jobRequest(j), jobFlags(j, true))
	}
	good := err == nil && context.Cause(held) == nil
	end(good, map[bool]time.Time{true: a.Now()}[good])
	if did != "" {
		a.Print("%s", did)
	}
	return err
}

// waits returns why a job is not done now.
func waits(j *keyspace.Job, err error) error {
	if w, ok := errors.AsType[*janitor.Wait](err); ok {
		code := cli.ExitRefused
		if w.Reason == janitor.Away {
			code = cli.ExitUnreachable
		}
		return &cli.Exit{Code: code, Message: fmt.Sprintf("the job %s waits (%s): %s", j.Name, w.Reason, w.What),
			Hint: "run it again later"}
	}
	return err
}

// jobRequest returns what the verb of a job is asked for.
func jobRequest(j *keyspace.Job) plan.Request {
	ask := operate.Ask{Verb: jobVerbs[j.Do], Select: map[string]string{}}
	if j.Entry != nil {
		ask.Select["entry"] = j.Entry.Name
	}
	return (&planner{db: -1}).requestOf(&ask) // of all databases
}

func jobFlags(j *keyspace.Job, apply bool) *change.Changing {
	q := jobRequest(j)
	o := &change.Changing{Output: "table", Apply: apply}
	o.Pacing = change.Pacing{Progress: "none", MaxLatency: change.UsualLatency}
	o.AsIn(&q)
	return o
}

func janitorClient(ctx context.Context, a *cli.App) (*keywright.Client, error) {
	with := a.ClientOptions()
	with.Name, with.Connections, with.Attempts = "keywright-janitor", -1, 2
	return keywright.Open(ctx, a.URL, with)
}

func janitorNextCommand(a *cli.App) *cobra.Command {
	var count int
	var output string
	c := &cobra.Command{
		Use:   "next [JOB]",
		Short: "List the jobs of the janitor, and when each is due",
		Long: `Lists the jobs of the declaration, and when each is due next, in UTC and in its time
zone. It asks no server.`,
		Example: `  keywright janitor next
  keywright janitor next nightly --count 5
  keywright janitor next -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage("leave it out for all", "%s takes the name of one job", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return janitorNext(a, args, count, output) },
	}
	c.ValidArgsFunction = func(p0 *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
		return completeJobs(a, p0, p1, p2)
	}
	c.Flags().IntVar(&count, "count", 1, "how many times of each job, at most 100")
	cli.Outputs(c, &output, "table", "json")
	return c
}

// DueJobs holds the jobs of the janitor, and when each is due.
type DueJobs struct {
	Jobs []dueJob `json:"jobs"`
}

// dueJob represents a job of the janitor.
type dueJob struct {
	Name  string      `json:"name"`
	Doc   string      `json:"doc,omitempty"`
	Do    string      `json:"do" enum:"audit,sweep,clean,ttl,backup"`
	Entry string      `json:"entry,omitempty"` // absent: all entries
	When  string      `json:"when"`            // what it does and when, in words
	Zone  string      `json:"zone,omitempty"`  // of its times; absent: UTC
	Next  []time.Time `json:"next"`            // the earliest first, in UTC
}

func janitorNext(a *cli.App, args []string, count int, output string) error {
	if err := cli.OneOf("output", output, "table", "json"); err != nil {
		return err
	}
	if count < 1 || count > 100 {
		return cli.Usage("write --count 5", "--count is a number from 1 to 100")
	}
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	jobs := d.Janitor
	if len(args) > 0 {
		j, err := job(d.Keyspace, args[0])
		if err != nil {
			return err
		}
		jobs = []*keyspace.Job{j}
	}
	zones, err := janitor.Zones(jobs)
	if err != nil {
		return cli.Usage("name one of the time zone database", "%v", err)
	}
	report := DueJobs{[]dueJob{}}
	for _, j := range jobs {
		due := dueJob{Name: j.Name, Doc: j.Doc, Do: string(j.Do), When: j.String(), Zone: j.When.Zone, Next: []time.Time{}}
		if j.Entry != nil {
			due.Entry = j.Entry.Name
		}
		at := a.Now()
		for range count {
			next, ok := j.When.Next(at, zones[j.When.Zone])
			if !ok {
				break
			}
			due.Next = append(due.Next, next.UTC())
			at = next
		}
		report.Jobs = append(report.Jobs, due)
	}
	if output == "json" {
		return a.JSON(report)
	}
	return printDue(a, report.Jobs, zones)
}

func printDue(a *cli.App, jobs []dueJob, zones map[string]*time.Location) error {
	if len(jobs) == 0 {
		a.Say("the declaration has no section janitor")
		return nil
	}
	var rows [][]string
	for _, j := range jobs {
		for _, next := range j.Next {
			local := ""
			if j.Zone != "" {
				local = next.In(zones[j.Zone]).Format("Mon 15:04 MST")
			}
			rows = append(rows, []string{j.Name, next.Format("2006-01-02 15:04:05Z"), local, j.When})
		}
	}
	return terminal.Table(a.Out,
		[]terminal.Column{{Title: "job"}, {Title: "next"}, {Title: "there", Drop: 2}, {Title: "what", Drop: 1}}, rows)
}

// quietly returns a command line of its own, which prints nothing.
func quietly(a *cli.App) *cli.App { return (&planner{app: a}).quiet() }

// newJanitor gives what does the jobs of a target of serve; nil: it does none.
func newJanitor(a *cli.App, o *Serving, t *observe.Target, p *planner, desk *operate.PlanQueue) (func(context.Context),
	error) {
	if !o.janitor || len(t.Declaration.Janitor) == 0 {
		return nil, nil
	}
	jobs := t.Declaration.Janitor
	zones, err := janitor.Zones(jobs)
	if err != nil {
		return nil, cli.Usage("name one of the time zone database", "%v", err)
	}
	if keepsBackups(jobs) {
		if err := os.MkdirAll(o.backups, 0o700); err != nil {
			return nil, cli.Usage("name a folder that can be written to", "--backups: %v", err)
		}
	}
	path := filepath.Join(o.plans, "janitor-"+fileWord(t.ID)+".json")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usage("name another folder with --plans", "%v", err)
	}
	w := &worker{planner: p, target: t, desk: desk, backups: o.backups}
	k, err := janitor.New(janitor.Options{Jobs: jobs, Zones: zones, Now: a.Now, Do: w.do, Changed: t.Tidy,
		Save: func(text []byte) error { return cli.ReplaceTextAs(path, text, 0o600) },
		Turn: &janitor.ServerTurn{Of: t.Declaration.Package, Client: t.Client},
		Ready: func(ctx context.Context, j *keyspace.Job) error {
			c, err := t.Client(ctx)
			if err != nil {
				return &janitor.Wait{Reason: janitor.Away, What: err.Error()}
			}
			return janitor.Ready(ctx, c, j, o.limits)
		}}, text)
	if err != nil {
		return nil, cli.Usage("move it away to begin again", "%s: %v", path, err)
	}
	return func(ctx context.Context) {
		discardParts(a, o.backups, fileWord(t.ID), k)
		k.Run(ctx)
	}, nil
}
