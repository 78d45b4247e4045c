package transfer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

// moving holds the flags of restore and copy, which write keys with their values to a server.
type moving struct {
	cli.Selecting
	sources.Mapping
	existing  string
	evict     bool
	ttl       string
	toDB      int
	momentary bool
	writers   int
	apply     bool
	plan      string
	output    string
	progress  string
}

var (
	existingModes = []string{string(restore.Fail), string(restore.Skip), string(restore.Replace),
		string(restore.Different)}
	ttlModes = []string{"absolute", "remaining", "declared"}
)

// flags defines those that both have in the same words.
func (o *moving) flags(a *cli.App, c *cobra.Command) {
	a.ServerFlags(c)
	a.SelectionFlags(c, &o.Selecting)
	o.Mapping.Flags(c)
	f := c.Flags()
	f.StringVar(&o.existing, "existing", "fail", "what becomes of keys that are there: fail, skip, replace or different")
	f.BoolVar(&o.evict, "evict", false, "go on when the server evicts keys, of any program, to make room")
	f.StringVar(&o.ttl, "ttl", "absolute", "when keys expire: absolute, remaining or declared")
	f.BoolVar(&o.momentary, "momentary", false, c.Name()+" what only makes sense in its moment, too")
	f.IntVar(&o.writers, "writers", 4, "how many connections write")
	f.BoolVar(&o.apply, "apply", false, "do it")
	f.StringVar(&o.plan, "plan", "", "write the plan into this file, for `keywright apply FILE`")
	cli.ProgressFlag(c, &o.progress)
	cli.Outputs(c, &o.output, "table", "json")
	cli.Choices(c, "existing", existingModes...)
	cli.Choices(c, "ttl", ttlModes...)
}

// checkWords checks the flags that take a word of a list.
func (o *moving) checkWords() error {
	return cmp.Or(cli.OneOf("existing", o.existing, existingModes...), cli.OneOf("ttl", o.ttl, ttlModes...),
		cli.OneOf("output", o.output, "table", "json"), cli.CheckProgress(o.progress))
}

// options returns the flags as a plan has them.
func (o *moving) options() map[string]string {
	out := map[string]string{"existing": o.existing, "ttl": o.ttl, "momentary": strconv.FormatBool(o.momentary),
		"from-namespace": o.From}
	if o.evict {
		out["evict"] = "true"
	}
	return out
}

// movingAsIn returns the flags that a plan was made with.
func movingAsIn(q *plan.Request, o *change.Applying) moving {
	return moving{Selecting: *change.Selected(q), Mapping: sources.Mapping{From: q.Options["from-namespace"]},
		existing: q.Options["existing"], evict: q.Options["evict"] == "true", ttl: q.Options["ttl"],
		momentary: q.Options["momentary"] == "true", output: o.Output, progress: o.Progress}
}

// target represents the server that a run of restore or copy writes to.
type target struct {
	*cli.App
	sel       *sources.Mapped
	clients   *cli.Databases
	planned   *plan.Server           // that the plan was compared with; nil: there is none
	libraries *restore.LibraryReport // of functions; nil: there is none
}

// mapped returns which keys are meant, and says so where that was not asked for.
func mapped(a *cli.App, s *cli.Selecting, o *sources.Mapping) (*sources.Mapped, error) {
	sel, err := sources.MapNames(a, s, o)
	if err == nil && o.From == "" {
		a.SayNamespaces(sel.Schema, s)
	}
	return sel, err
}

// ownDatabases refuses a target whose URL names a database where keys go to the ones that they
// were in.
func (o *moving) ownDatabases(target connect.Config, flag string) error {
	if o.toDB >= 0 || target.DB <= 0 {
		return nil
	}
	return cli.Usage("add "+flag+" "+strconv.Itoa(target.DB)+", or leave the database out of the URL",
		"the URL of the target names database %d, and each key goes to the database that it was in", target.DB)
}

// noDatabase says of a database that a server does not have what would have gone there.
func noDatabase(err error, what, target, hint string) error {
	var why *cli.Exit
	if !errors.As(err, &why) || why.Code != cli.ExitUsage {
		return err
	}
	return cli.Usage(hint, "%s that cannot go to %s: %s; nothing was written", what, target, why.Message)
}

