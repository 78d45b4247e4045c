// Package saving has the verbs that write and read archives: backup, and archive info, verify, ls and export. Restoring
// is in package transfer.
package saving

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

type Backing struct {
	cli.Selecting
	sources.Sourcing
	sources.Encrypting
	To      string
	base    []string // archives that this one adds to
	Resume  bool
	replace bool
	Output  string
}

func BackupCommand(a *cli.App) *cobra.Command {
	var o Backing
	c := &cobra.Command{
		Use:   "backup --to FILE [snapshot file | - | URL]",
		Short: "Save keys with their values and expiries in one file",
		Long: `Reads the keys of a server, all shards and databases, with SCAN, and of each key
value and absolute expiry in one step. It writes nothing to the server, and keeps
the idle times of the keys where the server can do that. A value that is too large
for one step is read in parts, and read again if it was written to meanwhile.

With --snapshot the server sends what it would send a replica: the values of one
moment (of a cluster one for each shard), for a fork and next to nothing of its only
thread. The user needs what ` + "`keywright acl print --self --snapshot`" + ` prints. A file
is an RDB file of any version, compressed or not, or the RDB part of an AOF; - is
standard input.

` + cli.SelectionHelp + `

` + sources.LibraryHelp + `

` + sources.LockHelp + `

With --since ARCHIVE only keys that have changed since are stored, and which are not
there any more. Such an archive names its base by digest; restore takes them together,
oldest first.

With --resume a run that was killed goes on: keys that FILE.part has are not read
again. It must be the same server, not started again since, the same selection and
the same declaration. Where there is nothing to go on with it begins.

The file is an archive: see ` + "`keywright archive`" + ` and docs/archives.md. While it is
written its name ends with .part; it gets its name when it is whole. It says of
which moment its values are: with SCAN each is of its own.

Exit codes: 0 saved, 2 usage or a bad file, 3 the server cannot be reached, 4 it refuses, 5 not
all of it could be saved (FILE.part has what could), 130 interrupted.`,
		Example: `  keywright backup --to all.kwa
  keywright backup --to all.kwa --snapshot
  keywright backup --to all.kwa /var/lib/redis/dump.rdb
  keywright backup --to tuesday.kwa --since monday.kwa
  keywright backup --to user.kwa --entry user,session --rate 20000
  keywright backup --to issue.kwa --where issue=123`,
		Args: sources.OneSource,
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = append(args, "")[0]
			return Backup(c.Context(), a, &o)
		},
	}
	a.ServerFlags(c)
	a.SelectionFlags(c, &o.Selecting)
	o.Sourcing.ContentFlags(c)
	o.Encrypting.Flags(c)
	cli.Outputs(c, &o.Output, "table", "json")
	f := c.Flags()
	f.StringVar(&o.To, "to", "", "the file to write")
	f.StringArrayVar(&o.base, "since", nil,
		"store only what has changed since this archive (again: which this one adds to; oldest first)")
	f.StringArrayVar(&o.Identities, "identity", nil,
		"a file with age identities that open an encrypted archive (again: this one, too)")
	f.BoolVar(&o.Resume, "resume", false, "go on with what a run that was killed has left in FILE.part")
	f.BoolVar(&o.replace, "replace-file", false, "replace the file if it is there")
	return c
}

// BackupReport describes what was saved; its JSON names are stable.
type BackupReport struct {
	File        string         `json:"file"`
	Archive     string         `json:"archive"` // its ID
	Server      string         `json:"server"`
	Endpoint    string         `json:"endpoint"`
	Consistency string         `json:"consistency"`
	Shards      int            `json:"shards"`
	Complete    bool           `json:"complete"`
	Incomplete  source.Reasons `json:"incomplete,omitempty"`
	Notes       []string       `json:"notes,omitempty"`
	Keys        int64          `json:"keys"`
	Bytes       int64          `json:"bytes"`
	Gone        int64          `json:"gone,omitempty"`
	Torn        int64          `json:"torn,omitempty"`
	Unsure      int64          `json:"unsure,omitempty"`    // values in parts of a run that was killed: they may be torn
	Base        string         `json:"base,omitempty"`      // digest of the archive that this one adds to
	Unchanged   int64          `json:"unchanged,omitempty"` // keys that the archives before have as they are
	// of keys: those that the archives before have, and the server has not
	Deleted int64         `json:"deleted,omitempty"`
	Earlier int64         `json:"resumed,omitempty"` // keys that a run before this one had saved
	Size    int64         `json:"file_bytes"`
	Entries []archivePart `json:"entries"`

	Libraries []sources.LibraryPart `json:"libraries,omitempty"` // of functions
	Expired   int64                 `json:"expired,omitempty"`   // keys of the snapshot that had expired at its moment: they are not saved
}

