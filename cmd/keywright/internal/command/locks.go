package command

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

// locking holds the flags of locks.
type locking struct {
	output string
}

func (a *app) locksCommand() *cobra.Command {
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
			if err := oneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			return a.withConstructs(c.Context(), keyspace.Lock, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return a.locks(c.Context(), client, entries, &o)
				})
		},
	}
	c.ValidArgsFunction = a.completeConstructs(keyspace.Lock)
	a.serverFlags(c)
	a.namespaceFlag(c)
	outputs(c, &o.output, "table", "json")
	c.AddCommand(a.locksBreakCommand())
	return c
}

// holderOf returns the holder that has the lock alone.
func holderOf(l *answer.Lock) string {
	if l.Token == nil {
		return ""
	}
	return finding.Key(*l.Holder)
}

func (a *app) locks(ctx context.Context, c *keywright.Client, entries []*keyspace.Entry, o *locking) error {
	report, err := a.constructReader(c).Locks(ctx, entries)
	if err != nil {
		return err
	}
	if o.output == "json" {
		err = a.json(report)
	} else {
		err = a.printLocks(&report)
	}
	return cmp.Or(err, partly(&report.Gaps, "locks"))
}

func (a *app) printLocks(report *answer.Locks) error {
	rows := make([][]string, len(report.Locks))
	for i, l := range report.Locks {
		rows[i] = []string{finding.Key(l.Key), holderOf(&l), seconds(l.Since), seconds(l.Left),
			strconv.FormatInt(l.Fence, 10),
			countOrNone(l.Waiting), countOrNone(l.Sharing), l.Entry}
		if l.Token == nil {
			rows[i][2], rows[i][4] = "", ""
		}
	}
	defer a.tellGaps(&report.Gaps)
	a.lead()
	if len(rows) == 0 {
		a.none(&report.Gaps, "no lock is held")
		return nil
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "lock", Least: 24}, {Title: "holder", Least: 12},
		{Title: "held for", Right: true}, {Title: "lease left", Right: true}, {Title: "fence", Right: true, Drop: 3},
		{Title: "waiting", Right: true}, {Title: "sharing", Right: true, Drop: 1}, {Title: "entry", Drop: 2}}, rows)
}
