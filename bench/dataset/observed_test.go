package dataset

import (
	"bytes"
	"maps"
	"testing"
)

func TestDiff(t *testing.T) {
	m := write(t, &bytes.Buffer{}, Options{Keys: 50_000, Seed: 1})
	exact := func() Observed {
		o := Observed{Keys: 50_000, Undeclared: m.Undeclared, UndeclaredOwned: m.UndeclaredOwned, Foreign: m.Foreign,
			Entries: map[string]EntryTruth{}}
		for _, e := range m.Entries {
			o.Entries[e.Name] = EntryTruth{Name: e.Name, Keys: e.Keys, Violations: maps.Clone(e.Violations)}
		}
		return o
	}
	if d := m.Diff(exact()); d != nil {
		t.Errorf("an exact report differs: %v", d)
	}
	spoil := map[string]func(*Observed){
		"one key short":           func(o *Observed) { o.Keys-- },
		"one undeclared too many": func(o *Observed) { o.Undeclared++ },
		"one foreign too many":    func(o *Observed) { o.Foreign++ },
		"one owned too few":       func(o *Observed) { o.UndeclaredOwned-- },
		"unheard-of violation":    func(o *Observed) { o.Entries["cart"].Violations["KW999"]++ },
		"entry missing":           func(o *Observed) { delete(o.Entries, "cart") },
		"entry invented":          func(o *Observed) { o.Entries["ghost"] = EntryTruth{Keys: 1} },
		"one violation short":     func(o *Observed) { o.Entries["cart"].Violations[MissingTTL]-- },
		"one false violation":     func(o *Observed) { o.Entries["cart"].Violations[UnexpectedTTL]++ },
	}
	for name, change := range spoil {
		o := exact()
		change(&o)
		if m.Diff(o) == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}
