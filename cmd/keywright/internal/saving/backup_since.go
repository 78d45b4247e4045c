package saving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// eachValue calls each with the values of an archive.
func eachValue(ctx context.Context, a *archive.Archive, each func(*archive.Value) error) error {
	for i := range a.Index.Entries {
		entry := i
		if i == len(a.Index.Entries)-1 {
			entry = archive.Undeclared
		}
		for db := range a.Databases(entry) {
			if err := sources.Each(ctx, a.Values(entry, db), each); err != nil {
				return err
			}
		}
	}
	return nil
}

// openSince reads the archives that a backup adds to.
func (b *backupRun) openSince(ctx context.Context) error {
	b.Keyring.KeysFile = b.Encrypting.KeysFile
	chain, err := sources.OpenChain(b.base, sources.ArchiveKeys(ctx, b.App, &b.Unlocking))
	if err != nil {
		return err
	}
	b.since = &since{before: chain, folder: filepath.Dir(b.To), waits: map[string]*waiting{}}
	keys := int64(0)
	for i, in := range slices.Backward(chain.Archives()) { // the newest is the first
		if !slices.Equal(in.Meta.Selection, b.AskedFor(b.ks, &b.Selecting)) {
			return cli.Usage("select the same keys", "%s was made with another selection of keys", b.base[len(b.base)-1-i])
		}
		n, _ := in.Index.Totals()
		keys += n
	}
	if b.since.table, err = archivefile.NewTable(b.since.folder, keys); err != nil {
		return b.kept(err)
	}
	_, err = compare.NewArchive(chain.Chain, -1).All(ctx, func(batch []source.Content) error {
		return b.kept(b.since.remember(batch))
	})
	return err
}

// deletions stores which keys are not there any more.
func (b *backupRun) deletions(ctx context.Context) error {
	order, _ := b.since.before.Databases()
	for _, db := range order {
		if b.Scan.OnlyDB >= 0 && db != b.Scan.OnlyDB {
			continue
		}
		if err := sources.Each(ctx, b.since.before.Values(db, nil), b.deletion); err != nil {
			return err
		}
	}
	return nil
}

// deletion stores that a key is not there any more, if that is so.
func (b *backupRun) deletion(v *archive.Value) error {
	known, _, err := b.since.table.Get(v.DB, v.Key)
	entry, wanted := b.sel.Moves(v.Key)
	if err != nil || known.Mark != markThere || !wanted {
		return err
	}
	known.Mark = markGone
	if err := b.since.table.Put(v.DB, v.Key, known); err != nil {
		return b.kept(err)
	}
	if err := b.w.Add(&archive.Record{Entry: entry, DB: v.DB, Key: v.Key, Kind: v.Kind, Form: archive.Gone}); err != nil {
		return sources.NotWritten(b.To, err)
	}
	b.since.deleted++
	return nil
}

// resumed describes what a killed run has left.
type resumed struct {
	*archive.Archive
	keys  int64 // that it has; the index goes on counting
	end   int64
	table *archivefile.Table
}

// create begins the file, or goes on with what a killed run has left of it.
func (b *backupRun) create(ctx context.Context) (err error) {
	if b.Resume {
		switch _, err := os.Lstat(b.To + archivefile.Part); {
		case err == nil:
			return b.goOn(ctx)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	b.file, err = archivefile.Create(b.To, b.replace)
	return err
}

// goOn reads what is there.
func (b *backupRun) goOn(ctx context.Context) error {
	if _, err := os.Lstat(b.To); err == nil && !b.replace {
		return fmt.Errorf("%s: %w", b.To, fs.ErrExist)
	}
	file, a, end, err := archivefile.Continue(b.To, b.replace)
	if errors.Is(err, archive.ErrNotArchive) || errors.Is(err, io.EOF) { // nothing was written yet
		b.file, err = archivefile.Create(b.To, b.replace)
		return err
	}
	if err != nil {
		return err
	}
	keys, _ := a.Index.Totals()
	b.file, b.left = file, &resumed{Archive: a, keys: keys, end: end}
	if b.left.table, err = archivefile.NewTable(filepath.Dir(b.To), keys); err != nil {
		return b.kept(err)
	}
	return eachValue(ctx, a, func(v *archive.Value) error {
		return b.kept(b.left.table.Put(v.DB, v.Key, archivefile.Slot{}))
	})
}

// continued goes on writing, if the server and what was asked for are the same.
func (b *backupRun) continued(shards []source.Shard) (err error) {
	old := &b.left.Meta
	refuse := func(what string) error {
		return cli.Usage("remove "+b.To+archivefile.Part+" to begin again", "%s was begun %s", b.To+archivefile.Part, what)
	}
	ids := func(all []source.Shard) (out []string) {
		for _, s := range all {
			out = append(out, s.RunID)
		}
		slices.Sort(out)
		return out
	}
	switch {
	case !slices.Equal(ids(old.Shards), ids(shards)) || slices.Contains(ids(shards), ""):
		return refuse("on another server, or before it was started again")
	case !slices.Equal(old.Selection, b.AskedFor(b.ks, &b.Selecting)):
		return refuse("with another selection of keys")
	case old.Declaration != b.declaration || !slices.Equal(old.Entries, b.sel.Names()):
		return refuse("with another declaration")
	case old.Base != "" || old.Consistency != archive.PerKey:
		return refuse("in another way")
	}
	if err := b.file.Cut(); err != nil {
		return err
	}
	b.meta = *old
	if b.w, err = b.left.Continue(b.file, b.left.end, archivefile.Zstd); err != nil {
		return err
	}
	return eachValue(context.Background(), b.left.Archive, func(v *archive.Value) error {
		if !v.Whole() { // the index, which says what was torn, was lost
			b.w.Unsure()
		}
		return nil
	})
}

// skips reports whether a key is in what a killed run has left.
func (b *backupRun) skips(db int, name []byte) bool {
	_, there, err := b.left.table.Get(db, name)
	return there && err == nil
}

func (b *backupRun) release() {
	if b.since != nil {
		b.since.Close()
	}
	if b.left != nil && b.left.table != nil {
		_ = b.left.table.Close()
	}
}
