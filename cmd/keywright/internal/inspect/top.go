package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/infer/software"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/spf13/cobra"
)

// topping holds the flags of top.
type topping struct {
	sources.Sourcing
	by     string
	limit  int
	output string
}

func TopCommand(a *cli.App) *cobra.Command {
	var o topping
	c := &cobra.Command{
		Use:   "top [snapshot file | - | URL]",
		Short: "Say which keys and which groups of keys cost most",
		Long: `Lists the groups of keys that take most memory, and the largest keys. With a
declaration the groups are its entries; keys it does not declare, and all keys
where there is none, are grouped by patterns drawn from their names.

` + sources.SourceHelp + `

Only a snapshot tells elements, bytes on disk and idle time; --by idle lists the
keys that have not been used for longest, if the server keeps LRU times.

Exit codes: 0 shown, 2 usage or a bad file, 3 the server cannot be reached, 4 the
server refuses, 5 incomplete, 130 interrupted.`,
		Example: `  keywright top -u redis://localhost:6379
  keywright top dump.rdb --limit 50
  keywright top dump.rdb --by elements -o json`,
		Args: sources.OneSource,
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = append(args, "")[0]
			form, err := a.Form(c, o.output, "table", "json", "csv")
			if err != nil {
				return err
			}
			o.output = form
			return top(c.Context(), a, &o)
		},
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	o.Flags(c)
	cli.Outputs(c, &o.output, "table", "json", "csv")
	c.Flags().StringVar(&o.by, "by", "bytes", "what is large: bytes, elements, stored (bytes in the snapshot) or idle")
	c.Flags().IntVar(&o.limit, "limit", 20, "how many groups and keys to list")
	cli.Choices(c, "by", rankNames...)
	return c
}

var rankNames = []string{string(audit.ByBytes), string(audit.ByElements), string(audit.ByStored), string(audit.ByIdle)}

// TopReport describes what top found. The keys, bytes and keys without a TTL of its groups and of
// other_keys, other_bytes and other_no_ttl are together all. Its JSON names are stable.
type TopReport struct {
	Server      string         `json:"server"`
	Endpoint    string         `json:"endpoint"`
	Declaration string         `json:"declaration,omitempty"` // the file; absent: there is none
	Complete    bool           `json:"complete"`
	Incomplete  source.Reasons `json:"incomplete,omitempty"`
	Sampled     bool           `json:"sampled,omitempty"`
	Estimated   bool           `json:"estimated_bytes,omitempty"`
	// sizes are not known, not asked for or not permitted: all bytes are 0
	NoBytes bool       `json:"no_bytes,omitempty"`
	Keys    int64      `json:"keys"`
	Bytes   int64      `json:"bytes"`
	NoTTL   int64      `json:"no_ttl"`
	By      string     `json:"by" enum:"bytes,elements,stored,idle"`
	Groups  []topGroup `json:"groups"`
	Others  int        `json:"other_groups"` // that are not listed
	// in those, and in no group at all: the parts add up to Keys and Bytes
	OtherKeys  int64            `json:"other_keys"`
	OtherBytes int64            `json:"other_bytes"`
	OtherNoTTL int64            `json:"other_no_ttl"`
	Largest    []audit.LargeKey `json:"largest"`
	Notes      []string         `json:"notes,omitempty"`
}

// topGroup represents an entry, or a pattern of keys that no entry declares, or a glob of
// other software's keys.
type topGroup struct {
	Entry   string  `json:"entry,omitempty"` // "foreign" for keys under foreign
	Pattern string  `json:"pattern"`
	Product string  `json:"software,omitempty"` // whose keys these are, by the looks of them
	Type    string  `json:"type"`
	Keys    int64   `json:"keys"`
	Bytes   int64   `json:"bytes"`
	Share   float64 `json:"share"` // of all bytes; of all keys where bytes are unknown
	NoTTL   int64   `json:"no_ttl"`
}

