package migration

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/spf13/cobra"
)

func migratePlanCommand(a *cli.App) *cobra.Command {
	var o migrating
	c := &cobra.Command{
		Use:   "plan [part]...",
		Short: "Read the files and say what would become of each record",
		Long: `Reads the files of all parts, or of those named, and says what an import would do:
how many records and bytes each move makes, and which records cannot be moved, with
file, line and the reason. It makes of each record what Redis would have, and of that
the file again, and compares byte by byte: the gate round-trip of the first phase. A file
that is named and is not there, before its part has begun, is listed too. No server is
needed, and nothing is changed.

What of the files no move reads is listed by its path, with how many values and bytes: it
would stay in the files, and be lost with them. So are values of another shape than a
path has there, such as an array in the place of an object, and moves whose path no file
has. The gate covered opens where a move reads all that is there, or the declaration
ignores it with a reason (ignore: in docs/migration.md).

Exit codes: 0 all can be moved, 1 some records or files cannot, or have another shape
(they are listed), 2 usage, 5 what could be read can be moved, and no move reads the rest,
130 interrupted.`,
		Example: `  keywright migrate plan
  keywright migrate plan history -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := openMigration(c.Context(), a, c, &o, args, noServer, true)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.planParts(c.Context(), &ImportReport{}, r.parts)
		},
	}
	migrateFlags(a, c, &o)
	paceFlags(a, c, &o)
	_ = c.Flags().MarkHidden("rate")
	return c
}

func migrateImportCommand(a *cli.App) *cobra.Command {
	var o migrating
	c := &cobra.Command{
		Use:   "import [part]...",
		Short: "Bring the records of the files to Redis",
		Long: `Says what would be imported, as plan does, and with --apply imports it: all parts
that are in the phases dual-write, backfill or shadow, or those named. The programs go
on meanwhile; what they write is not undone. The files are read as a stream, in little
memory whatever their size.

Running it again changes nothing that is there already, so a run that was killed is
simply run again. Records that cannot be moved are listed, and so are damaged files; the
others are imported. The gate of the phase opens when a run has come to its end without
one.

Exit codes: 0 imported, 1 some records or files cannot be moved (they are listed), 2
usage, 3 the server cannot be reached, 4 refused, as in another phase, 5 without --apply:
no move reads some of the files, as plan says, 130 interrupted.`,
		Example: `  keywright migrate import
  keywright migrate import --apply
  keywright migrate import history --apply --rate 5000`,
		RunE: func(c *cobra.Command, args []string) error {
			n := withServer
			if !o.apply {
				n = noServer
			}
			r, err := openMigration(c.Context(), a, c, &o, args, n, !o.apply)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.importParts(c.Context())
		},
	}
	migrateFlags(a, c, &o)
	paceFlags(a, c, &o)
	c.Flags().BoolVar(&o.apply, "apply", false, "do it")
	return c
}

// ImportReport describes what was imported, or would be; its JSON names are stable.
type ImportReport struct {
	Migration  string         `json:"migration"`
	Applied    bool           `json:"applied"`
	Complete   bool           `json:"complete"` // every record of every file was read and can be moved
	Parts      []importedPart `json:"parts"`
	Off        []partOff      `json:"left_out,omitempty"`
	DurationMS int64          `json:"duration_ms"`
}

// importedPart represents a part. Of an import that came to its end its records are written, same
// and newer; those that were rejected are none of them.
type importedPart struct {
	Part    string         `json:"part"`
	Phase   string         `json:"phase"`
	Files   int64          `json:"files"`
	Bytes   int64          `json:"bytes"`           // of the files
	Records int64          `json:"records"`         // a list is one
	Moves   []movedRecords `json:"moves,omitempty"` // of a plan
	// of a plan: files, Redis and files again are equal, byte by byte
	RoundTrip *bool          `json:"round_trip,omitempty"`
	Written   int64          `json:"written"`
	Same      int64          `json:"same"`  // were there already
	Newer     int64          `json:"newer"` // were written by a program meanwhile
	Over      int64          `json:"over"`  // whose time is over: among the records of an import, beside those of a plan
	Rejected  int64          `json:"rejected"`
	Rejects   []rejectReport `json:"rejects,omitempty"` // at most 100
	Faulty    int64          `json:"faulty"`            // files or moves that cannot be used
	Faults    []faultReport  `json:"faults,omitempty"`  // at most 100

	Coverage *coverageReport `json:"coverage,omitempty"` // of a plan
	NoFiles  []noFiles       `json:"no_files,omitempty"` // of a plan: sources of which there is no file
}

// movedRecords holds the records of a move.
type movedRecords struct {
	Move    string `json:"move"`
	Entry   string `json:"entry"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"` // of keys and values as Redis would have them
}

// rejectReport represents a record that cannot be moved, from a file or into one. It has no value.
type rejectReport struct {
	File   string           `json:"file"`
	Line   int              `json:"line"`
	Column int              `json:"column"`
	Move   string           `json:"move"`
	Reason string           `json:"reason"`
	Key    *finding.JSONKey `json:"key,omitempty"`    // of a record of Redis that no file can have
	Sub    *finding.JSONKey `json:"sub,omitempty"`    // its field or member
	Digest string           `json:"digest,omitempty"` // of its value
}

// faultReport describes why a file or a move cannot be used.
type faultReport struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Reason string `json:"reason"`
}