// archivePart describes what an archive has of one entry.
type archivePart struct {
	Entry  string `json:"entry"` // "" for keys that no entry declares
	Keys   int64  `json:"keys"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest,omitempty"`
}

func Backup(ctx context.Context, a *cli.App, o *Backing) error {
	if o.To == "" {
		return cli.Usage("write --to FILE", "backup needs a file to write")
	}
	if err := cmp.Or(cli.OneOf("output", o.Output, "table", "json"), sources.CheckSource(a, &o.Sourcing)); err != nil {
		return err
	}
	if err := o.checkBackup(); err != nil {
		return err
	}
	sel, ks, err := a.Selection(&o.Selecting)
	if err != nil {
		return err
	}
	a.SayNamespaces(ks, &o.Selecting)
	recipients, err := sources.ArchiveRecipients(ctx, a, &o.Encrypting)
	if err != nil {
		return err
	}
	read, done, err := sources.Contents(a, &o.Sourcing)
	if err != nil {
		return err
	}
	defer done()
	defer cli.LimitMemory()()
	b := &backupRun{Backing: o, App: a, sel: sel, ks: ks, declaration: cli.DeclarationDigest(ks)}
	defer b.release()
	if len(o.base) > 0 {
		if err := b.openSince(ctx); err != nil {
			return err
		}
	}
	if err := b.create(ctx); errors.Is(err, fs.ErrExist) {
		return cli.Usage("name another file, or say --replace-file", "%s is there already", o.To)
	} else if err != nil {
		return cli.Unwritable("the archive", err)
	}
	if len(recipients) > 0 {
		if err := b.file.Encrypt(recipients); err != nil {
			return errors.Join(cli.Usage("see `keywright backup --help`", "the archive cannot be encrypted: %v", err),
				b.file.Remove())
		}
	}
	sum, err := b.read(ctx, read)
	b.libraryFindings(&sum)
	if err == nil && b.since != nil && len(sum.Incomplete) == 0 {
		err = b.deletions(ctx)
	}
	r := &BackupReport{Archive: b.meta.ID, Server: sum.Server, Endpoint: sum.Endpoint,
		Consistency: string(b.meta.Consistency), Shards: sum.Shards,
		Incomplete: sum.Incomplete, Notes: sum.Notes, Gone: sum.Gone, Expired: sum.Expired, Base: b.meta.Base}
	if b.since != nil {
		r.Unchanged, r.Deleted = b.since.equal, b.since.deleted
	}
	if b.left != nil {
		r.Earlier = b.left.keys
	}
	switch {
	case err == nil && b.w != nil:
		return b.finish(r)
	case err == nil: // it ended before the first key, or the header of a file
		err = cli.Partial(o.Again(r.Incomplete), "nothing was saved, and there is no archive: %s", r.Incomplete)
	}
	switch {
	case b.w == nil && b.left != nil: // what a killed run has left stays
		return errors.Join(err, b.file.Abandon())
	case b.w == nil:
		return errors.Join(err, b.file.Remove())
	}
	if left := errors.Join(b.w.Flush(), b.file.Abandon()); sum.Keys > 0 && left == nil {
		a.Say("%s has %s, which are good as far as they go%s", o.To+archivefile.Part, terminal.Plural(b.w.Keys(), "key"),
			o.canGoOn())
	}
	return err
}

// canGoOn says how to go on with what was saved.
func (o *Backing) canGoOn() string {
	if o.Snapshot || o.IsFile() || o.locked() || len(o.base) > 0 {
		return ""
	}
	return "; --resume goes on"
}

func (o *Backing) locked() bool { return len(o.Recipients) > 0 || o.RecipientsFile != "" || o.Encrypt }

