package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/group"
)

// reportTable represents the report of an audit for people: what was read, the findings,
// what is not declared, a table of the entries, the largest keys, and last what the
// figures are worth and the verdict.
type reportTable struct {
	s     *terminal.Screen
	r     *audit.Report
	bytes bool // sizes were asked for
}

func (t *reportTable) print(o finding.Options) error {
	t.head()
	if len(t.r.Findings) > 0 {
		fmt.Fprintf(t.s, "%s: %s\n\n", t.s.Paint(terminal.Bold, "Findings"), finding.Summary(t.r.Summary))
		if err := finding.Text(t.s, t.r.Findings, o); err != nil {
			return err
		}
		fmt.Fprintln(t.s)
	}
	for _, step := range []func() error{t.suggestions, t.entries, t.foreign, t.largest} {
		if err := step(); err != nil {
			return err
		}
	}
	t.worth()
	return t.Verdict()
}

func (t *reportTable) head() {
	r := t.r
	fmt.Fprintln(t.s, readFrom(r.Server, r.Endpoint, r.Declaration))
	size := ""
	if t.bytes {
		size = ", " + terminal.Bytes(r.Total.Bytes)
	}
	fmt.Fprintf(t.s, "%s in %s%s, read in %s (%s keys/s)\n\n", terminal.Plural(r.Total.Keys, "key"),
		terminal.Plural(int64(r.Databases), "database"), size,
		terminal.Duration(audit.Duration(r.Seconds)), terminal.Count(int64(float64(r.Total.Keys)/max(r.Seconds, 0.001))))
}

// readFrom returns the first line of a report that only reads: the server, and the declaration it is held against.
func readFrom(server, endpoint, declaration string) string {
	line := finding.Printable(server) + " at " + finding.Printable(endpoint)
	if declaration == "" {
		return line + ", no declaration"
	}
	return line + ", declared by " + finding.Printable(declaration)
}

// table prints a table and a blank line, or nothing when there are no rows.
func (t *reportTable) table(columns []terminal.Column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if !t.bytes {
		columns, rows = without(columns, rows, "bytes")
	}
	if err := terminal.Table(t.s, columns, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.s)
	return err
}

func without(columns []terminal.Column, rows [][]string, title string) ([]terminal.Column, [][]string) {
	i := slices.IndexFunc(columns, func(c terminal.Column) bool { return c.Title == title })
	if i < 0 {
		return columns, rows
	}
	for j := range rows {
		rows[j] = slices.Delete(rows[j], i, i+1)
	}
	return slices.Delete(columns, i, i+1), rows
}

// figureColumns returns the columns of figures.
func figureColumns() []terminal.Column {
	return []terminal.Column{{Title: "keys", Right: true}, {Title: "bytes", Right: true},
		{Title: "share", Right: true, Drop: 1}, {Title: "no ttl", Right: true}, {Title: "ttl p50–max"}}
}

func figures(f audit.Figures) []string {
	ttl, none := "", ""
	if f.TTL != nil {
		ttl = terminal.Duration(audit.Duration(f.TTL.P50))
		if last := terminal.Duration(audit.Duration(f.TTL.Max)); last != ttl {
			ttl += "–" + last
		}
	}
	if f.NoTTL > 0 {
		none = terminal.Count(f.NoTTL)
	}
	return []string{terminal.Count(f.Keys), terminal.Bytes(f.Bytes), terminal.Percent(f.Share), none, ttl}
}

func (t *reportTable) entries() error {
	var rows [][]string
	empty := 0
	for _, e := range t.r.Entries {
		if e.Keys == 0 {
			empty++
			continue
		}
		rows = append(rows, slices.Concat([]string{e.Name, e.Pattern, e.Type}, figures(e.Figures),
			[]string{lookedAt(e.Values), violations(e.Violations)}))
	}
	for _, e := range t.r.Legacy {
		if e.Keys > 0 {
			rows = append(rows, slices.Concat([]string{e.Name + " (old name)", e.Pattern, ""}, figures(e.Figures),
				[]string{"", violations(e.Violations)}))
		}
	}
	columns := columnsOfEntries()
	slices.SortStableFunc(rows,
		func(a, b []string) int { return violated(a[len(columns)-1]) - violated(b[len(columns)-1]) })
	if t.r.Values == nil {
		columns, rows = without(columns, rows, "looked at")
	}
	if err := t.table(columns, rows); err != nil {
		return err
	}
	switch {
	case empty > 0 && (!t.r.Complete || t.r.Sampled):
		fmt.Fprintf(t.s, "of %s no key was seen, but not all keys were looked at\n\n",
			terminal.Plural(int64(empty), "declared pattern"))
	case empty > 0:
		fmt.Fprintf(t.s, "%s without keys\n\n", terminal.Plural(int64(empty), "declared pattern"))
	}
	return nil
}

// lookedAt returns a cell: how many elements of how many.
func lookedAt(v *audit.Coverage) string {
	switch {
	case v == nil || v.Keys == 0:
		return ""
	case v.All():
		return "all " + terminal.Count(v.Elements)
	case v.Elements == 0:
		return "none of " + terminal.Plural(v.Unread, "key")
	}
	return terminal.Count(v.Looked) + " of " + terminal.Count(v.Elements)
}

