package migration

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/saving"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/spf13/cobra"
)

// migrateVerifying holds the flags of migrate verify.
type migrateVerifying struct {
	migrating
	sources.Unlocking
	backup  string
	records bool
}

func migrateVerifyCommand(a *cli.App) *cobra.Command {
	var o migrateVerifying
	c := &cobra.Command{
		Use:   "verify [part]...",
		Short: "Compare files and Redis in both directions, with values and TTLs",
		Long: `Compares every record of the files with Redis, and looks for those of Redis that no
file has: values as the declaration says that they are compared, and when they end. A
difference counts when it is still there a moment later and the record has no mark. A
part whose sides are equal opens the gate verified of its phase. What of the files no move
reads is listed, as plan lists it: it is on no side that is compared.

--records lists the records that differ, by their keys, with a digest of the values of
each side: no value is shown.

--backup FILE reads an archive of keywright backup to its end, and notes it as the
verified backup of the parts: the gate backup asks how old it is. That every checksum and
key of the archive can be read is verified, and that it has keys of the part; not that
its values are those of the server now. "keywright verify FILE" compares the two.

` + sources.UnlockHelp + `

Exit codes: 0 both sides are equal, 1 they differ, 2 usage, 3 the server cannot be
reached, 4 refused, as in another phase, 5 the backup is not whole, or both sides are
equal and no move reads some of the files, 130 interrupted.`,
		Example: `  keywright migrate verify
  keywright migrate verify history --rate 20000
  keywright migrate verify history --backup all.kwa`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := openMigration(c.Context(), a, c, &o.migrating, args, withServer, true)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.verifyParts(c.Context(), &o)
		},
	}
	migrateFlags(a, c, &o.migrating)
	paceFlags(a, c, &o.migrating)
	o.IdentityFlag(c)
	c.Flags().StringVar(&o.backup, "backup", "", "an archive that is verified, and noted as the backup of the parts")
	c.Flags().BoolVar(&o.records, "records", false,
		"also list the records that differ, by key, with digests of both sides (at most 100 of a part)")
	return c
}

// Verified describes how both sides compare; its JSON names are stable.
type Verified struct {
	Migration  string        `json:"migration"`
	Equal      bool          `json:"equal"` // of all parts that were compared
	Parts      []sidesOfPart `json:"parts"`
	Off        []partOff     `json:"left_out,omitempty"`
	Backup     *backupNoted  `json:"backup,omitempty"`
	DurationMS int64         `json:"duration_ms"`
}

// backupNoted represents the archive that was noted as the backup.
type backupNoted struct {
	File  string    `json:"file"`
	Taken time.Time `json:"taken"`
	Keys  int64     `json:"keys"`
}

// sidesOfPart describes how the sides of a part compare. The records of the files are equal,
// missing, unequal and marked; some of those marked may be in Redis alone.
type sidesOfPart struct {
	Part     string            `json:"part"`
	Phase    string            `json:"phase"`
	Files    int64             `json:"files"`
	Bytes    int64             `json:"bytes"`   // of the files
	Records  int64             `json:"records"` // of the files; a list is one
	Equal    int64             `json:"equal"`
	Missing  int64             `json:"missing"`            // in Redis
	Extra    int64             `json:"extra"`              // in Redis, and no file has it
	Unequal  int64             `json:"unequal"`            // in both, and not the same
	Marked   int64             `json:"marked"`             // a write is under way, or waits to be replayed
	Passing  int64             `json:"passing"`            // were different at first, and equal a moment later
	Rejected int64             `json:"rejected"`           // cannot be moved: see plan
	Refused  int64             `json:"refused"`            // of extra and unequal: no file can have them, or they cannot be read
	Refusals []rejectReport    `json:"refusals,omitempty"` // at most 100
	Repaired int64             `json:"repaired"`
	Classes  []differenceClass `json:"classes"`
	Cut      int64             `json:"classes_cut,omitempty"` // differences of classes beyond the most that are listed
	Coverage *coverageReport   `json:"coverage"`              // what of the files no move reads
	Differ   []differingRecord `json:"differ,omitempty"`      // with --records: at most 100
}

