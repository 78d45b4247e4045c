// Package live has the verbs of constructs on a server: queues, locks, entities, rankings. What they show is read with
// package answer; what they change goes through a plan of package change.
package live

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// queueing holds the flags of queues.
type queueing struct {
	output string
	dead   bool
	limit  int64
	over   time.Duration // from one reading to a second one; 0: there is one
}

func QueuesCommand(a *cli.App) *cobra.Command {
	var o queueing
	c := &cobra.Command{
		Use:   "queues [entry]...",
		Short: "What the queues of the keyspace hold; retry, discard and repair with a plan",
		Long: `Lists the queues: jobs per lane and how long the first one has waited, jobs that
run, those whose worker is dead (zombies), delayed and dead jobs, workers. --dead lists
dead jobs with their reasons. --over reads twice, and shows how many jobs a minute came
into each queue and left it, and by how much it has grown. A job that is done, cancelled,
discarded or expired has left; a dead one has not. Where the queue's count began again in
between, as when its last worker leaves, it is not known what came and left.

keywright queues retry and discard take ids of dead jobs, all, or all that match, and
cancel takes jobs that wait; repair looks at every
stored job and brings back those that are in no place, as after an eviction or a DEL by
hand; pause and resume stop and start the claiming of jobs.`,
		Example: `  keywright queues
  keywright queues tasks --dead
  keywright queues tasks --over 10s
  keywright queues retry tasks --all --apply
  keywright queues repair`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.limit < 1 || o.limit > 1000 {
				return cli.Usage("write --limit 100", "--limit %d: it takes 1 to 1000", o.limit)
			}
			if o.over < 0 || o.over > mostOver {
				return cli.Usage("write --over 10s", "--over %v: it takes up to %v", o.over, mostOver)
			}
			if o.over > 0 && o.dead && o.output != "json" {
				return cli.Usage("write one of the two, or -o json", "the list of --dead does not show what --over asks for")
			}
			if err := cli.OneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			return a.WithConstructs(c.Context(), keyspace.Queue, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return queues(c.Context(), a, client, entries, &o)
				})
		},
	}
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Queue)
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	f := c.Flags()
	f.BoolVar(&o.dead, "dead", false, "list dead jobs")
	f.Int64Var(&o.limit, "limit", 100, "with --dead: how many per queue; at most 1000")
	f.DurationVar(&o.over, "over", 0,
		"read twice, so long after each other, and show how many jobs came and left; at most 10m")
	c.AddCommand(queuesDeadCommand(a, "retry"), queuesDeadCommand(a, "discard"), queuesCancelCommand(a),
		queuesRunCommand(a), queuesRepairCommand(a), queuesPauseCommand(a, "pause"), queuesPauseCommand(a, "resume"))
	return c
}

func queues(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, o *queueing) error {
	dead := o.limit
	if !o.dead {
		dead = 0
	}
	report, err := readQueues(ctx, a, c, entries, dead, o.over)
	if err != nil {
		return err
	}
	switch {
	case o.output == "json":
		err = a.JSON(report)
		sayLeft(a, &report)
	case o.dead:
		err = printDead(a, &report)
	default:
		err = printQueues(a, &report, o.over > 0)
	}
	return cmp.Or(err, cli.ListedInPart(&report.Gaps, "queues"))
}

// mostOver bounds how long two readings are after each other.
const mostOver = 10 * time.Minute

// readQueues reads the queues, twice where it is to be known how they have grown.
func readQueues(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, dead int64,
	over time.Duration) (report answer.Queues, err error) {
	began := a.Now()
	if report, err = a.ConstructReader(c).Queues(ctx, entries, dead); err != nil || over == 0 {
		return report, err
	}
	report.Grow(began, answer.Past{})
	before := report.Past
	if err = cli.Pause(ctx, over); err != nil {
		return report, err
	}
	began = a.Now()
	if report, err = a.ConstructReader(c).Queues(ctx, entries, dead); err == nil {
		report.Grow(began, before)
	}
	return report, err
}

// workers says how many workers live, and how many are dead.
func workers(q *answer.Queue) string {
	if len(q.Gone) == 0 {
		return fmt.Sprint(len(q.Workers))
	}
	return fmt.Sprintf("%d, %d dead", len(q.Workers), len(q.Gone))
}

