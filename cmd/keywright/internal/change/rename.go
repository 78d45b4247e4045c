package change

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

type renaming struct {
	maps       []string
	from       string // a namespace
	phase      string
	superseded bool
	existing   string
	rounds     int
	undoFile   string
	undo       string
}

// The phases of a rename.
const (
	phaseMove   = "move"
	phaseCopy   = "copy"
	phaseVerify = "verify"
	phaseUnlink = "unlink"
)

func RenameCommand(a *cli.App) *cobra.Command {
	var o Changing
	c := &cobra.Command{
		Use:   "rename",
		Short: "Give keys their new names: by was, by --map, or from one namespace to another",
		Long: `Renames keys: those with a name that was declares, those of --map OLD=NEW, or all of
one namespace to another one. What a construct derives of the main key goes along. A
key keeps its value and its TTL to the millisecond. Nothing is ever overwritten.

--from-namespace - is for a declaration that has got a namespace: keys that constructs
derive, and that had names outside of it, get those inside.

` + changingHelp + `

A plan names keys whose new name is taken, pairs of keys that would get one name,
names that the new entry would not read, and what is bound to its name. In a cluster
a key whose slot changes is copied, compared, and the old one is removed if it is
still what was copied.

--undo-file FILE writes what is renamed; keywright apply FILE brings it back, and so
does --undo FILE --apply. keywright apply PLAN writes PLAN.undo.

Programs that go on meanwhile need phases: --phase copy copies while they write,
until both names hold the same; then come programs that read the new name, else the
old one, and write the new one; --phase verify compares, and --phase unlink removes
each old key that is the same under its new name.

` + cli.SelectionHelp + `

` + ExitCodesOfChanges,
		Example: `  keywright rename
  keywright rename --entry user --plan user.plan
  keywright rename --map 'user:{id}=usr:{id}' --apply --undo-file user.undo
  keywright rename --from-namespace app --namespace app-eu --phase copy --apply`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return rename(c.Context(), a, &o) },
	}
	o.ruleFlags(a, c)
	f := c.Flags()
	f.StringArrayVar(&o.maps, "map", nil, "old and new pattern, as in 'user:{id}=usr:{id}' (again: this one, too)")
	f.StringVar(&o.from, "from-namespace", "", sources.FromUsage)
	f.StringVar(&o.phase, "phase", phaseMove, "move, or of a live namespace: copy, verify, unlink")
	f.BoolVar(&o.superseded, "superseded", false,
		"with --phase unlink: also old keys that have another value under the new name")
	f.StringVar(&o.existing, "existing", "fail",
		"with --phase copy: what becomes of new names that are there: fail, skip or different")
	f.IntVar(&o.rounds, "rounds", 5,
		"with --phase copy: how often both are compared, and what differs is copied again, at most")
	f.StringVar(&o.undoFile, "undo-file", "",
		"with --apply: write what is renamed into this file, for `keywright apply FILE`")
	f.StringVar(&o.undo, "undo", "", "bring back what this file of a rename or of ttl says was changed")
	cli.Choices(c, "phase", phaseMove, phaseCopy, phaseVerify, phaseUnlink)
	cli.Choices(c, "existing", "fail", "skip", "different")
	return c
}

func (o *Changing) checkRename() error {
	err := errors.Join(cli.OneOf("phase", o.phase, phaseMove, phaseCopy, phaseVerify, phaseUnlink),
		cli.OneOf("existing", o.existing, "fail", "skip", "different"))
	switch {
	case err != nil:
		return err
	case len(o.maps) > 0 && o.from != "":
		return cli.Usage("run it twice", "--map and --from-namespace exclude each other")
	case o.Undeclared:
		return cli.Usage("name their pattern by --map", "rename does not know new names for undeclared keys")
	case o.undo != "" && (o.plan != "" || o.undoFile != "" || o.phase != phaseMove || len(o.maps) > 0 || o.from != ""):
		return cli.Usage("write keywright rename --undo FILE", "--undo takes only --apply and what paces it")
	case o.undoFile != "" && (!o.Apply || o.phase != phaseMove):
		return cli.Usage("add --apply", "--undo-file is written by a rename with --apply, of the phase move")
	case o.superseded && o.phase != phaseUnlink:
		return cli.Usage("add --phase unlink", "--superseded is for --phase unlink")
	case o.rounds < 0:
		return cli.Usage("write --rounds 5", "--rounds cannot be negative")
	case o.plan != "" && o.phase != phaseMove && o.phase != phaseUnlink:
		return cli.Usage("run it with --apply", "there is a plan for the phases move and unlink only")
	}
	return nil
}

