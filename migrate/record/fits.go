package record

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// reads is nil if the declaration would read a record from a place as it is: a match with its
// captures and the value that is there. Every writer asks it, so that nothing is written that no
// move gives back. The error is a *Reject.
func (mv *Move) reads(m *Match, r *Record) error {
	if name := mv.exceptOf(m); name != "" {
		return mv.fault(r, "except leaves out the {%s} that it has: no file gives it back", name)
	}
	got, err := mv.fromPlace(m, r)
	if err != nil {
		return err
	}
	if err := mv.end(m, got); err != nil {
		return mv.unread(r, err)
	}
	return nil
}

// fromPlace makes the record of a match, without the time at which it ends, and is an error if it is another
// one than r.
func (mv *Move) fromPlace(m *Match, r *Record) (*Record, error) {
	if m.Raw != nil {
		opt := Options{}.filled()
		if int64(len(m.Raw)) > opt.MaxRecord {
			return nil, mv.fault(r, "it has more than the %d bytes that are read of one record", opt.MaxRecord)
		}
		if _, err := checkedBelow(m.Raw, mv.path.depth); err != nil {
			return nil, mv.unread(r, err)
		}
	}
	got, err := mv.identify(m)
	if err == nil {
		err = mv.stored(m, got)
	}
	if err != nil {
		return nil, mv.unread(r, err)
	}
	if got.Key != r.Key || got.Sub != r.Sub {
		return nil, mv.fault(r, "the file would give it back as another record")
	}
	bare := *mv
	bare.rules = nil // the whole value must come back, also what a comparison ignores
	for _, d := range bare.Compare(got, r, time.Time{}, 0) {
		if d.Kind != DiffEnd {
			return nil, mv.fault(r, "the file would give back another value (%s%s)", d.Path, " "+string(d.Kind))
		}
	}
	return got, nil
}

// unread returns why a record would not be read again.
func (mv *Move) unread(r *Record, err error) error {
	var bad *Reject
	var damaged *Error
	switch {
	case errors.As(err, &bad):
		return mv.fault(r, "the file would not give it back: %s", bad.Reason)
	case errors.As(err, &damaged):
		return mv.fault(r, "the file could not be read any more: %s", damaged.Message)
	}
	return err
}

// exceptOf returns the capture by which the move leaves a match out, "" if it does not.
func (mv *Move) exceptOf(m *Match) string {
	for name, texts := range mv.Except {
		if slices.Contains(texts, m.capture(name)) {
			return name
		}
	}
	return ""
}

// Fits is nil if a file can have a record: it is of the declared types, and the declaration would read it
// from its place again. What only the document, or a hash that keeps names, says is not looked at.
// The error is a *Reject.
func (mv *Move) Fits(r *Record) error {
	wants, err := mv.wants(r, nil)
	if err != nil {
		return err
	}
	m := &Match{Source: mv.Source, Place: r.Place, path: &node{}, file: Captures{}}
	for _, name := range mv.Captures() {
		w := wants[name]
		if w == nil || !w.Known {
			continue
		}
		if !utf8.ValidString(w.Text) {
			return mv.fault(r, "{%s} would be no UTF-8", name)
		}
		if limit := (Options{}).filled().MaxName; len(w.Text) > limit {
			return mv.fault(r, "{%s} has more than the %d bytes of a member's name", name, limit)
		}
		m.file[name] = w.Text
	}
	if name := mv.exceptOf(m); name != "" {
		return mv.fault(r, "except leaves out the {%s} that it has: no file gives it back", name)
	}
	unknown := func(name string) bool { _, known := m.file[name]; return !known }
	if !slices.ContainsFunc(mv.Source.File.Captures(), unknown) {
		if _, err := mv.fileOf(r, m.file); err != nil {
			return err
		}
	}
	for _, s := range mv.slots() {
		for _, ref := range s.Term.References() {
			if _, known := m.file[ref.Capture]; !s.Term.Back() || !ref.Whole && ref.Capture != "" && !known {
				return nil // the document says it, or a hash that keeps names
			}
		}
	}
	if m.Raw, err = mv.apply(m, &jsontext.Style{Colon: ": ", Comma: " ", Unit: "  "}, nil, r); err != nil {
		return err
	}
	if !mv.ofValue() {
		m.Raw = nil
	}
	got, err := mv.fromPlace(m, r)
	if err != nil {
		return err
	}
	return mv.unread(r, mv.end(m, got))
}

// Holds is nil if a document gives back what edits have made of it, but for those that were refused: it can be
// read, and each record that was set is there with its value. The error is an *Error or a *Reject.
func (s *Source) Holds(in io.Reader, file string, edits []Edit, refused func(ID) bool, opt Options) error {
	wanted, order := map[ID]*written{}, []ID{}
	moves := map[*Move]bool{}
	for _, e := range edits {
		id := listID(e.Record)
		if refused(id) {
			continue
		}
		if wanted[id] == nil {
			wanted[id], order = &written{}, append(order, id)
		}
		w := wanted[id]
		if moves[e.Record.Move] = true; !isList(e.Record.Move) {
			w.records = nil
		}
		if !e.Delete {
			w.records = append(w.records, e.Record)
		}
	}
	for _, w := range wanted {
		slices.SortStableFunc(w.records, func(a, b *Record) int { return int(a.Place - b.Place) })
	}
	_, err := s.Read(in, file, opt, func(m *Match) error {
		for _, mv := range m.Moves {
			if !moves[mv] {
				continue
			}
			got, err := mv.identify(m)
			if err != nil {
				continue
			}
			w := wanted[listID(got)]
			if w == nil || len(w.records) == 0 {
				continue // what is deleted may be there as a part of another record
			}
			r := w.records[min(w.found, len(w.records)-1)]
			if isList(mv) && w.found >= len(w.records) {
				return mv.fault(r, "the file would give it back with more elements")
			}
			w.found++
			if err := mv.reads(m, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range order {
		if w := wanted[id]; w.found < len(w.records) {
			return w.records[0].Move.fault(w.records[0], "the file would not give it back")
		}
	}
	return nil
}

// written represents the records of an ID that a document must give back.
type written struct {
	records []*Record
	found   int
}

// listID returns the ID of a record; of an element, that of its list.
func listID(r *Record) ID {
	id := r.ID()
	if isList(r.Move) {
		id.Sub = ""
	}
	return id
}

// fault returns a record that cannot be written into a document.
func (mv *Move) fault(r *Record, format string, args ...any) error {
	sum := r.Digest()
	return &Reject{Move: mv, At: r.At, Reason: fmt.Sprintf(format, args...), Key: r.Key, Sub: r.Sub,
		Digest: hex.EncodeToString(sum[:8]), id: listID(r), known: true}
}

func isList(mv *Move) bool {
	return mv.Kind == keyspace.ElementRecord || mv.Kind == keyspace.EntryRecord || mv.Kind == keyspace.JobRecord
}
