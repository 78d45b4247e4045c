package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/queue"
	"github.com/spf13/cobra"
)

// queueing are the flags of queues.
type queueing struct {
	output string
	dead   bool
	limit  int64
}

func (a *app) queuesCommand() *cobra.Command {
	var o queueing
	c := &cobra.Command{
		Use:   "queues [entry]...",
		Short: "What the queues of the keyspace hold; retry, discard and repair with a plan",
		Long: `Lists the queues: jobs per lane and how long the first one has waited, jobs that
run, those whose worker is dead (zombies), delayed and dead jobs, workers. --dead lists
dead jobs with their reasons.

keywright queues retry and discard take ids of dead jobs, or all; repair looks at every
stored job and brings back those that are in no place, as after an eviction or a DEL by
hand; pause and resume stop and start the claiming of jobs.`,
		Example: `  keywright queues
  keywright queues tasks --dead
  keywright queues retry tasks --all --apply
  keywright queues repair`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.limit < 1 || o.limit > 1000 {
				return usage("write --limit 100", "--limit %d: it takes 1 to 1000", o.limit)
			}
			if err := oneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			return a.withConstructs(c.Context(), keyspace.Queue, args, func(client *keywright.Client, entries []*keyspace.Entry) error {
				return a.queues(c.Context(), client, entries, &o)
			})
		},
	}
	c.ValidArgsFunction = a.completeConstructs(keyspace.Queue)
	a.serverFlags(c)
	a.namespaceFlag(c)
	outputs(c, &o.output, "table", "json")
	f := c.Flags()
	f.BoolVar(&o.dead, "dead", false, "list dead jobs")
	f.Int64Var(&o.limit, "limit", 100, "with --dead: how many per queue; at most 1000")
	c.AddCommand(a.queuesDeadCommand("retry"), a.queuesDeadCommand("discard"), a.queuesRepairCommand(),
		a.queuesPauseCommand("pause"), a.queuesPauseCommand("resume"))
	return c
}

// queuesReport is what queues has found; its JSON names are stable.
type queuesReport struct {
	Queues []queueReport `json:"queues"`
	gaps
}

// queueReport is one queue. Its jobs are those of its lanes, running, zombies,
// delayed and dead.
type queueReport struct {
	Entry   string            `json:"entry"`
	Queue   *finding.JSONKey  `json:"queue,omitempty"` // the placeholders that tell it from others of the entry
	Paused  bool              `json:"paused"`
	Jobs    int64             `json:"jobs"` // in all places
	Lanes   []laneReport      `json:"lanes"`
	Running int64             `json:"running"`
	Zombies int64             `json:"zombies"` // jobs whose worker is dead
	Delayed int64             `json:"delayed"`
	Dead    int64             `json:"dead"`
	Workers []finding.JSONKey `json:"workers"`
	Gone    []finding.JSONKey `json:"dead_workers,omitempty"`
	Buried  []deadReport      `json:"dead_jobs,omitempty"`  // with --dead, at most --limit of them
	Left    int64             `json:"not_listed,omitempty"` // with --dead: dead jobs that --limit leaves out
}

// title tells a queue from others of its entry.
func (q *queueReport) title() string {
	if q.Queue == nil {
		return q.Entry
	}
	return q.Entry + " " + finding.Key(*q.Queue)
}

// laneReport is what waits in a lane.
type laneReport struct {
	Lane   string  `json:"lane,omitempty"`
	Jobs   int64   `json:"jobs"`
	Oldest float64 `json:"oldest_seconds,omitempty"` // for how long the first job has waited
}

// deadReport is a dead job.
type deadReport struct {
	ID       finding.JSONKey `json:"id"`
	Reason   string          `json:"reason"`
	Attempts int64           `json:"attempts"`
	Crashes  int64           `json:"crashes"`
}

func (a *app) queues(ctx context.Context, c *keywright.Client, entries []*keyspace.Entry, o *queueing) error {
	report := queuesReport{Queues: []queueReport{}}
	for _, e := range entries {
		err := a.queuesOf(ctx, c, e, o, &report)
		if err := report.pass(ctx, e.Name, "", err); err != nil {
			return err
		}
	}
	var err error
	switch {
	case o.output == "json":
		err = a.json(report)
		report.sayLeft(a)
	case o.dead:
		err = a.printDead(&report)
	default:
		err = a.printQueues(&report)
	}
	return cmp.Or(err, report.verdict("queues"))
}

// sayLeft says on standard error what a limit left out of the document.
func (r *queuesReport) sayLeft(a *app) {
	left := int64(0)
	for _, q := range r.Queues {
		left += q.Left
	}
	if left > 0 {
		a.say("not listed: %s (--limit)", terminal.Plural(left, "more dead job"))
	}
}