// values says how much of the values was looked at: a verdict is worth no more.
func (t *reportTable) values() string {
	v := t.r.Values
	switch {
	case v == nil:
		return "no value was looked at (--values)"
	case v.Keys == 0:
		return "no key has a declared value to look at"
	case v.All():
		return "all of " + terminal.Plural(v.Elements, "element") + " of values were looked at"
	case v.Elements == 0:
		return "no value of " + terminal.Plural(v.Unread, "key") + " could be read"
	}
	line := fmt.Sprintf("%s of %s of values were looked at (%s)", terminal.Count(v.Looked),
		terminal.Plural(v.Elements, "element"), terminal.Percent(v.Share))
	if v.Unread > 0 {
		line += fmt.Sprintf(", none of %s", terminal.Plural(v.Unread, "key"))
	}
	return line
}

// seen says of which keys the verdict is, where it is not of all.
func (t *reportTable) seen() string {
	r, out := t.r, ""
	if r.Filtered > 0 {
		out = " of " + terminal.Count(r.Total.Keys+r.Filtered)
	}
	if r.Sampled {
		out += ", a sample of " + terminal.Count(r.Expected)
	}
	return out
}

// columnsOfEntries returns the columns of the table of entries.
func columnsOfEntries() []terminal.Column {
	return slices.Concat([]terminal.Column{{Title: "entry", Least: 24}, {Title: "pattern", Least: 18, Drop: 3},
		{Title: "type", Drop: 2}},
		figureColumns(),
		[]terminal.Column{{Title: "looked at", Right: true},
			{Title: "violations", Least: 10, Wrap: true, Style: terminal.Red}})
}

// violated puts rows with violations before the others.
func violated(cell string) int {
	if cell == "" {
		return 1
	}
	return 0
}

func violations(v map[string]int64) string {
	var out []string
	for _, code := range slices.Sorted(maps.Keys(v)) {
		out = append(out, code+"×"+terminal.Count(v[code]))
	}
	return strings.Join(out, ", ")
}

func (t *reportTable) foreign() error {
	var rows [][]string
	for _, g := range t.r.Foreign {
		if g.Keys > 0 {
			rows = append(rows, append([]string{g.Glob}, figures(g.Figures)...))
		}
	}
	return t.table(append([]terminal.Column{{Title: "foreign, not judged", Least: 20}}, figureColumns()...), rows)
}

// shownSuggestions says how many groups of undeclared keys the table lists.
const shownSuggestions = 15

func (t *reportTable) suggestions() error {
	all := t.r.Undeclared.Suggestions
	var rows [][]string
	var folds []string
	for _, s := range all[:min(len(all), shownSuggestions)] {
		f := figures(s.Figures)
		meant := ""
		switch {
		case s.Near != nil:
			meant = s.Near.Pattern
		case s.Slip:
			meant = "a mistake of the writer"
		}
		rows = append(rows, []string{s.Pattern, strings.Join(slices.Sorted(maps.Keys(s.Types)), ","), f[0], f[1], f[3],
			finding.Key(s.Example), string(s.Confidence), meant})
		for _, fold := range s.Folded {
			folds = append(folds, foldLine(s.Pattern, fold))
		}
	}
	columns := []terminal.Column{{Title: "undeclared, as patterns", Least: 24}, {Title: "type", Drop: 1},
		{Title: "keys", Right: true}, {Title: "bytes", Right: true}, {Title: "no ttl", Right: true, Drop: 2},
		{Title: "example", Least: 16, Drop: 3}, {Title: "sure", Drop: 4}, {Title: "meant?", Least: 16,
			Style: terminal.Yellow}}
	if err := t.table(columns, rows); err != nil {
		return err
	}
	if err := t.folds(folds); err != nil {
		return err
	}
	more := all[len(rows):]
	rest := t.rest()
	if rest.Groups += len(more); rest.Groups == 0 {
		return nil
	}
	for _, s := range more {
		rest.Keys, rest.Bytes = rest.Keys+s.Keys, rest.Bytes+s.Bytes
	}
	how := "-o json lists them"
	if left := t.rest().Groups; left > 0 {
		how = fmt.Sprintf("-o json lists %s of all, --groups %d all of them", terminal.Count(int64(len(all))),
			min(left+len(all), maxKept))
	}
	_, err := fmt.Fprintf(t.s, "and %s in %s: %s\n\n", t.amount(rest),
		terminal.Plural(int64(rest.Groups), "more group"), how)
	return err
}

// shownFolds says how many placeholders are explained.
const shownFolds = 5

// folds says which words became placeholders.
func (t *reportTable) folds(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	if more := len(lines) - shownFolds; more > 0 {
		lines = append(lines[:shownFolds:shownFolds], fmt.Sprintf("and %s, which -o json explains",
			terminal.Plural(int64(more), "more placeholder")))
	}
	_, err := io.WriteString(t.s, strings.Join(lines, "\n")+"\n\n")
	return err
}

