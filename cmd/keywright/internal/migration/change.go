package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/spf13/cobra"
)

// stepping holds the flags of migrate advance and rollback.
type stepping struct {
	migrating
	force bool
}

// forceable lists the gates that --force goes on without: they are about trust. Without the
// others records would be lost.
var forceable = []phase.Gate{phase.Compared, phase.Unequal, phase.For, phase.Backup, phase.Fit, phase.Covered}

const stepHelp = `

The programs go on meanwhile: those that live confirm the change, and writes wait for
some milliseconds. A change that is interrupted is undone.`

func migrateAdvanceCommand(a *cli.App) *cobra.Command {
	var o stepping
	c := &cobra.Command{
		Use:   "advance PART",
		Short: "Bring a part to its next phase",
		Long: `Shows the gates between a part and its next phase, and with --apply takes the step
if all are open. --force goes on where compared, unequal, for, backup, fit or covered is
closed, and the history says so; never without marks, round-trip, imported and verified, and
never out of the order of the parts.` + stepHelp + `

Exit codes: 0 the gates are open, or the step was taken, 2 usage, 3 the server cannot be
reached, 4 a gate is closed, or another refusal, 130 interrupted.`,
		Example: `  keywright migrate advance history
  keywright migrate advance history --apply`,
		RunE: func(c *cobra.Command, args []string) error { return migrateStep(a, c, args, &o, true) },
	}
	stepFlags(a, c, &o)
	return c
}

func migrateRollbackCommand(a *cli.App) *cobra.Command {
	var o stepping
	c := &cobra.Command{
		Use:   "rollback PART",
		Short: "Bring a part to the phase before",
		Long: `Shows what is between a part and the phase before, and with --apply takes the step
back. Every record that was acknowledged is on the side that decides then: those that
may differ are made equal while no process can write, and from complete all files are
written as Redis is.` + stepHelp + `

Exit codes: 0 the way is open, or the step was taken, 2 usage, 3 the server cannot be
reached, 4 refused, 130 interrupted.`,
		Example: `  keywright migrate rollback history
  keywright migrate rollback history --apply`,
		RunE: func(c *cobra.Command, args []string) error { return migrateStep(a, c, args, &o, false) },
	}
	stepFlags(a, c, &o)
	return c
}

func stepFlags(a *cli.App, c *cobra.Command, o *stepping) {
	migrateFlags(a, c, &o.migrating)
	f := c.Flags()
	f.BoolVar(&o.apply, "apply", false, "do it")
	f.BoolVar(&o.force, "force", false, "also where compared, unequal, for, backup, fit or covered is closed")
}

// Step represents a step of a part, taken or not; its JSON names are stable.
type Step struct {
	Migration string                 `json:"migration"`
	Part      string                 `json:"part"`
	From      string                 `json:"from"`
	To        string                 `json:"to"`
	Applied   bool                   `json:"applied"`
	Gates     []phases.MigrationGate `json:"gates"`
	Order     string                 `json:"order,omitempty"`  // the part that must go first
	Forced    []string               `json:"forced,omitempty"` // gates that were closed
	Epoch     int64                  `json:"epoch"`
	Marks     int64                  `json:"marks"`               // records that may differ; a change makes them equal
	Drained   int                    `json:"drained"`             // records that were made equal while no process wrote
	PausedMS  float64                `json:"paused_ms,omitempty"` // for how long no process could write
	Late      []string               `json:"late,omitempty"`      // processes that have not confirmed in time
	At        *time.Time             `json:"at,omitempty"`
}

func migrateStep(a *cli.App, c *cobra.Command, args []string, o *stepping, forward bool) error {
	ctx := c.Context()
	r, err := openMigration(ctx, a, c, &o.migrating, args, withServer, !o.apply)
	if err != nil {
		return err
	}
	defer r.Close()
	part, err := r.onePart(c)
	if err != nil {
		return err
	}
	out, to, err := r.stepOf(ctx, part, forward)
	if err != nil {
		return err
	}
	if o.apply && r.opens(out, o) == nil {
		err = r.take(ctx, out, to, o)
		if closed := new(migrate.GateError); errors.As(err, &closed) { // closed since it was looked at
			gates := phase.Of(closed.From).Forward
			if !forward {
				gates = phase.Of(closed.From).Back
			}
			out.Gates, err = phases.GatesOf(gates, closed.Closed), nil
		}
		if err != nil {
			return migrateFailure(err)
		}
	}
	if err := r.printOr(out, func() error { return r.printStep(out, o) }); err != nil || out.Applied {
		return err
	}
	return r.opens(out, o)
}

// stepOf returns the next step of a part, with its gates.
func (r *migrationRun) stepOf(ctx context.Context, part string, forward bool) (*Step, phase.Phase, error) {
	_, all, err := r.statusOf(ctx)
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(all, func(s migrate.PartStatus) bool { return s.Part == part })
	s := &all[at]
	if s.Lost != nil {
		return nil, 0, migrateFailure(fmt.Errorf("part %s: %w", part, s.Lost))
	}
	rule := phase.Of(s.State.Phase)
	to, ok := s.State.Phase.Previous()
	gates := phases.GatesOf(rule.Back, s.Back)
	if forward {
		to, ok = s.State.Phase.Next()
		gates = phases.GatesOf(rule.Forward, s.Forward)
	}
	if !ok {
		return nil, 0,
			&cli.Exit{Code: cli.ExitRefused,
				Message: "part " + part + " is in phase " + s.State.Phase.String() + ": there is none beyond it", Hint: ""}
	}
	out := &Step{Migration: r.declared.Name, Part: part, From: s.State.Phase.String(), To: to.String(),
		Gates: gates,
		Epoch: int64(s.State.Epoch), Marks: s.Facts.Marks, Order: goesFirst(all, at, to)}
	return out, to, nil
}

