package transfer

import (
	"context"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/spf13/cobra"
)

// telling holds the flags of archive diff.
type telling struct {
	cli.Selecting
	sources.Chaining
	null   bool
	output string
}

func ArchiveDiffCommand(a *cli.App) *cobra.Command {
	var o telling
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in which keys two archives differ",
		Long: `Compares two archives as keywright verify does: keys that B lacks (missing) or A lacks
(extra), other types, values and expiries. Values are compared whatever their encodings,
and the order of what has none. Entries whose digests are equal are not read: how many keys
they have is said, and keywright verify A B reads them, too.

With --null it prints the names of the keys that differ, each with a NUL byte after it;
-o jsonl prints an object for each.

` + cli.SelectionHelp + `

` + sources.ChainHelp + ` A may be what B adds to.

Exit codes: 0 equal, 1 they differ, 2 usage or no archive, 5 an archive is not whole,
130 interrupted.`,
		Example: `  keywright archive diff monday.kwa tuesday.kwa
  keywright archive diff monday.kwa tuesday.kwa --entry user --null | xargs -0 -n1 echo`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == "" || args[1] == "" {
				return cli.Usage("name them: `keywright archive diff A B`", "archive diff takes two archives")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return archiveDiff(c.Context(), a, args, &o) },
	}
	a.SelectionFlags(c, &o.Selecting)
	o.Chaining.Flags(c)
	c.Flags().BoolVar(&o.null, "null", false, "print the names of keys that differ, each with a NUL byte after it")
	cli.Outputs(c, &o.output, "table", "json", "jsonl")
	return c
}

func archiveDiff(ctx context.Context, a *cli.App, paths []string, o *telling) error {
	if o.null && o.output != "table" {
		return cli.Usage("leave one of them out", "--null and --output exclude each other")
	}
	if err := a.RefuseTerminal(o.null, "--null",
		"pipe it, as in `keywright archive diff A B --null | xargs -0 -n1 echo`"); err != nil {
		return err
	}
	for _, path := range paths {
		if sources.IsURL(path) || path == "-" || !archivefile.Is(path) {
			in, err := sources.OpenChained(ctx, a, path, &o.Chaining)
			if err == nil {
				in.Close()
				err = cli.Usage("`keywright verify` compares any two places", "archive diff takes two archives")
			}
			return err
		}
	}
	v := &verifying{Selecting: o.Selecting, toDB: -1, byDigest: true, ttl: "exact", null: o.null, output: o.output,
		progress: "auto"}
	v.Chaining, v.Scan.OnlyDB, v.Role, v.Forks = o.Chaining, -1, "auto", 1
	if o.null {
		v.keysOf = []string{"all"}
	}
	return verify(ctx, a, paths, v, false)
}