func rejectsOf(in []*record.Reject) (out []rejectReport) {
	for _, r := range in {
		out = append(out, rejectReport{r.At.File, r.At.Line, r.At.Column, r.Move.Name, r.Reason,
			answer.KeyOf(r.Key), answer.KeyOf(r.Sub), r.Digest})
	}
	return out
}

func faultsOf(faults []error) (out []faultReport) {
	for _, err := range faults {
		x := faultReport{Reason: err.Error()}
		if bad := new(record.Error); errors.As(err, &bad) {
			x = faultReport{bad.At.File, bad.At.Line, bad.At.Column, bad.Message}
		}
		out = append(out, x)
	}
	return out
}

// planParts reads the files of parts and shows what an import would do.
func (r *migrationRun) planParts(ctx context.Context, out *ImportReport, parts []string) error {
	var failed error
	for _, part := range parts {
		if failed = r.begin(ctx, part); failed != nil {
			break
		}
		p, err := r.Plan(ctx, part)
		if p == nil || err != nil {
			failed = err
			break
		}
		out.Parts = append(out.Parts, r.planned(p))
	}
	return r.showImport(ctx, out, migrateFailure(failed))
}

func (r *migrationRun) planned(p *migrate.PlanReport) importedPart {
	x := importedPart{Part: p.Part, Files: p.Files, Bytes: p.Bytes, RoundTrip: &p.RoundTrip, Over: p.Over,
		Rejected: p.Rejected, Rejects: rejectsOf(p.Rejects), Faulty: p.Faulty, Faults: faultsOf(p.Faults),
		Moves:    []movedRecords{},
		Coverage: coverageOf(&p.Coverage)}
	part := r.declared.Part(p.Part)
	for i, mv := range p.Moves {
		x.Records += mv.Records
		x.Moves = append(x.Moves, movedRecords{mv.Move, part.Moves[i].To.Name, mv.Records, mv.Bytes})
	}
	x.NoFiles = noFilesOf(part, &p.Coverage)
	for _, file := range r.absent(part) {
		x.Faulty, x.Faults = x.Faulty+1, append(x.Faults, faultReport{File: file, Reason: "it is not there: " +
			"--root may be another folder; if there never was one, write an empty document"})
	}
	return x
}

