package dataset

import (
	"fmt"
	"maps"
	"slices"
)

// Observed describes what an audit says about the dataset, whatever form its report
// has.
type Observed struct {
	Keys            int64
	Undeclared      int64
	UndeclaredOwned int64
	Foreign         int64
	Entries         map[string]EntryTruth
}

// Diff lists everything in which the audit differs from the truth; nothing
// when it is exact. An entry without keys may be missing from the report.
func (m *Manifest) Diff(o Observed) []string {
	var d []string
	compare := func(what string, got, want int64) {
		if got != want {
			d = append(d, fmt.Sprintf("%s: reported %d, planted %d", what, got, want))
		}
	}
	compare("keys", o.Keys, int64(m.Keys))
	compare("undeclared keys", o.Undeclared, m.Undeclared)
	compare("undeclared keys under owns", o.UndeclaredOwned, m.UndeclaredOwned)
	compare("foreign keys", o.Foreign, m.Foreign)
	unknown := maps.Clone(o.Entries)
	for _, truth := range m.Entries {
		got := o.Entries[truth.Name]
		delete(unknown, truth.Name)
		compare(truth.Name+": keys", got.Keys, truth.Keys)
		found := map[Violation]bool{WrongType: true, MissingTTL: true, TTLTooLong: true, UnexpectedTTL: true}
		for v := range got.Violations {
			found[v] = true // also what was never planted
		}
		for _, v := range slices.Sorted(maps.Keys(found)) {
			compare(truth.Name+": "+string(v), got.Violations[v], truth.Violations[v])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if unknown[name].Keys == 0 { // a key that a construct would keep, as a cache while it loads
			continue
		}
		d = append(d, fmt.Sprintf("%s: reported, but not an entry of the declaration", name))
	}
	return d
}
