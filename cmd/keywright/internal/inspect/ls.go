package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/spf13/cobra"
)

// lsing holds the flags of ls.
type lsing struct {
	cli.Selecting
	sources.Sourcing
	limit  int64
	output string
}

func LsCommand(a *cli.App) *cobra.Command {
	var o lsing
	c := &cobra.Command{
		Use:   "ls [snapshot file | - | URL]",
		Short: "List keys with entry, type, TTL, size and database",
		Long: `Lists the keys of a server or a snapshot as they come, in no order.

` + cli.SelectionHelp + `

` + sources.SourceHelp + `

With -o names it prints the bare names, each with a NUL byte after it, for
xargs -0. -o jsonl prints an object in each line.

Exit codes: 0 listed, 2 usage or a bad file, 3 the server cannot be reached, 4 the
server refuses, 5 incomplete, 130 interrupted.`,
		Example: `  keywright ls --entry user
  keywright ls --where issue=123
  keywright ls --undeclared -o names | xargs -0 -n1 echo`,
		Args: sources.OneSource,
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = append(args, "")[0]
			if err := cli.OneOf("output", o.output, "table", "jsonl", "names"); err != nil {
				return err
			}
			return ls(c.Context(), a, &o)
		},
	}
	a.ServerFlags(c)
	a.SelectionFlags(c, &o.Selecting)
	o.Sourcing.Flags(c)
	cli.Outputs(c, &o.output, "table", "jsonl", "names")
	c.Flags().Int64Var(&o.limit, "limit", 0, "stop after so many keys (0: all)")
	return c
}

// ListedKey represents a line of ls -o jsonl; its names are stable.
type ListedKey struct {
	Key   finding.JSONKey `json:"key"`
	Entry string          `json:"entry,omitempty"`
	DB    int             `json:"db"`
	Type  string          `json:"type"`
	TTL   *float64        `json:"ttl_seconds,omitempty"` // absent: it never expires
	Bytes int64           `json:"bytes,omitempty"`
}

var errLimit = errors.New("the limit is reached")

func ls(ctx context.Context, a *cli.App, o *lsing) error {
	if o.limit < 0 {
		return cli.Usage("write --limit 100", "--limit cannot be negative")
	}
	if err := a.RefuseTerminal(o.output == "names", "-o names",
		"pipe it, as in `keywright ls -o names | xargs -0 -n1 echo`"); err != nil {
		return err
	}
	sel, _, err := a.Selection(&o.Selecting)
	if err != nil {
		return err
	}
	src, req, done, err := sources.OpenSource(a, &o.Sourcing)
	if err != nil {
		return err
	}
	defer done()
	req.Match = sel.Glob()
	out := bufio.NewWriterSize(a.Out.Raw(), 64<<10)
	listed := int64(0)
	sum, err := src.Scan(ctx, req, func(batch []source.Key) error {
		for i := range batch {
			k := &batch[i]
			entry, ok := sel.Of(k.Name)
			if !ok {
				continue
			}
			if err := lsKey(a, out, o.output, k, cli.EntryOrNone(sel.Names(), entry)); err != nil {
				return err
			}
			if listed++; listed == o.limit {
				return errLimit
			}
		}
		return out.Flush()
	})
	done()
	if len(sum.Incomplete) > 0 && o.output == "table" && !errors.Is(err, errLimit) {
		fmt.Fprintf(out, "INCOMPLETE: %s\n", finding.Printable(sum.Incomplete.String()))
	}
	if err := errors.Join(out.Flush()); err != nil {
		return err
	}
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	cut := ""
	if errors.Is(err, errLimit) {
		cut = ", the first that were found: --limit ended the list"
	}
	a.Say("%s%s", terminal.Plural(listed, "key"), cut)
	if len(sum.Incomplete) > 0 && cut == "" {
		return cli.Partial(o.Again(sum.Incomplete), "not all keys were seen: %s", sum.Incomplete)
	}
	return nil
}

// lsKey writes one key in a form of output.
func lsKey(a *cli.App, out *bufio.Writer, form string, k *source.Key, entry string) (err error) {
	switch form {
	case "names":
		_, err = out.Write(append(append([]byte(nil), k.Name...), 0))
	case "jsonl":
		l := ListedKey{Key: k.Name, Entry: entry, DB: k.DB, Type: k.Kind.String(), Bytes: max(k.Bytes, 0)}
		if k.TTL != source.NoTTL {
			ttl := k.TTL.Seconds()
			l.TTL = &ttl
		}
		err = a.WriteLine(out, l)
	default:
		ttl, size := "never", ""
		if k.TTL != source.NoTTL {
			ttl = terminal.Duration(k.TTL)
		}
		if k.Bytes >= 0 {
			size = terminal.Bytes(k.Bytes)
		}
		_, err = fmt.Fprintf(out, "%s  %-7s %9s  %9s  db %-2d  %s\n",
			terminal.Pad(terminal.Shorten(finding.Key(k.Name), cli.KeyWidth), cli.KeyColumn),
			k.Kind, ttl, size, k.DB, entry)
	}
	return err
}
