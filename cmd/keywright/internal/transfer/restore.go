// Package transfer has the verbs that move keys with their values from one place to another, and the one that compares
// two places: restore, copy, verify, archive diff.
package transfer

import (
	"context"
	"slices"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/saving"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

type restoring struct {
	moving
	sources.Unlocking
	rate int
}

func RestoreCommand(a *cli.App) *cobra.Command {
	var o restoring
	c := &cobra.Command{
		Use:   "restore FILE [FILE that adds to it]...",
		Short: "Write the keys of an archive to a server",
		Long: `Says what would become of each key of an archive on a server, and with --apply
writes them: value and expiry in one step each, a large value under a temporary
name in its slot first. Running it again changes nothing more, so a run that was
killed is simply run again.

What is there with its value and expiry is the same, and stays (replace writes it
again). Of another one --existing says what becomes: fail (an error, nothing of that
key is changed), skip, replace or different (both replace it).

When keys expire: --ttl absolute (when they would have; what has expired since is
left out), remaining (what was left when the archive was made), or declared (the
default of the entry, for keys that expire at all). With the last two a key that is
there with its value and ends sooner is the same: an earlier run may have written it.

Locks that were held, workers, and who loads or sweeps only make sense in their
moment: they are left out, unless --momentary is given.

` + sources.MappingHelp + `

` + sources.UnlockHelp + `

Archives of backup --since are named after the archive that they add to, oldest
first: of each key the newest is restored, and none that was deleted since. Keys of
the server are never deleted.

` + cli.SelectionHelp + `

` + sources.LibraryHelp + ` Of one that is
there with another code --existing says what becomes. They are loaded before the keys, at
every primary.

Exit codes: 0 planned or restored, 1 some keys are there with another value, or were
not restored (they are named), 2 usage or no archive, 3 the server cannot be reached, 4
it refuses, 5 the archive is not whole or the server takes no more, 130 interrupted.`,
		Example: `  keywright restore all.kwa
  keywright restore all.kwa --apply
  keywright restore all.kwa --entry user --existing different --apply
  keywright restore all.kwa --from-namespace app --namespace app-test --apply`,
		Args: func(c *cobra.Command, args []string) error {
			if slices.ContainsFunc(args, sources.IsURL) {
				return cli.Usage("name the server with -u", "%s takes archives, not the URL of a server", c.CommandPath())
			}
			return saving.OneArchive(c, args[:min(len(args), 1)])
		},
		RunE: func(c *cobra.Command, args []string) error { return restoreArchives(c.Context(), a, args, &o) },
	}
	o.moving.flags(a, c)
	o.Unlocking.Flags(c)
	f := c.Flags()
	f.IntVar(&o.toDB, "to-db", -1, "write into this database (-1: the one that each key was in)")
	f.IntVar(&o.rate, "rate", 0, "keys per second at most (0: as fast as the server takes them)")
	return c
}

// RestoreReport describes what was restored, or would be; its JSON names are stable.
type RestoreReport struct {
	File    string `json:"file"`
	Archive string `json:"archive"`
	Server  string `json:"server"`
	cli.Scope
	Applied  bool             `json:"applied"`
	Complete bool             `json:"complete"` // the whole archive was read, and written where it was to be
	Problem  string           `json:"problem,omitempty"`
	Memory   []restore.Memory `json:"memory,omitempty"` // of the servers, before anything was written
	Total    journal.Counts   `json:"total"`
	Entries  []restoredPart   `json:"entries"`
	Reasons  []reasonedKey    `json:"reasons,omitempty"`
	More     int64            `json:"more_reasons,omitempty"`
	NotMeant int64            `json:"not_selected,omitempty"`
	saving.TornKeys
	Foreign    int64                  `json:"foreign,omitempty"`                // of the keys that no entry declares: other programs', or keywright's own
	Libraries  *restore.LibraryReport `json:"libraries,omitempty"`              // of functions; absent: none was to be restored
	OtherLibs  int                    `json:"libraries_not_selected,omitempty"` // of the archive
	Resumed    bool                   `json:"resumed,omitempty"`                // the figures of interrupted runs of the plan are counted, too
	DurationMS int64                  `json:"duration_ms"`
}

type restoredPart struct {
	Entry string `json:"entry"`
	journal.Counts
}

type reasonedKey struct {
	Key    finding.JSONKey `json:"key"`
	DB     int             `json:"db"`
	Reason string          `json:"reason"`
}

func restoreArchives(ctx context.Context, a *cli.App, paths []string, o *restoring) error {
	if err := o.checkWords(); err != nil {
		return err
	}
	if o.writers < 1 || o.writers > 64 || o.rate < 0 || o.toDB < -1 {
		return cli.Usage("see `keywright restore --help`", "--writers takes 1 to 64, --rate and --to-db no negative numbers")
	}
	if err := change.PlanOrApply(o.plan, o.apply); err != nil {
		return err
	}
	r, err := openRestore(ctx, a, paths, o)
	if err != nil {
		return err
	}
	defer r.Close()
	if o.apply {
		return r.Execute(ctx, paths, nil)
	}
	out, failed := r.pass(ctx, paths[len(paths)-1], restore.Options{Plan: true})
	if out == nil {
		return failed
	}
	if err := o.writePlan(func() (*plan.Plan, error) { return r.asPlan(ctx, paths) }, failed); err != nil {
		return err
	}
	return r.Show(ctx, out, failed)
}

// Execute restores, as the only process that changes keys. journal may be nil.
func (r *restoreRun) Execute(ctx context.Context, paths []string, journal *journal.Journal) error {
	acting, err := change.Act(ctx, r.clients, r.config, server.ToRestoreKeys(), r.planned)
	if err != nil {
		return err
	}
	defer acting.Release()
	out, failed := r.pass(ctx, paths[len(paths)-1], restore.Options{Journal: journal, StillHeld: acting.Held})
	if out == nil {
		return failed
	}
	return r.Show(ctx, out, failed)
}

func openRestore(ctx context.Context, a *cli.App, paths []string, o *restoring) (*restoreRun, error) {
	sel, err := mapped(a, &o.Selecting, &o.Mapping)
	if err != nil {
		return nil, err
	}
	config, err := a.Server()
	if err != nil {
		return nil, err
	}
	a.NoteScope(config.String(), o.toDB, sel.Schema, o.Anywhere)
	if err := o.ownDatabases(config, "--to-db"); err != nil {
		return nil, err
	}
	r := &restoreRun{restoring: o, target: target{App: a, sel: sel, clients: a.Databases(a.URL)}, config: config}
	r.closers = []func(){cli.LimitMemory(), r.clients.Close}
	err = r.open(ctx, paths)
	if err == nil {
		err = r.reachable(ctx, paths[len(paths)-1])
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// open opens the archive, or the chain of them. One alone is read as a stream: it may be cut.
func (r *restoreRun) open(ctx context.Context, paths []string) error {
	keys := sources.ArchiveKeys(ctx, r.App, &r.Unlocking)
	if len(paths) > 1 {
		opened, err := sources.OpenChain(paths, keys)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, opened.Close)
		r.chain, r.meta = opened.Chain, &opened.Newest().Meta
		return nil
	}
	in, err := archivefile.Stream(paths[0], keys)
	if err != nil {
		return sources.NoArchive(paths[0], err)
	}
	r.closers = append(r.closers, func() { _ = in.Close() })
	if r.in, err = archive.NewReader(&sources.Cancelled{Ctx: ctx, In: in}, archivefile.Codecs()...); err != nil {
		return sources.NoArchive(paths[0], err)
	}
	if r.meta = &r.in.Meta; r.meta.Base != "" {
		return sources.HasBase(paths[0])
	}
	return nil
}

type restoreRun struct {
	*restoring
	target
	meta    *archive.Meta   // of the newest archive
	in      *archive.Reader // nil: there are several
	chain   *archive.Chain
	closers []func()
	config  connect.Config
	now     int64          // the server's time, Unix milliseconds
	needs   int64          // bytes that will be written; 0: not known
	opened  *archive.Chain // the archive, or all of them, by the index; nil: it cannot be read so
	report  restore.Report
	out     RestoreReport
}

func (r *restoreRun) Close() {
	for _, c := range r.closers {
		c()
	}
}

// live reads what the server has: a key that has its value and its expiry needs nothing.
func (r *restoreRun) live(ctx context.Context) (restore.Asker, error) {
	if r.existing == string(restore.Replace) {
		return nil, nil
	}
	config := r.config
	config.DB = 0
	reader, err := server.NewReader(ctx, config, server.Options{Role: server.Primary, OnlyDB: -1},
		server.ContentsRequest{})
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, reader.Close)
	return reader, nil
}

// pass reads the archive, and restores or plans. The report is nil where there is
// nothing to say.
func (r *restoreRun) pass(ctx context.Context, path string, o restore.Options) (*RestoreReport, error) {
	started := r.App.Now()
	first, err := r.clients.Client(max(r.toDB, 0))
	if err != nil {
		return nil, err
	}
	clock, err := first.Raw().Do(ctx, first.Raw().B().Time().Build()).AsIntSlice()
	if err != nil || len(clock) != 2 {
		return nil, cli.ServerFailure(change.Cannot("ask for the time", err))
	}
	r.now = clock[0]*1000 + clock[1]/1000
	live, err := r.live(ctx)
	if err != nil {
		return nil, err
	}
	bar := terminal.NewProgress(r.ProgressMode(r.progress), r.App.Err, started)
	o.Existing, o.Place, o.Writers, o.Rate, o.Live = restore.Existing(r.existing), r.Place, r.writers, r.rate, live
	o.Progress = func(done int64) {
		bar.Show(terminal.State{What: "keys", Done: done, Elapsed: r.App.Now().Sub(started)}, r.App.Now())
	}
	o.Needs, o.MayEvict, o.Waiting = r.needs, r.evict, cli.Patience(bar, r.config)
	if err := r.loadLibraries(ctx, o.Plan); err != nil {
		return nil, err
	}
	r.report, err = restore.Restore(ctx, r.clients.Client, r.records(ctx), o)
	bar.Clear()
	if ctx.Err() != nil && r.report.Keys == 0 {
		return nil, ctx.Err()
	}
	r.tell(path)
	r.out.Applied, r.out.DurationMS = !o.Plan, r.App.Now().Sub(started).Milliseconds()
	if err != nil {
		r.out.Complete, r.out.Problem = false, change.Problem(ctx, err)
	} else if why := notLoaded(r.libraries); why != "" {
		r.out.Complete, r.out.Problem = false, why
	}
	return &r.out, err
}

// tell completes the report with what became of the keys.
func (r *restoreRun) tell(path string) {
	out, report := &r.out, &r.report
	out.File, out.Archive, out.Server, out.Scope = path, r.meta.ID, r.config.String(), r.App.Scope
	out.Memory, out.Total, out.Libraries = report.Memory, report.Counts, r.libraries
	out.Reasons, out.More = reasonsOf(report), report.More
	out.TornKeys = saving.TornIn(r.opened, func(key []byte) bool { _, ok := r.sel.Moves(key); return ok })
	out.Entries = []restoredPart{}
	cli.EachEntry(r.sel.Names(), report.Entries, func(entry string, c *journal.Counts) {
		out.Entries = append(out.Entries, restoredPart{entry, *c})
	})
}