// absent gives the files that a part names and that are not there before it has begun. Later the
// programs make them.
func (r *migrationRun) absent(part *keyspace.Part) (files []string) {
	if is, err := r.Phase(part.Name); err != nil || is.Phase != phase.Off {
		return nil
	}
	for _, mv := range part.Moves {
		file := mv.Source.File.String()
		if len(mv.Source.File.Captures()) > 0 || slices.Contains(files, file) {
			continue
		}
		_, err := os.Stat(filepath.Join(r.folder, filepath.FromSlash(file)))
		if errors.Is(err, fs.ErrNotExist) {
			files = append(files, file)
		}
	}
	return files
}

// importParts imports, or plans.
func (r *migrationRun) importParts(ctx context.Context) error {
	out := &ImportReport{Applied: r.apply}
	var parts []string
	for _, part := range r.parts {
		is, err := r.in(ctx, "import", part, &out.Off, phase.DualWrite, phase.Backfill, phase.Shadow)
		if err != nil {
			return err
		}
		if is {
			parts = append(parts, part)
		}
	}
	if err := nothingDone("imported", out.Off, len(r.parts)); err != nil {
		return err
	}
	if !r.apply {
		return r.planParts(ctx, out, parts)
	}
	var failed error
	for _, part := range parts {
		if failed = r.begin(ctx, part); failed != nil {
			break
		}
		p, err := r.Import(ctx, part, migrate.ImportOptions{PerSecond: r.rate})
		if p == nil {
			failed = err
			break
		}
		x := importedPart{Part: part, Files: p.Files, Bytes: r.part.bytes - r.part.baseBytes, Records: p.Records,
			Written: p.Written, Same: p.Same, Newer: p.Newer, Over: p.Over, Rejected: p.Rejected,
			Rejects: rejectsOf(p.Rejects), Faulty: p.Faulty, Faults: faultsOf(p.Faults)}
		if errors.As(err, new(*record.Error)) { // it is listed, and the other parts are not that file's
			err = nil
		}
		out.Parts = append(out.Parts, x)
		if failed = err; failed != nil {
			break
		}
	}
	return r.showImport(ctx, out, migrateFailure(failed))
}

// showImport says what was imported, and gives the exit code.
func (r *migrationRun) showImport(ctx context.Context, out *ImportReport, failed error) error {
	r.bar.Clear()
	if failed != nil && len(out.Parts) == 0 {
		return failed
	}
	out.Migration, out.DurationMS, out.Complete = r.declared.Name, r.durationMS(), failed == nil
	for i := range out.Parts {
		p := &out.Parts[i]
		is, _ := r.Phase(p.Part) // it was read before
		p.Phase = is.Phase.String()
		out.Complete = out.Complete && p.Rejected+p.Faulty == 0
		if c := p.Coverage; c != nil && !c.Covered {
			out.Complete = false
		}
	}
	err := r.printOr(out, func() error { return r.printImport(out) })
	switch {
	case err != nil:
		return err
	case failed != nil || ctx.Err() != nil:
		return failed
	case !out.Complete:
		return &cli.Exit{Code: out.code()}
	}
	return nil
}

// code returns the exit code of a report that is not complete: what no move reads is left out, and no fault.
func (r *ImportReport) code() int {
	for i := range r.Parts {
		p := &r.Parts[i]
		misshapen := p.Coverage != nil &&
			slices.ContainsFunc(p.Coverage.Sources, func(s sourceCoverage) bool { return s.Misshapen > 0 })
		if p.Rejected+p.Faulty > 0 || misshapen {
			return cli.ExitFindings
		}
	}
	return cli.ExitPartial
}

// printOr prints a report as JSON, or as table does.
func (r *migrationRun) printOr(report any, table func() error) error {
	return r.WriteReport(r.output, report, table)
}

func (r *migrationRun) durationMS() int64 { return r.Now().Sub(r.began).Milliseconds() }

