package command

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/queue"
	"github.com/spf13/cobra"
)

// queuesDeadCommand makes `queues retry` and `queues discard`.
func (a *app) queuesDeadCommand(verb string) *cobra.Command {
	var o changing
	var which matchingJobs
	does := map[string][2]string{
		"retry": {"Bring dead jobs back into their lanes",
			"Brings dead jobs back into their lanes, with all their attempts"},
		"discard": {"Remove dead jobs", "Removes dead jobs, with what is known of them"},
	}[verb]
	c := &cobra.Command{
		Use:   verb + " ENTRY [ID]...",
		Short: does[0],
		Long: does[1] + `: those that are named,
--all, or all that match: with an error (--error), or with a text in their id or error
(--text). A job is changed only if it is dead since the moment that the plan has seen,
so one that was retried meanwhile and died again is left alone. A plan of all that
match counts the jobs and does not list them, however many there are.

` + planHelp + `

` + exitCodesOfChanges,
		Example: "  keywright queues " + verb + ` tasks --all
  keywright queues ` + verb + ` tasks task-17 --apply
  keywright queues ` + verb + ` tasks --error 'dial tcp N.N.N.N:N: connection refused' --apply
  keywright queues ` + verb + ` tasks --all --plan dead.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			q, err := which.request(verb, args)
			if err != nil {
				return err
			}
			return a.change(c.Context(), "queues "+verb, q, &o)
		},
	}
	o.flags(a, c)
	c.ValidArgsFunction = a.completeConstructs(keyspace.Queue)
	which.flags(c, "dead jobs", true)
	return c
}

// queuesCancelCommand makes `queues cancel`.
func (a *app) queuesCancelCommand() *cobra.Command {
	var o changing
	var which matchingJobs
	c := &cobra.Command{
		Use:   "cancel ENTRY [ID]...",
		Short: "Remove jobs that wait",
		Long: `Removes jobs that wait in a lane or for their time: those that are named, --all, or all
with a text in their id (--text). If one has begun by then, its worker is told, and
the job ends.

` + planHelp + `

` + exitCodesOfChanges,
		Example: `  keywright queues cancel tasks task-17 --apply
  keywright queues cancel tasks --text report- --plan cancel.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			q, err := which.request("cancel", args)
			if err != nil {
				return err
			}
			return a.change(c.Context(), "queues cancel", q, &o)
		},
	}
	o.flags(a, c)
	c.ValidArgsFunction = a.completeConstructs(keyspace.Queue)
	which.flags(c, "that wait", false)
	return c
}

// queuesRunCommand makes `queues run`.
func (a *app) queuesRunCommand() *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use:   "run ENTRY ID...",
		Short: "Let jobs run now that wait for their time",
		Long: `Brings jobs into their lanes that wait for their time, or for another attempt: those that
are named. Their attempts stay as they are.

` + planHelp + `

` + exitCodesOfChanges,
		Example: "  keywright queues run tasks task-17 --apply",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("as in `keywright queues run tasks task-17`", "queues run takes a queue and ids of jobs")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			q := plan.Request{Entries: args[:1], Options: map[string]string{"jobs": packed(args[1:])}}
			return a.change(c.Context(), "queues run", q, &o)
		},
	}
	o.flags(a, c)
	c.ValidArgsFunction = a.completeConstructs(keyspace.Queue)
	return c
}

func (a *app) queuesRepairCommand() *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use:   "repair [ENTRY]...",
		Short: "Bring back jobs that are in no place",
		Long: `Looks at every stored job, and brings back those that are in no lane, not at work, not
delayed and not dead, as after an eviction or a DEL by hand.

` + planHelp + `

` + exitCodesOfChanges,
		Example: `  keywright queues repair
  keywright queues repair tasks --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.change(c.Context(), "queues repair", plan.Request{Entries: args}, &o)
		},
	}
	o.flags(a, c)
	c.ValidArgsFunction = a.completeConstructs(keyspace.Queue)
	return c
}

// queuesPauseCommand makes `queues pause` and `queues resume`.
func (a *app) queuesPauseCommand(verb string) *cobra.Command {
	var o changing
	does := map[string]string{"pause": "Let no job begin", "resume": "Let jobs begin again after a pause"}[verb]
	c := &cobra.Command{
		Use:   verb + " ENTRY...",
		Short: does,
		Long: does + `. Jobs that run go on.

` + planHelp + `

