package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source/archive/compare"
	"github.com/spf13/cobra"
)

// telling are the flags of archive diff.
type telling struct {
	selecting
	unlocking
	null   bool
	output string
}

func (a *app) archiveDiffCommand() *cobra.Command {
	var o telling
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in which keys two archives differ",
		Long: `Compares two archives: keys that B lacks (missing) or A lacks (extra), other values,
other expiries. Values are compared whatever their encodings, and the order of what has
none. Entries whose digests are equal are not read.

With --null it prints the names of the keys that differ, each with a NUL byte after it;
-o jsonl prints an object for each.

` + selectionHelp + `

` + unlockHelp + `

Exit codes: 0 equal, 1 they differ, 2 usage or no archive, 5 an archive is not whole,
130 interrupted.`,
		Example: `  keywright archive diff monday.kwa tuesday.kwa
  keywright archive diff monday.kwa tuesday.kwa --entry user --null | xargs -0 -n1 echo`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == "" || args[1] == "" {
				return usage("name them: `keywright archive diff A B`", "archive diff takes two archives")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.archiveDiff(c.Context(), args[0], args[1], &o) },
	}
	a.namespaceFlag(c)
	o.selecting.flags(c)
	o.unlocking.flags(c)
	c.Flags().BoolVar(&o.null, "null", false, "print the names of keys that differ, each with a NUL byte after it")
	outputs(c, &o.output, "table", "json", "jsonl")
	return c
}

// diffReport is in how many keys two archives differ; its JSON names are stable.
type diffReport struct {
	A          string           `json:"a"`
	B          string           `json:"b"`
	Equal      bool             `json:"equal"`
	Incomplete []string         `json:"incomplete,omitempty"` // why not all was compared
	Total      compare.Counts   `json:"total"`
	Entries    []diffEntry      `json:"entries"`
	Examples   []archiveDiffKey `json:"examples"` // the first keys that differ
}

type diffEntry struct {
	Entry string `json:"entry"` // "" for keys that no entry declares
	compare.Counts
}

// archiveDiffKey is a key in which two archives differ, a line of JSON each.
type archiveDiffKey struct {
	Key     finding.JSONKey `json:"key"`
	Entry   string          `json:"entry,omitempty"`
	DB      int             `json:"db"`
	Missing bool            `json:"missing,omitempty"` // in B
	Extra   bool            `json:"extra,omitempty"`   // in B
	Value   bool            `json:"value,omitempty"`   // it has another value
	TTL     bool            `json:"ttl,omitempty"`     // it expires at another time
}

// what says it in words.
func (k *archiveDiffKey) what() string {
	switch {
	case k.Missing:
		return "missing"
	case k.Extra:
		return "extra"
	case k.Value && k.TTL:
		return "value and expiry"
	case k.TTL:
		return "expiry"
	}
	return "value"
}

// maxExamples is how many keys a report shows.
const maxExamples = 20