// differ returns how many records differ.
func (p *sidesOfPart) differ() int64 { return p.Missing + p.Extra + p.Unequal + p.Rejected }

// differingRecord represents a record that differs. It has its key and no value.
type differingRecord struct {
	Move  string           `json:"move"`
	Key   finding.JSONKey  `json:"key"`
	Sub   *finding.JSONKey `json:"sub,omitempty"` // the field or member
	Kinds []string         `json:"kinds"`         // PATH:KIND
	File  string           `json:"file"`          // a digest of what the file has, "" for nothing
	Redis string           `json:"redis"`
}

func differOf(in []migrate.Differing) (out []differingRecord) {
	for _, d := range in {
		x := differingRecord{Move: d.ID.Move, Key: finding.JSONKey(d.ID.Key), Sub: answer.KeyOf(d.ID.Sub),
			File: d.File, Redis: d.Redis}
		for _, k := range d.Differences {
			x.Kinds = append(x.Kinds, k.Path+":"+string(k.Kind))
		}
		out = append(out, x)
	}
	return out
}

// differenceClass represents a kind of difference. It has no key and no value.
type differenceClass struct {
	Class   string    `json:"class"` // as --class takes it
	Move    string    `json:"move"`
	Path    string    `json:"path"` // inside the record
	Kind    string    `json:"kind"` // missing, extra, type, value, score, order or end
	Count   int64     `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Example string    `json:"example"` // a digest of a record's identity
}

func classesOf(in []migrate.Class) []differenceClass {
	out := []differenceClass{}
	for _, c := range in {
		out = append(out,
			differenceClass{c.Move + ":" + c.Path + ":" + string(c.Kind), c.Move, c.Path, string(c.Kind), c.Count,
				c.First, c.Last, c.Example})
	}
	return out
}

// verifiable lists the phases in which both sides are written.
var verifiable = []phase.Phase{phase.DualWrite, phase.Backfill, phase.Shadow, phase.Live, phase.RampDown}

func (r *migrationRun) verifyParts(ctx context.Context, o *migrateVerifying) error {
	var backup *saving.ArchiveReport
	r.records = o.records
	if o.backup != "" {
		var err error
		if backup, err = r.wholeBackup(ctx, o); err != nil {
			return err
		}
	}
	out := &Verified{Migration: r.declared.Name, Parts: []sidesOfPart{}}
	for _, part := range r.parts {
		is, err := r.in(ctx, "verify", part, &out.Off, verifiable...)
		if err == nil && is {
			err = r.verifyPart(ctx, part, migrate.VerifyOptions{PerSecond: r.rate}, out)
		}
		if err == nil && backup != nil {
			err = migrateFailure(r.noteBackup(part, backup))
		}
		if err != nil {
			r.bar.Clear()
			return err
		}
	}
	if backup != nil {
		out.Backup = &backupNoted{backup.File, backup.Taken, backup.Keys}
	} else if err := nothingDone("verified", out.Off, len(r.parts)); err != nil {
		return err
	}
	return r.showVerified(out)
}

func (r *migrationRun) verifyPart(ctx context.Context, part string, o migrate.VerifyOptions,
	out *Verified) error {
	if err := r.begin(ctx, part); err != nil {
		return migrateFailure(err)
	}
	v, err := r.Verify(ctx, part, o)
	if err != nil {
		return migrateFailure(err)
	}
	is, err := r.Phase(part)
	out.Parts = append(out.Parts,
		sidesOfPart{part, is.Phase.String(), v.Files, v.Bytes, v.Records, v.Equal, v.Missing, v.Extra,
			v.Unequal, v.Marked, v.Passing, v.Rejected, v.Refused, rejectsOf(v.Refusals), v.Repaired,
			classesOf(v.Classes), v.Cut, coverageOf(&v.Coverage), nil})
	if r.records {
		out.Parts[len(out.Parts)-1].Differ = differOf(v.Differ)
	}
	return err
}

// wholeBackup reads an archive to its end.
func (r *migrationRun) wholeBackup(ctx context.Context, o *migrateVerifying) (*saving.ArchiveReport, error) {
	o.Keyring = o.ring
	b, err := saving.Verified(ctx, o.backup, sources.ArchiveKeys(ctx, r.App, &o.Unlocking))
	switch {
	case err != nil:
		return nil, err
	case !b.Complete:
		return nil, &cli.Exit{Code: cli.ExitPartial, Message: o.backup + " is not whole: " + b.Problem,
			Hint: "make another one with `keywright backup`"}
	case len(b.Chosen) > 0:
		return nil, &cli.Exit{Code: cli.ExitRefused,
			Message: o.backup + " has only what was chosen: " + strings.Join(b.Chosen, " "),
			Hint:    "make one of everything with `keywright backup --to FILE`"}
	}
	return b, nil
}

// noteBackup notes an archive as the backup of a part, unless it has none of its records.
func (r *migrationRun) noteBackup(part string, b *saving.ArchiveReport) error {
	is, err := r.Phase(part)
	if err != nil {
		return err
	}
	keys := int64(0)
	for _, mv := range r.declared.Part(part).Moves {
		for _, e := range b.Entries {
			if e.Entry == mv.To.Name {
				keys += e.Keys
			}
		}
	}
	if keys == 0 && is.Phase >= phase.Shadow {
		return &cli.Exit{Code: cli.ExitRefused, Message: b.File + " has no key of part " + part,
			Hint: "make one of this server, with this declaration"}
	}
	return r.NoteBackup(part, b.Taken)
}

// showVerified says how the sides compare, and gives the exit code.
func (r *migrationRun) showVerified(out *Verified) error {
	r.bar.Clear()
	out.DurationMS, out.Equal = r.durationMS(), len(out.Parts) > 0
	for _, p := range out.Parts {
		out.Equal = out.Equal && p.differ() == 0
	}
	if err := r.printOr(out, func() error { return r.printVerified(out) }); err != nil {
		return err
	}
	if len(out.Parts) > 0 && !out.Equal {
		return &cli.Exit{Code: cli.ExitFindings}
	}
	for _, p := range out.Parts {
		if !p.Coverage.Covered {
			return &cli.Exit{Code: cli.ExitPartial}
		}
	}
	return nil
}

func (r *migrationRun) printVerified(out *Verified) error {
	if err := r.printCompared(out); err != nil {
		return err
	}
	r.tellOff(out.Off)
	if b := out.Backup; b != nil {
		r.Print("\nNoted the backup %s of %s (%s).", finding.Printable(b.File), b.Taken.UTC().Format(time.RFC3339),
			terminal.Plural(b.Keys, "key"))
	}
	if len(out.Parts) > 0 {
		marked := int64(0)
		for _, p := range out.Parts {
			marked += p.Marked
		}
		r.printEqual(out.Equal, marked)
	}
	return nil
}

// printEqual says whether both sides are equal.
func (r *migrationRun) printEqual(equal bool, marked int64) {
	switch {
	case equal && marked > 0:
		r.Print("\n%s", r.Out.Paint(terminal.Green, "Both sides are equal, but for "+terminal.Plural(marked, "record")+
			" with a mark: a write is under way, or is replayed."))
	case equal:
		r.Print("\n%s", r.Out.Paint(terminal.Green, "Both sides are equal."))
	default:
		r.Print("\n%s", r.Out.Paint(terminal.Red, "The sides differ."))
	}
}

// printCompared prints how the sides of parts compare.
func (r *migrationRun) printCompared(out *Verified) error {
	columns := []terminal.Column{{Title: "part"}, {Title: "records", Right: true}, {Title: "equal", Right: true},
		{Title: "missing", Right: true}, {Title: "extra", Right: true}, {Title: "unequal", Right: true},
		{Title: "marked", Right: true}, {Title: "rejected", Right: true}}
	var rows [][]string
	var classes []differenceClass
	for _, p := range out.Parts {
		row := []string{p.Part}
		for _, n := range []int64{p.Records, p.Equal, p.Missing, p.Extra, p.Unequal, p.Marked, p.Rejected} {
			row = append(row, terminal.Count(n))
		}
		rows, classes = append(rows, row), append(classes, p.Classes...)
	}
	if err := terminal.Table(r.Out, columns, rows); err != nil {
		return err
	}
	if err := r.printClasses(classes); err != nil {
		return err
	}
	for _, p := range out.Parts {
		r.printDiffering(p.Differ)
		if p.Refused > 0 {
			r.Print("\nNo file can have these records of Redis, or they cannot be read: take them away from it, or " +
				"change the declaration.")
		}
		r.printRejects(p.Part, p.Refusals, p.Refused)
	}
	var cover covered
	for _, p := range out.Parts {
		r.printCoverage(&cover, p.Coverage)
	}
	if said := cover.sentence(); said != "" {
		r.Print("\n%s", r.Out.Paint(terminal.Yellow, said))
	}
	return nil
}

// printDiffering lists records that differ, with what tells both sides apart.
func (r *migrationRun) printDiffering(all []differingRecord) {
	side := func(digest string) string { return cmp.Or(digest, "nothing") }
	for _, d := range all {
		r.Print("%s: %s: %s: the file has %s, Redis has %s", d.Move,
			strings.TrimSpace(finding.Key(d.Key)+" "+cli.ShownName(d.Sub)),
			finding.Printable(strings.Join(d.Kinds, ", ")), side(d.File), side(d.Redis))
	}
}

func (r *migrationRun) printClasses(classes []differenceClass) error {
	if len(classes) == 0 {
		return nil
	}
	r.Print("")
	var rows [][]string
	for _, c := range classes {
		rows = append(rows,
			[]string{c.Class, terminal.Count(c.Count), terminal.Duration(r.Now().Sub(c.Last)) + " ago", c.Example})
	}
	return terminal.Table(r.Out,
		[]terminal.Column{{Title: "class of difference", Least: 24}, {Title: "records", Right: true},
			{Title: "last", Right: true}, {Title: "such as", Drop: 1}}, rows)
}

func migrateDiffCommand(a *cli.App) *cobra.Command {
	var o migrating
	c := &cobra.Command{
		Use:   "diff [part]...",
		Short: "List the classes of differences that reads have found",
		Long: `Lists what the comparisons of all processes have found in the phases shadow and live:
classes of differences by move, path inside the record and kind, with how many records
and a digest of one of them. It has no key and no value. The kinds: missing (the files
have it, Redis has not), extra, type, value, score, order, end (another TTL).

verify compares everything; repair brings the side that follows to the other one.

Exit codes: 0 there is none, 1 there are some, 2 usage, 130 interrupted.`,
		Example: `  keywright migrate diff
  keywright migrate diff history -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := openMigration(c.Context(), a, c, &o, args, noServer, true)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.showDifferences()
		},
	}
	migrateFlags(a, c, &o)
	return c
}

