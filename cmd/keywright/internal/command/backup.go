package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// backing are the flags of backup.
type backing struct {
	selecting
	scan     server.Options
	role     string
	to       string
	replace  bool
	output   string
	progress string
}

func (a *app) backupCommand() *cobra.Command {
	var o backing
	c := &cobra.Command{
		Use:   "backup --to FILE [URL]",
		Short: "Save keys with their values and expiries in one file",
		Long: `Reads the keys of a server, all shards and databases, with SCAN, and of each key
value and absolute expiry in one step. It writes nothing to the server, and keeps
the idle times of the keys where the server can do that. A value that is too large
for one step is read in parts, and read again if it was written to meanwhile.

` + selectionHelp + `

The file is an archive: see ` + "`keywright archive`" + ` and docs/archives.md. While it is
written its name ends with .part; it gets its name when it is whole. The values
are those of their own moment each: SCAN gives no moment for all of them.

Exit codes: 0 saved, 2 usage, 3 the server cannot be reached, 4 it refuses, 5 not
all of it could be saved (FILE.part has what could), 130 interrupted.`,
		Example: `  keywright backup --to all.kwa
  keywright backup --to user.kwa --entry user,session --rate 20000
  keywright backup --to issue.kwa --where issue=123`,
		Args: oneSource,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.url = args[0]
			}
			return a.backup(c.Context(), &o)
		},
	}
	a.serverFlags(c)
	a.namespaceFlag(c)
	o.selecting.flags(c)
	scanFlags(c, &o.scan, &o.role, &o.progress)
	outputs(c, &o.output, "table", "json")
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "the file to write")
	f.BoolVar(&o.replace, "replace-file", false, "replace the file if it is there")
	return c
}

