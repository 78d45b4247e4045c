package migration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/spf13/cobra"
)

// migrateExporting holds the flags of migrate export.
type migrateExporting struct {
	migrating
	to      string
	replace bool
}

func migrateExportCommand(a *cli.App) *cobra.Command {
	var o migrateExporting
	c := &cobra.Command{
		Use:   "export [part]... --to FOLDER",
		Short: "Write the files as Redis has their records into another folder",
		Long: `Writes the files of all parts, or of those named, into another folder, with the
records as Redis has them. Where a record is the same as in the sources its bytes are
the same, and so is everything between the records: the files of sides that are equal
come out byte by byte, which the report counts. The sources and Redis stay as they are.

A record of Redis that the declaration would not read from a file again is in none: it is
listed with its key. Each file is read again before it takes its place.

Exit codes: 0 written, 1 written, and the sources have records that cannot be read: those
are in the files as Redis has them, or else as the sources have them; or the sources have
damaged files: those are listed, and not written, 2 usage, 3 the server cannot be reached,
4 refused, as in the phase off or where the folder has files already, 5 written without
records that no file can have, 130 interrupted.`,
		Example: `  keywright migrate export --to /var/backups/bot-files
  keywright migrate export history --to out -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.to == "" {
				return cli.Usage("write --to FOLDER", "%s needs a folder to write to", c.CommandPath())
			}
			if err := o.refuse(); err != nil {
				return err
			}
			r, err := openMigration(c.Context(), a, c, &o.migrating, args, withServer, true)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.exportParts(c.Context(), &o)
		},
	}
	migrateFlags(a, c, &o.migrating)
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "the folder that the files are written to")
	f.BoolVar(&o.replace, "replace-file", false, "also where the folder has files")
	cli.ProgressFlag(c, &o.progress)
	return c
}

// refuse says before anything is read that the folder has files.
func (o *migrateExporting) refuse() error {
	in, err := os.ReadDir(o.to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cli.Usage("name a folder that you may write to", "the files cannot be written: %v", err)
	case len(in) > 0 && !o.replace:
		return &cli.Exit{Code: cli.ExitRefused, Message: o.to + " has files already",
			Hint: "name another folder, or write --replace-file"}
	}
	return nil
}

// Exported describes what was exported; its JSON names are stable.
type Exported struct {
	Migration  string         `json:"migration"`
	Folder     string         `json:"folder"`
	Parts      []exportedPart `json:"parts"`
	Off        []partOff      `json:"left_out,omitempty"`
	Equal      int64          `json:"files_equal"`     // to those of the sources, byte by byte
	Different  int64          `json:"files_different"` // from them, or new
	DurationMS int64          `json:"duration_ms"`
}

// exportedPart represents a part that was exported.
type exportedPart struct {
	Part    string `json:"part"`
	Files   int64  `json:"files"`
	Records int64  `json:"records"` // of the sources
	Changed int64  `json:"changed"` // records that are not as in the sources

	Rejected int64          `json:"rejected"` // of the sources, that are no records: see plan
	Rejects  []rejectReport `json:"rejects,omitempty"`
	Refused  int64          `json:"refused"`            // of Redis, that no file can have: the files are without them
	Refusals []rejectReport `json:"refusals,omitempty"` // at most 100
	Faulty   int64          `json:"faulty"`             // files of the sources that are damaged, and are not written
	Faults   []faultReport  `json:"faults,omitempty"`   // at most 100
}

func (r *migrationRun) exportParts(ctx context.Context, o *migrateExporting) error {
	out := &Exported{Migration: r.declared.Name, Folder: o.to, Parts: []exportedPart{}}
	files := map[string]bool{}
	for _, part := range r.parts {
		is, err := r.in(ctx, "export", part, &out.Off, append(verifiable, phase.Complete)...)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		if err := r.begin(ctx, part); err != nil {
			return migrateFailure(err)
		}
		e, err := r.Export(ctx, part, o.to)
		if err != nil {
			r.bar.Clear()
			return migrateFailure(err)
		}
		for _, file := range e.Paths {
			files[file] = true // parts may share it
		}
		out.Parts = append(out.Parts, exportedPart{part, e.Files, e.Records, e.Changed, e.Rejected,
			rejectsOf(e.Rejects), e.Refused, rejectsOf(e.Refusals), e.Faulty, faultsOf(e.Faults)})
	}
	r.bar.Clear()
	if err := nothingDone("exported", out.Off, len(r.parts)); err != nil {
		return err
	}
	if err := r.alikeFiles(ctx, out, files); err != nil {
		return err
	}
	out.DurationMS = r.durationMS()
	if err := r.printOr(out, func() error { return r.printExported(out) }); err != nil {
		return err
	}
	code := 0
	for _, p := range out.Parts {
		switch {
		case p.Refused > 0:
			return &cli.Exit{Code: cli.ExitPartial}
		case p.Rejected+p.Faulty > 0:
			code = cli.ExitFindings
		}
	}
	if code == 0 {
		return nil
	}
	return &cli.Exit{Code: code}
}

// alikeFiles compares what was written with the sources.
func (r *migrationRun) alikeFiles(ctx context.Context, out *Exported, files map[string]bool) error {
	for name := range files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		written, err := digestOf(filepath.Join(out.Folder, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		was, err := digestOf(filepath.Join(r.folder, filepath.FromSlash(name)))
		if err == nil && bytes.Equal(was, written) {
			out.Equal++
		} else {
			out.Different++
		}
	}
	return nil
}

func digestOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
}

func (r *migrationRun) printExported(out *Exported) error {
	var rows [][]string
	for _, p := range out.Parts {
		rows = append(rows, []string{p.Part, terminal.Count(p.Files), terminal.Count(p.Records), terminal.Count(p.Changed),
			terminal.Count(p.Rejected), terminal.Count(p.Refused)})
	}
	if err := terminal.Table(r.Out,
		[]terminal.Column{{Title: "part"}, {Title: "files", Right: true}, {Title: "records", Right: true},
			{Title: "changed", Right: true}, {Title: "rejected", Right: true},
			{Title: "left out", Right: true}}, rows); err != nil {
		return err
	}
	said, faulty := map[string]bool{}, int64(0)
	for _, p := range out.Parts {
		r.printRejects(p.Part, p.Rejects, p.Rejected)
		r.printRejects(p.Part, p.Refusals, p.Refused)
		r.printFaults(p.Part, p.Faults, p.Faulty, said)
		faulty += p.Faulty
	}
	r.tellOff(out.Off)
	r.Print("\nWrote %s into %s: %s equal to the sources byte by byte, %s.",
		terminal.Plural(out.Equal+out.Different, "file"),
		finding.Printable(out.Folder), terminal.Count(out.Equal), terminal.Plural(out.Different, "other"))
	if faulty > 0 {
		r.Print("%s", r.Out.Paint(terminal.Red, "Damaged files of the sources were not written: mend them, and export again."))
	}
	return nil
}