// rates says how many jobs a minute came into a queue and left it, and by how many it has grown, with the dead ones.
func rates(q *answer.Queue) (in, out, growth string) {
	in, out, growth = "not known", "not known", "not known"
	if g := q.Growth; g != nil {
		growth = aMinute("%+.*f/min", g.Open+g.Dead, g.Over)
		if g.Came != nil {
			in, out = aMinute("%.*f/min", *g.Came, g.Over), aMinute("%.*f/min", *g.Left, g.Over)
		}
	}
	return in, out, growth
}

// aMinute writes a count over seconds as one a minute: with a decimal place below ten.
func aMinute(form string, n int64, over float64) string {
	each, places := float64(n)/over*60, 0
	if math.Abs(each) < 10 {
		places = 1
	}
	return fmt.Sprintf(form, places, each)
}

// sayLeft says on standard error what a limit left out of the document.
func sayLeft(a *cli.App, r *answer.Queues) {
	left := int64(0)
	for _, q := range r.Queues {
		left += q.Left
	}
	if left > 0 {
		a.Say("not listed: %s (--limit)", terminal.Plural(left, "more dead job"))
	}
}

func printQueues(a *cli.App, report *answer.Queues, grown bool) error {
	var rows [][]string
	columns := len(queueColumns)
	if !grown {
		columns -= 3
	}
	for _, q := range report.Queues {
		for i, l := range q.Lanes {
			row := []string{"", l.Lane, terminal.Count(l.Jobs), cli.Seconds(l.Oldest), "", "", "", "", "", "", "", "", "", "", ""}
			if row = row[:columns]; i == 0 {
				state := ""
				if q.Paused {
					state = "paused"
				}
				row[0] = q.Title()
				in, out, growth := rates(&q)
				copy(row[4:],
					[]string{terminal.Count(q.Running), cli.CountOrNone(q.Zombies), overdue(q), cli.CountOrNone(q.Delayed),
						cli.CountOrNone(q.Dead), terminal.Count(q.Jobs), workers(&q), state, in, out, growth})
			}
			rows = append(rows, row)
		}
	}
	defer a.PrintGaps(&report.Gaps)
	a.PrintScope()
	if len(rows) == 0 {
		a.PrintNone(&report.Gaps, "no queue has a key")
		return nil
	}
	return terminal.Table(a.Out, queueColumns[:columns], rows)
}

// queueColumns has those of rates at last.
var queueColumns = []terminal.Column{{Title: "queue", Least: 16}, {Title: "lane"}, {Title: "waiting", Right: true},
	{Title: "oldest", Right: true}, {Title: "running", Right: true}, {Title: "zombies", Right: true, Drop: 2},
	{Title: "overdue", Right: true, Drop: 2},
	{Title: "delayed", Right: true, Drop: 3}, {Title: "dead", Right: true}, {Title: "jobs", Right: true, Drop: 5},
	{Title: "workers", Right: true, Drop: 1}, {Title: "state", Drop: 4}, {Title: "in", Right: true},
	{Title: "out", Right: true}, {Title: "growth", Right: true, Drop: 6}}

// overdue says how many runs of a queue last too long, and for how many that is not known.
func overdue(q answer.Queue) string {
	if q.Unseen > 0 {
		return fmt.Sprintf("%d of %d", q.Overdue, q.Running+q.Zombies-q.Unseen)
	}
	return cli.CountOrNone(q.Overdue)
}

// printable returns a foreign text as a terminal may show it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

func printDead(a *cli.App, report *answer.Queues) error {
	var rows [][]string
	left := int64(0)
	for _, q := range report.Queues {
		for _, j := range q.Buried {
			rows = append(rows,
				[]string{q.Title(), finding.Key(j.ID), terminal.Count(j.Attempts), cli.CountOrNone(j.Crashes), printable(j.Reason)})
		}
		left += q.Left
	}
	defer a.PrintGaps(&report.Gaps)
	a.PrintScope()
	if len(rows) == 0 {
		a.PrintNone(&report.Gaps, "no job is dead")
		return nil
	}
	err := terminal.Table(a.Out,
		[]terminal.Column{{Title: "queue"}, {Title: "job", Least: 12}, {Title: "attempts", Right: true},
			{Title: "crashes", Right: true, Drop: 1}, {Title: "reason", Least: 20}}, rows)
	if left > 0 {
		a.Print("and %s, which --limit leaves out", terminal.Plural(left, "more dead job"))
	}
	return err
}
