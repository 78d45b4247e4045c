package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
	"github.com/spf13/cobra"
)

// queueing are the flags of queues.
type queueing struct {
	output         string
	dead           bool
	limit          int64
	retry, discard []string
	repair         bool
	pause, resume  bool
	apply          bool
}

func (a *app) queuesCommand() *cobra.Command {
	var o queueing
	c := &cobra.Command{
		Use:   "queues [entry]...",
		Short: "What the queues of the keyspace hold; retry, discard and repair with a plan",
		Long: `Lists the queues: jobs per lane and how long the first one has waited, jobs that
run, those whose worker is dead (zombies), delayed and dead jobs, workers.

--dead lists dead jobs with their reasons. --retry and --discard take ids of
dead jobs, or all; --repair looks at every stored job and brings back those that
are in no place, as after an eviction or a DEL by hand. --pause and --resume stop
and start the claiming of jobs. All of these show what they would do, and do it
with --apply.`,
		Example: `  keywright queues
  keywright queues tasks --dead
  keywright queues tasks --retry all --apply
  keywright queues tasks --discard task-17 --apply
  keywright queues --repair`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return a.withConstructs(c.Context(), keyspace.Queue, args, func(client *keywright.Client, entries []*keyspace.Entry) error {
				return a.queues(c.Context(), client, entries, &o)
			})
		},
	}
	a.serverFlags(c)
	outputs(c, &o.output, "table", "json")
	f := c.Flags()
	f.BoolVar(&o.dead, "dead", false, "list dead jobs")
	f.Int64Var(&o.limit, "limit", 100, "with --dead: how many per queue; at most 1000")
	f.StringSliceVar(&o.retry, "retry", nil, "bring these dead jobs back, or all")
	f.StringSliceVar(&o.discard, "discard", nil, "remove these dead jobs, or all")
	f.BoolVar(&o.repair, "repair", false, "bring back jobs that are in no place")
	f.BoolVar(&o.pause, "pause", false, "let no job begin")
	f.BoolVar(&o.resume, "resume", false, "end --pause")
	f.BoolVar(&o.apply, "apply", false, "do it")
	return c
}

func (o *queueing) check(args []string) error {
	asked := 0
	for _, set := range []bool{o.dead, len(o.retry) > 0, len(o.discard) > 0, o.repair, o.pause, o.resume} {
		if set {
			asked++
		}
	}
	changes := asked > 0 && !o.dead
	switch {
	case asked > 1:
		return usage("ask for one thing at a time", "--dead, --retry, --discard, --repair, --pause and --resume exclude each other")
	case o.apply && !changes:
		return usage("write --retry all --apply", "--apply needs something to apply")
	case o.limit < 1 || o.limit > 1000:
		return usage("write --limit 100", "--limit %d: it takes 1 to 1000", o.limit)
	case changes && len(args) != 1 && !o.repair:
		return usage("name it: keywright queues ENTRY …", "a change is made to one queue")
	}
	return oneOf("output", o.output, "table", "json")
}

// queueReport is one queue; its JSON names are stable.
type queueReport struct {
	Entry   string       `json:"entry"`
	Queue   string       `json:"queue"`
	Paused  bool         `json:"paused"`
	Lanes   []laneReport `json:"lanes"`
	Running int64        `json:"running"`
	Zombies int64        `json:"zombies"`
	Delayed int64        `json:"delayed"`
	Dead    int64        `json:"dead"`
	Workers []string     `json:"workers"`
	Gone    []string     `json:"dead_workers,omitempty"`
	Jobs    []deadReport `json:"dead_jobs,omitempty"`

	queue queue.Queue[string]
}

// title tells a queue from others of its entry.
func (q *queueReport) title() string {
	if q.Queue == "" {
		return q.Entry
	}
	return q.Entry + " " + finding.Key([]byte(q.Queue))
}

type laneReport struct {
	Lane   string  `json:"lane,omitempty"`
	Jobs   int64   `json:"jobs"`
	Oldest float64 `json:"oldest_seconds,omitempty"`
}

type deadReport struct {
	ID       string `json:"id"`
	Reason   string `json:"reason"`
	Attempts int64  `json:"attempts"`
	Crashes  int64  `json:"crashes"`
}

