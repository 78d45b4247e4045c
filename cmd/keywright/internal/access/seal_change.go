package access

import (
	"context"
	"maps"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/value/seal/reseal"
	"github.com/spf13/cobra"
)

func sealRotateCommand(a *cli.App) *cobra.Command {
	return sealChangeCommand(a, "rotate", "Seal again what is not sealed with the active key",
		`Says how many texts are sealed with another key than the active one, and with
--apply seals them again: each by a comparison on the server, so that a text that
was written meanwhile stays, and a key keeps its TTL. It then walks again until there
is nothing left to do, at most five times. keywright seal status says which keys of the
ring are not needed any more.

First every process must have a ring that knows the new key, then one in which it
is active. Entries of streams cannot be changed: they go when they are trimmed.`)
}

func sealAdoptCommand(a *cli.App) *cobra.Command {
	return sealChangeCommand(a, "adopt", "Seal what is there as plain text",
		`For what was written before it was declared encrypted. Says how many texts are
plain, and with --apply seals them with the active key: each by a comparison on the
server, so that a text that is written meanwhile stays, and a key keeps its TTL. It
then walks again until there is nothing left to do, at most five times. Every process
must open sealed texts before.`)
}

// sealChangeCommand makes `seal rotate` and `seal adopt`.
func sealChangeCommand(a *cli.App, verb, short, long string) *cobra.Command {
	var o change.Changing
	c := &cobra.Command{
		Use:   verb + " [entry]...",
		Short: short,
		Long: long + `

` + change.PlanHelp + ` A plan has the id of the active key and no key: keywright apply
takes the ring by the same flags.

` + sources.RingHelp + `

` + change.ExitCodesOfChanges + ` Exit code 1 also means that a text does not open and was
left as it is.`,
		Example: `  keywright seal ` + verb + ` --keys-file ring.json
  keywright seal ` + verb + ` settings --keys-file ring.json --apply --rate 5000
  keywright seal ` + verb + ` --keys-file ring.json --plan seal.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			return change.Change(c.Context(), a, Verbs()["seal "+verb], plan.Request{Entries: args}, &o)
		},
	}
	o.Flags(a, c)
	o.Ring.Flags(c)
	return c
}

// sealFaults say why a text that should be sealed is not in order.
var sealFaults = []plan.Code{plan.NoSuchKey, plan.DoesNotOpen, plan.NotSealed, plan.NotAsTyped}

// loadSealed reads the declaration and the ring.
func loadSealed(ctx context.Context, r *change.Run) error {
	if err := r.Ring.Check(); err != nil {
		return err
	}
	var err error
	if r.Schema, r.Keys, err = declaredSealed(ctx, r.App, r.Request.Entries, &r.Ring); err != nil {
		return err
	}
	options := map[string]string{} // those of the caller stay
	maps.Copy(options, r.Request.Options)
	options[plan.ActiveKey] = r.Keys.Active()
	r.Request.Options = options
	return nil
}

// sealer represents the work of `seal rotate` and `seal adopt`.
type sealer struct{ *change.Run }

func openSealing(_ context.Context, r *change.Run) (change.Work, error) { return &sealer{r}, nil }

// walk returns the walk over what is declared encrypted.
func (w *sealer) walk(bar *terminal.Progress) (*reseal.Walk, error) {
	c, err := w.Client()
	if err != nil {
		return nil, err
	}
	began := w.App.Now()
	of := server.Options{Role: server.Primary, OnlyDB: w.Request.DB, MaxLatency: w.MaxLatency}
	progress := func(p source.Progress) {
		now := w.App.Now()
		bar.Show(terminal.State{What: "keys looked at", Done: p.Keys, Total: p.Total, Elapsed: now.Sub(began)}, now)
	}
	return &reseal.Walk{Keyspace: w.Schema, Entries: w.Request.Entries, Client: c, Ring: w.Keys,
		Source: server.New(w.Config, of), Request: source.Request{Progress: progress}}, nil
}

func (w *sealer) Plan(ctx context.Context, p *plan.Plan, bar *terminal.Progress) error {
	walk, err := w.walk(bar)
	if err != nil {
		return err
	}
	r, err := walk.Status(ctx)
	if err != nil {
		return err
	}
	t := plan.NewTally()
	for _, part := range r.Parts {
		change := part.Old(r.Active) - part.Fixed
		if w.Name == "seal adopt" {
			change = part.Plain
		}
		t.Change(part.Entry, change, nil, p.Request.DB)
		for _, l := range w.left(part) {
			t.Leave(part.Entry, l)
		}
	}
	t.Into(p)
	p.Incomplete = change.Incomplete(r.Incomplete)
	return nil
}

// left returns what is left alone of a part. What is sealed with the active key, and for
// adopt with any, is not meant.
func (w *sealer) left(part *reseal.Part) (out []plan.Left) {
	add := func(code plan.Code, n int64, state reseal.State) {
		if n <= 0 {
			return
		}
		l := plan.Left{Code: code, Keys: n}
		for _, e := range part.Examples {
			if e.State == state {
				l.Examples = append(l.Examples, plan.Example{Key: finding.JSONKey(e.Key), DB: w.Request.DB})
			}
		}
		out = append(out, l)
	}
	sum := func(m map[string]int64) (n int64) {
		for _, some := range m {
			n += some
		}
		return n
	}
	plain := part.NotSealed - part.Misfits
	if w.Name == "seal adopt" {
		plain -= part.Plain
	} else {
		add(plan.InStream, part.Fixed, "")
	}
	add(plan.NoSuchKey, sum(part.Unknown), reseal.NotInRing)
	add(plan.DoesNotOpen, sum(part.Forged), reseal.DoesNotOpen)
	add(plan.NotSealed, plain, reseal.NotSealed)
	add(plan.NotAsTyped, part.Misfits, reseal.NotAsTyped)
	return out
}

// Do walks and seals. The last walk says what was left alone.
func (w *sealer) Do(ctx context.Context, _ *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	return apply.Walk(ctx, func(ctx context.Context, run *apply.Run) (source.Summary, error) {
		walk, err := w.walk(nil)
		if err != nil {
			return source.Summary{}, err
		}
		open := map[string]int64{}
		walk.Before = func(ctx context.Context, texts map[string]int64) error {
			err := run.Begin(ctx, texts, 0)
			if err == nil {
				open = texts
			}
			return err
		}
		walk.After = func(resealed map[string]int64) {
			open = nil
			for entry, n := range resealed {
				run.Add(entry, journal.KeyCounts{Keys: n, Changed: n})
			}
		}
		seal := walk.Rotate
		if w.Name == "seal adopt" {
			seal = walk.Adopt
		}
		r, err := seal(ctx)
		for entry, n := range open { // of a batch that failed
			run.Add(entry, journal.KeyCounts{Keys: n, Unknown: n})
		}
		w.Leave(run, r, err)
		return source.Summary{Server: r.Server, Endpoint: r.Endpoint, Incomplete: r.Incomplete}, err
	}, o)
}

// Leave counts what a walk that came to its end has left alone.
func (w *sealer) Leave(run *apply.Run, r *reseal.Report, failed error) {
	if failed != nil {
		return
	}
	for _, part := range r.Parts {
		for _, l := range w.left(part) {
			run.LeaveAll(part.Entry, l)
		}
		if n := part.Raced(); n > 0 {
			run.LeaveAll(part.Entry, plan.Left{Code: plan.Changed, Keys: n})
		}
	}
}