// goesFirst returns the part that must change its phase before part at may go to one, the outermost of them; "": none.
// A step forward waits for parts before it, a step back for parts after it.
func goesFirst(all []migrate.PartStatus, at int, to phase.Phase) string {
	if to > all[at].State.Phase {
		for i := range at {
			if to > all[i].State.Phase {
				return all[i].Part
			}
		}
		return ""
	}
	for i := len(all) - 1; i > at; i-- {
		if to < all[i].State.Phase {
			return all[i].Part
		}
	}
	return ""
}

// opens is nil if a step can be taken.
func (r *migrationRun) opens(out *Step, o *stepping) error {
	verb := "advance"
	if to, err := phase.Parse(out.To); err == nil && to.String() != "" && to < phaseNamed(out.From) {
		verb = "rollback"
	}
	if out.Order != "" {
		return &cli.Exit{Code: cli.ExitRefused,
			Message: "part " + out.Order + " must go first: no part is ahead of one before it",
			Hint:    "`keywright migrate " + verb + " " + out.Order + "`"}
	}
	var closed, hints []string
	forced := true
	for _, g := range out.Gates {
		if g.Open {
			continue
		}
		can := slices.ContainsFunc(forceable, func(f phase.Gate) bool { return f.String() == g.Gate })
		if forced = forced && can; !can || !o.force {
			closed = append(closed, gateText(g))
			hints = append(hints, strings.ReplaceAll(gateHints[g.Gate], "PART", out.Part))
		}
	}
	if len(closed) == 0 {
		return nil
	}
	slices.Sort(hints)
	hint := strings.Join(slices.Compact(hints), "; ")
	if forced {
		hint += "; --force goes on without"
	}
	return &cli.Exit{Code: cli.ExitRefused,
		Message: "part " + out.Part + " does not go to " + out.To + ": closed is " + strings.Join(closed, ", "), Hint: hint}
}

func phaseNamed(name string) phase.Phase {
	p, _ := phase.Parse(name) // it is one
	return p
}

// gateHints say how a gate opens.
var gateHints = map[string]string{
	"round-trip": "`keywright migrate plan PART` says what cannot be moved",
	"imported":   "`keywright migrate import PART --apply`",
	"verified":   "`keywright migrate verify PART`",
	"marks":      "the programs replay marks when both sides answer",
	"compared":   "the programs compare while they read",
	"unequal":    "`keywright migrate diff PART`",
	"for":        "wait, or declare gates: {for: none}",
	"backup":     "`keywright backup --to FILE`, then `keywright migrate verify PART --backup FILE`",
	"covered":    "`keywright migrate plan PART` lists what no move reads: add a move, or ignore: with the reason",
	"fit":        "`keywright migrate status` says what the server lacks",
}

// take takes a step.
func (r *migrationRun) take(ctx context.Context, out *Step, to phase.Phase, o *stepping) error {
	r.Say("waiting until every live process has confirmed")
	done, err := r.Change(ctx, out.Part, to, migrate.ChangeOptions{Force: o.force, Only: forceable, By: byCommand})
	if err != nil {
		return err
	}
	out.Applied, out.Epoch, out.Drained, out.Forced, out.Late = true, int64(done.Epoch), done.Drained, done.Forced,
		done.Late
	out.PausedMS, out.At = float64(done.Paused.Microseconds())/1000, &done.At
	return nil
}

func (r *migrationRun) printStep(out *Step, o *stepping) error {
	var rows [][]string
	for _, g := range out.Gates {
		state, lacks := "open", ""
		if !g.Open {
			if state = "closed"; o.force &&
				slices.ContainsFunc(forceable, func(f phase.Gate) bool { return f.String() == g.Gate }) {
				state = "forced"
			}
			lacks = g.Has + ", must be " + g.Want
		}
		rows = append(rows, []string{g.Gate, state, lacks})
	}
	columns := []terminal.Column{{Title: "gate"}, {Title: "state"}, {Title: "has", Least: 20, Wrap: true}}
	if err := r.PrintTable(columns, rows); err != nil {
		return err
	}
	if len(out.Late) > 0 {
		r.Print("These processes live and have not confirmed yet; they cannot write before they do: %s",
			finding.Printable(strings.Join(out.Late, ", ")))
	}
	switch {
	case out.Applied:
		r.Print("%s", r.Out.Paint(terminal.Green, "Part "+out.Part+" went from "+out.From+" to "+out.To+": epoch "+
			terminal.Count(out.Epoch)+", "+terminal.Plural(int64(out.Drained), "record")+" made equal, writes waited for "+
			terminal.Duration(time.Duration(out.PausedMS*float64(time.Millisecond)))+"."))
	case r.opens(out, o) == nil:
		r.Print("Part %s would go from %s to %s. Nothing was changed; --apply does it.", out.Part, out.From, out.To)
	}
	return nil
}
