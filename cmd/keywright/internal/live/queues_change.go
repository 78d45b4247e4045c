package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/queue"
	"github.com/spf13/cobra"
)

// queuesDeadCommand makes `queues retry` and `queues discard`.
func queuesDeadCommand(a *cli.App, verb string) *cobra.Command {
	var o change.Changing
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

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: "  keywright queues " + verb + ` tasks --all
  keywright queues ` + verb + ` tasks task-17 --apply
  keywright queues ` + verb + ` tasks --error 'dial tcp N.N.N.N:N: connection refused' --apply
  keywright queues ` + verb + ` tasks --all --plan dead.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			q, err := which.Request(verb, args)
			if err != nil {
				return err
			}
			return change.Change(c.Context(), a, Verbs()["queues "+verb], q, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Queue)
	which.Flags(c, "dead jobs", true)
	return c
}

// queuesCancelCommand makes `queues cancel`.
func queuesCancelCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	var which matchingJobs
	c := &cobra.Command{
		Use:   "cancel ENTRY [ID]...",
		Short: "Remove jobs that wait",
		Long: `Removes jobs that wait in a lane or for their time: those that are named, --all, or all
with a text in their id (--text). If one has begun by then, its worker is notified, and
the job ends.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: `  keywright queues cancel tasks task-17 --apply
  keywright queues cancel tasks --text report- --plan cancel.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			q, err := which.Request("cancel", args)
			if err != nil {
				return err
			}
			return change.Change(c.Context(), a, Verbs()["queues cancel"], q, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Queue)
	which.Flags(c, "that wait", false)
	return c
}

// queuesRunCommand makes `queues run`.
func queuesRunCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	c := &cobra.Command{
		Use:   "run ENTRY ID...",
		Short: "Let jobs run now that wait for their time",
		Long: `Brings jobs into their lanes that wait for their time, or for another attempt: those that
are named. Their attempts stay as they are.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: "  keywright queues run tasks task-17 --apply",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usage("as in `keywright queues run tasks task-17`", "queues run takes a queue and ids of jobs")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			q := plan.Request{Entries: args[:1], Options: map[string]string{"jobs": change.Packed(args[1:])}}
			return change.Change(c.Context(), a, Verbs()["queues run"], q, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Queue)
	return c
}

func queuesRepairCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	c := &cobra.Command{
		Use:   "repair [ENTRY]...",
		Short: "Bring back jobs that are in no place",
		Long: `Looks at every stored job, and brings back those that are in no lane, not at work, not
delayed and not dead, as after an eviction or a DEL by hand.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: `  keywright queues repair
  keywright queues repair tasks --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			return change.Change(c.Context(), a, Verbs()["queues repair"], plan.Request{Entries: args}, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Queue)
	return c
}