func (a *app) queuesOf(ctx context.Context, c *keywright.Client, e *keyspace.Entry, o *queueing, report *queuesReport) error {
	return a.eachQueue(ctx, c, e, &report.gaps, func(name string, q queue.Queue[string]) error {
		r, err := reportQueue(ctx, q, o)
		if err == nil {
			r.Entry, r.Queue = e.Name, keyOf(name)
			report.Queues = append(report.Queues, r)
		}
		return err
	})
}

// eachQueue runs for each queue of an entry: for one whose keys share placeholders, for
// each value of them that there is. name tells it from the others.
func (a *app) eachQueue(ctx context.Context, c *keywright.Client, e *keyspace.Entry, g *gaps,
	run func(name string, q queue.Queue[string]) error) error {
	found, bounded, err := bind.Instances(ctx, c, e)
	if err != nil {
		return err
	}
	if bounded {
		g.Cut = append(g.Cut, cutReport{e.Name, len(found)})
	}
	for _, values := range found {
		name := titleOf(e, values)
		if err := g.pass(ctx, e.Name, name, run(name, bind.Queue(c, a.keyspace, e, values))); err != nil {
			return err
		}
	}
	return nil
}

func reportQueue(ctx context.Context, q queue.Queue[string], o *queueing) (r queueReport, err error) {
	s, err := q.Stats(ctx)
	if err != nil {
		return r, err
	}
	r = queueReport{Paused: s.Paused, Running: s.Leased - s.Zombies, Zombies: s.Zombies, Delayed: s.Delayed, Dead: s.Dead,
		Lanes: []laneReport{}, Workers: []finding.JSONKey{}}
	r.Jobs = s.Leased + s.Delayed + s.Dead
	for _, l := range s.Lanes {
		r.Lanes = append(r.Lanes, laneReport{l.Name, l.Length, l.Oldest.Seconds()})
		r.Jobs += l.Length
	}
	for _, w := range s.Workers {
		if w.Dead {
			r.Gone = append(r.Gone, finding.JSONKey(w.Name))
		} else {
			r.Workers = append(r.Workers, finding.JSONKey(w.Name))
		}
	}
	if !o.dead {
		return r, nil
	}
	dead, err := q.Dead(ctx, 0, o.limit)
	r.Left = max(0, r.Dead-int64(len(dead)))
	for _, d := range dead {
		r.Buried = append(r.Buried, deadReport{finding.JSONKey(d.ID), d.Reason, d.Attempts, d.Crashes})
	}
	return r, err
}

// titleOf tells several queues, or parts of an entity, of one entry apart.
func titleOf(e *keyspace.Entry, values bind.Values) string {
	var texts []string
	for _, name := range parts.Values(e) {
		texts = append(texts, name+"="+values[name])
	}
	return strings.Join(texts, " ")
}

func (a *app) printQueues(report *queuesReport) error {
	var rows [][]string
	for _, q := range report.Queues {
		for i, l := range q.Lanes {
			row := []string{"", l.Lane, terminal.Count(l.Jobs), seconds(l.Oldest), "", "", "", "", "", "", ""}
			if i == 0 {
				state := ""
				if q.Paused {
					state = "paused"
				}
				row[0] = q.title()
				copy(row[4:], []string{terminal.Count(q.Running), countOrNone(q.Zombies), countOrNone(q.Delayed), countOrNone(q.Dead),
					terminal.Count(q.Jobs), fmt.Sprint(len(q.Workers)), state})
			}
			rows = append(rows, row)
		}
	}
	defer report.tell(a)
	if len(rows) == 0 {
		report.none(a, "no queue has a key")
		return nil
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "queue", Least: 16}, {Title: "lane"}, {Title: "waiting", Right: true},
		{Title: "oldest", Right: true}, {Title: "running", Right: true}, {Title: "zombies", Right: true, Drop: 2},
		{Title: "delayed", Right: true, Drop: 3}, {Title: "dead", Right: true}, {Title: "jobs", Right: true, Drop: 5},
		{Title: "workers", Right: true, Drop: 1}, {Title: "state", Drop: 4}}, rows)
}

// printable is a foreign text as a terminal may show it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

func (a *app) printDead(report *queuesReport) error {
	var rows [][]string
	left := int64(0)
	for _, q := range report.Queues {
		for _, j := range q.Buried {
			rows = append(rows, []string{q.title(), finding.Key(j.ID), terminal.Count(j.Attempts), countOrNone(j.Crashes), printable(j.Reason)})
		}
		left += q.Left
	}
	defer report.tell(a)
	if len(rows) == 0 {
		report.none(a, "no job is dead")
		return nil
	}
	err := terminal.Table(a.out, []terminal.Column{{Title: "queue"}, {Title: "job", Least: 12}, {Title: "attempts", Right: true},
		{Title: "crashes", Right: true, Drop: 1}, {Title: "reason", Least: 20}}, rows)
	if left > 0 {
		a.tell("and %s, which --limit leaves out", terminal.Plural(left, "more dead job"))
	}
	return err
}
