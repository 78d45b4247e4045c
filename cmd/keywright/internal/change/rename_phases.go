package change

import (
	"cmp"
	"context"
	"fmt"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/content"
	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
)

// namesCopied describes what a rename of a live namespace copied, or compared; its JSON names are
// stable.
type namesCopied struct {
	Total       *copiedNames    `json:"total,omitempty"` // of the first pass; absent: it was only compared
	Rounds      int             `json:"rounds"`          // of comparison
	Repaired    int64           `json:"repaired"`        // keys that were copied again
	Kept        int64           `json:"kept"`            // new names that were there with another value, and were left
	Complete    bool            `json:"complete"`        // all keys were seen
	Settled     bool            `json:"settled"`         // each old key is the same under its new name
	Problem     string          `json:"problem,omitempty"`
	Last        compare.Figures `json:"last"` // of the last comparison
	Differences []DifferingKey  `json:"differences,omitempty"`
	More        int64           `json:"more_differences,omitempty"`
}

// copiedNames holds the counts of a copy.
type copiedNames struct{ journal.Counts }

// newNames tells which keys are copied, and where to. It is for one goroutine at a time.
type newNames struct {
	rule, back *plan.Rename
}

func (r *Run) newNames() (*newNames, error) {
	rule, err := r.renameRule()
	if err != nil {
		return nil, err
	}
	pairs, err := r.pairs()
	if err != nil {
		return nil, err
	}
	back, err := plan.NewRename(r.Schema, pairs.Back(), plan.RenameOptions{Back: true})
	return &newNames{rule.(*plan.Rename), back}, err
}

// meant returns the entry and the new name of a key that is copied. What goes as a whole, or
// while nothing works on it, is left for the phase move.
func (n *newNames) meant(name []byte) (to string, entry int, ok bool) {
	d := n.rule.Decide(&source.Key{Name: name})
	return d.Step.To, d.Entry, d.Meant && d.Leave == "" && len(d.Step.Busy)+len(d.Step.Absent)+len(d.Step.Rivals) == 0
}

// Content returns how the value of a key is written under its new name.
func (n *newNames) Content(name []byte) *plan.Content {
	return n.rule.Decide(&source.Key{Name: name}).Step.Content
}

func (n *newNames) To(k compare.Key) compare.Key {
	to, _, _ := n.meant(k.Name)
	return compare.Key{DB: k.DB, Name: []byte(to)}
}

// old returns the reverse.
func (n *newNames) old(k compare.Key) (compare.Key, bool) {
	d := n.back.Decide(&source.Key{Name: k.Name})
	return compare.Key{DB: k.DB, Name: []byte(d.Step.To)}, d.Meant && d.Step.To != ""
}

// bothNames represents the server, opened for old names and for new ones.
type bothNames struct {
	*newNames
	values   *newNames // of the goroutine that reads values
	from, to *server.Reader
}

func (b *bothNames) Close() {
	b.from.Close()
	b.to.Close()
}

// bothNames opens the server twice.
func (r *Run) bothNames(ctx context.Context) (*bothNames, error) {
	var each [4]*newNames // one for each goroutine
	for i := range each {
		var err error
		if each[i], err = r.newNames(); err != nil {
			return nil, err
		}
	}
	wanted, back := each[2], each[3]
	from, err := r.reader(ctx, server.ContentsRequest{Match: wanted.rule.Glob(), Wants: func(name []byte) bool {
		_, _, ok := wanted.meant(name)
		return ok
	}})
	if err != nil {
		return nil, err
	}
	to, err := r.reader(ctx, server.ContentsRequest{Match: back.back.Glob(), Wants: func(name []byte) bool {
		_, ok := back.old(compare.Key{Name: name})
		return ok
	}})
	if err != nil {
		from.Close()
		return nil, err
	}
	return &bothNames{each[0], each[1], from, to}, nil
}

