package transfer

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/archive"
)

// goOn says what to do after a restore that did not come to its end.
func (out *RestoreReport) goOn(failed error) string {
	var cut *archive.CutError
	switch {
	case errors.As(failed, &cut):
		return "take another copy of the archive: `keywright archive verify` says how far this one is good"
	case !out.Applied:
		return "nothing was changed; it was only a plan"
	case evicts(failed):
		return "raise maxmemory, or set maxmemory-policy noeviction; --evict goes on whatever the server evicts"
	}
	return "what was restored is right; run it again to go on"
}

// evicts reports whether an error is that a server evicts keys, or would.
func evicts(err error) bool {
	return errors.As(err, new(*restore.EvictionError)) || errors.As(err, new(*restore.RoomError))
}

// tellMemory says which of the servers that are written to may evict keys, and what they have evicted.
func tellMemory(a *cli.App, servers []restore.Memory) {
	for _, m := range servers {
		if m.Evicts() {
			a.Print("note: %s has %s of %s (maxmemory) in use, and evicts keys, of any program, when that is full (%s); "+
				"evicted: %s", m.Server, terminal.Bytes(m.Used), terminal.Bytes(m.Limit), m.Policy, terminal.Count(m.Evicted))
		}
	}
}

// Show says what was done, and gives the exit code.
func (r *restoreRun) Show(ctx context.Context, out *RestoreReport, failed error) error {
	r.Did = moved("Restored", out.Applied, &out.Total, out.Problem)
	err := r.show(ctx, r.App, out, func() error { return r.print(out) }, failed)
	switch t := out.Total; {
	case err != nil:
		return err
	case failed != nil || !out.Complete:
		return &cli.Exit{Code: cli.ExitPartial, Message: out.Problem, Hint: out.goOn(failed)}
	case librariesFailed(out.Libraries, r.existing), t.Refused+t.Unknown > 0,
		t.Existing > 0 && r.existing == string(restore.Fail):
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

func (r *restoreRun) print(out *RestoreReport) error {
	a := r.App
	a.PrintScope()
	var rows [][]string
	for _, p := range out.Entries {
		rows = append(rows, movedRow(p.Entry, &p.Counts))
	}
	if err := printMoved(a, didOrWould(out.Applied, "restored", "to restore"), rows); err != nil {
		return err
	}
	tellReasons(a, out.Reasons, out.More)
	if out.NotMeant > 0 {
		a.Print("%s of the archive were not asked for", terminal.Plural(out.NotMeant, "key"))
	}
	if out.Foreign > 0 {
		a.Print("%s of these are foreign: other programs', as the declaration says, or keywright's own",
			terminal.Count(out.Foreign))
	}
	for _, note := range out.TornKeys.Notes() {
		a.PrintAs(terminal.Yellow, "%s", note)
	}
	if out.OtherLibs > 0 {
		a.Print("libraries of functions of the archive that were not asked for, since not all keys were: %d", out.OtherLibs)
	}
	tellLoaded(a, out.Libraries, out.Applied)
	tellMemory(a, out.Memory)
	if out.Resumed {
		a.Print("What interrupted runs of this plan did is counted, too.")
	}
	r.Verdict(out)
	return nil
}

func (r *restoreRun) Verdict(out *RestoreReport) {
	a, t := r.App, out.Total
	failed := t.Refused + t.Unknown
	if r.existing == string(restore.Fail) {
		failed += t.Existing
	}
	switch {
	case !out.Complete:
		a.PrintAs(terminal.Red, "INCOMPLETE: %s of %s %s: %s", terminal.Count(t.Restored), terminal.Plural(t.Keys, "key"),
			didOrWould(out.Applied, "that were read were restored",
				"that were read would be written, and nothing was changed"), finding.Printable(out.Problem))
	case !out.Applied:
		tellPlan(a, &t, "--apply does it")
		if r.plan != "" {
			a.Print("The plan is in %s; `%s` executes it.", finding.Printable(r.plan), a.CommandFor(r.plan))
		}
	case failed > 0:
		a.PrintAs(terminal.Red, "%s of %s were not restored.", terminal.Count(failed), terminal.Plural(t.Keys, "key"))
	default:
		a.PrintAs(terminal.Green, "Restored %s (%s) in %s.", terminal.Plural(t.Restored, "key"),
			terminal.Bytes(t.Bytes), terminal.Duration(time.Duration(out.DurationMS)*time.Millisecond))
	}
}
