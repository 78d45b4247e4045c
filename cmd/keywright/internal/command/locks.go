package command

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

// locking are the flags of locks.
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
			return a.withConstructs(c.Context(), keyspace.Lock, args, func(client *keywright.Client, entries []*keyspace.Entry) error {
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

// locksReport is what locks has found; its JSON names are stable.
type locksReport struct {
	Locks []lockReport `json:"locks"`
	gaps
}

// lockReport is one lock.
type lockReport struct {
	Entry   string           `json:"entry"`
	Key     finding.JSONKey  `json:"key"`
	Holder  *finding.JSONKey `json:"holder,omitempty"` // of the lock alone
	Token   *finding.JSONKey `json:"token,omitempty"`
	Since   float64          `json:"held_seconds,omitempty"`
	Left    float64          `json:"lease_left_seconds,omitempty"`
	Fence   int64            `json:"fence,omitempty"`
	Waiting int64            `json:"waiting"` // processes
	Sharing int64            `json:"sharing"` // holders that share the lock
}

// holder is the holder that has the lock alone.
func (l *lockReport) holder() string {
	if l.Token == nil {
		return ""
	}
	return finding.Key(*l.Holder)
}

// shownOf is a name in a table.
func shownOf(name *finding.JSONKey) string {
	if name == nil {
		return ""
	}
	return finding.Key(*name)
}

// notListed says in an exit line what a limit left out.
func notListed(n int64) string {
	if n == 0 {
		return ""
	}
	return " (" + terminal.Count(n) + " not listed: --limit)"
}

// keyOf is a name in JSON, or nothing.
func keyOf(text string) *finding.JSONKey {
	if text == "" {
		return nil
	}
	key := finding.JSONKey(text)
	return &key
}

func (a *app) locks(ctx context.Context, c *keywright.Client, entries []*keyspace.Entry, o *locking) error {
	report := locksReport{Locks: []lockReport{}}
	for _, e := range entries {
		err := a.locksOf(ctx, c, e, &report)
		if err := report.pass(ctx, e.Name, "", err); err != nil {
			return err
		}
	}
	var err error
	if o.output == "json" {
		err = a.json(report)
	} else {
		err = a.printLocks(&report)
	}
	return cmp.Or(err, report.verdict("locks"))
}

func (a *app) locksOf(ctx context.Context, c *keywright.Client, e *keyspace.Entry, report *locksReport) error {
	found, bounded, err := bind.Instances(ctx, c, e)
	if err != nil {
		return err
	}
	if bounded {
		report.Cut = append(report.Cut, cutReport{e.Name, len(found)})
	}
	for _, values := range found {
		l := bind.Lock(c, a.keyspace, e, values)
		h, err := l.Holder(ctx)
		if err != nil {
			if err := report.pass(ctx, e.Name, l.Name(), err); err != nil {
				return err
			}
			continue
		}
		if h.Token == "" && h.Waiting+h.Sharing == 0 { // only its fence is left, which expires
			continue
		}
		one := lockReport{Entry: e.Name, Key: finding.JSONKey(l.Name()), Since: h.Since.Seconds(), Left: h.Left.Seconds(), Fence: h.Fence, Waiting: h.Waiting, Sharing: h.Sharing}
		if h.Token != "" {
			holder := finding.JSONKey(h.Owner)
			one.Holder, one.Token = &holder, keyOf(h.Token)
		}
		report.Locks = append(report.Locks, one)
	}
	return nil
}

func (a *app) printLocks(report *locksReport) error {
	rows := make([][]string, len(report.Locks))
	for i, l := range report.Locks {
		rows[i] = []string{finding.Key(l.Key), l.holder(), seconds(l.Since), seconds(l.Left), strconv.FormatInt(l.Fence, 10),
			countOrNone(l.Waiting), countOrNone(l.Sharing), l.Entry}
		if l.Token == nil {
			rows[i][2], rows[i][4] = "", ""
		}
	}
	defer report.tell(a)
	if len(rows) == 0 {
		report.none(a, "no lock is held")
		return nil
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "lock", Least: 24}, {Title: "holder", Least: 12},
		{Title: "held for", Right: true}, {Title: "lease left", Right: true}, {Title: "fence", Right: true, Drop: 3},
		{Title: "waiting", Right: true}, {Title: "sharing", Right: true, Drop: 1}, {Title: "entry", Drop: 2}}, rows)
}

func seconds(s float64) string {
	if s == 0 {
		return ""
	}
	return terminal.Duration(time.Duration(s * float64(time.Second)))
}
