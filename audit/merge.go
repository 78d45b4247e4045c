package audit

import (
	"encoding/json"
	"fmt"

	"github.com/keywright/keywright/source"
)

// Merge adds what another audit has made of other keys, by its State: the report is then
// that of one audit of all of them. The other must have the same declaration and options.
// The groups of undeclared keys are exact as long as no sketch had to fold words for want of
// memory; the report has a note where one did. Values of which only a part has come are not judged.
func (a *Audit) Merge(text []byte) error {
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the state of the audit cannot be read: %w", err)
	}
	if err := a.fits(&s); err != nil {
		return err
	}
	for i, item := range s.Items {
		var o stat
		item.restore(&o)
		a.stats[i].merge(&o, a.opt.Examples)
	}
	var stray stat
	s.Stray.restore(&stray)
	a.stray.merge(&stray, a.opt.Examples)
	total := s.Total.figures()
	a.total.merge(&total)
	a.skipped += s.Skipped
	for _, g := range s.Groups {
		a.sketch.tree.Put(g.row())
	}
	for _, t := range s.Top {
		a.top.insert(t.top())
	}
	return nil
}

// fits returns an error if a state is not one of this declaration.
func (a *Audit) fits(s *state) error {
	if len(s.Items) != len(a.stats) || s.Groups == nil {
		return ErrOtherState
	}
	for _, g := range s.Groups {
		if g.Figures.Keys < 1 || g.Space >= len(a.items) {
			return ErrOtherState
		}
	}
	for _, t := range s.Top {
		if t.Item >= len(a.items) || int(t.Kind) >= source.Kinds {
			return ErrOtherState
		}
	}
	return nil
}

func (t *topState) top() *topKey {
	k := source.Key{Name: t.Key.Key, DB: t.Key.DB, Kind: t.Kind, TTL: t.TTL, Bytes: t.Bytes, Size: t.Size}
	return &topKey{k, t.Facts, t.Rank, t.Item}
}

// merge adds what is counted of other keys of the same item.
func (s *stat) merge(o *stat, keep int) {
	s.figures.merge(&o.figures)
	for kind, n := range o.wrong {
		s.wrong[kind] += n
	}
	for v := range o.marks {
		s.marks[v].merge(&o.marks[v], keep)
	}
	for _, f := range o.value {
		s.faulty(keyFault{f.code, f.message, f.pos}, f.mark, keep)
	}
	s.values.add(o.values)
}

func (m *mark) merge(o *mark, keep int) {
	m.count += o.count
	for _, e := range o.examples {
		m.examples = keepSmallest(m.examples, &source.Key{DB: e.DB, Name: e.Key}, keep)
	}
}
