package migration

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/spf13/cobra"
)

func migrateStatusCommand(a *cli.App) *cobra.Command {
	var o migrating
	c := &cobra.Command{
		Use:   "status [part]...",
		Short: "Say where each part is, and what its next step lacks",
		Long: `Lists the parts with their phase and epoch, the records that may differ between the
sides (marks), the gates to the next phase and back, the processes that take part, and
what the server lacks to be the only place of the records. Without a server it says
what the files know. It changes nothing.

After a flush, an older backup or a lost folder .keywright it says so first.

Exit codes: 0 shown, 1 shown, and Redis has lost data or is ahead of the files, 2 usage,
3 shown, but the server cannot be reached, 4 it refuses, 130 interrupted.`,
		Example: `  keywright migrate status
  keywright migrate status history -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := openMigration(c.Context(), a, c, &o, args, ifThere, true)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.showStatus(c.Context())
		},
	}
	migrateFlags(a, c, &o)
	return c
}

// Status describes where a migration is; its JSON names are stable.
type Status struct {
	Migration string                 `json:"migration"`
	Folder    string                 `json:"folder"` // of the sources
	Server    string                 `json:"server"`
	Away      string                 `json:"away,omitempty"`  // why the server does not answer
	Unfit     []string               `json:"unfit,omitempty"` // what it lacks to be the only place of the records
	Parts     []phases.MigrationPart `json:"parts"`

	ways map[string]string // how a part goes on that has lost something
}

// waysOn say how a part goes on that has lost something.
var waysOn = []struct {
	is  error
	way string
}{
	{phase.ErrAhead, "the folder .keywright that belongs to Redis is back, or " +
		"`keywright migrate repair PART --from redis`"},
	{migrate.ErrUnseen, "that file is back, or `keywright migrate repair PART --accept-marks` with `--from files` or " +
		"`--from redis` sets it aside"},
	{phase.ErrLost, "`keywright migrate repair PART --from files` or `--from redis`"},
}

// statusOf returns the status of the parts that were asked for.
func (r *migrationRun) statusOf(ctx context.Context) (*Status, []migrate.PartStatus, error) {
	all, err := r.Status(ctx)
	if err != nil {
		return nil, nil, migrateFailure(err)
	}
	out := &Status{Migration: r.declared.Name, Folder: r.folder, Server: r.server,
		Parts: []phases.MigrationPart{}, ways: map[string]string{}}
	for i := range all {
		for _, w := range waysOn {
			if errors.Is(all[i].Lost, w.is) {
				out.ways[all[i].Part] = w.way
			}
		}
		if err := all[i].Facts.Unanswered; r.away == nil && err != nil && r.server != "" {
			r.away = migrateFailure(err)
		}
	}
	if r.away != nil {
		out.Away = r.away.Error()
	} else {
		out.Unfit = phases.Unfit(all)
	}
	for i := range all {
		if slices.Contains(r.parts, all[i].Part) {
			out.Parts = append(out.Parts, phases.PartOf(&all[i]))
		}
	}
	return out, all, nil
}

func (r *migrationRun) showStatus(ctx context.Context) error {
	out, _, err := r.statusOf(ctx)
	if err != nil {
		return err
	}
	if err := r.printOr(out, func() error { return r.printStatus(out) }); err != nil || r.away != nil {
		return cmp.Or(err, r.away)
	}
	for i := range out.Parts {
		if out.Parts[i].Lost != "" {
			return &cli.Exit{Code: cli.ExitFindings}
		}
	}
	return nil
}

func (r *migrationRun) printStatus(out *Status) error {
	columns := []terminal.Column{{Title: "part"}, {Title: "phase"}, {Title: "decides", Drop: 2},
		{Title: "epoch", Right: true, Drop: 1},
		{Title: "for", Right: true}, {Title: "marks", Right: true}, {Title: "compared", Right: true, Drop: 3},
		{Title: "unequal", Right: true}, {Title: "next step", Least: 20, Wrap: true}}
	var rows [][]string
	for i := range out.Parts {
		p := &out.Parts[i]
		if p.Lost != "" {
			r.Print("%s", r.Out.Paint(terminal.Red, finding.Printable("part "+p.Part+": "+p.Lost+
				". Nothing is written until "+strings.ReplaceAll(out.ways[p.Part], "PART", p.Part)+".")))
		}
		lasts := ""
		if p.Since != nil {
			lasts = terminal.Duration(r.Now().Sub(*p.Since))
		}
		name := p.Phase
		if p.Changing {
			name += " (changing)"
		}
		rows = append(rows, []string{p.Part, name, p.Authority, strconv.FormatInt(p.Epoch, 10), lasts,
			terminal.Count(p.Marks), terminal.Count(p.Compared), terminal.Count(p.Unequal), stepText(p.Forward)})
	}
	if err := terminal.Table(r.Out, columns, rows); err != nil {
		return err
	}
	if out.Away != "" {
		r.Print("\n%s", r.Out.Paint(terminal.Yellow, "The server does not answer: what only it knows is left out."))
	}
	for _, lack := range out.Unfit {
		r.Print("\nthe server lacks: %s", finding.Printable(lack))
	}
	return r.printProcesses(out)
}

// stepText returns a step in words: what it lacks.
func stepText(s *phases.MigrationStep) string {
	if s == nil {
		return "none"
	}
	var lacks []string
	for _, g := range s.Gates {
		if !g.Open {
			lacks = append(lacks, gateText(g))
		}
	}
	if len(lacks) == 0 {
		return s.To + ": open"
	}
	return s.To + ": lacks " + strings.Join(lacks, ", ")
}

// gateText returns a closed gate in words.
func gateText(g phases.MigrationGate) string {
	if g.Want == g.Has || g.Has == "not done" {
		return g.Gate
	}
	return g.Gate + " (" + g.Has + ", must be " + g.Want + ")"
}

// printProcesses lists the processes, with what they have confirmed of each part.
func (r *migrationRun) printProcesses(out *Status) error {
	var rows [][]string
	for i := range out.Parts {
		for _, p := range out.Parts[i].Processes {
			state := "confirmed"
			switch {
			case !p.Live:
				state = "dead, or silent for longer than its lease"
			case p.Otherwise:
				state = "declares the part otherwise"
			case p.Confirmed < out.Parts[i].Epoch:
				state = "works by epoch " + strconv.FormatInt(p.Confirmed, 10)
			}
			rows = append(rows, []string{p.ID, out.Parts[i].Part, terminal.Duration(r.Now().Sub(p.At)), state})
		}
	}
	if len(rows) == 0 {
		r.Print("\nNo process takes part now.")
		return nil
	}
	r.Print("")
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return terminal.Table(r.Out,
		[]terminal.Column{{Title: "process", Least: 8}, {Title: "part"}, {Title: "heard", Right: true},
			{Title: "state", Least: 20, Wrap: true}}, rows)
}
