package command

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/transfer"
	"github.com/spf13/cobra"
)

func applyCommand(a *cli.App) *cobra.Command {
	var o change.Applying
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Execute a plan that --plan wrote, if it still holds",
		Long: `Executes a plan. Before it changes anything it makes the same plan again and compares:
the servers must be the same ones (run ID, replication ID, version, slots), not emptied
meanwhile, the declaration must be the same, and of no entry may the number of keys that
would be changed differ by more than --drift percent (or ten keys). Else it says what
differs, and changes nothing.

What is done is in FILE.journal, on the disk before the server executes it. A run that
was interrupted or killed goes on with it, and the report counts all runs. A plan
that was executed to its end is not executed again. A plan of rename or ttl also writes
FILE.undo. keywright apply FILE.undo gives every key its old name back, where nothing is
in the way, or takes the TTL back from each key that still ends when the plan said. Plans
of copy need no journal: what is at the target with its value is not written again.

` + change.ExitCodesOfChanges,
		Example: `  keywright delete --undeclared --plan stray.plan
  keywright apply stray.plan
  keywright apply stray.plan --rate 1000 --drift 0`,
		Args: change.OnePlan,
		RunE: func(c *cobra.Command, args []string) error { return applyPlan(c.Context(), a, args[0], &o) },
	}
	a.ServerFlags(c)
	o.Pacing.Flags(c)
	o.Ring.Flags(c)
	cli.Outputs(c, &o.Output, "table", "json")
	f := c.Flags()
	f.IntVar(&o.Drift, "drift", change.UsualDrift, "by how many percent the counts of an entry may have moved")
	f.StringVar(&o.From, "from", "", "of a plan of copy: the URL of the source, with its password")
	f.StringVar(&o.To, "to", "", "of a plan of copy: the URL of the target, with its password")
	o.KeepFlag(c)
	return c
}

func applyPlan(ctx context.Context, a *cli.App, path string, o *change.Applying) error {
	if err := errors.Join(cli.OneOf("output", o.Output, "table", "json"), o.Check()); err != nil {
		return err
	}
	if o.Drift < 0 {
		return cli.Usage("write --drift 10", "--drift cannot be negative")
	}
	if isUndo(path) {
		if o.Keep != "" {
			return change.OnlyDeletions("an undo")
		}
		return change.UndoRename(ctx, a, path, &change.Changing{Pacing: o.Pacing, Apply: true, Output: o.Output})
	}
	p, err := change.ReadPlan(path)
	if err != nil {
		return err
	}
	if o.Keep != "" && p.Verb != "delete" && p.Verb != "clean" {
		return change.OnlyDeletions("one of " + p.Verb)
	}
	a.Namespace = p.Request.Namespace
	if p.Verb == "copy" {
		return transfer.ApplyCopy(ctx, a, path, p, o)
	}
	if o.From+o.To != "" {
		return cli.Usage("leave them out", "--from and --to are for plans of copy, and this is one of %s", p.Verb)
	}
	if p.Verb == "restore" {
		return transfer.ApplyRestore(ctx, a, path, p, o)
	}
	v := verbs()[p.Verb]
	if v == nil {
		return cli.Usage("use the keywright that made it", "%s is a plan of %q, which this program does not execute",
			path, p.Verb)
	}
	o.AsIn(&p.Request)
	r, journal, err := change.TakeUp(ctx, a, v, path, p, o)
	if err != nil {
		return err
	}
	defer r.Close()
	defer journal.Close()
	return r.Execute(ctx, p, journal)
}

// isUndo reports whether a file says what was renamed, or given a TTL.
func isUndo(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 8)
	n, _ := f.Read(head)
	return strings.HasPrefix(string(head[:n]), `{"undo":`)
}
