package access

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
	"github.com/spf13/cobra"
)

// sealing holds the flags of seal status.
type sealing struct {
	ring     sources.Ringing
	scan     server.Options
	progress string
	output   string
}

func SealCommand(a *cli.App) *cobra.Command {
	return a.Group(&cobra.Command{
		Use:   "seal",
		Short: "What is declared encrypted: which keys it is sealed with, sealing it again, key rings",
		Long: `Looks after what the declaration calls encrypted. ` + "`seal key`" + ` makes key rings,
` + "`seal status`" + ` counts what is sealed with which key, ` + "`seal rotate`" + ` seals again what is not
sealed with the active key, ` + "`seal adopt`" +
			` seals what is there as plain text. The order of things is in docs/encryption.md.`,
	}, sealStatusCommand(a), sealRotateCommand(a), sealAdoptCommand(a), sealKeyCommand(a))
}

func sealStatusCommand(a *cli.App) *cobra.Command {
	var o sealing
	c := &cobra.Command{
		Use:   "status [entry]...",
		Short: "Count what is sealed with which key, and what does not open",
		Long: `Walks over all keys of the entries that hold something encrypted, opens every text
with the key ring, and counts: by the id of its key, and what does not open. It
reads from primaries, as fast as the server answers or as --rate says, and changes
nothing. What changes meanwhile may be counted twice.

` + sources.RingHelp + `

Exit codes: 0 everything opens, 1 something does not, 2 usage, no ring or a bad
one, 3 the server cannot be reached, 4 the server refuses, 5 incomplete, 130
interrupted.`,
		Example: `  keywright seal status --keys-file ring.json
  keywright seal status settings -o json --rate 5000`,
		RunE: func(c *cobra.Command, args []string) error { return sealTexts(c.Context(), a, args, &o) },
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	o.ring.Flags(c)
	sources.RateFlags(c, &o.scan, sources.UsualRate)
	cli.ProgressFlag(c, &o.progress)
	return c
}

func (o *sealing) Check() error {
	if err := o.ring.Check(); err != nil {
		return err
	}
	if o.scan.Rate < 0 || o.scan.MaxLatency < 0 {
		return cli.Usage("write a positive number, or leave it out", "--rate and --max-latency cannot be negative")
	}
	return cmp.Or(cli.CheckProgress(o.progress), cli.OneOf("output", o.output, "table", "json"))
}

func sealTexts(ctx context.Context, a *cli.App, names []string, o *sealing) error {
	if err := o.Check(); err != nil {
		return err
	}
	ks, ring, err := declaredSealed(ctx, a, names, &o.ring)
	if err != nil {
		return err
	}
	config, err := a.Server()
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	o.scan.Role, o.scan.OnlyDB = server.Primary, config.DB
	bar := terminal.NewProgress(a.ProgressMode(o.progress), a.Err, a.Now())
	defer bar.Clear()
	w := &reseal.Walk{Keyspace: ks, Entries: names, Client: c, Ring: ring, Source: server.New(config, o.scan),
		Request: source.Request{Progress: func(p source.Progress) {
			bar.Show(terminal.State{What: "keys", Done: p.Keys, Total: p.Total, Elapsed: p.Elapsed}, a.Now())
		}}}
	r, err := w.Status(ctx)
	bar.Clear()
	return reportSealed(ctx, a, r, err, o)
}

// declaredSealed reads the declaration, which has the named entries, and the ring.
func declaredSealed(ctx context.Context, a *cli.App, names []string, from *sources.Ringing) (*keyspace.Keyspace,
	*seal.Ring, error) {
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return nil, nil, err
	}
	if err := sealedEntries(d.Keyspace, names, path); err != nil {
		return nil, nil, err
	}
	ring, err := sources.KeyRing(ctx, a, from)
	return d.Keyspace, ring, err
}

// sealedEntries checks the names of entries.
func sealedEntries(ks *keyspace.Keyspace, names []string, path string) error {
	var all []string
	for _, e := range ks.Entries {
		if e.HoldsSealed() {
			all = append(all, e.Name)
		}
	}
	if len(all) == 0 {
		return cli.Usage("write encrypted after a type", "%s calls nothing encrypted", path)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return cli.Usage(cli.DidYouMean(name, all, "they are"),
				"%s has no entry %q that holds something encrypted", path, name)
		}
	}
	return nil
}

// reportSealed prints what a walk has found, and picks the exit code.
func reportSealed(ctx context.Context, a *cli.App, r *reseal.Report, failed error, o *sealing) error {
	if failed != nil && r.Endpoint == "" {
		return cli.ServerFailure(failed)
	}
	err := a.WriteReport(o.output, sealReportOf(r), func() error { return printSealed(a, r) })
	total := r.Total()
	closed := total.Closed()
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted, Message: "interrupted: what is counted was seen until then",
			Hint: "run it again: what is done is passed over"}
	case err != nil || failed != nil:
		return errors.Join(err, cli.ServerFailure(failed))
	case len(r.Incomplete) > 0:
		return cli.Partial("run it again when the server is at rest", "the count is incomplete: %s", r.Incomplete)
	case closed > 0:
		return &cli.Exit{Code: cli.ExitFindings, Message: terminal.Plural(closed, "text") + " did not open",
			Hint: "docs/encryption.md says what the reasons mean"}
	}
	return nil
}

