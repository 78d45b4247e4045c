package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/demo"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/spf13/cobra"
)

func DemoCommand(a *cli.App) *cobra.Command {
	o, all := demo.Options{}, false
	c := &cobra.Command{
		Use:   "demo",
		Short: "Start a throw-away server, fill it with the examples and some dirt, and audit it",
		Long: `Starts valkey-server or redis-server from PATH on a free port, else an embedded
server that can do less, fills it with data made from the five example
declarations and with planted faults, and audits it. Run it in the root of
keywright's source. Nothing is left. The report has a line for each finding; with
--all it is what keywright audit prints.

Exit codes: 0 shown, 2 usage or no examples, 130 interrupted.`,
		Example: `  keywright demo
  keywright demo --keys 1000000 --serve`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out, o.Err = a.Out, a.Err
			if o.Keys < 1 {
				return cli.Usage("write --keys 50000", "--keys must be above zero")
			}
			o.Audit = func(ctx context.Context, url, file string) error { return auditDemo(ctx, a, url, file, all) }
			return demo.Run(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "print the whole report")
	f.StringVar(&o.Dir, "dir", "examples", "folder of the examples")
	f.IntVar(&o.Keys, "keys", 50_000, "how many keys to write")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed makes the same data")
	f.StringVar(&o.Server, "server", "", "valkey-server, redis-server or miniredis (default: the first there is)")
	f.BoolVar(&o.Serve, "serve", false, "leave the server running until ctrl-C")
	cli.Choices(c, "server", "valkey-server", "redis-server", "miniredis")
	return c
}

// auditDemo returns `keywright audit` of the demo's server; findings are what the
// demo is for and no failure.
func auditDemo(ctx context.Context, a *cli.App, url, file string, all bool) error {
	inner := *a
	inner.File, inner.URL = file, url
	inner.Getenv = func(name string) string { // the demo's server has no password
		if name == "REDISCLI_AUTH" {
			return ""
		}
		return a.Getenv(name)
	}
	inner.Connect.Timeout = 10 * time.Second
	o := auditing{Judging: declare.Judging{FailOn: "never", Output: "table"}, Sourcing: sources.Sourcing{Role: "auto",
		Progress: "none"},
		values: "none", top: 5, examples: 2}
	o.audit.Groups = 50
	o.Scan.OnlyDB = -1
	if !all {
		o.Output = "brief"
	}
	err := runAudit(ctx, &inner, &o)
	if err == nil && !all {
		fmt.Fprintln(a.Out, "\nkeywright demo --all prints the whole report: places, keys, fixes, and what each entry costs.")
	}
	return err
}