func (r *migrationRun) printImport(out *ImportReport) error {
	var err error
	if out.Applied {
		err = r.printImported(out)
	} else {
		err = r.printPlanned(out)
	}
	if err != nil {
		return err
	}
	var total importedPart
	var cover covered
	said := map[string]bool{}
	for i := range out.Parts {
		p := &out.Parts[i]
		r.printRejects(p.Part, p.Rejects, p.Rejected)
		r.printFaults(p.Part, p.Faults, p.Faulty, said)
		r.printCoverage(&cover, p.Coverage)
		r.printNoFiles(p.NoFiles)
		total.Records, total.Written = total.Records+p.Records, total.Written+p.Written
		total.Rejected, total.Faulty = total.Rejected+p.Rejected, total.Faulty+p.Faulty
	}
	r.tellOff(out.Off)
	line := terminal.Plural(total.Records, "record") + " can be moved. Nothing was changed."
	if out.Applied {
		line = "Imported: " + terminal.Plural(total.Written, "record") + " of " + terminal.Count(total.Records) + " written."
	}
	if total.Rejected > 0 {
		line += " Cannot be moved: " + terminal.Plural(total.Rejected, "record") + "."
	}
	if total.Faulty > 0 {
		line += " Cannot be used, of files and moves: " + terminal.Count(total.Faulty) + "."
	}
	if cover := cover.sentence(); cover != "" {
		line += " " + cover
	}
	r.Print("\n%s", r.Out.Paint(map[bool]terminal.Style{true: terminal.Green, false: terminal.Red}[out.Complete], line))
	return nil
}

func (r *migrationRun) printPlanned(out *ImportReport) error {
	columns := []terminal.Column{{Title: "part"}, {Title: "move", Least: 16}, {Title: "to", Least: 12},
		{Title: "records", Right: true}, {Title: "in Redis", Right: true}}
	var rows [][]string
	for i := range out.Parts {
		p := &out.Parts[i]
		for _, mv := range p.Moves {
			rows = append(rows, []string{p.Part, mv.Move, mv.Entry, terminal.Count(mv.Records), terminal.Bytes(mv.Bytes)})
		}
	}
	return terminal.Table(r.Out, columns, rows)
}

func (r *migrationRun) printImported(out *ImportReport) error {
	columns := []terminal.Column{{Title: "part"}, {Title: "files", Right: true}, {Title: "records", Right: true},
		{Title: "written", Right: true}, {Title: "same", Right: true}, {Title: "newer", Right: true},
		{Title: "over", Right: true}, {Title: "rejected", Right: true}}
	var rows [][]string
	for i := range out.Parts {
		p := &out.Parts[i]
		row := []string{p.Part}
		for _, n := range []int64{p.Files, p.Records, p.Written, p.Same, p.Newer, p.Over, p.Rejected} {
			row = append(row, terminal.Count(n))
		}
		rows = append(rows, row)
	}
	return terminal.Table(r.Out, columns, rows)
}

// printFaults lists files and moves of a part that cannot be used. A file of several parts is named once.
func (r *migrationRun) printFaults(part string, faults []faultReport, all int64, said map[string]bool) {
	for _, x := range faults {
		at := placeIn(x.File, x.Line, x.Column)
		if at == "" {
			at = part
		}
		if line := at + ": " + x.Reason; !said[line] {
			said[line] = true
			r.Print("%s", finding.Printable(line))
		}
	}
	if more := all - int64(len(faults)); more > 0 {
		r.Print("%s: and %s", part, terminal.Plural(more, "more faulty file"))
	}
}

// printRejects lists matches that are no records, of so many.
func (r *migrationRun) printRejects(part string, some []rejectReport, all int64) {
	for _, x := range some {
		at := placeIn(x.File, x.Line, x.Column)
		if x.Key != nil {
			at = strings.TrimSpace(cli.ShownName(x.Key) + " " + cli.ShownName(x.Sub))
			if x.Digest != "" {
				at += " (value " + x.Digest + ")"
			}
		}
		r.Print("%s: %s: %s", finding.Printable(at), x.Move, finding.Printable(x.Reason))
	}
	if more := all - int64(len(some)); more > 0 {
		r.Print("%s: and %s that cannot be moved", part, terminal.Plural(more, "more record"))
	}
}

// placeIn returns file:line:column.
func placeIn(file string, line, column int) string {
	if line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column)
}