` + exitCodesOfChanges,
		Example: "  keywright queues " + verb + " tasks --apply",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name it: keywright queues "+verb+" ENTRY", "queues %s takes queues", verb)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.change(c.Context(), "queues "+verb, plan.Request{Entries: args}, &o)
		},
	}
	o.flags(a, c)
	c.ValidArgsFunction = a.completeConstructs(keyspace.Queue)
	return c
}

func loadQueues(_ context.Context, r *changeRun) error { return r.loadConstructs(keyspace.Queue) }

// eachQueueOf runs for the queues of a request, and says what could not be read.
func (r *changeRun) eachQueueOf(ctx context.Context, found *findings,
	run func(of string, q queue.Queue[string]) error) error {
	c, err := r.client()
	if err != nil {
		return err
	}
	var g answer.Gaps
	for _, e := range r.constructs(keyspace.Queue) {
		err := r.constructReader(c).EachQueue(ctx, e, &g, func(name string, q queue.Queue[string]) error {
			if of := r.request.Options[optionOf]; of != "" && of != name {
				return nil
			}
			return run(e.Name, q)
		})
		if err := g.Pass(ctx, e.Name, "", err); err != nil {
			return err
		}
	}
	found.gaps(&g)
	return nil
}

// gaps says what a search has not read.
func (f *findings) gaps(g *answer.Gaps) {
	for _, c := range g.Cut {
		f.lacks("cut", fmt.Sprintf("%s has more than the %s that are looked at here", c.Entry,
			terminal.Count(int64(c.Listed))))
	}
	for _, u := range g.Unread {
		f.lacks("not-read", u.String())
	}
}

// pageOfDead says how many dead jobs are read in a round trip.
const pageOfDead = 1000

// findDead finds the dead jobs that were asked for.
func findDead(ctx context.Context, r *changeRun, found *findings) error {
	asked := map[string]bool{} // and whether it was found dead
	for _, id := range unpacked(r.request.Options["jobs"]) {
		asked[id] = false
	}
	all := len(asked) == 0
	err := r.eachQueueOf(ctx, found, func(of string, q queue.Queue[string]) error {
		for offset := int64(0); ; offset += pageOfDead {
			some, err := q.Dead(ctx, offset, pageOfDead)
			if err != nil {
				return err
			}
			for _, d := range some {
				if _, meant := asked[d.ID]; !meant && !all {
					continue
				}
				if found.Full() {
					found.lacks("cut", fmt.Sprintf("%s has more dead jobs than the %s of one plan", of,
						terminal.Count(plan.MaxChanges)))
					return nil
				}
				if asked[d.ID] = true; all {
					delete(asked, d.ID)
				}
				found.dead(r, of, q, d)
			}
			if len(some) < pageOfDead {
				return nil
			}
		}
	})
	for id, dead := range asked {
		if !dead && err == nil {
			found.leave(r.request.Entries[0], plan.NotDead, []byte(id), r.request.DB)
		}
	}
	return err
}

// dead adds the change of a dead job.
func (f *findings) dead(r *changeRun, of string, q queue.Queue[string], d queue.Dead) {
	after := "waits in its lane"
	if r.name == "queues discard" {
		after = "removed"
	}
	f.add(plan.Change{Verb: verbOf(r.name), Entry: of, Key: finding.JSONKey(q.JobOf(d.ID)), DB: r.request.DB,
		Before: fmt.Sprintf("dead since %s, %s, %s", d.Since.UTC().Format(time.RFC3339Nano),
			terminal.Plural(d.Attempts, "attempt"), plural(d.Crashes, "crash", "crashes")), After: after},
		func(ctx context.Context, _ *plan.Change) (plan.Code, error) { return changeDead(ctx, r.name, q, d) })
}

// findLost finds jobs that are in no place.
func findLost(ctx context.Context, r *changeRun, found *findings) error {
	return r.eachQueueOf(ctx, found, func(of string, q queue.Queue[string]) error {
		ids, err := q.Reconcile(ctx, true)
		for _, id := range ids {
			if found.Full() {
				found.lacks("cut", fmt.Sprintf("%s has more jobs in no place than the %s of one plan", of,
					terminal.Count(plan.MaxChanges)))
				break
			}
			found.add(plan.Change{Verb: "repair", Entry: of, Key: finding.JSONKey(q.JobOf(id)), DB: r.request.DB,
				Before: "in no place", After: "waits in its lane"}, func(ctx context.Context, _ *plan.Change) (plan.Code, error) {
				back, err := q.BringBack(ctx, id)
				if err == nil && len(back) == 0 {
					return plan.Changed, nil
				}
				return "", err
			})
		}
		return err
	})
}

func findRunning(ctx context.Context, r *changeRun, found *findings) error {
	return findState(ctx, r, found, true)
}

func findPaused(ctx context.Context, r *changeRun, found *findings) error {
	return findState(ctx, r, found, false)
}

// findState finds the queues that are not in the state that was asked for.
func findState(ctx context.Context, r *changeRun, found *findings, paused bool) error {
	return r.eachQueueOf(ctx, found, func(of string, q queue.Queue[string]) error {
		s, err := q.Stats(ctx)
		if err != nil {
			return err
		}
		key := []byte(q.StateKey())
		if s.Paused == paused {
			found.leave(of, plan.AsAsked, key, r.request.DB)
			return nil
		}
		words, change := [2]string{"jobs begin", "paused"}, q.Pause
		if !paused {
			words, change = [2]string{"paused", "jobs begin"}, q.Resume
		}
		found.add(plan.Change{Verb: verbOf(r.name), Entry: of, Key: key, DB: r.request.DB, Before: words[0], After: words[1]},
			func(ctx context.Context, _ *plan.Change) (plan.Code, error) { return "", change(ctx) })
		return nil
	})
}