func top(ctx context.Context, a *cli.App, o *topping) error {
	if err := cli.OneOf("by", o.by, rankNames...); err != nil {
		return err
	}
	if o.limit < 1 || o.limit > maxKept {
		return cli.Usage("write --limit 20", "--limit %d: it takes 1 to %s", o.limit, terminal.Count(maxKept))
	}
	ks, err := a.DeclaredOrEmpty()
	if err != nil {
		return err
	}
	src, req, done, err := sources.OpenSource(a, &o.Sourcing)
	if err != nil {
		return err
	}
	defer done()
	fold, err := audit.New(ks, audit.Options{Top: o.limit, By: audit.Rank(o.by), Groups: maxKept})
	if err != nil {
		return err
	}
	sum, err := fold.Scan(ctx, src, req)
	done()
	if sum.Endpoint == "" && err != nil || errors.Is(err, rdb.ErrNotRDB) {
		return err
	}
	report := topOf(fold.Report(sum, req.Sample > 0), o)
	report.Declaration = a.Declared
	print := map[string]func(*TopReport, *topping) error{
		"json": func(t *TopReport, _ *topping) error { return a.JSON(t) }, "csv": func(p0 *TopReport,
			p1 *topping) error {
			return topCSV(a, p0,
				p1)
		}, "table": func(p0 *TopReport, p1 *topping) error { return printTop(a, p0, p1) },
	}[o.output]
	err = cmp.Or(print(report, o), err)
	if report.Others > 0 && o.output != "table" { // the table says it
		a.Say("not listed: %s (--limit)", terminal.Plural(int64(report.Others), "more group"))
	}
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted, Message: "interrupted: what is listed was seen until then", Hint: ""}
	case err != nil:
		return err
	case !report.Complete:
		return cli.Partial(o.Again(report.Incomplete), "the list is incomplete: %s", report.Incomplete)
	}
	return nil
}

func topOf(r *audit.Report, o *topping) *TopReport {
	t := &TopReport{Server: r.Server, Endpoint: r.Endpoint, Complete: r.Complete, Incomplete: r.Incomplete,
		Sampled: r.Sampled, Estimated: r.Estimated,
		Keys: r.Total.Keys, Bytes: r.Total.Bytes, NoTTL: r.Total.NoTTL, NoBytes: r.NoBytes || o.NoBytes, Notes: r.Notes,
		By: o.by, Groups: []topGroup{}, Largest: append([]audit.LargeKey{}, r.Largest...)}
	for _, e := range r.Entries {
		t.group(topGroup{Entry: e.Name, Pattern: e.Pattern, Type: e.Type, Keys: e.Keys, Bytes: e.Bytes, NoTTL: e.NoTTL})
	}
	for _, e := range r.Legacy {
		t.group(topGroup{Entry: e.Name + " (old name)", Pattern: e.Pattern, Type: e.Type, Keys: e.Keys, Bytes: e.Bytes,
			NoTTL: e.NoTTL})
	}
	for _, g := range r.Foreign {
		t.group(topGroup{Entry: "foreign", Pattern: g.Glob, Keys: g.Keys, Bytes: g.Bytes, NoTTL: g.NoTTL})
	}
	for _, g := range undeclaredGroups(r.Undeclared.Suggestions) {
		t.group(g)
	}
	slices.SortStableFunc(t.Groups, func(a, b topGroup) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Pattern, b.Pattern))
	})
	t.Others = max(0, len(t.Groups)-o.limit)
	t.Groups = t.Groups[:len(t.Groups)-t.Others]
	if rest := r.Undeclared.Rest; rest != nil {
		t.Others += rest.Groups
	}
	t.OtherKeys, t.OtherBytes, t.OtherNoTTL = t.Keys, t.Bytes, t.NoTTL
	for _, g := range t.Groups {
		t.OtherKeys, t.OtherBytes, t.OtherNoTTL = t.OtherKeys-g.Keys, t.OtherBytes-g.Bytes, t.OtherNoTTL-g.NoTTL
	}
	return t
}

// undeclaredGroups returns the groups of undeclared keys; those of software that is known by its keys are one for each
// glob of it.
func undeclaredGroups(list []audit.Suggestion) (out []topGroup) {
	var seen []software.Observation
	for _, s := range list {
		seen = append(seen, software.Observation{Key: s.Example, Kind: mostOf(s.Types)})
	}
	products := slices.DeleteFunc(software.Found(seen), func(p software.Product) bool { return p.Ours })
	at := map[string]int{}
	for _, s := range list {
		g := topGroup{Pattern: s.Pattern, Type: mostOf(s.Types).String(), Keys: s.Keys, Bytes: s.Bytes, NoTTL: s.NoTTL}
		for _, p := range products {
			glob, ok := p.Has(s.Example)
			if i, known := at[glob]; ok && known {
				out[i].Keys, out[i].Bytes, out[i].NoTTL = out[i].Keys+s.Keys, out[i].Bytes+s.Bytes, out[i].NoTTL+s.NoTTL
				g.Keys = 0
				break
			} else if ok {
				at[glob] = len(out)
				g.Pattern, g.Product = glob, p.Name
				break
			}
		}
		if g.Keys > 0 {
			out = append(out, g)
		}
	}
	return out
}

// mostOf returns the type that most keys of a group have.
func mostOf(types map[string]int64) (most source.Kind) {
	for kind := range source.Kind(source.Kinds) {
		if types[kind.String()] > types[most.String()] {
			most = kind
		}
	}
	return most
}

func (t *TopReport) group(g topGroup) {
	if g.Keys == 0 {
		return
	}
	g.of(t)
	t.Groups = append(t.Groups, g)
}

