package htmlreport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// entries fills the table of what is declared. Its rows and those of the undeclared groups
// have the keys and bytes of the total.
func (v *view) entries() {
	all := slices.Clone(v.Report.Entries)
	slices.SortStableFunc(all,
		func(a, b audit.EntryRow) int { return min(1, len(b.Violations)) - min(1, len(a.Violations)) })
	for _, e := range all {
		v.row(kindOf(e), e.Name, e, "ttl "+e.Policy)
	}
	for _, e := range v.Legacy {
		v.row(kindOf(e), e.Name+" (old name)", e, "old name")
	}
	for _, g := range v.Foreign {
		v.row("foreign", g.Glob, audit.EntryRow{Name: "foreign", Pattern: g.Glob, Figures: g.Figures}, "not judged")
	}
	v.Sum = []string{terminal.Count(v.Total.Keys), v.size(v.Total.Bytes), terminal.Count(v.Total.NoTTL)}
}

// size returns a number of bytes, "" where sizes are not known.
func (v *view) size(bytes int64) string {
	if v.NoBytes {
		return ""
	}
	return terminal.Bytes(bytes)
}

func kindOf(e audit.EntryRow) string {
	if len(e.Violations) > 0 {
		return "violated"
	}
	return "entry"
}

// row adds a row, and its tiles.
func (v *view) row(kind, name string, e audit.EntryRow, policy string) {
	v.tile(tile{Name: name, Kind: kind, Anchor: v.Rows.anchor("r")}, e.Keys, e.Bytes)
	var broken []string
	for _, code := range slices.Sorted(maps.Keys(e.Violations)) {
		broken = append(broken, code+" × "+terminal.Count(e.Violations[code]))
	}
	left := ""
	if e.TTL != nil {
		left = terminal.Duration(audit.Duration(e.TTL.P50)) + " – " + terminal.Duration(audit.Duration(e.TTL.Max))
	}
	declared := strings.TrimPrefix(e.Type+", "+policy, ", ")
	v.Rows.add([]string{finding.Printable(e.Name), finding.Printable(e.Pattern), finding.Printable(declared),
		terminal.Count(e.Keys),
		v.size(e.Bytes), terminal.Percent(e.Share), terminal.Count(e.NoTTL), left, strings.Join(broken, ", ")}, e.Keys,
		e.Bytes)
}

// anchor returns the id of the next row, "" if there is no room for it.
func (t *table) anchor(of string) string {
	if len(t.Rows) == maxRows {
		return ""
	}
	return fmt.Sprintf("%s%d", of, len(t.Rows))
}

// undeclared fills the table of undeclared groups.
func (v *view) undeclared() {
	for _, s := range v.Undeclared.Suggestions {
		meant := ""
		if s.Near != nil {
			meant = s.Near.Pattern + " (" + s.Near.Entry + ")"
		}
		v.tile(tile{Name: s.Pattern, Kind: "undeclared", Anchor: v.Groups.anchor("g")}, s.Keys, s.Bytes)
		v.Groups.add([]string{finding.Printable(s.Pattern), strings.Join(slices.Sorted(maps.Keys(s.Types)), ", "),
			terminal.Count(s.Keys),
			v.size(s.Bytes), terminal.Count(s.NoTTL), finding.Key(s.Example), finding.Printable(meant)}, s.Keys, s.Bytes)
	}
	if rest := v.Undeclared.Rest; rest != nil {
		v.tile(tile{Name: terminal.Plural(int64(rest.Groups), "more group"), Kind: "undeclared"}, rest.Keys, rest.Bytes)
		g := &v.Groups
		g.Left, g.keys, g.bytes = g.Left+int64(rest.Groups), g.keys+rest.Keys, g.bytes+rest.Bytes
	}
}

// tile adds a tile to both pictures.
func (v *view) tile(t tile, keys, bytes int64) {
	t.Name = finding.Printable(t.Name)
	t.Note = strings.TrimSuffix(terminal.Plural(keys, "key")+", "+v.size(bytes), ", ")
	t.size = float64(keys)
	v.keys = append(v.keys, t)
	t.size = float64(bytes)
	v.bytes = append(v.bytes, t)
}

// pictures makes the treemaps.
func (v *view) pictures() {
	for _, p := range []struct {
		title string
		tiles []tile
		what  func(float64) string
	}{
		{"Memory", v.bytes, func(f float64) string { return terminal.Bytes(int64(f)) }},
		{"Keys", v.keys, func(f float64) string { return terminal.Plural(int64(f), "key") }},
	} {
		if tiles := treemap(p.tiles, p.what); len(tiles) > 0 {
			v.Maps = append(v.Maps, picture{p.title, mapWidth, mapHeight, tiles})
		}
	}
}

// facts say what was read, and what the figures are worth.
func (v *view) facts() {
	r := v.Report
	add := func(name, text string) {
		if text != "" {
			v.Facts = append(v.Facts, [2]string{name, finding.Printable(text)})
		}
	}
	add("Server", r.Server+" at "+r.Endpoint)
	add("Declaration", r.Declaration)
	add("Read", strings.TrimSuffix(fmt.Sprintf("%s in %s, %s", terminal.Plural(r.Total.Keys, "key"),
		terminal.Plural(int64(r.Databases), "database"), v.size(r.Total.Bytes)), ", "))
	if r.NoBytes {
		add("Bytes", "not known, not asked for or not permitted")
	}
	if r.Sampled {
		add("Sample", "the figures are of a sample, not of all "+terminal.Plural(r.Expected, "key"))
	}
	if r.Filtered > 0 {
		add("Left out", terminal.Plural(r.Filtered, "key")+" by --include and --exclude")
	}
	if r.MaxRepeats > 0 {
		add("Counted twice", "at most "+terminal.Plural(r.MaxRepeats, "key"))
	}
	if r.Estimated {
		add("Bytes", "an estimate, from a snapshot")
	}
	switch c := r.Values; {
	case c == nil:
		add("Values", "not looked at (--values)")
	default:
		add("Values", fmt.Sprintf("%s of %s looked at", terminal.Count(c.Looked), terminal.Plural(c.Elements, "element")))
	}
	for _, n := range r.Notes {
		add("Note", n)
	}
	if b := r.Baseline; b != nil && b.Accepted > 0 {
		add("Baseline", "accepts "+terminal.Plural(int64(b.Accepted), "finding"))
	}
	switch r.Verdict {
	case "incomplete":
		v.Says = "Incomplete: " + finding.Printable(r.Incomplete.String())
	case "clean":
		v.Says = "Clean: all keys that were read are as declared"
	case "accepted":
		v.Says = "Nothing new: the baseline accepts what is there"
	default:
		v.Says = finding.Summary(r.Summary)
	}
}
