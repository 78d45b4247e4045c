package command

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/demo"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what server this is and what is dangerous about it",
		Long: `Asks a server for its version, topology, persistence, eviction policy, clock
and permissions, and says what is missing for an audit and what is dangerous.

Exit codes: 0 nothing dangerous, 1 something is, 2 usage, 3 the server cannot be
reached, 4 it refuses.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), output) },
	}
	a.serverFlags(c.Flags())
	c.Flags().StringVarP(&output, "output", "o", "", "form of the result: table or json")
	return c
}

func (a *app) doctor(ctx context.Context, output string) error {
	form, err := a.form(output, "table", "json")
	if err != nil {
		return err
	}
	config, err := a.server()
	if err != nil {
		return err
	}
	d, err := server.Diagnose(ctx, config, a.now)
	if err != nil {
		return err
	}
	if form == "json" {
		err = a.json(d)
	} else {
		err = a.printDiagnosis(d)
	}
	if err == nil && d.Dangers() > 0 {
		err = &exit{code: exitFindings}
	}
	return err
}

func (a *app) printDiagnosis(d server.Diagnosis) error {
	var rows [][]string
	for _, f := range d.Facts {
		rows = append(rows, []string{f.Name, f.Value})
	}
	if err := terminal.Table(a.Out, []string{"what", "found"}, rows); err != nil {
		return err
	}
	for _, w := range d.Advice {
		fmt.Fprintf(a.Out, "\n%s: %s\n  %s\n  fix: %s\n", w.Level, finding.Printable(w.What), finding.Printable(w.Why), finding.Printable(w.Fix))
	}
	return nil
}

func (a *app) aclCommand() *cobra.Command {
	c := &cobra.Command{Use: "acl", Short: "ACL users of the keyspace", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var self, values bool
	var user string
	p := &cobra.Command{
		Use:   "print --self",
		Short: "Print the least-privilege user that an audit needs",
		Long: `Prints the ACL rules of a user that may run what audit, doctor and explain send
and nothing else. The line goes into an ACL file; behind ACL SETUSER it goes
without the first word. A password is not in it: add one with >password.`,
		Example: `  keywright acl print --self >> users.acl
  redis-cli ACL SETUSER keywright $(keywright acl print --self | cut -d' ' -f3-) '>…'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !self {
				return usage("run `keywright acl print --self`", "acl print knows --self only so far")
			}
			_, err := fmt.Fprintf(a.Out, "user %s %s\n", user, server.ACL(values))
			return err
		},
	}
	p.Flags().BoolVar(&self, "self", false, "the user keywright itself needs")
	p.Flags().BoolVar(&values, "values", true, "with what --values needs")
	p.Flags().StringVar(&user, "user", "keywright", "name of the user")
	c.AddCommand(p)
	return c
}

func (a *app) demoCommand() *cobra.Command {
	o := demo.Options{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Start a throw-away server, fill it with the examples and some dirt, and audit it",
		Long: `Starts valkey-server or redis-server from PATH on a free port, else an embedded
server that can do less, fills it with data made from the five example
declarations and with planted faults, and audits it. Run it in the root of
keywright's source. Nothing is left behind.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out, o.Err = a.Out, a.Err
			o.Audit = func(ctx context.Context, url, file string) error { return a.auditDemo(ctx, url, file) }
			return demo.Run(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "dir", "examples", "folder of the examples")
	f.IntVar(&o.Keys, "keys", 50_000, "how many keys to write")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed makes the same data")
	f.StringVar(&o.Server, "server", "", "valkey-server, redis-server or miniredis (default: the first there is)")
	f.BoolVar(&o.Serve, "serve", false, "leave the server running until ctrl-C")
	return c
}

// auditDemo is `keywright audit` of the demo's server; findings are what the
// demo is for and no failure.
func (a *app) auditDemo(ctx context.Context, url, file string) error {
	inner := *a
	inner.file, inner.url = file, url
	inner.connect.Timeout = 10_000_000_000
	o := auditOptions{judging: judging{failOn: "never", output: "table"}, role: "auto", progress: "none"}
	o.scan.OnlyDB = -1
	o.audit.Examples, o.audit.Top = 2, 5
	return inner.audit(ctx, &o)
}
