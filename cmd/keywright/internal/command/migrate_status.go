package command

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/spf13/cobra"
)

func (a *app) migrateStatusCommand() *cobra.Command {
	var o migrating
	c := &cobra.Command{
		Use:   "status [part]...",
		Short: "Say where each part is, and what its next step lacks",
		Long: `Lists the parts with their phase and epoch, the records that may differ between the
sides (marks), the gates to the next phase and back, the processes that take part, and
what the server lacks to be the only place of the records. Without a server it says
what the files know. It changes nothing.

Exit codes: 0 shown, 2 usage, 3 shown, but the server cannot be reached, 4 it refuses,
130 interrupted.`,
		Example: `  keywright migrate status
  keywright migrate status history -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.openMigration(c.Context(), c, &o, args, ifThere, true)
			if err != nil {
				return err
			}
			defer r.close()
			return r.showStatus(c.Context())
		},
	}
	a.migrateFlags(c, &o)
	return c
}

// migrationStatus is where a migration is; its JSON names are stable.
type migrationStatus struct {
	Migration string       `json:"migration"`
	Folder    string       `json:"folder"` // of the sources
	Server    string       `json:"server"`
	Away      string       `json:"away,omitempty"`  // why the server does not answer
	Unfit     []string     `json:"unfit,omitempty"` // what it lacks to be the only place of the records
	Parts     []partStatus `json:"parts"`
}

// partStatus is where a part is.
type partStatus struct {
	Part      string          `json:"part"`
	Phase     string          `json:"phase"`
	Authority string          `json:"authority"` // the side that decides what a record is: files or redis
	Epoch     int64           `json:"epoch"`
	Since     *time.Time      `json:"since,omitempty"`    // when the phase began
	Changing  bool            `json:"changing,omitempty"` // a change of the phase is under way, or was interrupted
	Marks     int64           `json:"marks"`              // records that may differ between the sides
	Oldest    float64         `json:"oldest_mark_seconds,omitempty"`
	Compared  int64           `json:"compared"` // reads that were compared since the phase began
	Unequal   int64           `json:"unequal"`  // classes of differences that were found
	Forward   *stepReport     `json:"forward,omitempty"`
	Back      *stepReport     `json:"back,omitempty"`
	Processes []processReport `json:"processes"`
}

// stepReport is a step to another phase.
type stepReport struct {
	To    string       `json:"to"`
	Gates []gateReport `json:"gates"`
}

// gateReport is a gate of a step.
type gateReport struct {
	Gate string `json:"gate"`
	Open bool   `json:"open"`
	Has  string `json:"has,omitempty"`  // of a closed one
	Want string `json:"want,omitempty"` // of a closed one
}

// processReport is a process of the migration.
type processReport struct {
	ID        string    `json:"id"`
	Pid       int       `json:"pid"`
	At        time.Time `json:"at"` // when it has last said something
	Live      bool      `json:"live"`
	Confirmed int64     `json:"confirmed"` // the epoch that it works by
}

// statusOf is the status of the parts that were asked for.
func (r *migrationRun) statusOf(ctx context.Context) (*migrationStatus, []migrate.PartStatus, error) {
	all, err := r.Status(ctx)
	if err != nil {
		return nil, nil, migrateFailure(err)
	}
	out := &migrationStatus{Migration: r.declared.Name, Folder: r.folder, Server: r.server, Parts: []partStatus{}}
	for i := range all {
		if err := all[i].Facts.Unanswered; r.away == nil && err != nil && r.server != "" {
			r.away = migrateFailure(err)
		}
	}
	if r.away != nil {
		out.Away = r.away.Error()
	} else {
		out.Unfit = unfitOf(all)
	}
	for i := range all {
		if slices.Contains(r.parts, all[i].Part) {
			out.Parts = append(out.Parts, partReport(&all[i]))
		}
	}
	return out, all, nil
}

// unfitOf is what the server lacks for any of the parts, each once: parts have entries of their own,
// which a login may lack rights for.
func unfitOf(all []migrate.PartStatus) (out []string) {
	for i := range all {
		for _, lack := range all[i].Facts.Unfit {
			if !slices.Contains(out, lack) {
				out = append(out, lack)
			}
		}
	}
	return out
}

func partReport(s *migrate.PartStatus) partStatus {
	out := partStatus{Part: s.Part, Phase: s.State.Phase.String(), Authority: phase.Of(s.State.Phase).Authority.String(),
		Epoch: int64(s.State.Epoch), Changing: s.State.Intent != nil, Marks: s.Facts.Marks, Oldest: s.Facts.Oldest.Seconds(),
		Compared: s.Facts.Compared, Unequal: s.Facts.Unequal, Processes: []processReport{}}
	if !s.State.Since.IsZero() {
		out.Since = &s.State.Since
	}
	rule := phase.Of(s.State.Phase)
	if next, ok := s.State.Phase.Next(); ok {
		out.Forward = &stepReport{next.String(), gatesOf(rule.Forward, s.Forward)}
	}
	if before, ok := s.State.Phase.Previous(); ok {
		out.Back = &stepReport{before.String(), gatesOf(rule.Back, s.Back)}
	}
	for _, p := range s.Processes {
		out.Processes = append(out.Processes, processReport{p.ID, p.Pid, p.At, p.Live, int64(p.Confirmed)})
	}
	return out
}

func gatesOf(gates []phase.Gate, closed []phase.Closed) []gateReport {
	out := []gateReport{}
	for _, g := range gates {
		x := gateReport{Gate: g.String(), Open: true}
		if i := slices.IndexFunc(closed, func(c phase.Closed) bool { return c.Gate == g }); i >= 0 {
			x.Open, x.Has, x.Want = false, closed[i].Has, closed[i].Want
		}
		out = append(out, x)
	}
	return out
}

func (r *migrationRun) showStatus(ctx context.Context) error {
	out, _, err := r.statusOf(ctx)
	if err != nil {
		return err
	}
	if err := r.printOr(out, func() error { return r.printStatus(out) }); err != nil {
		return err
	}
	return r.away
}

func (r *migrationRun) printStatus(out *migrationStatus) error {
	columns := []terminal.Column{{Title: "part"}, {Title: "phase"}, {Title: "decides", Drop: 2}, {Title: "epoch", Right: true, Drop: 1},
		{Title: "for", Right: true}, {Title: "marks", Right: true}, {Title: "compared", Right: true, Drop: 3},
		{Title: "unequal", Right: true}, {Title: "next step", Least: 20, Wrap: true}}
	var rows [][]string
	for i := range out.Parts {
		p := &out.Parts[i]
		lasts := ""
		if p.Since != nil {
			lasts = terminal.Duration(r.now().Sub(*p.Since))
		}
		name := p.Phase
		if p.Changing {
			name += " (changing)"
		}
		rows = append(rows, []string{p.Part, name, p.Authority, strconv.FormatInt(p.Epoch, 10), lasts,
			terminal.Count(p.Marks), terminal.Count(p.Compared), terminal.Count(p.Unequal), stepText(p.Forward)})
	}
	if err := terminal.Table(r.out, columns, rows); err != nil {
		return err
	}
	if out.Away != "" {
		r.tell("\n%s", r.out.Paint(terminal.Yellow, "The server does not answer: what only it knows is left out."))
	}
	for _, lack := range out.Unfit {
		r.tell("\nthe server lacks: %s", finding.Printable(lack))
	}
	return r.printProcesses(out)
}

// stepText is a step in words: what it lacks.
func stepText(s *stepReport) string {
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

// gateText is a closed gate in words.
func gateText(g gateReport) string {
	if g.Want == g.Has || g.Has == "not done" {
		return g.Gate
	}
	return g.Gate + " (" + g.Has + ", must be " + g.Want + ")"
}

// printProcesses lists the processes, with what they have confirmed of each part.
func (r *migrationRun) printProcesses(out *migrationStatus) error {
	var rows [][]string
	for i := range out.Parts {
		for _, p := range out.Parts[i].Processes {
			state := "confirmed"
			switch {
			case !p.Live:
				state = "dead, or silent for longer than its lease"
			case p.Confirmed < out.Parts[i].Epoch:
				state = "works by epoch " + strconv.FormatInt(p.Confirmed, 10)
			}
			rows = append(rows, []string{p.ID, out.Parts[i].Part, terminal.Duration(r.now().Sub(p.At)), state})
		}
	}
	if len(rows) == 0 {
		r.tell("\nNo process takes part now.")
		return nil
	}
	r.tell("")
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return terminal.Table(r.out, []terminal.Column{{Title: "process", Least: 8}, {Title: "part"}, {Title: "heard", Right: true},
		{Title: "state", Least: 20, Wrap: true}}, rows)
}