// place says where and until when a record is written. remaining gives it the expiry of --ttl remaining, and now is the
// time of the target.
func (o *moving) place(sel *sources.Mapped, rec *archive.Record, remaining func(*restore.Place),
	now func() int64) (restore.Place, error) {
	p := restore.Place{Key: rec.Key, DB: rec.DB, Expires: rec.Expires}
	if o.toDB >= 0 {
		p.DB = o.toDB
	}
	declared, err := sel.Place(&p, o.momentary)
	if err != nil || rec.Expires == 0 {
		return p, err
	}
	switch {
	case o.ttl == "remaining":
		remaining(&p)
	case o.ttl == "declared" && declared != nil && declared.TTL.Policy == keyspace.TTLExpires && declared.TTL.Default > 0:
		p.Expires = now() + declared.TTL.Default.Milliseconds()
		p.SameExpiry = noLaterThan(p.Expires)
	}
	return p, nil
}

// noLaterThan accepts an expiry that an earlier run may have given.
func noLaterThan(expires int64) func(int64) bool {
	return func(there int64) bool { return there > 0 && there <= expires }
}

// farthest is the last expiry that a server takes for sure: in Unix milliseconds, some
// 140,000 years from now.
const farthest = 1 << 52

// show writes a report, and returns the error that counts more than what the report says; nil: none does.
func (o *moving) show(ctx context.Context, a *cli.App, report any, table func() error, failed error) error {
	err := cmp.Or(a.WriteReport(o.output, report, table), ctx.Err())
	if err == nil && errors.As(failed, new(*cli.Exit)) {
		return failed
	}
	return err
}

// writePlan writes the plan where that was asked for, and the run has not failed.
func (o *moving) writePlan(planned func() (*plan.Plan, error), failed error) error {
	if o.plan == "" || failed != nil {
		return nil
	}
	p, err := planned()
	if err != nil {
		return err
	}
	return change.WritePlan(o.plan, p)
}

// asPlan returns what would be written, and what not and why, as a plan.
func (t *target) asPlan(verb string, to plan.Server, q plan.Request, report *restore.Report) *plan.Plan {
	p := change.NewPlan(t.App, verb, to, t.sel.Schema, q)
	cli.EachEntry(t.sel.Names(), report.Entries, func(entry string, e *journal.Counts) {
		c := plan.Counts{Keys: e.Keys, Change: e.Restored, Leave: e.Keys - e.Restored, Bytes: e.Bytes}
		p.Entries = append(p.Entries, plan.Part{Entry: entry, Counts: c})
		p.Total.Keys, p.Total.Change, p.Total.Leave, p.Total.Bytes = p.Total.Keys+c.Keys, p.Total.Change+c.Change,
			p.Total.Leave+c.Leave, p.Total.Bytes+c.Bytes
	})
	slices.SortFunc(p.Entries, func(a, b plan.Part) int { return strings.Compare(a.Entry, b.Entry) })
	leave := func(code plan.Code, keys int64) {
		if keys > 0 {
			p.Left = append(p.Left, plan.Left{Code: code, What: code.What(), Fix: code.Fix(), Keys: keys})
		}
	}
	leave(plan.AsItIs, report.Same)
	leave(plan.There, report.Existing)
	leave(plan.Expired, report.Expired)
	leave(plan.Refused, report.Refused+report.Unknown)
	for _, code := range slices.Sorted(maps.Keys(report.LeftOut)) {
		leave(code, report.LeftOut[code])
	}
	if t.libraries != nil {
		p.Libraries = t.libraries.Libraries
	}
	return p
}

// fewer is by how many keys less would be written now: they are there by now, as after
// a run that was interrupted.
func fewer(p, now *plan.Plan) map[string]int64 {
	out := map[string]int64{}
	for _, e := range p.Entries {
		out[e.Entry] += e.Change
	}
	for _, e := range now.Entries {
		out[e.Entry] -= e.Change
	}
	for entry, n := range out {
		out[entry] = max(n, 0)
	}
	return out
}
