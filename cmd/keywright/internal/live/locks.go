package live

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// locking holds the flags of locks.
type locking struct {
	output string
}

func LocksCommand(a *cli.App) *cobra.Command {
	var o locking
	c := &cobra.Command{
		Use:   "locks [entry]...",
		Short: "List the locks of the keyspace: their holders, since when, and how many wait",
		Long: `Lists the locks that are held or waited for: their holders (the first part of the
token), for how long they have held them, how long the lease still lasts if it
is not renewed, the fencing token, and how many processes wait.

keywright locks break takes a lock from its holder.`,
		Example: `  keywright locks
  keywright locks coupon_issue -o json
  keywright locks break lock:coupon:issue:42 --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.OneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			return a.WithConstructs(c.Context(), keyspace.Lock, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return locks(c.Context(), a, client, entries, &o)
				})
		},
	}
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Lock)
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	c.AddCommand(locksBreakCommand(a))
	return c
}

// holderOf returns the holder that has the lock alone.
func holderOf(l *answer.Lock) string {
	if l.Token == nil {
		return ""
	}
	return finding.Key(*l.Holder)
}

func locks(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, o *locking) error {
	report, err := a.ConstructReader(c).Locks(ctx, entries)
	if err != nil {
		return err
	}
	err = a.WriteReport(o.output, report, func() error { return printLocks(a, &report) })
	return cmp.Or(err, cli.ListedInPart(&report.Gaps, "locks"))
}

func printLocks(a *cli.App, report *answer.Locks) error {
	rows := make([][]string, len(report.Locks))
	for i, l := range report.Locks {
		rows[i] = []string{finding.Key(l.Key), holderOf(&l), cli.Seconds(l.Since), cli.Seconds(l.Left),
			strconv.FormatInt(l.Fence, 10),
			cli.CountOrNone(l.Waiting), cli.CountOrNone(l.Sharing), l.Entry}
		if l.Token == nil {
			rows[i][2], rows[i][4] = "", ""
		}
	}
	defer a.PrintGaps(&report.Gaps)
	a.PrintScope()
	if len(rows) == 0 {
		a.PrintNone(&report.Gaps, "no lock is held")
		return nil
	}
	return terminal.Table(a.Out, []terminal.Column{{Title: "lock", Least: 24}, {Title: "holder", Least: 12},
		{Title: "held for", Right: true}, {Title: "lease left", Right: true}, {Title: "fence", Right: true, Drop: 3},
		{Title: "waiting", Right: true}, {Title: "sharing", Right: true, Drop: 1}, {Title: "entry", Drop: 2}}, rows)
}
