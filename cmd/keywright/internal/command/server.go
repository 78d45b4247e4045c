package command

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/demo"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// serverFlags are the flags of the verbs that need a server.
func (a *app) serverFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.url, "url", "u", "", "the server (default: $KEYWRIGHT_URL, $REDIS_URL, "+connect.DefaultURL+"); a password belongs into the environment")
	f.StringVar(&a.connect.CAFile, "tls-ca", "", "PEM file with the CA of the server's certificate")
	f.StringVar(&a.connect.CertFile, "tls-cert", "", "PEM file with the client certificate")
	f.StringVar(&a.connect.KeyFile, "tls-key", "", "PEM file with the key of the client certificate")
	f.StringVar(&a.connect.ServerName, "tls-server-name", "", "the name in the server's certificate, if it is not the host's")
	f.BoolVar(&a.connect.Insecure, "tls-insecure", false, "do not verify the server's certificate")
	f.DurationVar(&a.connect.Timeout, "timeout", 5*time.Second, "how long to wait for the server, each time")
}

// server makes the Config from flags and environment.
func (a *app) server() (connect.Config, error) {
	o := a.connect
	o.URL, o.Getenv = a.url, a.Getenv
	if connect.HasPassword(a.url) {
		a.say("warning: a password in the arguments is seen by every user that can list processes; put the URL into KEYWRIGHT_URL, or the password into REDISCLI_AUTH")
	}
	if o.Timeout <= 0 {
		return connect.Config{}, usage("write --timeout 5s", "--timeout must be above zero")
	}
	if o.Insecure {
		a.say("warning: the server's certificate is not verified (--tls-insecure): anything between here and there can pose as it")
	}
	config, err := connect.New(o)
	if err == nil {
		a.detail("server: %s", config)
	}
	return config, err
}

func (a *app) doctorCommand() *cobra.Command {
	var output, failOn string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what server this is and what is dangerous about it",
		Long: `Asks a server for its version, topology, persistence, eviction policy, clock
and permissions, and says what is missing for an audit and what is dangerous.
What the server does not tell is not known: it is listed, and no advice is given on it.

Exit codes: 0 nothing from the level of --fail-on on (danger, unless it is given),
1 something is, 2 usage, 3 the server cannot be reached, 4 it refuses, 5 nothing is
in what was looked at, but not all could be.`,
		Args: noArgs,
		Example: `  keywright doctor -u redis://localhost:6379
  keywright doctor -o json --fail-on warning`,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.form(c, output, "table", "json")
			if err != nil {
				return err
			}
			if err := oneOf("fail-on", failOn, append(server.AdviceLevels, "never")...); err != nil {
				return err
			}
			return a.doctor(c.Context(), form, failOn)
		},
	}
	a.serverFlags(c)
	outputs(c, &output, "table", "json")
	c.Flags().StringVar(&failOn, "fail-on", "danger", "exit with 1 from this level on: danger, warning, note or never")
	c.Flags().Lookup("fail-on").Annotations = map[string][]string{noVariable: {"elsewhere it takes other words"}}
	choices(c, "fail-on", append(server.AdviceLevels, "never")...)
	return c
}

func (a *app) doctor(ctx context.Context, form, failOn string) error {
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
	switch {
	case err != nil:
		return err
	case failOn != "never" && d.From(failOn) > 0:
		return &exit{code: exitFindings}
	case len(d.NotKnown) > 0:
		return &exit{exitPartial, "not all could be looked at: " + d.NotKnown[0].Name + ": " + d.NotKnown[0].Value, "run doctor as a user that may ask for it"}
	}
	return nil
}

// levels are the styles of doctor's advice.
var levels = map[string]terminal.Style{"danger": terminal.Red, "warning": terminal.Yellow}

func (a *app) printDiagnosis(d server.Diagnosis) error {
	var rows [][]string
	for _, f := range d.Facts {
		rows = append(rows, []string{f.Name, f.Value})
	}
	if err := terminal.Table(a.out, []terminal.Column{{Title: "what"}, {Title: "found", Least: 20, Wrap: true}}, rows); err != nil {
		return err
	}
	for _, w := range d.Advice {
		fmt.Fprintf(a.out, "\n%s %s\n  %s\n  fix: %s\n", a.out.Paint(levels[w.Level], w.Level+":"), finding.Printable(w.What), finding.Printable(w.Why), finding.Printable(w.Fix))
	}
	for _, f := range d.NotKnown {
		fmt.Fprintf(a.out, "\n%s %s\n", a.out.Paint(terminal.Bold, "not known:"), finding.Printable(f.Name+": "+f.Value))
	}
	switch {
	case len(d.NotKnown) > 0 && d.From("danger") == 0:
		fmt.Fprintf(a.out, "\n%s\n", a.out.Paint(terminal.Bold, "Nothing dangerous in what was looked at."))
	case len(d.Advice) == 0:
		fmt.Fprintf(a.out, "\n%s\n", a.out.Paint(terminal.Green, "Nothing dangerous."))
	}
	return nil
}

func (a *app) demoCommand() *cobra.Command {
	o := demo.Options{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Start a throw-away server, fill it with the examples and some dirt, and audit it",
		Long: `Starts valkey-server or redis-server from PATH on a free port, else an embedded
server that can do less, fills it with data made from the five example
declarations and with planted faults, and audits it. Run it in the root of
keywright's source. Nothing is left behind.

Exit codes: 0 shown, 2 usage or no examples, 130 interrupted.`,
		Example: `  keywright demo
  keywright demo --keys 1000000 --serve`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out, o.Err = a.out, a.err
			if o.Keys < 1 {
				return usage("write --keys 50000", "--keys must be above zero")
			}
			o.Audit = a.auditDemo
			return demo.Run(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "dir", "examples", "folder of the examples")
	f.IntVar(&o.Keys, "keys", 50_000, "how many keys to write")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed makes the same data")
	f.StringVar(&o.Server, "server", "", "valkey-server, redis-server or miniredis (default: the first there is)")
	f.BoolVar(&o.Serve, "serve", false, "leave the server running until ctrl-C")
	choices(c, "server", "valkey-server", "redis-server", "miniredis")
	return c
}

// auditDemo is `keywright audit` of the demo's server; findings are what the
// demo is for and no failure.
func (a *app) auditDemo(ctx context.Context, url, file string) error {
	inner := *a
	inner.file, inner.url = file, url
	inner.Getenv = func(name string) string { // the demo's server has no password
		if name == "REDISCLI_AUTH" {
			return ""
		}
		return a.Getenv(name)
	}
	inner.connect.Timeout = 10 * time.Second
	o := auditing{judging: judging{failOn: "never", output: "table"}, sourcing: sourcing{role: "auto", progress: "none"}, values: "none", top: 5, examples: 2}
	o.audit.Groups = 50
	o.scan.OnlyDB = -1
	return inner.audit(ctx, &o)
}