// rename plans, and executes where that was asked for.
func rename(ctx context.Context, a *cli.App, o *Changing) error {
	if err := errors.Join(cli.OneOf("output", o.Output, "table", "json"), o.Check(), o.checkRename()); err != nil {
		return err
	}
	if o.undo != "" {
		return UndoRename(ctx, a, o.undo, o)
	}
	if !o.Apply && o.phase != phaseVerify || o.plan != "" {
		return Change(ctx, a, KeyVerbs()["rename"], o.Asked("rename"), o)
	}
	r, err := Prepare(ctx, a, KeyVerbs()["rename"], o.Asked("rename"), o, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.uncounted(); err != nil {
		return err
	}
	switch o.phase {
	case phaseCopy:
		return r.copyNames(ctx)
	case phaseVerify:
		return r.verifyNames(ctx)
	}
	if o.undoFile != "" {
		if r.undoing, err = apply.OpenUndo(o.undoFile, r.Made); err != nil {
			return cli.Usage("name a new file", "what is renamed cannot be noted: %v", err)
		}
	}
	return r.Execute(ctx, r.Made, nil)
}

// request is what was asked for of a rename, as a plan has it.
func (o *renaming) options() map[string]string {
	out := map[string]string{"phase": o.phase}
	if len(o.maps) > 0 {
		text, _ := json.Marshal(o.maps)
		out["map"] = string(text)
	}
	if o.from != "" {
		out["from-namespace"] = o.from
	}
	if o.superseded {
		out["superseded"] = "yes"
	}
	return out
}

// renamingOf returns the reverse.
func renamingOf(q map[string]string) (o renaming) {
	o.phase, o.from, o.superseded = cmp.Or(q["phase"], phaseMove), q["from-namespace"], q["superseded"] != ""
	_ = json.Unmarshal([]byte(q["map"]), &o.maps)
	return o
}

// pairs returns the old and new patterns that were asked for.
func (r *Run) pairs() (*plan.Pairs, error) {
	var pairs *plan.Pairs
	var err error
	switch {
	case len(r.maps) > 0:
		pairs, err = plan.Mapped(r.Schema, r.maps)
	case r.from != "":
		var old *keyspace.Keyspace
		if old, err = sources.DeclaredIn(r.App, r.from); err == nil {
			pairs, err = plan.Moved(old, r.Schema)
		}
	default:
		pairs, err = plan.Former(r.Schema)
	}
	if err != nil {
		return nil, cli.RefusedSelection(err)
	}
	if pairs.Empty() {
		return nil, cli.Usage("add was: to an entry, or write --map OLD=NEW or --from-namespace NAME",
			"there is nothing to rename: the declaration has no was")
	}
	for _, old := range pairs.WithoutTag() {
		r.App.Say("warning: the keys of %s lose their hash tag: in a cluster those that shared a slot will not", old)
	}
	return pairs, nil
}

func (r *Run) renameRule() (plan.Rule, error) {
	pairs, err := r.pairs()
	if err != nil {
		return nil, err
	}
	rule, err := plan.NewRename(r.Schema, pairs, plan.RenameOptions{Request: r.selects, Drop: r.phase == phaseUnlink,
		Superseded: r.superseded, Merge: !r.id.Cluster, Retag: r.phase == phaseMove || r.phase == phaseUnlink})
	return rule, cli.RefusedSelection(err)
}

// reader reads values of the server's primaries, whole only if they are small: a script
// compares those.
func (r *Run) reader(ctx context.Context, req server.ContentsRequest) (*server.Reader, error) {
	return server.NewReader(ctx, r.Config,
		server.Options{Role: server.Primary, OnlyDB: r.Request.DB, MaxLatency: r.MaxLatency}, req)
}

// comparedAtOnce is the size of values that a script compares.
const comparedAtOnce = 64 << 10

// values returns the reader of a rename, opened once.
func (r *Run) values(ctx context.Context) (restore.Asker, error) {
	if r.asker == nil {
		asker, err := r.reader(ctx, server.ContentsRequest{Largest: comparedAtOnce})
		if err != nil {
			return nil, err
		}
		r.asker = asker
		r.Closers = append(r.Closers, asker.Close)
	}
	return r.asker, nil
}

// blocked asks for what is in the way of keys.
func (r *Run) blocked(ctx context.Context, batch []source.Key, decisions []plan.Decision) error {
	values, err := r.values(ctx)
	if err != nil {
		return err
	}
	return apply.Blocked(ctx, r.clients.Client, values, batch, decisions)
}

// names yields the names of keys and nothing else, where the type of the keys is one.
func (r *Run) names(rule *plan.Rename) apply.Scan {
	return func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		reader, err := r.reader(ctx, server.ContentsRequest{Match: rule.Glob(), Type: string(rule.Kind())})
		if err != nil {
			return source.Summary{}, err
		}
		defer reader.Close()
		var batch []source.Key
		return reader.Names(ctx, func(db int, names [][]byte) error {
			batch = batch[:0]
			for _, n := range names {
				batch = append(batch, source.Key{Name: n, DB: db, TTL: source.NoTTL, Bytes: -1})
			}
			return each(batch)
		})
	}
}

// toChange returns what is scanned when keys are changed.
func (r *Run) toChange() apply.Scan {
	rule, ok := r.rule.(*plan.Rename)
	if !ok || rule.Typed() && rule.Kind() == "" {
		return r.scan(nil, "")
	}
	return r.names(rule)
}