// of sets the share of the whole.
func (g *topGroup) of(t *TopReport) {
	switch {
	case t.Bytes > 0:
		g.Share = float64(g.Bytes) / float64(t.Bytes)
	case t.Keys > 0:
		g.Share = float64(g.Keys) / float64(t.Keys)
	}
}

// others says what the last row sums up.
func (t *TopReport) others() string { return terminal.Plural(int64(t.Others), "more group") }

func printTop(a *cli.App, t *TopReport, o *topping) error {
	p := &reportTable{a.Out, &audit.Report{}, !t.NoBytes}
	a.Print("%s", readFrom(t.Server, t.Endpoint, t.Declaration))
	size := ", " + terminal.Bytes(t.Bytes)
	if t.NoBytes {
		size = ""
	}
	a.Print("%s%s\n", terminal.Plural(t.Keys, "key"), size)
	var rows [][]string
	for _, g := range t.Groups {
		rows = append(rows, []string{cmp.Or(g.Entry, g.Product, "–"), g.Pattern, g.Type, terminal.Count(g.Keys),
			terminal.Bytes(g.Bytes), terminal.Percent(g.Share), terminal.Bytes(g.Bytes / g.Keys), cli.CountOrNone(g.NoTTL)})
	}
	if t.OtherKeys > 0 {
		share := topGroup{Keys: t.OtherKeys, Bytes: t.OtherBytes}
		share.of(t)
		rows = append(rows, []string{"other", t.others(), "", terminal.Count(t.OtherKeys), terminal.Bytes(t.OtherBytes),
			terminal.Percent(share.Share), terminal.Bytes(t.OtherBytes / t.OtherKeys), cli.CountOrNone(t.OtherNoTTL)})
	}
	columns := []terminal.Column{{Title: "group", Least: 10, Drop: 3}, {Title: "pattern", Least: 24},
		{Title: "type", Drop: 2}, {Title: "keys", Right: true}, {Title: "bytes", Right: true},
		{Title: "share", Right: true}, {Title: "mean", Right: true, Drop: 1}, {Title: "no ttl", Right: true, Drop: 4}}
	if t.NoBytes {
		columns, rows = without(columns, rows, "mean")
	}
	if err := p.table(columns, rows); err != nil {
		return err
	}
	if t.Others > 0 {
		a.Print("and %s, which --limit %d leaves out\n", terminal.Plural(int64(t.Others), "more group"), o.limit)
	}
	if err := printLargest(a, t, p); err != nil {
		return err
	}
	for _, n := range t.Notes {
		a.Print("note: %s", finding.Printable(n))
	}
	if t.Estimated && !t.NoBytes {
		a.Print("bytes are an estimate of what MEMORY USAGE says")
	}
	if t.Sampled {
		a.Print("sample: the figures are of %s, not of all", terminal.Plural(t.Keys, "key"))
	}
	if !t.Complete {
		a.Print("%s", a.Out.Paint(terminal.Red, "INCOMPLETE: "+finding.Printable(t.Incomplete.String())))
	}
	return nil
}

func printLargest(a *cli.App, t *TopReport, p *reportTable) error {
	var rows [][]string
	for _, k := range t.Largest {
		row := []string{finding.Key(k.Key), k.Type, "", "", terminal.Bytes(k.Bytes), "", "never", k.Entry}
		if k.Facts != nil {
			row[2], row[3] = k.Encoding, cli.CountOrNone(max(k.Elements, 0))
			if k.Idle >= 0 {
				row[5] = terminal.Duration(time.Duration(k.Idle) * time.Second)
			}
		}
		if k.TTL != nil {
			row[6] = terminal.Duration(audit.Duration(*k.TTL))
		}
		rows = append(rows, row)
	}
	title := map[string]string{"bytes": "largest keys", "idle": "keys idle for longest",
		"elements": "keys with most elements", "stored": "keys with most bytes on disk"}[t.By]
	if len(rows) == 0 && t.Keys > 0 && (t.By != "bytes" || !t.NoBytes) {
		a.Print("no key tells its %s here: only a snapshot does, and idle times only where the server keeps them\n", t.By)
	}
	return p.table(filled([]terminal.Column{{Title: title, Least: 24}, {Title: "type"}, {Title: "encoding", Drop: 1},
		{Title: "elements", Right: true, Drop: 2}, {Title: "bytes", Right: true},
		{Title: "idle", Right: true, Drop: 3}, {Title: "ttl", Right: true, Drop: 4}, {Title: "entry", Drop: 5}}, rows))
}

// filled leaves out the columns that say nothing: a scan for bytes asks for no encodings.
func filled(columns []terminal.Column, rows [][]string) (left []terminal.Column, cells [][]string) {
	cells = make([][]string, len(rows))
	for i, c := range columns {
		if i > 0 && !slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		left = append(left, c)
		for r, row := range rows {
			cells[r] = append(cells[r], row[i])
		}
	}
	return left, cells
}