// SealReport describes what was counted; its JSON names are stable.
type SealReport struct {
	Server     string         `json:"server"`
	Endpoint   string         `json:"endpoint"`
	Complete   bool           `json:"complete"`
	Incomplete source.Reasons `json:"incomplete,omitempty"`
	Active     string         `json:"active"` // the id of the key that seals
	Parts      []sealedPart   `json:"parts"`
	Unused     []string       `json:"unused_keys"` // of the ring; nothing is sealed with them
}

// sealedPart represents a part of an entry that is declared encrypted. Its texts are those
// of keys, unknown_keys, not_opened and not_sealed.
type sealedPart struct {
	Entry     string           `json:"entry"`
	Part      string           `json:"part,omitempty"` // the field; absent: the whole value
	Texts     int64            `json:"texts"`
	Keys      map[string]int64 `json:"keys"`                   // texts that open, by the id of their key
	Unknown   map[string]int64 `json:"unknown_keys,omitempty"` // by ids that the ring does not have
	Forged    map[string]int64 `json:"not_opened,omitempty"`   // texts that do not open with the key that they name
	NotSealed int64            `json:"not_sealed,omitempty"`   // plain, or sealed by something else
	Plain     int64            `json:"plain,omitempty"`        // of not_sealed, what seal adopt seals
	// of not_sealed, plain text that is not of the declared type
	Misfits  int64           `json:"not_of_type,omitempty"`
	Fixed    int64           `json:"stream_entries,omitempty"` // of the texts, entries of streams, which cannot be changed
	Examples []sealedExample `json:"examples,omitempty"`       // of those that do not open
}

// sealedExample represents a text that does not open.
type sealedExample struct {
	Key   finding.JSONKey  `json:"key"`
	Where *finding.JSONKey `json:"where,omitempty"` // names of fields may be any bytes
	State reseal.State     `json:"state"`
}

func sealReportOf(r *reseal.Report) SealReport {
	out := SealReport{r.Server, r.Endpoint, len(r.Incomplete) == 0, r.Incomplete, r.Active, []sealedPart{},
		append([]string{}, r.Unused()...)}
	for _, p := range r.Parts {
		part := sealedPart{p.Entry, p.Name, p.Texts, p.Keys, p.Unknown, p.Forged, p.NotSealed, p.Plain, p.Misfits,
			p.Fixed, nil}
		for _, e := range p.Examples {
			one := sealedExample{Key: finding.JSONKey(e.Key), State: e.State}
			if where := finding.JSONKey(e.Where); e.Where != "" {
				one.Where = &where
			}
			part.Examples = append(part.Examples, one)
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

func printSealed(a *cli.App, r *reseal.Report) error {
	var rows [][]string
	for _, p := range r.Parts {
		rows = append(rows, sealedRows(r.Active, p)...)
	}
	if err := terminal.Table(a.Out, []terminal.Column{{Title: "entry", Least: 12}, {Title: "part", Least: 8},
		{Title: "key"}, {Title: "texts", Right: true}, {Title: "state", Least: 12}}, rows); err != nil {
		return err
	}
	if err := printClosed(a, r); err != nil {
		return err
	}
	total := r.Total()
	if total.Fixed > 0 {
		a.Print("%s of streams cannot be changed, and need their keys until they are trimmed",
			cli.Plural(total.Fixed, "entry", "entries"))
	}
	for _, id := range r.Unused() {
		a.Print("nothing is sealed with %s: it may be removed from the ring, unless it is new and about to be activated, "+
			"when no process seals with it any more", id)
	}
	return nil
}

// printClosed names the first texts that do not open.
func printClosed(a *cli.App, r *reseal.Report) error {
	var rows [][]string
	for _, p := range r.Parts {
		for _, e := range p.Examples {
			rows = append(rows, []string{p.Entry, finding.Key([]byte(e.Key)), printPlace(e.Where), string(e.State)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	a.Print("\nthe first that do not open")
	return terminal.Table(a.Out, []terminal.Column{{Title: "entry", Least: 12}, {Title: "key", Least: 16},
		{Title: "where", Least: 8}, {Title: "state", Least: 12}}, rows)
}

func printPlace(where string) string {
	if where == "" {
		return ""
	}
	return finding.Key([]byte(where))
}

// sealedRows returns a part's counts, one row per key.
func sealedRows(active string, p *reseal.Part) (rows [][]string) {
	add := func(key string, n int64, state string) {
		rows = append(rows, []string{p.Entry, p.Name, key, terminal.Count(n), state})
	}
	for _, id := range slices.Sorted(maps.Keys(p.Keys)) {
		state := "old"
		if id == active {
			state = "active"
		}
		add(id, p.Keys[id], state)
	}
	for _, id := range slices.Sorted(maps.Keys(p.Unknown)) {
		add(id, p.Unknown[id], string(reseal.NotInRing))
	}
	for _, id := range slices.Sorted(maps.Keys(p.Forged)) {
		add(id, p.Forged[id], string(reseal.DoesNotOpen))
	}
	if n := p.NotSealed - p.Misfits; n > 0 {
		add("", n, string(reseal.NotSealed))
	}
	if p.Misfits > 0 {
		add("", p.Misfits, string(reseal.NotAsTyped))
	}
	if len(rows) == 0 {
		add("", 0, "")
	}
	return rows
}
