package datum

import (
	"slices"

	"github.com/keywright/keywright/keyspace/route"
)

// Want represents a capture that a record needs: its text, or, where that cannot be had
// back, what its conversion must give.
type Want struct {
	Text   string
	Known  bool
	Term   *route.Term
	Stored string
	Slot   *Slot
	Ask    func() ([]string, error) // for the texts that it may be; nil: nothing says them
}

// Find looks for the text among those that it may be. Two texts that have one conversion
// say nothing.
func (w *Want) Find(name string) error {
	if w.Known || w.Ask == nil {
		return nil
	}
	texts, err := w.Ask()
	if err != nil {
		return err
	}
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !w.Is(name, text) })
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) == 1 {
		w.Text, w.Known = texts[0], true
	}
	return nil
}

// Is reports whether a text is what is wanted.
func (w *Want) Is(name, text string) bool {
	if w.Known {
		return w.Text == text
	}
	d, reason := Eval(w.Term, captured{name, text})
	if reason != "" {
		return false
	}
	stored, there, reason := w.Slot.Store(d)
	return reason == "" && there && stored == w.Stored
}

// captured is a capture that has a text, and nothing else.
type captured struct{ name, text string }

// Refer returns the text of the capture.
func (c captured) Refer(t *route.Term) Datum {
	if t.Whole {
		return Datum{}
	}
	d := Datum{Kind: Spelled}
	if t.Capture == c.name {
		d.Text = c.text
	}
	return d
}

// Order returns the first place.
func (c captured) Order() int64 { return 0 }