// foldLine says which words became a placeholder.
func foldLine(pattern string, f group.Fold) string {
	names := strings.Join(f.Names, ", ")
	if f.Words > len(f.Names) {
		names += ", …"
	}
	return fmt.Sprintf("%s in %s: %s, %s", f.Placeholder, finding.Printable(pattern), terminal.Plural(int64(f.Words),
		"word"),
		finding.Printable(names))
}

func (t *reportTable) largest() error {
	var rows [][]string
	for _, k := range t.r.Largest {
		rows = append(rows, []string{finding.Key(k.Key), k.Type, terminal.Bytes(k.Bytes), k.Entry})
	}
	if !t.bytes {
		return nil
	}
	return t.table([]terminal.Column{{Title: "largest keys", Least: 24}, {Title: "type"}, {Title: "bytes", Right: true},
		{Title: "entry", Least: 16}}, rows)
}

// amount says how many keys there are in what is not listed, and their bytes.
func (t *reportTable) amount(rest audit.Rest) string {
	out := terminal.Plural(rest.Keys, "key")
	if t.bytes {
		out += " (" + terminal.Bytes(rest.Bytes) + ")"
	}
	return out
}

// rest returns what the report leaves out of the undeclared keys.
func (t *reportTable) rest() audit.Rest {
	if t.r.Undeclared.Rest == nil {
		return audit.Rest{}
	}
	return *t.r.Undeclared.Rest
}

// worth says what the figures are worth.
func (t *reportTable) worth() {
	r, p := t.r, func(format string, args ...any) { fmt.Fprintf(t.s, format+"\n", args...) }
	for _, n := range r.Notes {
		p("note: %s", finding.Printable(n))
	}
	switch {
	case r.Sampled:
		p("sample: the figures are of %s from random places, not of all %s", terminal.Plural(r.Total.Keys+r.Filtered, "key"),
			terminal.Count(r.Expected))
	case r.MaxRepeats > 0:
		share := float64(r.MaxRepeats) / float64(max(r.Total.Keys, 1))
		p("SCAN may repeat a key: at most %s (%s) are counted twice, if none was deleted meanwhile",
			terminal.Count(r.MaxRepeats), terminal.Percent(share))
	case r.Complete && r.Estimated:
		p("a snapshot: each key is counted once")
	case r.Complete:
		p("each key was counted once, unless keys were deleted meanwhile")
	}
	if r.Gone > 0 {
		p("%s expired or were deleted while they were looked at", terminal.Plural(r.Gone, "key"))
	}
	if r.Expired > 0 {
		p("%s had expired when the snapshot was made, and are not counted", terminal.Plural(r.Expired, "key"))
	}
	if r.Estimated && t.bytes {
		p("bytes are an estimate of what MEMORY USAGE says")
	}
	if r.Filtered > 0 {
		p("%s left out by --include and --exclude", terminal.Plural(r.Filtered, "key"))
	}
}

// scope says of what the findings are: how many keys and elements, and what is left out.
func (t *reportTable) scope() string {
	out := terminal.Plural(t.r.Total.Keys, "key") + t.seen() + "; " + t.values()
	if rest := t.rest(); rest.Groups > 0 {
		out += fmt.Sprintf("; not listed: %s of undeclared keys with %s", terminal.Plural(int64(rest.Groups), "group"),
			terminal.Plural(rest.Keys, "key"))
	}
	return out
}

// Verdict returns the last line: it alone says whether all is well.
func (t *reportTable) Verdict() error {
	r := t.r
	var line string
	switch {
	case r.Verdict == "incomplete":
		line = t.s.Paint(terminal.Red, "INCOMPLETE: "+finding.Printable(r.Incomplete.String()))
		line += "\nseen so far: " + finding.Summary(r.Summary)
	case r.Verdict == "clean":
		line = t.s.Paint(terminal.Green,
			fmt.Sprintf("Clean: %s%s as declared; %s.", terminal.Plural(r.Total.Keys, "key"), t.seen(), t.values()))
	case r.Verdict == "accepted":
		line = t.s.Paint(terminal.Bold, fmt.Sprintf("Nothing new on %s%s: %s accepted by the baseline%s.",
			terminal.Plural(r.Total.Keys, "key"), t.seen(), terminal.Plural(int64(r.Baseline.Accepted), "finding"),
			declare.ViolationsOf(r.Baseline.Violations)))
		line += "\n" + t.values()
	default:
		read := "Complete"
		if r.Sampled {
			read = terminal.Plural(r.Total.Keys, "key") + t.seen()
		}
		line = t.s.Paint(terminal.Bold, read+": "+finding.Summary(r.Summary)+"; "+t.values())
	}
	if rest := t.rest(); rest.Groups > 0 {
		line += fmt.Sprintf("\nNot in this report: %s of undeclared keys with %s (--groups %d lists them).",
			terminal.Plural(int64(rest.Groups), "group"),
			t.amount(rest), min(rest.Groups+len(t.r.Undeclared.Suggestions), maxKept))
	}
	_, err := io.WriteString(t.s, line+"\n")
	return err
}
