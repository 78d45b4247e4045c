package transfer

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/saving"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// VerifyReport describes how two places compare; its JSON names are stable.
type VerifyReport struct {
	A           verifiedPlace         `json:"a"`
	B           verifiedPlace         `json:"b"`
	Same        bool                  `json:"same"`     // nothing differs, and everything was seen
	Complete    bool                  `json:"complete"` // everything was seen
	Incomplete  source.Reasons        `json:"incomplete,omitempty"`
	Total       compare.Figures       `json:"total"`
	Entries     []verifiedPart        `json:"entries"`
	Differences []change.DifferingKey `json:"differences,omitempty"` // the first of them
	More        int64                 `json:"more_differences,omitempty"`
	Unread      int64                 `json:"unread,omitempty"` // keys that were compared by the digests of their entries
	DurationMS  int64                 `json:"duration_ms"`

	Libraries *compare.Libraries `json:"libraries,omitempty"` // of functions; absent: they were not compared
}

// verifiedPlace is one of the two places.
type verifiedPlace struct {
	Name   string   `json:"name"` // a file, or the address of a server
	Kind   string   `json:"kind"` // server, archive or snapshot
	Server string   `json:"server,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// verifiedPart describes how the keys of one entry compare.
type verifiedPart struct {
	Entry string `json:"entry"` // "" for keys that no entry declares
	compare.Figures
}

func (v *verifyRun) report(r *compare.Report, failed error) *VerifyReport {
	out := &VerifyReport{Total: r.Figures, More: r.More, Entries: []verifiedPart{},
		DurationMS: v.Now().Sub(v.started).Milliseconds()}
	out.A = verifiedPlace{v.sides[0].Name, v.sides[0].Kind, r.A.Server, r.A.Notes}
	out.B = verifiedPlace{v.sides[1].Name, v.sides[1].Kind, r.B.Server, r.B.Notes}
	for i, p := range []*verifiedPlace{&out.A, &out.B} {
		torn := saving.TornIn(v.sides[i].Torn, func(key []byte) bool { _, ok := v.sel.Moves(key); return ok })
		p.Notes = append(p.Notes, torn.Notes()...)
	}
	out.Incomplete = source.Reasons{}.Add(r.A.Incomplete...).Add(r.B.Incomplete...)
	if cut := (*archive.CutError)(nil); errors.As(failed, &cut) {
		out.Incomplete = out.Incomplete.Add(source.Why(source.Damaged, "", failed))
	} else if failed != nil {
		out.Incomplete = out.Incomplete.Add(source.Why(source.Failed, "", failed))
	}
	out.Complete = len(out.Incomplete) == 0
	out.Libraries, out.Unread = v.libraries, v.unread
	out.Same = out.Complete && r.Differ() == 0 && (v.libraries == nil || v.libraries.Differ() == 0)
	cli.EachEntry(v.sel.Names(), r.Entries, func(entry string, f *compare.Figures) {
		out.Entries = append(out.Entries, verifiedPart{entry, *f})
	})
	out.Differences = change.AllDiffering(v.sel.Names(), r.Named)
	return out
}

func (v *verifyRun) print(out *VerifyReport) error {
	a := v.App
	var rows [][]string
	for _, p := range out.Entries {
		if p.Figures == (compare.Figures{}) { // neither place has a key of it
			continue
		}
		rows = append(rows, []string{cmp.Or(p.Entry, cli.UndeclaredName), terminal.Count(p.Keys), cli.CountOrNone(p.Same),
			cli.CountOrNone(p.Missing), cli.CountOrNone(p.Extra), cli.CountOrNone(p.Type + p.Value), cli.CountOrNone(p.TTL),
			cli.CountOrNone(p.Changing), cli.CountOrNone(p.Unclear), cli.CountOrNone(p.Expired),
			cli.CountOrNone(p.Momentary)})
	}
	red := func(title string) terminal.Column {
		return terminal.Column{Title: title, Right: true, Style: terminal.Red}
	}
	columns := []terminal.Column{{Title: "entry", Least: 20}, {Title: "keys", Right: true}, {Title: "same", Right: true},
		red("missing"), red("extra"), red("value"),
		red("ttl"), red("changing"), red("unclear"), {Title: "expired", Right: true}, {Title: "momentary", Right: true}}
	if err := a.PrintTable(columns, rows); err != nil {
		return err
	}
	tellDifferences(a, out.Differences, out.More, ": --keys-of all prints them")
	out.A.tellNotes(a)
	out.B.tellNotes(a)
	a.PrintKeys(out.Unread,
		"note: %s not read: the digests of their entries are equal. `keywright verify` reads them, too.")
	tellDifferentLibraries(a, out.Libraries)
	v.Verdict(out)
	return nil
}

// tellDifferences names the first keys that differ. more is how many are not in the list; how says what prints them.
func tellDifferences(a *cli.App, all []change.DifferingKey, more int64, how string) {
	shown := all[:min(len(all), 10)]
	for i := range shown {
		a.Print("%s", difference1(&shown[i]))
	}
	if more += int64(len(all) - len(shown)); more > 0 {
		a.Print("and %s more%s", terminal.Count(more), how)
	}
}

// tellNotes prints what is to be known of a place.
func (p *verifiedPlace) tellNotes(a *cli.App) {
	for _, n := range p.Notes {
		a.Print("note: %s: %s", finding.Printable(p.Name), finding.Printable(n))
	}
}

// difference1 returns a line about a key that differs.
func difference1(d *change.DifferingKey) string {
	expiry := func(at *time.Time) string {
		if at == nil {
			return "never"
		}
		return at.Format("2006-01-02T15:04:05.000Z07:00")
	}
	key := fmt.Sprintf("%s (database %d): ", finding.Key(d.Key), d.DB)
	switch compare.What(d.What) {
	case compare.Missing:
		return key + "is missing at B"
	case compare.Extra:
		return key + "is at B only"
	case compare.Type:
		return key + fmt.Sprintf("is a %s at A and a %s at B", d.TypeA, d.TypeB)
	case compare.TTL:
		return key + fmt.Sprintf("expires %s at A and %s at B", expiry(d.ExpiresA), expiry(d.ExpiresB))
	case compare.Changing:
		return key + "was written to each time it was read"
	case compare.Unclear:
		return key + "could not be compared: " + finding.Printable(d.Reason)
	}
	return key + "has another value"
}

func (v *verifyRun) Verdict(out *VerifyReport) {
	a, t := v.App, out.Total
	took := terminal.Duration(time.Duration(out.DurationMS) * time.Millisecond)
	if !out.Complete {
		a.PrintIncomplete(out.Incomplete.String())
	}
	switch n := t.Differ(); {
	case n > 0:
		a.PrintAs(terminal.Red, "%s of %s differ (%s).", terminal.Count(n), terminal.Plural(t.Keys, "key"), took)
	case out.Complete && !out.Same:
		a.PrintAs(terminal.Red, "%s are the same; libraries of functions that differ: %s (%s).",
			terminal.Plural(t.Same, "key"), terminal.Count(out.Libraries.Differ()), took)
	case out.Complete:
		a.PrintAs(terminal.Green, "The same: %s, in %s.", terminal.Plural(t.Same, "key"), took)
	default:
		a.Print("%s that were seen are the same.", terminal.Plural(t.Same, "key"))
	}
}
