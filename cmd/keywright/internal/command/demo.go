package command

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/demo"
	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
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
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out, o.Err = a.out, a.err
			if o.Keys < 1 {
				return usage("write --keys 50000", "--keys must be above zero")
			}
			o.Audit = func(ctx context.Context, url, file string) error { return a.auditDemo(ctx, url, file, all) }
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
	choices(c, "server", "valkey-server", "redis-server", "miniredis")
	return c
}

// auditDemo returns `keywright audit` of the demo's server; findings are what the
// demo is for and no failure.
func (a *app) auditDemo(ctx context.Context, url, file string, all bool) error {
	inner := *a
	inner.file, inner.url = file, url
	inner.Getenv = func(name string) string { // the demo's server has no password
		if name == "REDISCLI_AUTH" {
			return ""
		}
		return a.Getenv(name)
	}
	inner.connect.Timeout = 10 * time.Second
	o := auditing{judging: judging{failOn: "never", output: "table"}, sourcing: sourcing{role: "auto", progress: "none"},
		values: "none", top: 5, examples: 2}
	o.audit.Groups = 50
	o.scan.OnlyDB = -1
	if !all {
		o.output = "brief"
	}
	err := inner.audit(ctx, &o)
	if err == nil && !all {
		fmt.Fprintln(a.out, "\nkeywright demo --all prints the whole report: places, keys, fixes, and what each entry costs.")
	}
	return err
}