// copyNames copies keys to their new names until both are the same.
func (r *Run) copyNames(ctx context.Context) error {
	n, err := r.bothNames(ctx)
	if err != nil {
		return err
	}
	defer n.Close()
	acting, err := Act(ctx, r.clients, r.Config, nil, &r.Made.Server)
	if err != nil {
		return err
	}
	defer acting.Release()
	tell := func() error { return r.Tell(ctx, acting.Held) }
	if err := tell(); err != nil {
		return err
	}
	began, phase := r.App.Now(), ""
	bar := terminal.NewProgress(r.ProgressMode(r.Progress), r.App.Err, began)
	report, err := copier.Copy(ctx, n.from, n.to, r.clients.Client, copier.Options{
		Options: restore.Options{
			MayEvict: true, // a server that evicts does so without this, too: the keys are its own
			Existing: restore.Existing(r.existing), Rate: r.Rate, Waiting: cli.Patience(bar, r.Config),
			Place: func(rec *archive.Record) (restore.Place, error) {
				name, _, ok := n.meant(rec.Key)
				if !ok {
					return restore.Place{}, errNoNewName
				}
				return restore.Place{Key: []byte(name), DB: rec.DB, Expires: rec.Expires,
					Content: n.Content(rec.Key)}, acting.Held()
			},
			Progress: func(done int64) {
				if done%64 == 0 {
					bar.Show(terminal.State{What: "keys", Done: done, Elapsed: r.App.Now().Sub(began), Note: phase}, r.App.Now())
				}
			},
		},
		Meant: func(name []byte) (int, bool) {
			_, entry, ok := n.meant(name)
			return entry, ok
		},
		Back: n.old, Rounds: cmp.Or(r.rounds, -1), Content: n.values.Content,
		Round: func(_ int, what string) { phase = what },
	})
	bar.Clear()
	if err == nil {
		err = tell() // of what was tagged meanwhile
	}
	out := &namesCopied{Total: &copiedNames{report.Counts}, Rounds: report.Rounds, Repaired: report.Repaired,
		Kept: report.Kept, Complete: err == nil && len(report.Read.Incomplete) == 0}
	out.Settled = out.Complete && report.Checked.Differ() == 0 && report.Rounds > 0 && report.Refused+report.Unknown == 0
	return r.showCopied(ctx, out, &report.Checked, err)
}

// Tell tells the tags of caches that keep their names the new names of values.
func (r *Run) Tell(ctx context.Context, still func() error) error {
	pairs, err := r.pairs()
	if err != nil {
		return err
	}
	rule, err := plan.NewRename(r.Schema, pairs, plan.RenameOptions{Request: r.selects, Retag: true, Merge: !r.id.Cluster})
	if err != nil {
		return err
	}
	return apply.Tell(ctx, r.clients.Client, r.names(rule), rule, apply.KeysOptions{StillHeld: still,
		Waiting: cli.Patience(nil, r.Config)})
}

// errNoNewName leaves a key out.
var errNoNewName = fmt.Errorf("it has no new name")

// verifyNames compares each old key with what is under its new name.
func (r *Run) verifyNames(ctx context.Context) error {
	n, err := r.bothNames(ctx)
	if err != nil {
		return err
	}
	defer n.Close()
	report, err := compare.Run(ctx, content.Renamed(n.from, n.values.Content), n.to, compare.Options{
		Meant: func(name []byte) (int, bool, bool) {
			_, entry, ok := n.meant(name)
			return entry, false, ok
		},
		To: n.To, From: n.old, Ways: compare.Forward, Momentary: true,
	})
	out := &namesCopied{Rounds: 1, Complete: err == nil && len(report.A.Incomplete) == 0}
	out.Settled = out.Complete && report.Differ() == 0
	return r.showCopied(ctx, out, &report, err)
}

// showCopied prints what was copied or compared, and gives the exit code.
func (r *Run) showCopied(ctx context.Context, out *namesCopied, last *compare.Report, failed error) error {
	out.Last, out.More, out.Differences = last.Figures, last.More, AllDiffering(r.rule.Names(), last.Named)
	if failed != nil {
		out.Problem = failed.Error()
	}
	if t := out.Total; t != nil {
		r.App.Did = fmt.Sprintf("Copied %s to new names, %s could not be written", terminal.Plural(t.Restored, "key"),
			terminal.Count(t.Refused+t.Unknown))
	}
	report := r.report()
	report.Applied, report.Copied = out.Total != nil, out
	err := cmp.Or(r.WriteReport(r.Output, report, func() error { return r.printCopied(out) }), ctx.Err())
	switch {
	case err != nil:
		return err
	case failed != nil:
		return cli.Partial("run it again: what is copied is the same", "not everything was read: %v", failed)
	case !out.Complete:
		return cli.Partial("run it again when the server is at rest", "not all keys were seen")
	case !out.Settled && (out.Total == nil || out.Rounds > 0):
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

func (r *Run) printCopied(out *namesCopied) error {
	a := r.App
	for _, d := range out.Differences {
		a.Print("differs: %s (%s)", finding.Key(d.Key), d.What)
	}
	if out.Problem != "" {
		a.PrintIncomplete(out.Problem)
	}
	if t := out.Total; t != nil {
		a.Print("Copied %s to new names (%s were there and the same, %s were there and differ, %s could not be "+
			"written); %s again.",
			terminal.Plural(t.Restored, "key"), terminal.Count(t.Same), terminal.Count(t.Existing),
			terminal.Count(t.Refused+t.Unknown), terminal.Count(out.Repaired))
	}
	a.Print("%s of %s differ from the old ones under their new names.", terminal.Count(out.Last.Differ()),
		terminal.Plural(out.Last.Keys, "key"))
	return nil
}
