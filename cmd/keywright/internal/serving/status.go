package serving

import (
	"context"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// StatusReport says what is wrong now, the worst first; its JSON names are stable.
type StatusReport struct {
	Quiet bool        `json:"quiet"` // nothing is wrong, and all of it could be read
	Items []statusRow `json:"items"`
	answer.Gaps
}

// statusRow represents something that is wrong now.
type statusRow struct {
	alert.Condition
	Since string `json:"since,omitempty"` // RFC 3339; absent: the server does not know
}

func StatusCommand(a *cli.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "status",
		Short: "Say what is wrong now: late and dead jobs, lag, memory, replicas",
		Long: `Says what is wrong on a server now, in the order of the harm it does, each with how much
and what helps, and since when where the server knows it: memory that runs short, replicas that are lost, jobs whose worker
is dead, queues that are late, dead jobs, groups of streams that are late, entities that
are not swept. Quiet is one line. In a cluster a primary that does not answer is the first
line, and what could not be read for it is named.

It changes nothing and makes no audit: where keys of a queue, a stream or an entity have
placeholders the server is scanned for them. keywright serve says the same on its first
page and under /api/v1/now, with the violations that are new and the jobs of its janitor.

Exit codes: 0 nothing is wrong, 1 something is, 2 usage, 3 the server cannot be reached,
4 it refuses, 5 not all could be read, 130 interrupted.`,
		Example: `  keywright status
  keywright status -u redis://localhost:6379 -o json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.OneOf("output", output, "table", "json"); err != nil {
				return err
			}
			return status(c.Context(), a, output)
		},
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &output, "table", "json")
	return c
}

func status(ctx context.Context, a *cli.App, output string) error {
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	config, err := a.Server()
	if err != nil {
		return err
	}
	a.NoteScope(config.String(), config.DB, d.Keyspace, false)
	t, err := observe.New(observe.Options{ID: "default", Name: config.String(), Declaration: observed(a, d), Now: a.Now,
		Glance: glanceEvery, Health: healthEvery, Every: time.Hour,
		Server: &observe.Server{Config: config, Open: func(ctx context.Context) (*keywright.Client, error) {
			with := a.ClientOptions()
			with.Name, with.Connections = "keywright-status", -1
			return keywright.Open(ctx, a.URL, with)
		}}})
	if err != nil {
		return err
	}
	st, gaps, err := t.Once(ctx)
	if err != nil {
		return cli.ServerFailure(err)
	}
	if f := st.Shards.Failed; f != nil {
		out := &cli.Exit{Code: cli.ExitUnreachable, Message: config.String() + ": " + a.HideSecrets(f.What),
			Hint: "look at the server and at -u"}
		if strings.Contains(f.What, "NOPERM") {
			out.Code, out.Hint = cli.ExitRefused, "`keywright acl print --self --repair` prints a user that may read what status needs"
		}
		return out
	}
	report := statusOf(t, &st, gaps, a.Now())
	if output == "json" {
		err = a.JSON(report)
	} else {
		err = printStatus(a, &report)
	}
	switch {
	case err != nil:
		return err
	case len(report.Items) > 0:
		return &cli.Exit{Code: cli.ExitFindings, Message: terminal.Plural(int64(len(report.Items)), "thing") + " wrong",
			Hint: ""}
	}
	return cli.ListedInPart(&report.Gaps, "of it")
}

// statusOf judges what was read, and collects what was not.
func statusOf(t *observe.Target, st *observe.State, gaps answer.Gaps, now time.Time) StatusReport {
	report := StatusReport{Items: []statusRow{}, Gaps: gaps}
	for _, a := range alert.Judge(t, st, now) {
		row := statusRow{Condition: a.Condition}
		if !a.Since.IsZero() {
			row.Since = a.Since.UTC().Format(time.RFC3339)
		}
		report.Items = append(report.Items, row)
	}
	add := func(g answer.Gaps) { report.Unread = append(report.Unread, g.Unread...) }
	if v := st.Queues.Value; v != nil {
		add(v.Gaps)
	}
	if v := st.Streams.Value; v != nil {
		add(v.Gaps)
	}
	if v := st.Entities.Value; v != nil {
		add(v.Gaps)
	}
	for _, p := range st.Parts() {
		if p.Failed != nil {
			report.Unread = append(report.Unread, answer.Unread{Entry: p.Name, Why: p.Failed.What})
		}
	}
	report.Quiet = len(report.Items)+len(report.Unread)+len(report.Cut) == 0
	return report
}

func printStatus(a *cli.App, report *StatusReport) error {
	defer a.PrintGaps(&report.Gaps)
	a.PrintScope()
	if len(report.Items) == 0 {
		a.PrintNone(&report.Gaps, "quiet: nothing is wrong")
		return nil
	}
	rows := make([][]string, len(report.Items))
	for i, r := range report.Items {
		rows[i] = []string{string(r.Kind), finding.Printable(r.Text), r.Since, r.Next}
	}
	return terminal.Table(a.Out, []terminal.Column{{Title: "what", Least: 12}, {Title: "says", Least: 40},
		{Title: "since", Drop: 2}, {Title: "what helps", Drop: 1}}, rows)
}
