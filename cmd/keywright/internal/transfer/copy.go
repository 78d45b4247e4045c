package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

type copying struct {
	moving
	sources.Placing
	rounds int
}

func CopyCommand(a *cli.App) *cobra.Command {
	var o copying
	c := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Write the keys of a server to another one",
		Long: `Says what would become of each key of a server at another one, and with --apply
copies them: value and expiry are read in one step and written in one step, large
values in parts under a temporary name. Then it compares both and copies again what
differs, in rounds, until nothing does: what is written while it runs is at the
target in the end, or is named. It changes nothing at the source. What it has written
and the source deletes meanwhile is deleted at the target, unless the source may have
lost it (a flush, a restart, a failover); what else only the target has is counted.

A target that evicts keys when it is full (maxmemory-policy) ends the run as soon as it
evicts one, of whichever program: exit code 5. --evict goes on.

With --snapshot the first pass reads what the source sends a replica: the keys of one
moment, for a fork and next to nothing of the source's only thread. The rounds then
bring what was written since.

Running it again copies what has changed since. A run that was killed is run again.
--plan FILE writes the plan, which keywright apply FILE executes after it has checked
that it still holds for both servers. It has no passwords: name the servers again with
--from and --to if they need one.

What is there: --existing fail (an error, nothing of that key is changed), skip,
replace, or different (replace it if its value or expiry is another one). A key that
is there and is the same is no error.

When keys expire: --ttl absolute (at the same moment), remaining (after what is left,
where the clocks of the servers differ), or declared (after the default of the entry,
for keys that expire at all).

Locks that are held, workers, and who loads or sweeps only make sense in their moment:
they are left out, unless --momentary is given.

` + sources.MappingHelp + `

` + cli.SelectionHelp + `

` + sources.LibraryHelp + ` Of one that is
there with another code --existing says what becomes.

Exit codes: 0 planned or copied, 1 some keys are there with another value, or differ
in the end (they are named), 2 usage, 3 a server cannot be reached, 4 it refuses, 5 not
all was read or the target takes no more, 130 interrupted.`,
		Example: `  keywright copy redis://old:6379 redis://new:6379
  keywright copy redis://old:6379 redis://new:6379 --apply
  keywright copy redis://old:6379 redis://new:6379 --snapshot --plan move.plan
  keywright apply move.plan
  keywright copy redis://old:6379 redis+cluster://new:6379 --entry user --existing different --apply`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || !sources.IsURL(args[0]) || !sources.IsURL(args[1]) {
				return cli.Usage("write `"+c.CommandPath()+" redis://old:6379 redis://new:6379`; backup and restore copy by a file",
					"%s takes the URLs of two servers", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return copyKeys(c.Context(), a, args, &o, nil) },
	}
	o.moving.flags(a, c)
	_ = c.Flags().MarkHidden("url")
	sources.ScanFlags(c, &o.Scan, &o.Role, placeRate)
	sources.ForksFlag(c, &o.Forks)
	f := c.Flags()
	f.IntVar(&o.toDB, "to-db", -1, "write the keys of --db into this database (-1: into the one that each is in)")
	f.IntVar(&o.rounds, "rounds", 5,
		"how often both are compared, and what differs is copied again, at most (0: not at all)")
	f.BoolVar(&o.Snapshot, "snapshot", false, "read the first pass from what the source sends a replica")
	return c
}

func (o *copying) Check() error {
	if err := cmp.Or(o.checkWords(), sources.CheckRole(&o.Scan, o.Role)); err != nil {
		return err
	}
	switch {
	case o.writers < 1 || o.writers > 64 || o.rounds < 0 || o.Scan.Rate < 0 || o.Scan.MaxLatency < 0:
		return cli.Usage("see `keywright copy --help`",
			"--writers takes 1 to 64, --rounds, --rate and --max-latency no negative numbers")
	case o.Forks < 1:
		return cli.Usage("write --forks 1", "--forks must be above zero")
	case o.apply && o.plan != "":
		return change.PlanOrApply(o.plan, o.apply)
	case o.Scan.OnlyDB < -1 || o.toDB < -1:
		return cli.Usage("write --db 0, or leave it out", "a database has a number from 0")
	case o.toDB >= 0 && o.Scan.OnlyDB < 0:
		return cli.Usage("say with --db which database of the source is copied", "--to-db needs --db")
	}
	return nil
}