func (a *app) archiveDiff(ctx context.Context, pathA, pathB string, o *telling) error {
	if err := oneOf("output", o.output, "table", "json", "jsonl"); err != nil {
		return err
	}
	if o.null && o.output != "table" {
		return usage("leave one of them out", "--null and --output exclude each other")
	}
	if err := a.bare(o.null, "--null", "pipe it, as in `keywright archive diff A B --null | xargs -0 -n1 echo`"); err != nil {
		return err
	}
	sel, _, err := a.selection(&o.selecting)
	if err != nil {
		return err
	}
	keys := a.archiveKeys(ctx, &o.unlocking)
	r := &diffReport{A: pathA, B: pathB, Entries: []diffEntry{}, Examples: []archiveDiffKey{}}
	var both [2]*archivefile.Opened
	for i, path := range []string{pathA, pathB} {
		in, err := openWhole(path, keys)
		if err != nil {
			return err
		}
		defer in.Close()
		if both[i] = in; in.Cut != nil {
			r.Incomplete = append(r.Incomplete, fmt.Sprintf("%s: %v", path, in.Cut))
		}
	}
	defer frugal()()
	options := compare.Options{}
	if len(a.askedFor(&o.selecting)) > 0 {
		options.Wants = func(key []byte) bool { _, ok := sel.Of(key); return ok }
	}
	out := bufio.NewWriterSize(a.out.Raw(), 64<<10)
	report, err := compare.Archives(ctx, both[0].Archive, both[1].Archive, options, func(d compare.Difference) error {
		return a.diffKey(out, o, r, d)
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return &exit{exitPartial, err.Error(), "take other copies of the archives: `keywright archive verify` says which is damaged"}
	}
	r.Total, r.Equal = report.Counts, !report.Differs() && len(r.Incomplete) == 0
	for _, e := range report.Entries {
		r.Entries = append(r.Entries, diffEntry{e.Name, e.Counts})
	}
	return a.showCompared(r, o)
}

// diffKey tells one difference as it is found.
func (a *app) diffKey(out *bufio.Writer, o *telling, r *diffReport, d compare.Difference) (err error) {
	k := archiveDiffKey{Key: append(finding.JSONKey(nil), d.Key...), Entry: d.Entry, DB: d.DB, Missing: d.What == compare.Missing, Extra: d.What == compare.Extra,
		Value: d.What&compare.Value != 0, TTL: d.What&compare.TTL != 0}
	switch {
	case o.null:
		_, err = out.Write(append(k.Key, 0))
	case o.output == "jsonl":
		var line []byte
		if line, err = withVersion(k); err == nil {
			_, err = out.Write(finding.EscapeJSON(line))
		}
	case len(r.Examples) < maxExamples:
		r.Examples = append(r.Examples, k)
	}
	return err
}

// showCompared prints the report, and gives the exit code.
func (a *app) showCompared(r *diffReport, o *telling) error {
	var err error
	switch {
	case o.null, o.output == "jsonl":
		a.say("%s", r.sentence())
	case o.output == "json":
		err = a.json(r)
	default:
		err = a.printCompared(r)
	}
	switch {
	case err != nil:
		return err
	case len(r.Incomplete) > 0:
		return &exit{exitPartial, "not all was compared: " + strings.Join(r.Incomplete, "; "), "take other copies of the archives"}
	case !r.Equal:
		return &exit{code: exitFindings}
	}
	return nil
}

func (r *diffReport) sentence() string {
	if !r.Total.Differs() {
		return fmt.Sprintf("%s, all equal", terminal.Plural(r.Total.Same, "key"))
	}
	return fmt.Sprintf("%s differ, %s equal", terminal.Plural(r.Total.Missing+r.Total.Extra+r.Total.Changed, "key"), terminal.Count(r.Total.Same))
}

func (a *app) printCompared(r *diffReport) error {
	var rows [][]string
	for _, e := range r.Entries {
		name := e.Entry
		if name == "" {
			name = undeclaredName
		}
		rows = append(rows, []string{name, terminal.Count(e.Same), countOrNone(e.Missing), countOrNone(e.Extra), countOrNone(e.Value), countOrNone(e.TTL)})
	}
	if len(rows) > 0 {
		columns := []terminal.Column{{Title: "entry", Least: 20}, {Title: "equal", Right: true}, {Title: "missing", Right: true, Style: terminal.Red},
			{Title: "extra", Right: true, Style: terminal.Red}, {Title: "value", Right: true, Style: terminal.Red}, {Title: "expiry", Right: true, Style: terminal.Red}}
		if err := terminal.Table(a.out, columns, rows); err != nil {
			return err
		}
		a.tell("")
	}
	for i := range r.Examples {
		k := &r.Examples[i]
		a.tell("%s (database %d): %s", finding.Key(k.Key), k.DB, k.what())
	}
	if more := r.Total.Missing + r.Total.Extra + r.Total.Changed - int64(len(r.Examples)); more > 0 {
		a.tell("and %s more: --null or -o jsonl names all", terminal.Count(more))
	}
	style := terminal.Green
	if r.Total.Differs() {
		style = terminal.Red
	}
	a.tell("%s", a.out.Paint(style, r.sentence()+"."))
	return nil
}
