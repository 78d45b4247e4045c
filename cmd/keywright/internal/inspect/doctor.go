package inspect

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/server/examine"
	"github.com/spf13/cobra"
)

// doctorForms lists the forms of a diagnosis.
var doctorForms = []string{"table", "json", "sarif", "github", "junit"}

// danger is what error was called in doctor before its advice were findings; scripts may have it.
const danger = "danger"

// Diagnosis describes what doctor found; its JSON names are stable.
type Diagnosis struct {
	Facts    []examine.Fact    `json:"facts"`
	Findings []finding.Finding `json:"findings"`
	More     []finding.More    `json:"more,omitempty"` // how many of which rule are not in findings
	Summary  finding.Counts    `json:"summary"`        // of all
	NotKnown []examine.Fact    `json:"not_known"`      // what could not be looked at, and why: no finding is about it
}

func DoctorCommand(a *cli.App) *cobra.Command {
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
		Args: cli.NoArgs,
		Example: `  keywright doctor -u redis://localhost:6379
  keywright doctor -o json --fail-on warning`,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.Form(c, output, doctorForms...)
			if err != nil {
				return err
			}
			if failOn == danger {
				failOn = "error"
			}
			if err := cli.OneOf("fail-on", failOn, "error", "warning", "note", "never"); err != nil {
				return err
			}
			return diagnose(c.Context(), a, form, failOn)
		},
	}
	a.ServerFlags(c)
	cli.Outputs(c, &output, doctorForms...)
	c.Flags().StringVar(&failOn, "fail-on", "error", "exit with 1 from this severity on: error, warning, note or never")
	cli.Choices(c, "fail-on", "error", "warning", "note", "never")
	return c
}

func diagnose(ctx context.Context, a *cli.App, form, failOn string) error {
	config, err := a.Server()
	if err != nil {
		return err
	}
	x, err := examine.Examine(ctx, config, a.Now)
	if err != nil {
		return err
	}
	d := doctor.Of(x)
	switch form {
	case "json":
		told := finding.NewDocument(d.Findings, doctor.Rules())
		err = a.JSON(Diagnosis{append([]examine.Fact{}, d.Facts...), told.Findings, told.More, told.Summary,
			append([]examine.Fact{}, d.NotKnown...)})
	case "table":
		err = printDiagnosis(a, d)
	default:
		err = declare.Printers[form](a.Out.Raw(), d.Findings, a.Printing(&cli.Declaration{}, a.Out))
	}
	switch {
	case err != nil:
		return err
	case failOn != "never" && finding.Count(d.Findings).Failing(declare.Severities[failOn]):
		return &cli.Exit{Code: cli.ExitFindings}
	case len(d.NotKnown) > 0:
		return &cli.Exit{Code: cli.ExitPartial,
			Message: "not all could be looked at: " + d.NotKnown[0].Name + ": " + d.NotKnown[0].Value,
			Hint:    "run doctor as a user that may ask for it"}
	}
	return nil
}

// levels lists the styles of severities in a diagnosis.
var levels = map[finding.Severity]terminal.Style{finding.Error: terminal.Red, finding.Warning: terminal.Yellow}

func printDiagnosis(a *cli.App, d doctor.Diagnosis) error {
	var rows [][]string
	for _, f := range d.Facts {
		rows = append(rows, []string{f.Name, f.Value})
	}
	if err := terminal.Table(a.Out, []terminal.Column{{Title: "what"}, {Title: "found", Least: 20, Wrap: true}},
		rows); err != nil {
		return err
	}
	why := map[string]string{}
	for _, r := range doctor.Rules() {
		why[r.Code] = r.Explain
	}
	for _, f := range d.Findings {
		fmt.Fprintf(a.Out, "\n%s %s\n  %s\n  fix: %s\n", a.Out.Paint(levels[f.Severity], f.Severity.String()+" "+f.Code+":"),
			finding.Printable(f.Message), why[f.Code], finding.Printable(f.Fix))
	}
	for _, f := range d.NotKnown {
		fmt.Fprintf(a.Out, "\n%s %s\n", a.Out.Paint(terminal.Bold, "not known:"), finding.Printable(f.Name+": "+f.Value))
	}
	c := finding.Count(d.Findings)
	switch {
	case len(d.NotKnown) > 0 && c.Warnings > 0 && c.Errors == 0:
		fmt.Fprintf(a.Out, "\n%s\n", a.Out.Paint(terminal.Bold, "Warnings, but no danger, in what was looked at."))
	case len(d.NotKnown) > 0 && c.Errors == 0:
		fmt.Fprintf(a.Out, "\n%s\n", a.Out.Paint(terminal.Bold, "Nothing dangerous in what was looked at."))
	case len(d.Findings) == 0:
		fmt.Fprintf(a.Out, "\n%s\n", a.Out.Paint(terminal.Green, "Nothing dangerous."))
	}
	return nil
}
