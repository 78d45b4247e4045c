package migration

import (
	"context"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/spf13/cobra"
)

// mending holds the flags of migrate repair.
type mending struct {
	migrating
	class  string
	all    bool
	from   string
	accept bool
}

func migrateRepairCommand(a *cli.App) *cobra.Command {
	var o mending
	c := &cobra.Command{
		Use:   "repair PART",
		Short: "Bring the side that follows to the one that decides, or go on after lost data",
		Long: `Compares a part as verify does and says which records differ; with --apply it brings
the side that follows to the one that decides: the differences of one class, as diff
and verify name it, or --all. A record of Redis that the declaration would not read from
a file again is not written: it is listed with its key, and differs still.

After Redis has lost data (a flush, an older backup, a failover without the last
writes) nothing is written until --from says which side is right. --from files brings
the part back to dual-write; import and verify it again. --from redis goes on with what
Redis has. --accept-marks takes the files although Redis may have had later records:
those with a mark. It also sets files in .keywright aside that are damaged.

Exit codes: 0 nothing differs any more, or nothing did, 1 records differ, 2 usage, 3 the
server cannot be reached, 4 refused, 130 interrupted.`,
		Example: `  keywright migrate repair history --class history.history_story:.title:value
  keywright migrate repair history --all --apply
  keywright migrate repair history --from files --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.refuse(c); err != nil {
				return err
			}
			r, err := openMigration(c.Context(), a, c, &o.migrating, args, withServer, !o.apply)
			if err != nil {
				return err
			}
			defer r.Close()
			part, err := r.onePart(c)
			if err != nil {
				return err
			}
			if o.from != "" {
				return r.repairFrom(c.Context(), part, &o)
			}
			return r.repairClass(c.Context(), part, &o)
		},
	}
	migrateFlags(a, c, &o.migrating)
	paceFlags(a, c, &o.migrating)
	f := c.Flags()
	f.StringVar(&o.class, "class", "", "the differences of this class: MOVE:PATH:KIND")
	f.BoolVar(&o.all, "all", false, "all differences")
	f.StringVar(&o.from, "from", "", "after lost data: the side whose records are right, files or redis")
	f.BoolVar(&o.accept, "accept-marks", false, "with --from files: also where Redis may have had later records")
	f.BoolVar(&o.apply, "apply", false, "do it")
	cli.Choices(c, "from", "files", "redis")
	return c
}

func (o *mending) refuse(c *cobra.Command) error {
	ways := 0
	for _, is := range []bool{o.class != "", o.all, o.from != ""} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		return cli.Usage("write --class MOVE:PATH:KIND, --all or --from files", "%s takes one of --class, --all and --from",
			c.CommandPath())
	}
	if o.from != "" {
		return cli.OneOf("from", o.from, "files", "redis")
	}
	return nil
}

// classNamed reads MOVE:PATH:KIND.
func classNamed(text string) (move, path string, kind record.DiffKind, err error) {
	move, rest, first := strings.Cut(text, ":")
	at := strings.LastIndexByte(rest, ':')
	if !first || at < 0 {
		return "", "", "",
			cli.Usage("diff and verify name them: history.history_story:.title:value", "%q is no class of differences", text)
	}
	return move, rest[:at], record.DiffKind(rest[at+1:]), nil
}

// Repaired describes what was repaired, or would be; its JSON names are stable.
type Repaired struct {
	Migration  string       `json:"migration"`
	Part       string       `json:"part"`
	Applied    bool         `json:"applied"`
	Class      string       `json:"class,omitempty"`
	Sides      *sidesOfPart `json:"sides,omitempty"` // how they compared, and how many records were repaired
	Left       int64        `json:"left"`            // records that differ now, of all classes
	From       string       `json:"from,omitempty"`  // the side that is right
	Was        string       `json:"was,omitempty"`   // with from: the phase before
	Phase      string       `json:"phase"`
	Epoch      int64        `json:"epoch"`
	Marks      int64        `json:"marks"` // with from: records of which Redis may have had a later one
	DurationMS int64        `json:"duration_ms"`
}

// repairClass repairs the differences of one class, or of all.
func (r *migrationRun) repairClass(ctx context.Context, part string, o *mending) error {
	v := migrate.VerifyOptions{PerSecond: r.rate, Repair: r.apply}
	if o.class != "" {
		var err error
		if v.Move, v.Path, v.Kind, err = classNamed(o.class); err != nil {
			return err
		}
	}
	if _, err := r.in(ctx, "repair", part, nil, verifiable...); err != nil {
		return err
	}
	found := &Verified{}
	if err := r.verifyPart(ctx, part, v, found); err != nil {
		r.bar.Clear()
		return err
	}
	sides, now := found.Parts[0], found.Parts[0]
	if sides.Repaired > 0 { // what was repaired may differ still, and other records by now
		after := &Verified{}
		if err := r.verifyPart(ctx, part, migrate.VerifyOptions{PerSecond: r.rate}, after); err != nil {
			r.bar.Clear()
			r.Say("repaired %s; what differs now is not known", terminal.Plural(sides.Repaired, "record"))
			return err
		}
		now = after.Parts[0]
	}
	is, err := r.Phase(part)
	if err != nil {
		return migrateFailure(err)
	}
	out := &Repaired{Migration: r.declared.Name, Part: part, Applied: r.apply, Class: o.class, Sides: &sides,
		Left: now.differ(), Phase: is.Phase.String(), Epoch: int64(is.Epoch)}
	if err := r.showRepaired(out, func() error {
		if err := r.printCompared(found); err != nil {
			return err
		}
		r.printEqual(out.Left == 0, now.Marked)
		switch {
		case !out.Applied && out.Left > 0:
			r.Print("Nothing was changed; --apply brings the side that follows to the one that decides.")
		case out.Applied:
			r.Print("Repaired %s; %s.", terminal.Plural(sides.Repaired, "record"), differStill(out.Left, now.Marked))
		}
		return nil
	}); err != nil {
		return err
	}
	if out.Left > 0 {
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

func differStill(left, marked int64) string {
	switch {
	case left > 0:
		return terminal.Plural(left, "record") +
			" of other classes, that no file can have, or that the files have twice, differ"
	case marked > 0:
		return terminal.Plural(marked, "record") + " with a mark may differ"
	}
	return "nothing differs any more"
}

// repairFrom goes on with one side after lost data.
func (r *migrationRun) repairFrom(ctx context.Context, part string, o *mending) error {
	side := map[string]phase.Side{"files": phase.Files, "redis": phase.Redis}[o.from]
	out := &Repaired{Migration: r.declared.Name, Part: part, From: o.from, Applied: r.apply}
	done, err := r.Repair(ctx, part, migrate.RepairOptions{From: side, Accept: o.accept, By: byCommand, Look: !r.apply})
	if err != nil {
		return migrateFailure(err)
	}
	out.Was, out.Phase, out.Epoch, out.Marks = done.Was.String(), done.Phase.String(), int64(done.Epoch), done.Marks
	return r.showRepaired(out, func() error {
		verb := "would go"
		if out.Applied {
			verb = "went"
		}
		r.Print("Part %s %s on with what %s have, from phase %s to %s. %s may have been later in Redis.", part, verb,
			map[string]string{"files": "the files", "redis": "the keys of Redis"}[o.from], out.Was, out.Phase,
			terminal.Plural(out.Marks, "record"))
		if !out.Applied {
			r.Print("Nothing was changed; --apply does it.")
		} else if side == phase.Files {
			r.Print("Next: `keywright migrate import %s --apply`, then `keywright migrate verify %s`.", part, part)
		}
		return nil
	})
}

func (r *migrationRun) showRepaired(out *Repaired, table func() error) error {
	r.bar.Clear()
	out.DurationMS = r.durationMS()
	return r.printOr(out, table)
}

// byCommand says what the history says of steps of the command line. It names no user: no
// value of an environment variable is stored.
const byCommand = "keywright migrate"