// checkBackup refuses what does not go together.
func (o *Backing) checkBackup() error {
	switch {
	case o.Resume && (o.Snapshot || o.IsFile()):
		return cli.Usage("leave --resume out", "a snapshot cannot be gone on with: it would be another moment")
	case o.Resume && o.locked():
		return cli.Usage("leave --resume out", "an encrypted archive cannot be gone on with")
	case o.Resume && len(o.base) > 0:
		return cli.Usage("leave --resume out", "a backup of what has changed cannot be gone on with")
	}
	return nil
}

type backupRun struct {
	*Backing
	*cli.App
	sel         *selection.Selection
	ks          *keyspace.Keyspace
	declaration string // its digest
	file        *archivefile.File
	meta        archive.Meta
	w           *archive.Writer
	since       *since   // nil: all keys are stored
	left        *resumed // nil: there is nothing to go on with
	libraries   source.Libraries
}

// read reads values into the file.
func (b *backupRun) read(ctx context.Context, read sources.ContentReader) (source.Summary, error) {
	bar := terminal.NewProgress(b.ProgressMode(b.Progress), b.App.Err, b.Now())
	defer bar.Clear()
	var skip func(db int, name []byte) bool
	if b.left != nil {
		skip = b.skips
	}
	return read(ctx, server.ContentsRequest{
		Skip: skip, Match: b.sel.Glob(), Wants: func(name []byte) bool { _, ok := b.sel.Moves(name); return ok },
		Begin: b.begin, Library: b.library,
		Progress: func(p source.Progress) {
			bar.Show(terminal.State{What: "keys", Done: p.Keys, Total: p.Total, Elapsed: p.Elapsed}, b.Now())
		},
	}, b.archived)
}

// begin writes the header.
func (b *backupRun) begin(shards []source.Shard, now time.Time) (err error) {
	if b.left != nil {
		return b.continued(shards)
	}
	moment := archive.PerKey
	if b.Snapshot || b.IsFile() {
		moment = archive.OneMoment
	}
	b.meta = sources.NewMeta(now, moment)
	b.meta.Entries, b.meta.Selection = b.sel.Names(), b.AskedFor(b.ks, &b.Selecting)
	b.meta.Shards, b.meta.Declaration = shards, b.declaration
	if b.since != nil {
		b.meta.Base = b.since.before.Newest().Sum()
	}
	b.w, err = archive.NewWriter(b.file, b.meta, archivefile.Zstd)
	return err
}

// archived adds what was read.
func (b *backupRun) archived(batch []source.Content) error {
	for i := range batch {
		entry, _ := b.sel.Moves(batch[i].Name)
		var err error
		if b.since != nil {
			err = b.kept(b.since.changed(&batch[i], b.store, entry))
		} else {
			r := archive.Of(&batch[i], entry)
			err = b.store(&r)
		}
		if err != nil {
			return err
		}
		if batch[i].Torn {
			b.w.Tear(batch[i].Name)
		}
	}
	return nil
}

// store adds a record to the archive.
func (b *backupRun) store(r *archive.Record) error {
	if err := b.w.Add(r); err != nil {
		return sources.NotWritten(b.To, err)
	}
	return nil
}

// finish gives the file its name if it is whole, and says what is in it.
func (b *backupRun) finish(r *BackupReport) error {
	r.Complete = len(r.Incomplete) == 0
	var index archive.Index
	var err error
	if r.File = b.To; r.Complete {
		if index, err = b.w.Close(); err == nil {
			err = b.file.Finish()
		}
	} else {
		r.File += archivefile.Part
		index, err = b.w.Written(), errors.Join(b.w.Flush(), b.file.Abandon())
	}
	if err != nil {
		return sources.NotWritten(b.To, err)
	}
	r.Keys, r.Bytes = index.Totals()
	r.Size, r.Torn, r.Unsure, r.Entries = sizeOf(r.File), index.Torn, index.Unsure, partsOf(&index)
	r.Libraries = sources.LibrariesOf(&index)
	err = b.WriteReport(b.Output, r, func() error { return printBackup(b.App, r) })
	if err == nil && !r.Complete {
		err = cli.Partial(b.Again(r.Incomplete), "the backup is incomplete: %s", r.Incomplete)
	}
	return err
}

// kept says of what could not be noted beside an archive what that means for it.
func (b *backupRun) kept(err error) error {
	if err == nil || errors.As(err, new(*cli.Exit)) {
		return err
	}
	return sources.NotWritten(b.To, err)
}