func (a *app) queues(ctx context.Context, c *keywright.Client, entries []*keyspace.Entry, o *queueing) error {
	var all []queueReport
	for _, e := range entries {
		some, err := a.queuesOf(ctx, c, e, o)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	switch {
	case len(o.retry) > 0:
		return a.changeDead(ctx, all, "retry", o.retry, o)
	case len(o.discard) > 0:
		return a.changeDead(ctx, all, "discard", o.discard, o)
	case o.repair:
		return a.repairQueues(ctx, all, o)
	case o.pause, o.resume:
		return a.pauseQueues(ctx, all, o)
	case o.output == "json":
		return a.json(all)
	case o.dead:
		return a.printDead(all)
	}
	return a.printQueues(all)
}

func (a *app) queuesOf(ctx context.Context, c *keywright.Client, e *keyspace.Entry, o *queueing) (out []queueReport, err error) {
	base := roleOf(e, "leases")
	found := []map[string]string{{}}
	if len(base.Placeholders()) > 0 {
		var bounded bool
		if found, bounded, err = instances(ctx, c, e, perJobPlaceholders(e, base)); err != nil {
			return nil, err
		}
		if bounded {
			a.say("%s has more queues than are listed here: %s are", e.Name, terminal.Count(maxInstances))
		}
	}
	for _, values := range found {
		q := queueOf(c, e, values)
		s, err := q.Stats(ctx)
		if err != nil {
			return nil, err
		}
		r := queueReport{Entry: e.Name, Queue: queueName(base, values), Paused: s.Paused, Running: s.Leased - s.Zombies, Zombies: s.Zombies, Delayed: s.Delayed, Dead: s.Dead, Workers: []string{}, queue: q}
		for _, l := range s.Lanes {
			r.Lanes = append(r.Lanes, laneReport{l.Name, l.Length, l.Oldest.Seconds()})
		}
		for _, w := range s.Workers {
			if w.Dead {
				r.Gone = append(r.Gone, w.Name)
			} else {
				r.Workers = append(r.Workers, w.Name)
			}
		}
		if o.dead {
			dead, err := q.Dead(ctx, 0, o.limit)
			if err != nil {
				return nil, err
			}
			for _, d := range dead {
				r.Jobs = append(r.Jobs, deadReport{d.ID, d.Reason, d.Attempts, d.Crashes})
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// perJobPlaceholders are those of lanes and jobs, not of the queue itself.
func perJobPlaceholders(e *keyspace.Entry, base *pattern.Pattern) (out []string) {
	for _, k := range e.Keys {
		for _, p := range k.Pattern.Placeholders() {
			if !slices.ContainsFunc(base.Placeholders(), func(b pattern.Placeholder) bool { return b.Name == p.Name }) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// queueName tells several queues of one entry apart.
func queueName(base *pattern.Pattern, values map[string]string) string {
	var parts []string
	for _, p := range base.Placeholders() {
		parts = append(parts, p.Name+"="+values[p.Name])
	}
	return strings.Join(parts, " ")
}

// queueOf is the queue of an entry with these placeholders. Its payloads are not
// looked at.
func queueOf(c *keywright.Client, e *keyspace.Entry, values map[string]string) queue.Queue[string] {
	var k queue.Keys
	var errs []error
	build := func(p *pattern.Pattern, values map[string]string) string {
		key, err := name(p, values)
		errs = append(errs, err)
		return key
	}
	main := e.Keys[0].Pattern
	order := slices.IndexFunc(main.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == e.Order })
	if order < 0 {
		k.Lanes = []queue.Lane{{Key: build(main, values)}}
	} else {
		for _, word := range main.Placeholders()[order].Type.Values {
			k.Lanes = append(k.Lanes, queue.Lane{Name: word, Key: build(main, with(values, e.Order, word))})
		}
	}
	for role, to := range map[string]*string{"leases": &k.Leases, "delayed": &k.Delayed, "dead": &k.Dead, "state": &k.State, "workers": &k.Workers, "runs": &k.Runs} {
		*to = build(roleOf(e, role), values)
	}
	k.Channel = build(e.Notify.Pattern, values)
	for role, to := range map[string]*queue.Name{"job": &k.Job, "result": &k.Result, "unique": &k.Unique} {
		*to = family(roleOf(e, role), values)
	}
	job := roleOf(e, "job")
	k.ID = func(id string) error {
		if _, ok := job.Match([]byte(k.Job.Of(id))); !ok {
			return errors.New("is no id of " + e.Name)
		}
		return nil
	}
	codec := value.Text(0)
	return queue.New(c, declared(e), k, errors.Join(errs...), &codec, &queue.Options{Lease: max(e.Lease, 50*time.Millisecond), Retry: e.Retry})
}

// family is what stands before and behind the last placeholder of a pattern.
func family(p *pattern.Pattern, values map[string]string) queue.Name {
	var n queue.Name
	to, last := &n.Before, len(p.Placeholders())-1
	for _, e := range p.Elements() {
		switch e.Placeholder {
		case last:
			to = &n.After
		case -1:
			*to += e.Literal
		default:
			*to += values[p.Placeholders()[e.Placeholder].Name]
		}
	}
	return n
}

func (a *app) printQueues(all []queueReport) error {
	var rows [][]string
	for _, q := range all {
		for i, l := range q.Lanes {
			row := []string{"", l.Lane, terminal.Count(l.Jobs), seconds(l.Oldest), "", "", "", "", "", ""}
			if i == 0 {
				state := ""
				if q.Paused {
					state = "paused"
				}
				row[0] = q.title()
				row[4], row[5], row[6], row[7], row[8], row[9] = terminal.Count(q.Running), countOrNone(q.Zombies), countOrNone(q.Delayed), countOrNone(q.Dead), fmt.Sprint(len(q.Workers)), state
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		a.tell("no queue has a key")
		return nil
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "queue", Least: 16}, {Title: "lane"}, {Title: "waiting", Right: true}, {Title: "oldest", Right: true}, {Title: "running", Right: true},
		{Title: "zombies", Right: true, Drop: 2}, {Title: "delayed", Right: true, Drop: 3}, {Title: "dead", Right: true}, {Title: "workers", Right: true, Drop: 1}, {Title: "state", Drop: 4}}, rows)
}

// printable is text of somebody else's as a terminal may show it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

func (a *app) printDead(all []queueReport) error {
	var rows [][]string
	for _, q := range all {
		for _, j := range q.Jobs {
			rows = append(rows, []string{q.title(), finding.Key([]byte(j.ID)), terminal.Count(j.Attempts), countOrNone(j.Crashes), printable(j.Reason)})
		}
	}
	if len(rows) == 0 {
		a.tell("no job is dead")
		return nil
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "queue"}, {Title: "job", Least: 12}, {Title: "attempts", Right: true}, {Title: "crashes", Right: true, Drop: 1}, {Title: "reason", Least: 20}}, rows)
}

// changeDead retries or discards dead jobs: those that it names first.
func (a *app) changeDead(ctx context.Context, all []queueReport, verb string, ids []string, o *queueing) error {
	changed, named := 0, 0
	for _, q := range all {
		chosen := ids
		if slices.Equal(ids, []string{"all"}) {
			chosen = nil
			for offset := int64(0); ; offset += 1000 {
				page, err := q.queue.Dead(ctx, offset, 1000)
				if err != nil {
					return err
				}
				for _, d := range page {
					chosen = append(chosen, d.ID)
				}
				if len(page) < 1000 {
					break
				}
			}
		}
		for _, id := range chosen {
			named++
			a.tell("%s %s", verb, finding.Key([]byte(id)))
			if !o.apply {
				continue
			}
			ok, err := map[string]func(context.Context, string) (bool, error){"retry": q.queue.Retry, "discard": q.queue.Discard}[verb](ctx, id)
			if err != nil {
				return &exit{exitPartial, fmt.Sprintf("%s of %d were done: %v", terminal.Plural(int64(changed), "job"), len(chosen), err), "run it again: what is done stays done"}
			}
			if ok {
				changed++
			} else {
				a.say("%s is not dead", id)
			}
		}
	}
	return a.planned(o, named, changed, "job")
}

func (a *app) planned(o *queueing, named, changed int, what string) error {
	if !o.apply && named > 0 {
		a.say("%s; nothing was changed; run it with --apply", terminal.Plural(int64(named), what))
		return nil
	}
	a.tell("%s", terminal.Plural(int64(changed), what)+" changed")
	return nil
}

func (a *app) repairQueues(ctx context.Context, all []queueReport, o *queueing) error {
	n := 0
	for _, q := range all {
		ids, err := q.queue.Reconcile(ctx, !o.apply)
		for _, id := range ids {
			a.tell("bring back %s of %s", finding.Key([]byte(id)), q.Entry)
		}
		n += len(ids)
		if err != nil {
			return err
		}
	}
	return a.planned(o, n, cmp.Or(n, 0), "job")
}

func (a *app) pauseQueues(ctx context.Context, all []queueReport, o *queueing) error {
	changed := 0
	for _, q := range all {
		a.tell("%s %s", map[bool]string{true: "pause", false: "resume"}[o.pause], q.title())
		if !o.apply {
			continue
		}
		change := q.queue.Resume
		if o.pause {
			change = q.queue.Pause
		}
		if err := change(ctx); err != nil {
			return err
		}
		changed++
	}
	return a.planned(o, len(all), changed, "queue")
}
