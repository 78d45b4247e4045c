package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

// keepHelp explains --keep.
const keepHelp = `With --keep FILE what is deleted goes into an archive first, on the disk before the
server is told: keywright restore FILE is the undo. A key that is written to between the
two is left alone. Items come back without their index entries: keywright entities
repair makes them. What a killed run has kept is in FILE.part, which the next run with
the same --keep goes on with.`

func (o *changing) keepFlag(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.keep, "keep", "", "of a deletion: keep what is deleted in this archive")
	f.Lookup("keep").Annotations = map[string][]string{noVariable: {"a file of each run"}}
}

// keeper writes what is deleted into an archive.
type keeper struct {
	file *archivefile.File
	w    *archive.Writer
}

// Keep implements apply.Keeper.
func (k *keeper) Keep(r *archive.Record) error { return k.w.Add(r) }

// Sync implements apply.Keeper.
func (k *keeper) Sync() error { return errors.Join(k.w.Flush(), k.file.Sync()) }

// kept deletes the keys of the rule, each after it was kept, and gives the archive its name
// if that came to its end.
func (r *changeRun) kept(ctx context.Context, k *keeper, o apply.KeysOptions) (apply.KeysReport, error) {
	values, err := r.values(ctx)
	if err != nil {
		return apply.KeysReport{}, errors.Join(err, k.file.Abandon())
	}
	o.Live, o.Keep = values, k
	report, err := apply.Keys(ctx, r.clients.client, r.scan(nil, ""), r.rule, o)
	if err != nil || len(report.Summary.Incomplete) > 0 {
		r.app.say("what was deleted is in %s", finding.Printable(r.keep+archivefile.Part))
		return report, errors.Join(err, k.w.Flush(), k.file.Abandon())
	}
	if _, err = k.w.Close(); err == nil {
		err = k.file.Finish()
	}
	return report, err
}

// nameKept gives the archive its name, if a run was killed after it had deleted everything and
// before it did that.
func (r *changeRun) nameKept() error {
	if r.keep == "" {
		return nil
	}
	if _, err := os.Lstat(r.keep); err == nil {
		return nil
	}
	k, err := r.keepOn()
	if err != nil {
		return nil // there is nothing that could be given a name
	}
	if _, err = k.w.Close(); err == nil {
		err = k.file.Finish()
	}
	return err
}

// keeper begins the archive, or goes on with what a run has left that did not come to its
// end: it may have the only copy of what that run deleted.
func (r *changeRun) keeper() (*keeper, error) {
	if _, err := os.Lstat(r.keep); err == nil {
		return nil, usage("name a new file", "%s is there already", r.keep)
	}
	if _, err := os.Lstat(r.keep + archivefile.Part); err == nil {
		k, err := r.keepOn()
		if !errors.Is(err, io.EOF) {
			return k, err
		}
	}
	file, err := archivefile.Create(r.keep, false)
	if err != nil {
		return nil, usage("name a file in a folder that you may write to", "what is deleted cannot be kept: %v", err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	meta := archive.Meta{ID: hex.EncodeToString(id), Tool: "keywright " + version().Version, Taken: r.id.Time, Consistency: archive.PerKey,
		Entries: r.rule.Names(), Selection: append([]string{r.name}, r.askedFor(r.ks, selected(&r.request))...), Declaration: declarationDigest(r.ks),
		Shards: r.shards()}
	w, err := archive.NewWriter(file, meta, archivefile.Zstd)
	if err != nil {
		return nil, notWritten(r.keep, err)
	}
	return &keeper{file, w}, nil
}

// shards are the servers that keys are deleted from.
func (r *changeRun) shards() (out []source.Shard) {
	for _, s := range r.id.Shards {
		out = append(out, source.Shard{Address: s.Address, Brand: s.Brand, Version: s.Version, RunID: s.RunID, ReplID: s.ReplID})
	}
	return out
}

// keepOn goes on with what another run has kept. io.EOF: it had kept nothing.
func (r *changeRun) keepOn() (*keeper, error) {
	file, a, end, err := archivefile.Continue(r.keep, false)
	if errors.Is(err, archive.ErrNotArchive) || errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	part := r.keep + archivefile.Part
	if err != nil {
		return nil, usage("name another file", "%s cannot be gone on with: %v", part, err)
	}
	if a.Meta.Declaration != declarationDigest(r.ks) || !slices.Equal(a.Meta.Entries, r.rule.Names()) || a.Meta.Base != "" {
		return nil, errors.Join(usage("name another file; `keywright restore` takes "+part+" as it is",
			"%s was begun with another declaration", part), file.Abandon())
	}
	if err := file.Cut(); err != nil {
		return nil, errors.Join(notWritten(r.keep, err), file.Abandon())
	}
	w, err := a.Continue(file, end, archivefile.Zstd)
	if err != nil {
		return nil, errors.Join(notWritten(r.keep, err), file.Abandon())
	}
	return &keeper{file, w}, nil
}
