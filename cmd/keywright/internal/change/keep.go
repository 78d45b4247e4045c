package change

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

const keepHelp = `With --keep FILE what is deleted goes into an archive first, on the disk before the
server executes it: keywright restore FILE is the undo. A key that is written to between the
two is left alone. Items come back without their index entries: keywright entities
repair makes them. What a killed run has kept is in FILE.part; the next run with the
same --keep gives it the name FILE, deletes nothing, and wants a new file. Restore the
newer one first then, and the other with --existing skip.`

func (o *Changing) KeepFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.Keep, "keep", "", "of a deletion: keep what is deleted in this archive")
}

// backup writes what is deleted into an archive.
type backup struct {
	file *archivefile.File
	w    *archive.Writer
}

// Keep implements apply.Backup.
func (k *backup) Keep(r *archive.Record) error { return k.w.Add(r) }

// Sync implements apply.Backup.
func (k *backup) Sync() error { return errors.Join(k.w.Flush(), k.file.Sync()) }

// kept deletes the keys of the rule, each after it was kept, and gives the archive its name
// if that came to its end.
func (r *Run) kept(ctx context.Context, k *backup, o apply.KeysOptions) (apply.KeysReport, error) {
	values, err := r.values(ctx)
	if err != nil {
		return apply.KeysReport{}, errors.Join(err, k.file.Abandon())
	}
	o.Live, o.Keep = values, k
	report, err := apply.Keys(ctx, r.clients.Client, r.scan(nil, ""), r.rule, o)
	if err != nil || len(report.Summary.Incomplete) > 0 {
		r.App.Say("what was deleted is in %s", finding.Printable(r.Keep+archivefile.Part))
		return report, errors.Join(err, k.w.Flush(), k.file.Abandon())
	}
	if _, err = k.w.Close(); err == nil {
		err = k.file.Finish()
	}
	return report, err
}

// nameKept gives the archive its name, if a run was killed after it had deleted everything and
// before it did that.
func (r *Run) nameKept() error {
	if r.Keep == "" {
		return nil
	}
	if _, err := os.Lstat(r.Keep); err == nil {
		return nil
	}
	_, err := r.finishKept()
	return err
}

// openBackup begins the archive. What a run has left that did not come to its end gets its name
// first, and is not added to: it may have the only copy of what that run deleted, and may have
// keys that were written to since, as they were.
func (r *Run) openBackup() (*backup, error) {
	if _, err := os.Lstat(r.Keep); err == nil {
		return nil, cli.Usage("name a new file", "%s is there already", r.Keep)
	}
	n, err := r.finishKept()
	if err != nil {
		return nil, err
	}
	if n > 0 {
		return nil, cli.Usage("name a new file, and to undo both restore the newer one first, the other with --existing skip",
			"%s has now what a run that did not come to its end has kept", r.Keep)
	}
	file, err := archivefile.Create(r.Keep, false)
	if err != nil {
		return nil, cli.Unwritable("the archive of what is deleted", err)
	}
	meta := sources.NewMeta(r.id.Time, archive.PerKey)
	meta.Entries, meta.Selection = r.rule.Names(), append([]string{r.Name}, r.AskedFor(r.Schema, Selected(&r.Request))...)
	meta.Declaration, meta.Shards = cli.DeclarationDigest(r.Schema), r.shards()
	w, err := archive.NewWriter(file, meta, archivefile.Zstd)
	if err != nil {
		return nil, sources.NotWritten(r.Keep, err)
	}
	return &backup{file, w}, nil
}

// shards returns the servers that keys are deleted from.
func (r *Run) shards() (out []source.Shard) {
	for _, s := range r.id.Shards {
		out = append(out,
			source.Shard{Address: s.Address, Brand: s.Brand, Version: s.Version, RunID: s.RunID, ReplID: s.ReplID})
	}
	return out
}

// finishKept gives what another run has left of the archive its name. n is how many records it
// has; 0: there is nothing, and nothing was done.
func (r *Run) finishKept() (n int64, err error) {
	file, a, end, err := archivefile.Continue(r.Keep, false)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, archive.ErrNotArchive), errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, cli.Usage("name another file", "%s cannot be finished: %v", r.Keep+archivefile.Part, err)
	}
	if len(a.Meta.Selection) == 0 || a.Meta.Selection[0] != "delete" && a.Meta.Selection[0] != "clean" {
		return 0, errors.Join(cli.Usage("name another file", "%s is not what a deletion has kept", r.Keep+archivefile.Part),
			file.Abandon())
	}
	if n = a.Footer.Records; n == 0 {
		return 0, file.Abandon()
	}
	var w *archive.Writer
	if err = file.Cut(); err == nil {
		w, err = a.Continue(file, end, archivefile.Zstd)
	}
	if err == nil {
		_, err = w.Close()
	}
	if err != nil {
		return n, errors.Join(sources.NotWritten(r.Keep, err), file.Abandon())
	}
	return n, file.Finish()
}
