package change

import (
	"context"
	"slices"
	"strconv"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// ruleFlags are those of the verbs that change what a rule selects.
func (o *Changing) ruleFlags(a *cli.App, c *cobra.Command) {
	o.Flags(a, c)
	o.Selecting.Flags(c)
	c.Flags().IntVar(&o.db, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
}

// Asked returns what the flags of a verb with a rule ask for.
func (o *Changing) Asked(verb string) plan.Request {
	q := Requested(&o.Selecting, o.db)
	switch {
	case verb == "ttl":
		q.Options = map[string]string{"spread": strconv.Itoa(o.spread)}
	case verb == "rename":
		q.Options = o.options()
	case o.alone:
		q.Options = map[string]string{"not-shared": "true"}
	}
	return q
}

// AsIn sets the flags of a verb with a rule to what a plan was made with.
func (o *Changing) AsIn(q *plan.Request) {
	o.Selecting, o.renaming, o.db = *Selected(q), renamingOf(q.Options), q.DB
}

// Requested returns what flags select of a database, as a plan has it.
func Requested(s *cli.Selecting, db int) plan.Request {
	return plan.Request{Entries: s.Entries, Owners: s.Owners, Globs: s.Globs, Where: s.Where,
		Undeclared: s.Undeclared, Anywhere: s.Anywhere, DB: db}
}

// Selected returns what a request selects.
func Selected(q *plan.Request) *cli.Selecting {
	return &cli.Selecting{Entries: q.Entries, Owners: q.Owners, Globs: q.Globs, Where: q.Where,
		Undeclared: q.Undeclared, Anywhere: q.Anywhere}
}

// ruleWork changes what a rule selects.
type ruleWork struct{ *Run }

// loadRule reads the declaration of a verb with a rule.
func loadRule(_ context.Context, r *Run) error {
	_, ks, err := r.Selection(Selected(&r.Request))
	if err != nil {
		return err
	}
	if len(ks.Entries)+len(ks.Owns) == 0 && (r.Name != "delete" || r.Request.Undeclared) && len(r.maps) == 0 {
		return cli.Usage("say where the declaration is with -f",
			"%s needs a declaration: without one no key is declared", r.Name)
	}
	if r.Name == "clean" && len(ks.Cleanup) == 0 {
		return cli.Usage("add cleanup: to the declaration", "the declaration has no clean-up rule")
	}
	r.Schema = ks
	return nil
}

// openRule opens the work of a verb with a rule.
func openRule(_ context.Context, r *Run) (Work, error) {
	var err error
	if r.selects, err = Selected(&r.Request).Request(); err != nil {
		return nil, err
	}
	cli.NarrowToNamespaces(r.Schema, &r.selects, &r.Selecting)
	r.rule, err = r.newRule()
	return &ruleWork{r}, cli.RefusedSelection(err)
}

func (r *Run) newRule() (plan.Rule, error) {
	switch r.Name {
	case "delete":
		return plan.NewDelete(r.Schema, r.selects, r.Request.Options["not-shared"] == "true")
	case "clean":
		return plan.NewClean(r.Schema, r.selects, r.id.Time)
	case "ttl":
		spread, err := strconv.Atoi(r.Request.Options["spread"])
		if err != nil {
			return nil, err
		}
		return plan.NewTTL(r.Schema, r.selects, float64(spread)/100)
	}
	return r.renameRule()
}

// scan yields all keys of the primaries that the rule may mean.
func (r *Run) scan(bar *terminal.Progress, what string) apply.Scan {
	began := r.App.Now()
	return func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		s := server.New(r.Config, server.Options{Role: server.Primary, OnlyDB: r.Request.DB, MaxLatency: r.MaxLatency})
		return s.Scan(ctx, source.Request{Bytes: true, Match: r.rule.Glob(), Progress: func(p source.Progress) {
			bar.Show(terminal.State{What: what, Done: p.Keys, Total: p.Total, Elapsed: r.App.Now().Sub(began)}, r.App.Now())
		}}, each)
	}
}

// learn shows the rule all keys, where it must know all of them to decide about one.
func (r *Run) learn(ctx context.Context) (source.Summary, error) {
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

// Plan looks at all keys.
func (r *ruleWork) Plan(ctx context.Context, p *plan.Plan, bar *terminal.Progress) error {
	learned, err := r.learn(ctx)
	if err != nil {
		return err
	}
	c := plan.NewCollector(r.rule)
	sum, err := r.scan(bar, "keys looked at")(ctx, func(batch []source.Key) error {
		decisions := c.Decide(batch)
		if clean, ok := r.rule.(*plan.Clean); ok && clean.Idles() {
			if err := apply.Due(ctx, r.clients.Client, batch, decisions); err != nil {
				return cli.ServerFailure(Cannot("ask for idle times", err))
			}
		}
		if r.Name == "rename" {
			if err := r.blocked(ctx, batch, decisions); err != nil {
				return cli.ServerFailure(Cannot("ask for keys with the new names", err))
			}
		}
		c.Count(batch, decisions)
		return nil
	})
	if err != nil {
		return err
	}
	c.Into(p)
	p.Incomplete = Incomplete(slices.Concat(learned.Incomplete, sum.Incomplete))
	return nil
}

// Do changes the keys.
func (r *ruleWork) Do(ctx context.Context, _ *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	stores := &itemStores{ks: r.Schema, clients: r.clients, open: map[string]itemStore{}}
	o.Item, o.Undo = stores.delete, r.undoing
	scan := r.source
	if r.keeps != nil {
		return r.kept(ctx, r.keeps, o)
	}
	if r.Name == "rename" {
		values, err := r.values(ctx)
		if err != nil {
			return apply.KeysReport{}, err
		}
		if o.Live = values; scan == nil {
			scan = r.toChange()
		}
	} else if scan == nil {
		scan = r.scan(nil, "")
	}
	return apply.Keys(ctx, r.clients.Client, scan, r.rule, o)
}

// Incomplete returns why not all was seen, as plans have it.
func Incomplete(all source.Reasons) (out []plan.Reason) {
	for _, why := range all {
		out = append(out, plan.Reason{Code: plan.Code(why.Code), What: why.String()})
	}
	return out
}