type copyRun struct {
	*copying
	target
	from, to *sources.Place
	moment   compare.Reading // of the first pass; nil: the source is scanned
	ahead    int64           // of the target's clock before the source's, in milliseconds
	started  time.Time
	phase    string
	acting   *writelease.Lease // nil: it is a plan
	unread   source.Reasons    // why libraries of the source were not read
}

// copyKeys copies, or plans. planned is the target that the plan was compared with; nil: there is none.
func copyKeys(ctx context.Context, a *cli.App, args []string, o *copying, planned *plan.Server) error {
	if err := o.Check(); err != nil {
		return err
	}
	if a.Given("url", "-u") {
		return cli.Usage("name the source first and then the target", "copy takes both servers as arguments")
	}
	defer cli.LimitMemory()()
	r, err := openCopy(ctx, a, args, o)
	if err != nil {
		return err
	}
	defer r.Close()
	if o.apply {
		r.acting, err = change.Act(ctx, r.clients, r.to.Reader.Config(), server.ToRestoreKeys(), planned)
		if err != nil {
			return err
		}
		defer r.acting.Release()
	}
	return r.run(ctx)
}

// openCopy connects to both servers.
func openCopy(ctx context.Context, a *cli.App, urls []string, o *copying) (*copyRun, error) {
	sel, err := mapped(a, &o.Selecting, &o.Mapping)
	if err != nil {
		return nil, err
	}
	r := &copyRun{copying: o, target: target{App: a, sel: sel, clients: a.Databases(urls[1])}, started: a.Now()}
	if err := r.open(ctx, urls); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// open opens both servers. The target is read at its primaries: they are written to.
func (r *copyRun) open(ctx context.Context, urls []string) (err error) {
	for i, p := range []**sources.Place{&r.from, &r.to} {
		sel, err := sources.MapNames(r.App, &r.Selecting, &r.Mapping) // one for each goroutine
		if err != nil {
			return err
		}
		o := r.Placing
		o.Snapshot = false // the source is asked by name, too
		if i == 1 {
			if o.Scan.Role = server.Primary; r.toDB >= 0 {
				o.Scan.OnlyDB = r.toDB
			}
		}
		*p, err = sources.OpenPlace(ctx, r.App, urls[i], o, sel.Request(i == 1))
		if err != nil {
			return err
		}
	}
	r.scoped()
	flags := fmt.Sprintf("--db %d --to-db", r.from.Reader.Config().DB)
	if err := r.ownDatabases(r.to.Reader.Config(), flags); err != nil {
		return err
	}
	if r.Snapshot {
		sel, err := sources.MapNames(r.App, &r.Selecting, &r.Mapping)
		if err != nil {
			return err
		}
		r.moment = sources.SideOnce(sources.SnapshotOf(r.from.Reader.Config(), &r.Placing), server.ContentsRequest{
			Wants:   sel.Request(false).Wants,
			Library: func(string, []byte) error { return nil }, // they are asked for by name
		}).Read
	}
	r.ahead = r.to.Side.Now() - r.from.Side.Now()
	if r.sel.Renamed == nil && sameServer(r.from.Reader, r.to.Reader) && (r.toDB < 0 || r.toDB == r.Scan.OnlyDB) {
		return cli.Usage("name another target, or with --db and --to-db another database", "both URLs name the same server")
	}
	return r.reachable(ctx)
}

// scoped notes which servers and databases the copy is about.
func (r *copyRun) scoped() {
	db := r.Scan.OnlyDB
	if named := r.from.Reader.Config().DB; db < 0 && named > 0 {
		db = named
	}
	r.NoteScope(r.from.Name+" to "+r.to.Name, db, r.sel.Schema, r.Anywhere)
	if r.toDB >= 0 && r.toDB != db {
		r.Scope.Into = strconv.Itoa(r.toDB)
	}
}

// reachable opens each database that keys go to, before the first of them is written.
func (r *copyRun) reachable(ctx context.Context) error {
	if r.toDB >= 0 {
		_, err := r.clients.Client(r.toDB)
		return err
	}
	for _, db := range r.from.Reader.Databases() {
		_, err := r.clients.Client(db)
		if err == nil {
			continue
		}
		has, failed := r.has(ctx, db)
		if failed != nil {
			return failed
		}
		if has {
			return noDatabase(err, fmt.Sprintf("database %d of %s has keys", db, r.from.Name), r.to.Name, fmt.Sprintf(
				"copy each database by itself: --db %d --to-db 0 for these, --db 0 for those of database 0", db))
		}
	}
	return nil
}

// has reports whether a database of the source has a key that would be copied.
func (r *copyRun) has(ctx context.Context, db int) (bool, error) {
	sel, err := sources.MapNames(r.App, &r.Selecting, &r.Mapping)
	if err != nil {
		return false, err
	}
	o := r.Scan
	o.OnlyDB = db
	in, err := server.NewReader(ctx, r.from.Reader.Config(), o, sel.Request(false))
	if err != nil {
		return false, err
	}
	defer in.Close()
	_, err = in.Names(ctx, func(_ int, names [][]byte) error {
		for _, name := range names {
			if _, left := r.Place(&archive.Record{Key: name, DB: db}); left == nil {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// sameServer tells whether two readers read the same servers.
func sameServer(a, b *server.Reader) bool {
	return slices.ContainsFunc(a.Shards(), func(x source.Shard) bool {
		return x.RunID != "" && slices.ContainsFunc(b.Shards(), func(y source.Shard) bool { return x.RunID == y.RunID })
	})
}

func (r *copyRun) Close() {
	r.clients.Close()
	closePlaces(r.from, r.to)
}

// Place says where and until when a key is copied.
func (r *copyRun) Place(rec *archive.Record) (restore.Place, error) {
	return r.place(r.sel, rec, func(p *restore.Place) {
		expires := min(min(rec.Expires, farthest)+r.ahead, farthest)
		p.Expires = expires
		p.SameExpiry = func(there int64) bool { return there > 0 && max(there, expires)-min(there, expires) < clockSlack }
	}, r.to.Side.Now)
}

// clockSlack says how much expiries may differ where they are computed from the difference of two
// clocks, in milliseconds.
const clockSlack = 1000

func (r *copyRun) run(ctx context.Context) error {
	report, err := r.pass(ctx)
	if err != nil && report.Keys == 0 {
		return errors.Join(ctx.Err(), err)
	}
	out := r.report(&report, err)
	planned := func() (*plan.Plan, error) { return r.asPlan(ctx, &report, out.Incomplete) }
	if err := r.writePlan(planned, err); err != nil {
		return err
	}
	return r.Show(ctx, out, err)
}

// pass copies, or looks at what would be copied.
func (r *copyRun) pass(ctx context.Context) (copier.Report, error) {
	bar := terminal.NewProgress(r.ProgressMode(r.progress), r.App.Err, r.started)
	defer bar.Clear()
	from, to := r.from.Side.(compare.Live), r.to.Side.(compare.Live)
	o := copier.Options{
		Options: restore.Options{
			Existing: restore.Existing(r.existing), Place: r.Place, Plan: !r.apply, Writers: r.writers,
			MayEvict: r.evict, Waiting: cli.Patience(bar, r.to.Reader.Config()),
			Progress: func(done int64) {
				if done%64 == 0 {
					bar.Show(terminal.State{What: "keys", Done: done, Elapsed: r.Now().Sub(r.started), Note: r.phase}, r.Now())
				}
			},
		},
		Meant: r.sel.Moves, Rounds: cmp.Or(r.rounds, -1), Since: r.from.Reader.Since,
		Back: func(k compare.Key) (compare.Key, bool) { return oldKey(r.sel, k, r.Scan.OnlyDB, r.toDB) },
		Round: func(n int, what string) {
			if r.phase = what; n > 0 {
				r.phase += " (round " + terminal.Count(int64(n)) + ")"
			}
		},
	}
	if r.sel.Renamed != nil {
		o.Content = r.sel.Content
	}
	if r.apply { // a plan needs no fork
		o.Snapshot, o.StillHeld = r.moment, r.acting.Held
	}
	if err := r.loadLibraries(ctx); err != nil {
		return copier.Report{}, err
	}
	return copier.Copy(ctx, from, to, r.clients.Client, o)
}
