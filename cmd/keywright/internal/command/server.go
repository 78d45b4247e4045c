package command

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/demo"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/doctor"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// serverFlags are the flags of the verbs that need a server.
func (a *app) serverFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.url, "url", "u", "",
		"the server (default: $KEYWRIGHT_URL, $REDIS_URL, "+connect.DefaultURL+"); a password belongs into the environment")
	f.StringVar(&a.connect.CAFile, "tls-ca", "", "PEM file with the CA of the server's certificate")
	f.StringVar(&a.connect.CertFile, "tls-cert", "", "PEM file with the client certificate")
	f.StringVar(&a.connect.KeyFile, "tls-key", "", "PEM file with the key of the client certificate")
	f.StringVar(&a.connect.ServerName, "tls-server-name", "",
		"the name in the server's certificate, if it is not the host's")
	f.BoolVar(&a.connect.Insecure, "tls-insecure", false, "do not verify the server's certificate")
	f.DurationVar(&a.connect.Timeout, "timeout", 5*time.Second, "how long to wait for the server, each time")
}

// server makes the Config from flags and environment.
func (a *app) server() (connect.Config, error) {
	o := a.connect
	o.URL, o.Getenv = a.url, a.Getenv
	if connect.HasPassword(a.url) {
		a.say("warning: a password in the arguments is seen by every user that can list processes; put the URL into " +
			"KEYWRIGHT_URL, or the password into REDISCLI_AUTH")
	}
	if o.Timeout <= 0 {
		return connect.Config{}, usage("write --timeout 5s", "--timeout must be above zero")
	}
	if o.Insecure {
		a.say("warning: the server's certificate is not verified (--tls-insecure): anything between here and there " +
			"can pose as it")
	}
	config, err := connect.New(o)
	if err == nil {
		a.detail("server: %s", config)
	}
	return config, err
}

// doctorForms lists the forms of a diagnosis.
var doctorForms = []string{"table", "json", "sarif", "github", "junit"}

// danger is what error was called in doctor before its advice were findings; scripts may have it.
const danger = "danger"

// diagnosis describes what doctor found; its JSON names are stable.
type diagnosis struct {
	Facts    []server.Fact     `json:"facts"`
	Findings []finding.Finding `json:"findings"`
	More     []finding.More    `json:"more,omitempty"` // how many of which rule are not in findings
	Summary  finding.Counts    `json:"summary"`        // of all
	NotKnown []server.Fact     `json:"not_known"`      // what could not be looked at, and why: no finding is about it
}

func (a *app) doctorCommand() *cobra.Command {
	var output, failOn string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what server this is and what is dangerous about it",
		Long: `Asks a server for its version, topology, persistence, eviction policy, clock
and permissions, and says what is missing for an audit and what is dangerous.
What the server does not tell is not known: it is listed, and no finding is about it.

Exit codes: 0 nothing from the severity of --fail-on on (error, unless it is given),
1 something is, 2 usage, 3 the server cannot be reached, 4 it refuses, 5 nothing is
in what was looked at, but not all could be.`,
		Args: noArgs,
		Example: `  keywright doctor -u redis://localhost:6379
  keywright doctor -o json --fail-on warning`,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.form(c, output, doctorForms...)
			if err != nil {
				return err
			}
			if failOn == danger {
				failOn = "error"
			}
			if err := oneOf("fail-on", failOn, "error", "warning", "note", "never"); err != nil {
				return err
			}
			return a.doctor(c.Context(), form, failOn)
		},
	}
	a.serverFlags(c)
	outputs(c, &output, doctorForms...)
	c.Flags().StringVar(&failOn, "fail-on", "error", "exit with 1 from this severity on: error, warning, note or never")
	c.Flags().Lookup("fail-on").Annotations = map[string][]string{noVariable: {"elsewhere it is warning unless it is given"}}
	choices(c, "fail-on", "error", "warning", "note", "never")
	return c
}

func (a *app) doctor(ctx context.Context, form, failOn string) error {
	config, err := a.server()
	if err != nil {
		return err
	}
	x, err := server.Examine(ctx, config, a.now)
	if err != nil {
		return err
	}
	d := doctor.Of(x)
	switch form {
	case "json":
		told := finding.NewDocument(d.Findings, doctor.Rules())
		err = a.json(diagnosis{append([]server.Fact{}, d.Facts...), told.Findings, told.More, told.Summary,
			append([]server.Fact{}, d.NotKnown...)})
	case "table":
		err = a.printDiagnosis(d)
	default:
		err = printers[form](a.out.Raw(), d.Findings, a.printing(&declaration{}, a.out))
	}
	switch {
	case err != nil:
		return err
	case failOn != "never" && finding.Count(d.Findings).Failing(severities[failOn]):
		return &exit{code: exitFindings}
	case len(d.NotKnown) > 0:
		return &exit{exitPartial, "not all could be looked at: " + d.NotKnown[0].Name + ": " + d.NotKnown[0].Value,
			"run doctor as a user that may ask for it"}
	}
	return nil
}

// levels lists the styles of severities in a diagnosis.
var levels = map[finding.Severity]terminal.Style{finding.Error: terminal.Red, finding.Warning: terminal.Yellow}

func (a *app) printDiagnosis(d doctor.Diagnosis) error {
	var rows [][]string
	for _, f := range d.Facts {
		rows = append(rows, []string{f.Name, f.Value})
	}
	if err := terminal.Table(a.out, []terminal.Column{{Title: "what"}, {Title: "found", Least: 20, Wrap: true}},
		rows); err != nil {
		return err
	}
	why := map[string]string{}
	for _, r := range doctor.Rules() {
		why[r.Code] = r.Explain
	}
	for _, f := range d.Findings {
		fmt.Fprintf(a.out, "\n%s %s\n  %s\n  fix: %s\n", a.out.Paint(levels[f.Severity], f.Severity.String()+" "+f.Code+":"),
			finding.Printable(f.Message), why[f.Code], finding.Printable(f.Fix))
	}
	for _, f := range d.NotKnown {
		fmt.Fprintf(a.out, "\n%s %s\n", a.out.Paint(terminal.Bold, "not known:"), finding.Printable(f.Name+": "+f.Value))
	}
	c := finding.Count(d.Findings)
	switch {
	case len(d.NotKnown) > 0 && c.Warnings > 0 && c.Errors == 0:
		fmt.Fprintf(a.out, "\n%s\n", a.out.Paint(terminal.Bold, "Warnings, but no danger, in what was looked at."))
	case len(d.NotKnown) > 0 && c.Errors == 0:
		fmt.Fprintf(a.out, "\n%s\n", a.out.Paint(terminal.Bold, "Nothing dangerous in what was looked at."))
	case len(d.Findings) == 0:
		fmt.Fprintf(a.out, "\n%s\n", a.out.Paint(terminal.Green, "Nothing dangerous."))
	}
	return nil
}

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