// Differences holds the classes of differences; its JSON names are stable.
type Differences struct {
	Migration string          `json:"migration"`
	Parts     []differingPart `json:"parts"`
}

// differingPart holds the differences of a part.
type differingPart struct {
	Part    string            `json:"part"`
	Phase   string            `json:"phase"`
	Classes []differenceClass `json:"classes"`
	Cut     int64             `json:"classes_cut,omitempty"` // differences of classes beyond the most that are kept
}

func (r *migrationRun) showDifferences() error {
	out := &Differences{Migration: r.declared.Name, Parts: []differingPart{}}
	var all []differenceClass
	cut := int64(0)
	for _, part := range r.parts {
		is, err := r.Phase(part)
		if err != nil {
			return migrateFailure(err)
		}
		classes, more, err := r.Classes(part)
		if err != nil {
			return migrateFailure(err)
		}
		p := differingPart{part, is.Phase.String(), classesOf(classes), more}
		out.Parts, all, cut = append(out.Parts, p), append(all, p.Classes...), cut+more
	}
	err := r.printOr(out, func() error {
		if len(all) == 0 {
			r.Print("No comparison has found a difference.")
		}
		if cut > 0 {
			r.Print("and %s of more classes than are kept", terminal.Plural(cut, "difference"))
		}
		return r.printClasses(all)
	})
	if err == nil && len(all) > 0 {
		err = &cli.Exit{Code: cli.ExitFindings}
	}
	return err
}