// scanFlags are the flags of verbs that read values from a server.
func scanFlags(c *cobra.Command, o *server.Options, role, progress *string) {
	f := c.Flags()
	f.IntVar(&o.Rate, "rate", 0, "keys per second at most, over all shards (0: as fast as the server answers)")
	f.DurationVar(&o.MaxLatency, "max-latency", 0, "pause while the server needs longer than this to answer a PING (0: never)")
	f.StringVar(role, "read-from", "auto", "auto (a replica in step, where there is one), primary or replica")
	f.IntVar(&o.OnlyDB, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
	f.StringVar(progress, "progress", "auto", "auto, plain (a line every 10 s) or none")
	choices(c, "read-from", "auto", "primary", "replica")
	choices(c, "progress", "auto", "plain", "none")
}

// backupReport is what was saved; its JSON names are stable.
type backupReport struct {
	File        string         `json:"file"`
	Archive     string         `json:"archive"` // its ID
	Server      string         `json:"server"`
	Endpoint    string         `json:"endpoint"`
	Consistency string         `json:"consistency"`
	Complete    bool           `json:"complete"`
	Incomplete  source.Reasons `json:"incomplete,omitempty"`
	Notes       []string       `json:"notes,omitempty"`
	Keys        int64          `json:"keys"`
	Bytes       int64          `json:"bytes"`
	Gone        int64          `json:"gone,omitempty"`
	Torn        int64          `json:"torn,omitempty"`
	Size        int64          `json:"file_bytes"`
	Entries     []archivePart  `json:"entries"`
}

// archivePart is what an archive has of one entry.
type archivePart struct {
	Entry  string `json:"entry"` // "" for keys that no entry declares
	Keys   int64  `json:"keys"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest,omitempty"`
}

func (a *app) backup(ctx context.Context, o *backing) error {
	if o.to == "" {
		return usage("write --to FILE", "backup needs a file to write")
	}
	if err := errors.Join(oneOf("output", o.output, "table", "json"), oneOf("read-from", o.role, "auto", "primary", "replica"), oneOf("progress", o.progress, "auto", "plain", "none")); err != nil {
		return err
	}
	if o.scan.Rate < 0 || o.scan.MaxLatency < 0 {
		return usage("write a positive number, or leave it out", "--rate and --max-latency cannot be negative")
	}
	o.scan.Role = server.Role(o.role)
	sel, _, err := a.selection(&o.selecting)
	if err != nil {
		return err
	}
	config, err := a.server()
	if err != nil {
		return err
	}
	file, err := archivefile.Create(o.to, o.replace)
	if errors.Is(err, fs.ErrExist) {
		return usage("name another file, or say --replace-file", "%s is there already", o.to)
	}
	if err != nil {
		return usage("name a file in a folder that you may write to", "the archive cannot be written: %v", err)
	}
	b := &backupRun{backing: o, app: a, sel: sel, file: file}
	sum, err := b.read(ctx, config)
	r := &backupReport{Archive: b.meta.ID, Server: sum.Server, Endpoint: sum.Endpoint, Consistency: string(b.meta.Consistency), Incomplete: sum.Incomplete, Notes: sum.Notes, Gone: sum.Gone}
	if err == nil {
		return a.finishBackup(o, b.w, file, r)
	}
	if b.w == nil {
		return errors.Join(err, file.Remove())
	}
	if left := errors.Join(b.w.Flush(), file.Abandon()); sum.Keys > 0 && left == nil {
		a.say("%s has %s, which are good as far as they go", o.to+archivefile.Part, terminal.Plural(sum.Keys, "key"))
	}
	return err
}

// backupRun is one backup.
type backupRun struct {
	*backing
	*app
	sel  *selection.Selection
	file *archivefile.File
	meta archive.Meta
	w    *archive.Writer
}

// read reads the server into the file.
func (b *backupRun) read(ctx context.Context, config connect.Config) (source.Summary, error) {
	bar := terminal.NewProgress(b.progressMode(b.progress), b.app.err, b.now())
	defer bar.Clear()
	return server.New(config, b.scan).Contents(ctx, server.ContentsRequest{
		Match: b.sel.Glob(), Wants: func(name []byte) bool { _, ok := b.sel.Of(name); return ok },
		Begin: b.begin,
		Progress: func(p source.Progress) {
			bar.Show(terminal.State{What: "keys", Done: p.Keys, Total: p.Total, Elapsed: p.Elapsed}, b.now())
		},
	}, func(batch []source.Content) error { return archived(b.w, b.sel, batch) })
}

// begin writes the header.
func (b *backupRun) begin(shards []source.Shard, now time.Time) (err error) {
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	b.meta = archive.Meta{ID: hex.EncodeToString(id), Tool: "keywright " + version().Version, Taken: now, Consistency: archive.PerKey, Entries: b.sel.Names(), Selection: b.asked(), Shards: shards}
	b.w, err = archive.NewWriter(b.file, b.meta, archivefile.Zstd)
	return err
}

// archived adds what was read.
func archived(w *archive.Writer, sel *selection.Selection, batch []source.Content) error {
	for i := range batch {
		entry, _ := sel.Of(batch[i].Name)
		r := archive.Of(&batch[i], entry)
		if err := w.Add(&r); err != nil {
			return err
		}
		if batch[i].Torn {
			w.Tear(batch[i].Name)
		}
	}
	return nil
}

// finishBackup gives the file its name if it is whole, and says what is in it.
func (a *app) finishBackup(o *backing, w *archive.Writer, file *archivefile.File, r *backupReport) error {
	r.Complete = len(r.Incomplete) == 0
	var index archive.Index
	var err error
	if r.File = o.to; r.Complete {
		if index, err = w.Close(); err == nil {
			err = file.Finish()
		}
	} else {
		r.File += archivefile.Part
		index, err = w.Written(), errors.Join(w.Flush(), file.Abandon())
	}
	if err != nil {
		return &exit{exitPartial, fmt.Sprintf("%s could not be written to its end: %v", filepath.Base(o.to), err), "is the disk full? What is in " + o.to + archivefile.Part + " is good as far as it goes"}
	}
	r.Keys, r.Bytes = index.Totals()
	r.Size, r.Torn, r.Entries = w.Offset(), index.Torn, partsOf(&index)
	if o.output == "json" {
		err = a.json(r)
	} else {
		err = a.printBackup(r)
	}
	if err == nil && !r.Complete {
		err = &exit{code: exitPartial}
	}
	return err
}

// partsOf are the entries of which an archive has keys.
func partsOf(index *archive.Index) []archivePart {
	out := []archivePart{}
	for _, e := range index.Entries {
		if e.Keys > 0 {
			digest, _ := e.Digest.MarshalText()
			out = append(out, archivePart{e.Name, e.Keys, e.Bytes, string(digest)})
		}
	}
	return out
}

func (a *app) printBackup(r *backupReport) error {
	if err := a.printParts(r.Entries); err != nil {
		return err
	}
	for _, n := range r.Notes {
		a.tell("note: %s", finding.Printable(n))
	}
	if r.Gone > 0 {
		a.tell("%s expired or were deleted while they were read", terminal.Plural(r.Gone, "key"))
	}
	if r.Torn > 0 {
		a.tell("%s", a.out.Paint(terminal.Yellow, fmt.Sprintf("%s were written to each time they were read in parts: `keywright archive info %s` names them", terminal.Plural(r.Torn, "key"), r.File)))
	}
	a.tell("values are those of their own moment each")
	what := fmt.Sprintf("%s (%s) in %s, %s on disk", terminal.Plural(r.Keys, "key"), terminal.Bytes(r.Bytes), r.File, terminal.Bytes(r.Size))
	if r.Complete {
		a.tell("%s", a.out.Paint(terminal.Green, "Saved "+what+"."))
		return nil
	}
	a.tell("%s", a.out.Paint(terminal.Red, "INCOMPLETE: "+finding.Printable(r.Incomplete.String())))
	a.tell("saved so far: %s", what)
	return nil
}

// printParts is the table of an archive's entries.
func (a *app) printParts(parts []archivePart) error {
	var rows [][]string
	for _, p := range parts {
		name := p.Entry
		if name == "" {
			name = undeclaredName
		}
		rows = append(rows, []string{name, terminal.Count(p.Keys), terminal.Bytes(p.Bytes)})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(a.out, []terminal.Column{{Title: "entry", Least: 24}, {Title: "keys", Right: true}, {Title: "bytes", Right: true}}, rows); err != nil {
		return err
	}
	a.tell("")
	return nil
}

// progressMode is none where the user wants quiet.
func (a *app) progressMode(mode string) string {
	if a.quiet {
		return "none"
	}
	return mode
}