// queuesPauseCommand makes `queues pause` and `queues resume`.
func queuesPauseCommand(a *cli.App, verb string) *cobra.Command {
	var o change.Changing
	does := map[string]string{"pause": "Let no job begin", "resume": "Let jobs begin again after a pause"}[verb]
	c := &cobra.Command{
		Use:   verb + " ENTRY...",
		Short: does,
		Long: does + `. Jobs that run go on.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: "  keywright queues " + verb + " tasks --apply",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("name it: keywright queues "+verb+" ENTRY", "queues %s takes queues", verb)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return change.Change(c.Context(), a, Verbs()["queues "+verb], plan.Request{Entries: args}, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Queue)
	return c
}

func loadQueues(_ context.Context, r *change.Run) error {
	return loadConstructs(r, keyspace.Queue)
}

// eachQueueOf runs for the queues of a request, and says what could not be read.
func eachQueueOf(ctx context.Context, r *change.Run, found *change.Findings,
	run func(of string, q queue.Queue[string]) error) error {
	c, err := r.Client()
	if err != nil {
		return err
	}
	var g answer.Gaps
	for _, e := range constructs(r, keyspace.Queue) {
		err := r.ConstructReader(c).EachQueue(ctx, e, &g, func(name string, q queue.Queue[string]) error {
			if of := r.Request.Options[OptionOf]; of != "" && of != name {
				return nil
			}
			return run(e.Name, q)
		})
		if err := g.Pass(ctx, e.Name, "", err); err != nil {
			return err
		}
	}
	gaps(found, &g)
	return nil
}

// gaps says what a search has not read.
func gaps(f *change.Findings, g *answer.Gaps) {
	for _, c := range g.Cut {
		f.Lacks("cut", fmt.Sprintf("%s has more than the %s that are looked at here", c.Entry,
			terminal.Count(int64(c.Listed))))
	}
	for _, u := range g.Unread {
		f.Lacks("not-read", u.String())
	}
}

// pageOfJobs says how many jobs are read in a call.
const pageOfJobs = 1000

// findDead finds the dead jobs that were asked for: those that are named are looked up, since a list that moves while it
// is read may not show them.
func findDead(ctx context.Context, r *change.Run, found *change.Findings) error {
	if ids := change.Unpacked(r.Request.Options["jobs"]); len(ids) > 0 {
		return findNamed(ctx, r, found, ids, plan.NotDead, func(of string, q queue.Queue[string],
			ids []string) ([]string, error) {
			some, err := q.DeadOf(ctx, ids...)
			there := make([]string, len(some))
			for i := range some {
				there[i] = some[i].ID
				dead(found, r, of, q, some[i])
			}
			return there, err
		})
	}
	return eachQueueOf(ctx, r, found, func(of string, q queue.Queue[string]) error {
		for offset := int64(0); ; offset += pageOfJobs {
			some, err := q.Dead(ctx, offset, pageOfJobs)
			if err != nil {
				return err
			}
			for _, d := range some {
				if found.Full() {
					found.Lacks("cut", fmt.Sprintf("%s has more dead jobs than the %s of one plan", of,
						terminal.Count(plan.MaxChanges)))
					return nil
				}
				dead(found, r, of, q, d)
			}
			if len(some) < pageOfJobs {
				return nil
			}
		}
	})
}

// findNamed looks the named jobs up in each queue of a request. find adds the changes of those that are as they are
// meant to be, and returns their ids; the others are left alone.
func findNamed(ctx context.Context, r *change.Run, found *change.Findings, ids []string, otherwise plan.Code,
	find func(of string, q queue.Queue[string], ids []string) ([]string, error)) error {
	there := map[string]bool{}
	err := eachQueueOf(ctx, r, found, func(of string, q queue.Queue[string]) error {
		for some := range slices.Chunk(ids, pageOfJobs) {
			if found.Full() {
				found.Lacks("cut", fmt.Sprintf("more jobs are named than the %s of one plan", terminal.Count(plan.MaxChanges)))
				return nil
			}
			got, err := find(of, q, some)
			if err != nil {
				return err
			}
			for _, id := range got {
				there[id] = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !there[id] && !found.Full() { // beyond, they were not looked up
			there[id] = true // it may be named twice
			found.Leave(r.Request.Entries[0], otherwise, []byte(id), r.Request.DB)
		}
	}
	return nil
}

// dead adds the change of a dead job.
func dead(f *change.Findings, r *change.Run, of string, q queue.Queue[string], d queue.Dead) {
	after := "waits in its lane"
	if r.Name == "queues discard" {
		after = "removed"
	}
	f.Add(plan.Change{Verb: change.VerbOf(r.Name), Entry: of, Key: finding.JSONKey(q.JobOf(d.ID)), DB: r.Request.DB,
		Before: fmt.Sprintf("dead since %s, %s, %s", d.Since.UTC().Format(time.RFC3339Nano),
			terminal.Plural(d.Attempts, "attempt"), cli.Plural(d.Crashes, "crash", "crashes")), After: after},
		func(ctx context.Context, _ *plan.Change) (plan.Code, error) { return changeDead(ctx, r.Name, q, d) })
}

// findLost finds jobs that are in no place.
func findLost(ctx context.Context, r *change.Run, found *change.Findings) error {
	return eachQueueOf(ctx, r, found, func(of string, q queue.Queue[string]) error {
		ids, err := q.Reconcile(ctx, true)
		for _, id := range ids {
			if found.Full() {
				found.Lacks("cut", fmt.Sprintf("%s has more jobs in no place than the %s of one plan", of,
					terminal.Count(plan.MaxChanges)))
				break
			}
			found.Add(plan.Change{Verb: "repair", Entry: of, Key: finding.JSONKey(q.JobOf(id)), DB: r.Request.DB,
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

func findRunning(ctx context.Context, r *change.Run, found *change.Findings) error {
	return findState(ctx, r, found, true)
}

func findPaused(ctx context.Context, r *change.Run, found *change.Findings) error {
	return findState(ctx, r, found, false)
}

// findState finds the queues that are not in the state that was asked for.
func findState(ctx context.Context, r *change.Run, found *change.Findings, paused bool) error {
	return eachQueueOf(ctx, r, found, func(of string, q queue.Queue[string]) error {
		s, err := q.Stats(ctx)
		if err != nil {
			return err
		}
		key := []byte(q.StateKey())
		if s.Paused == paused {
			found.Leave(of, plan.AsAsked, key, r.Request.DB)
			return nil
		}
		words, turn := [2]string{"jobs begin", "paused"}, q.Pause
		if !paused {
			words, turn = [2]string{"paused", "jobs begin"}, q.Resume
		}
		found.Add(plan.Change{Verb: change.VerbOf(r.Name), Entry: of, Key: key, DB: r.Request.DB, Before: words[0],
			After: words[1]},
			func(ctx context.Context, _ *plan.Change) (plan.Code, error) { return "", turn(ctx) })
		return nil
	})
}

// findDelayed finds the jobs to run now: of those that are named, the ones that wait for their time.
func findDelayed(ctx context.Context, r *change.Run, found *change.Findings) error {
	return findNamed(ctx, r, found, change.Unpacked(r.Request.Options["jobs"]), plan.NotDelayed,
		func(of string, q queue.Queue[string], ids []string) (there []string, err error) {
			some, err := q.DelayedOf(ctx, ids...)
			for _, j := range some {
				there = append(there, j.ID)
				addDelayed(found, r, of, q, j.ID)
			}
			return there, err
		})
}

// addDelayed adds the change of a job that waits for its time.
func addDelayed(f *change.Findings, r *change.Run, of string, q queue.Queue[string], id string) {
	f.Add(plan.Change{Verb: change.VerbOf(r.Name), Entry: of, Key: finding.JSONKey(q.JobOf(id)), DB: r.Request.DB,
		Before: "waits for its time", After: "waits in its lane"},
		func(ctx context.Context, _ *plan.Change) (plan.Code, error) {
			ok, err := q.RunNow(ctx, id)
			if err == nil && !ok {
				return plan.Changed, nil
			}
			return "", err
		})
}
