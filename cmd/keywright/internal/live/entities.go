package live

import (
	"cmp"
	"context"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// entities holds the flags of entities.
type entities struct {
	output string
	limit  int
	rate   int
}

func EntitiesCommand(a *cli.App) *cobra.Command {
	var o entities
	c := &cobra.Command{
		Use:   "entities [entry]...",
		Short: "How many items the entities hold, and what waits to be swept",
		Long: `Lists the entities: their items, those that have expired and wait to be swept, for
how long the first of them has, and which process sweeps. An entity that no process
sweeps keeps the index entries of expired items, and announces no expiry.`,
		Example: `  keywright entities
  keywright entities check
  keywright entities repair item --apply
  keywright entities index --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.OneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			return a.WithConstructs(c.Context(), keyspace.Entity, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return countItems(c.Context(), a, client, entries, &o)
				})
		},
	}
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Entity)
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	c.AddCommand(entitiesCheckCommand(a), entitiesRepairCommand(a), entitiesIndexesCommand(a), entitiesIndexCommand(a))
	return c
}

func entitiesCheckCommand(a *cli.App) *cobra.Command {
	var o entities
	c := &cobra.Command{
		Use:   "check [entry]...",
		Short: "Compare every item with every index entry",
		Long: `Compares all items of the entities with all entries of their indexes, their index
records and their expiry times. Each item is compared in one step on the server, so that
writers at work cause no false alarm.

  missing  an item is not in an index it belongs to
  stale    an index holds an id whose item is gone, or has another value by now
  score    an item is in an index with another score than its field's
  ttl      an index, or an item (no index is named), never expires and should
  ledger   the index record of an item differs from its fields
  expiry   the expiry time that is written down differs from the item's TTL
  form     a newer program keeps it in a form that this one does not know

keywright entities repair puts it right. Exit code 1 means that something is wrong.`,
		Example: `  keywright entities check
  keywright entities check item -o json
  keywright entities repair item --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.OneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			if o.rate < 1 || o.limit < 0 {
				return cli.Usage("as in --rate 5000 --limit 20", "--rate must be at least 1 and --limit at least 0")
			}
			return a.WithConstructs(c.Context(), keyspace.Entity, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return checkEntities(c.Context(), a, client, entries, &o)
				})
		},
	}
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Entity)
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	c.Flags().IntVar(&o.limit, "limit", 100, "how many problems to show per entity; 0: only count them")
	c.Flags().IntVar(&o.rate, "rate", 20_000, "keys per second to look at, at most")
	return c
}

func countItems(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, o *entities) error {
	report, err := a.ConstructReader(c).Entities(ctx, entries)
	if err != nil {
		return err
	}
	err = a.WriteReport(o.output, report, func() error { return printEntities(a, &report) })
	return cmp.Or(err, cli.ListedInPart(&report.Gaps, "entities"))
}

func printEntities(a *cli.App, report *answer.Entities) error {
	rows := make([][]string, len(report.Entities))
	for i, r := range report.Entities {
		sweeper := ""
		if r.Sweeper != nil {
			sweeper = finding.Key(*r.Sweeper)
		}
		rows[i] = []string{r.Entry, cli.ShownName(r.Of), terminal.Count(r.Items), cli.CountOrNone(r.Expired),
			cli.Seconds(r.Late), sweeper}
	}
	defer a.PrintGaps(&report.Gaps)
	return terminal.Table(a.Out,
		[]terminal.Column{{Title: "entity"}, {Title: "of", Drop: 1}, {Title: "items", Right: true},
			{Title: "expired", Right: true}, {Title: "late", Right: true}, {Title: "swept by", Drop: 2}}, rows)
}

// problemReport represents something wrong; its JSON names are stable.
type problemReport struct {
	Entry string           `json:"entry"`
	Item  finding.JSONKey  `json:"item"` // its key
	What  string           `json:"what" enum:"missing,stale,score,ttl,ledger,expiry,form"`
	Index *finding.JSONKey `json:"index,omitempty"` // the key of the index
}

// CheckReport describes what a check has found; its JSON names are stable.
type CheckReport struct {
	Items    int             `json:"items"`
	Entries  int             `json:"index_entries"`
	Expired  int             `json:"expired"`
	Wrong    int             `json:"wrong"` // problems, also those that --limit leaves out
	Problems []problemReport `json:"problems"`
	Left     int             `json:"not_listed,omitempty"` // problems that --limit leaves out
	answer.Gaps
}

func checkEntities(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, o *entities) error {
	report := CheckReport{Problems: []problemReport{}}
	err := a.ConstructReader(c).EachEntity(ctx, entries, &report.Gaps,
		func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error {
			shown := 0
			done, err := s.Check(ctx, entity.CheckOptions{Rate: o.rate, Found: func(p entity.Problem) {
				if shown++; shown <= o.limit {
					report.Problems = append(report.Problems,
						problemReport{e.Name, finding.JSONKey(s.KeyOf(p.ID)), p.What, answer.KeyOf(p.Key)})
				}
			}})
			report.Wrong += done.Problems
			if err == nil { // what was seen before a failure was not compared
				report.Items, report.Entries, report.Expired = report.Items+done.Items, report.Entries+done.Entries,
					report.Expired+done.Expired
			}
			return err
		})
	if err != nil {
		return err
	}
	report.Left = report.Wrong - len(report.Problems)
	err = a.WriteReport(o.output, report, func() error { return printCheck(a, &report) })
	if err == nil && report.Wrong > 0 {
		return &cli.Exit{Code: cli.ExitFindings, Message: terminal.Plural(int64(report.Wrong),
			"problem") + cli.NotListed(int64(report.Left)),
			Hint: "`keywright entities repair` puts them right"}
	}
	return cmp.Or(err, cli.ListedInPart(&report.Gaps, "entities"))
}

func printCheck(a *cli.App, r *CheckReport) error {
	if len(r.Problems) > 0 {
		rows := make([][]string, len(r.Problems))
		for i, p := range r.Problems {
			index := ""
			if p.Index != nil {
				index = finding.Key(*p.Index)
			}
			rows[i] = []string{p.What, finding.Key(p.Item), index, p.Entry}
		}
		columns := []terminal.Column{{Title: "what"}, {Title: "item", Least: 24}, {Title: "index", Least: 16},
			{Title: "entity", Drop: 1}}
		if err := terminal.Table(a.Out, columns, rows); err != nil {
			return err
		}
	}
	if r.Left > 0 {
		a.Print("and %s, which --limit leaves out", terminal.Plural(int64(r.Left), "more problem"))
	}
	a.PrintGaps(&r.Gaps)
	wrong := terminal.Plural(int64(r.Wrong), "problem")
	switch unread := len(r.Unread) > 0; {
	case unread && r.Items+r.Entries+r.Expired+r.Wrong == 0:
		a.Print("no item was compared")
		return nil
	case unread && r.Wrong == 0:
		wrong = "nothing wrong in those that were read"
	case r.Wrong == 0:
		wrong = "nothing wrong"
	}
	a.Print("%s, %s in indexes, %s", terminal.Plural(int64(r.Items), "item"), terminal.Plural(int64(r.Entries), "id"),
		wrong)
	if r.Expired > 0 {
		a.Print("%s have expired and wait to be swept: that is no fault, but a process must sweep",
			terminal.Count(int64(r.Expired)))
	}
	return nil
}
