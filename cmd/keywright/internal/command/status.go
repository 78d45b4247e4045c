package command

import (
	"context"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/spf13/cobra"
)

// statusReport says what is wrong now, the worst first; its JSON names are stable.
type statusReport struct {
	Quiet bool        `json:"quiet"` // nothing is wrong, and all of it could be read
	Items []statusRow `json:"items"`
	answer.Gaps
}

// statusRow represents something that is wrong now.
type statusRow struct {
	alert.Condition
	Since string `json:"since,omitempty"` // RFC 3339; absent: the server does not know
}

func (a *app) statusCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "status",
		Short: "Say what is wrong now: late and dead jobs, lag, memory, replicas",
		Long: `Says what is wrong on a server now, in the order of the harm it does, each with since when,
how much and what helps: memory that runs short, replicas that are lost, jobs whose worker
is dead, queues that are late, dead jobs, groups of streams that are late, entities that
are not swept. Quiet is one line.

It changes nothing and makes no audit: where keys of a queue, a stream or an entity have
placeholders the server is scanned for them. keywright serve says the same on its first
page and under /api/v1/now, with the violations that are new and the jobs of its janitor.

Exit codes: 0 nothing is wrong, 1 something is, 2 usage, 3 the server cannot be reached,
5 not all could be read, 130 interrupted.`,
		Example: `  keywright status
  keywright status -u redis://localhost:6379 -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := oneOf("output", output, "table", "json"); err != nil {
				return err
			}
			return a.status(c.Context(), output)
		},
	}
	a.serverFlags(c)
	a.namespaceFlag(c)
	outputs(c, &output, "table", "json")
	return c
}

func (a *app) status(ctx context.Context, output string) error {
	d, _, err := a.usable()
	if err != nil {
		return err
	}
	config, err := a.server()
	if err != nil {
		return err
	}
	a.works(config.String(), config.DB, d.Keyspace, false)
	t, err := observe.New(observe.Options{ID: "default", Name: config.String(), Declaration: a.observed(d), Now: a.now,
		Glance: glanceEvery, Health: healthEvery, Every: time.Hour,
		Server: &observe.Server{Config: config, Open: func(ctx context.Context) (*keywright.Client, error) {
			return keywright.Open(ctx, a.url, keywright.Options{Logger: silent, Name: "keywright-status",
				CAFile: a.connect.CAFile, CertFile: a.connect.CertFile, KeyFile: a.connect.KeyFile, ServerName: a.connect.ServerName,
				Insecure: a.connect.Insecure, Timeout: a.connect.Timeout, NoCache: true, Connections: -1, Getenv: a.Getenv})
		}}})
	if err != nil {
		return err
	}
	st, gaps, err := t.Once(ctx)
	if err != nil {
		return aclFailure(err)
	}
	if f := st.Shards.Failed; f != nil {
		return &exit{exitUnreachable, a.discreet(f.What), "look at the server and at -u"}
	}
	report := statusOf(t, &st, gaps, a.now())
	if output == "json" {
		err = a.json(report)
	} else {
		err = a.printStatus(&report)
	}
	switch {
	case err != nil:
		return err
	case len(report.Items) > 0:
		return &exit{exitFindings, terminal.Plural(int64(len(report.Items)), "thing") + " wrong", ""}
	}
	return partly(&report.Gaps, "of it")
}

// statusOf judges what was read, and collects what was not.
func statusOf(t *observe.Target, st *observe.State, gaps answer.Gaps, now time.Time) statusReport {
	report := statusReport{Items: []statusRow{}, Gaps: gaps}
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

func (a *app) printStatus(report *statusReport) error {
	defer a.tellGaps(&report.Gaps)
	a.lead()
	if len(report.Items) == 0 {
		a.none(&report.Gaps, "quiet: nothing is wrong")
		return nil
	}
	rows := make([][]string, len(report.Items))
	for i, r := range report.Items {
		rows[i] = []string{string(r.Kind), finding.Printable(r.Text), r.Since, r.Next}
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "what", Least: 12}, {Title: "says", Least: 40},
		{Title: "since", Drop: 2}, {Title: "what helps", Drop: 1}}, rows)
}
