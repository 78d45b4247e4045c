package record

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/keywright/keywright/migrate/record/internal/jsontext"
	"github.com/keywright/keywright/migrate/record/internal/scan"
)

// Rewrite copies a document with the edits done. An edit that changes nothing
// keeps the bytes of its record, and what no edit names is copied as it is. A
// match that several moves share is one thing in the document: it goes when an
// edit deletes one of its records and none sets another. A document without any
// byte becomes one that holds the edits.
//
// The result is only good if the error is nil: write it beside the document, and
// put it in its place then. An edit that cannot be written is a *Reject.
func (s *Source) Rewrite(out io.Writer, in io.Reader, file string, edits []Edit, names Names, opt Options) (Rewritten,
	error) {
	w, err := s.newWalker(in, file, opt)
	if err != nil {
		return Rewritten{}, err
	}
	e, err := newEditor(w, file, edits, names, opt.Refused)
	if err != nil {
		return Rewritten{}, err
	}
	w.edit, w.Out = e, &e.Output
	e.Output.To = out
	empty, err := w.empty()
	if err != nil {
		return Rewritten{}, err
	}
	if empty {
		return e.onlyEdits(w)
	}
	e.result.Stats, err = w.run()
	if err == nil {
		err = e.finish(w)
	}
	return e.result, err
}

// empty reports whether the document has nothing but white space.
func (w *walker) empty() (bool, error) {
	_, err := w.Peek()
	return w.Pos == len(w.Buf), err
}

// level describes what the editor knows of one open object or array.
type level struct {
	segment int64  // after the opening bracket or the last comma
	end     int64  // of the last value that is kept, or of the opening bracket
	kept    int    // values that are kept
	any     bool   // a value was there
	gone    bool   // the value under way was taken out
	went    int64  // the end of the last value that was taken out
	lead    []byte // the white space before the last name or value
	adds    []*addition
	ways    *ways       // of adds, once it is asked for
	blocked []*addition // whose way goes through the value under way
}

// editor does the edits of a rewrite while a document is read.
type editor struct {
	scan.Output
	jsontext.Style
	source *Source
	names  Names
	byID   map[ID]*pending
	all    []*pending
	adds   []*addition // of the whole document
	lost   map[joint][]*pending
	held   int // how many frames there are around the match that is held; -1: none
	result Rewritten

	walk    *walker
	refused func(*Reject) error
}

// pending represents one edit, or all edits of one list.
type pending struct {
	move    *Move
	records []*Record // none: deleted
	list    bool
	next    int   // of a list: the record for the next element
	place   int64 // of the element before
	done    bool
	refused bool
	lost    *addition // of a record whose place its key does not say
}

func newEditor(w *walker, file string, edits []Edit, names Names, refused func(*Reject) error) (*editor, error) {
	e := &editor{source: w.source, names: names, byID: map[ID]*pending{}, lost: map[joint][]*pending{}, held: -1,
		Style: jsontext.Style{Colon: ": ", Comma: " ", Unit: "  "}, walk: w, refused: refused}
	for i := range edits {
		if err := e.take(&edits[i], file); err != nil {
			return nil, err
		}
	}
	for _, p := range e.all {
		slices.SortStableFunc(p.records, func(a, b *Record) int { return int(a.Place - b.Place) })
		if len(p.records) == 0 || p.refused {
			continue
		}
		err := p.fits()
		if err == nil {
			err = e.locate(p)
		}
		if err != nil {
			err = e.refuse(p, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *editor) take(edit *Edit, file string) error {
	r := edit.Record
	if r == nil || r.Move == nil || r.Move.Source != e.source {
		return &Error{At: Position{File: file, Line: 1, Column: 1}, Message: "an edit is of another source",
			Err: errOtherFile}
	}
	list := isList(r.Move)
	p := e.byID[r.ID()]
	if p == nil {
		p = &pending{move: r.Move, list: list}
		e.byID[r.ID()], e.all = p, append(e.all, p)
		in, err := r.Move.FileOf(r, e.names)
		if err == nil && in != file {
			err = r.Move.fault(r, "the record belongs in another file")
		}
		if err != nil {
			return e.refuse(p, err)
		}
	}
	if !list {
		p.records = nil
	}
	if !edit.Delete {
		p.records = append(p.records, r)
	}
	return nil
}

// fits is nil if a file can have each record of an edit.
func (p *pending) fits() error {
	for _, r := range p.records {
		if err := p.move.Fits(r); err != nil {
			return err
		}
	}
	return nil
}

func (e *editor) level(w *walker) *level { return &w.frames[len(w.frames)-1].edits }

// open notes a new object or array; its bracket was read.
func (e *editor) open(w *walker) {
	l := e.level(w)
	outer := len(w.frames) - 1
	*l = level{segment: w.Offset(), end: w.Offset(), adds: e.passed(w, outer)}
	if outer > 0 {
		w.frames[outer-1].edits.blocked = nil
	}
	e.anchor(w)
}

// anchor holds the bytes from the last value that is kept on, where something may
// be put in or taken out.
func (e *editor) anchor(w *walker) {
	if e.held >= 0 {
		return
	}
	f := &w.frames[len(w.frames)-1]
	if w.Hold = -1; len(f.nodes) > 0 {
		w.Hold = f.edits.end
	}
}

// ended notes that a value was read, or nothing yet.
func (e *editor) ended(w *walker) error {
	if e.held == len(w.frames) {
		e.held = -1
	}
	f := &w.frames[len(w.frames)-1]
	l := &f.edits
	if l.any {
		if l.gone {
			l.went = w.Offset()
		} else {
			l.kept, l.end = l.kept+1, w.Offset()
		}
	}
	l.gone = false
	e.anchor(w)
	for _, a := range l.blocked {
		if a.open() {
			step, _ := a.step(len(w.frames) + 1)
			if err := e.blocked(w, []*addition{a}, step.InObject()); err != nil {
				return err
			}
		}
	}
	l.blocked = nil
	return nil
}

// comma notes a comma, which goes with the values before it if they all went.
func (e *editor) comma(w *walker) {
	l := e.level(w)
	if l.kept == 0 {
		e.Put(scan.Splice{From: l.went, To: w.Offset(), Text: nil})
		l.end = w.Offset()
	}
	l.segment = w.Offset()
}

// begin notes that a member or element begins at an offset; nodes are the paths
// that lead to its value.
func (e *editor) begin(w *walker, from int64, nodes []*node) error {
	f := &w.frames[len(w.frames)-1]
	l := &f.edits
	if len(f.nodes) == 0 {
		l.any = true
		return nil
	}
	if lead := w.Buf[l.segment-w.Base : from-w.Base]; len(lead) <= 256 {
		e.Learn(lead, len(w.frames), l.any)
		if f.object && w.Pos < len(w.Buf) {
			e.LearnColon(w.Buf[w.Pos])
		}
		l.lead = append(l.lead[:0], lead...)
	}
	if w.Lines && len(w.frames) == 1 && l.any && l.kept == 0 {
		e.Put(scan.Splice{From: l.went, To: from, Text: nil})
		l.end = from
	}
	if l.any = true; w.Lines && len(w.frames) == 1 {
		l.segment = from
	}
	for _, n := range nodes {
		if len(n.moves) > 0 && e.held < 0 {
			e.held = len(w.frames)
		}
	}
	for _, a := range l.leading(w, len(w.frames)) {
		if !a.complete(len(w.frames)) {
			l.blocked = append(l.blocked, a)
		}
	}
	if e.held < 0 {
		w.Hold = -1
	}
	return nil
}

// matched does the edits of a match that was read.
func (e *editor) matched(w *walker, m *Match) error {
	from, to := m.At.Offset, w.Offset()
	was, gone, set := e.Now(w.Scanner, from, to), 0, 0
	var edits []*pending
	for _, mv := range m.Moves {
		if p := e.of(w, mv, m); p != nil {
			edits = append(edits, p)
		}
	}
	slices.SortStableFunc(edits, wholeFirst)
	var sets []*pending
	var records []*Record
	for _, p := range edits {
		if p.list && p.done && m.Place <= p.place && len(p.records) > 0 {
			if err := e.refuse(p, p.move.fault(p.records[0], "two arrays of the file are this one list")); err != nil {
				return err
			}
		}
		p.place = m.Place
		if p.refused { // what is there stays
			set++
		} else if r, there := p.take(); there {
			set, sets, records = set+1, append(sets, p), append(records, r)
		} else {
			gone++
		}
	}
	cur, _, err := e.fill(m, was, sets, records, false)
	if err != nil {
		return err
	}
	switch {
	case gone > 0 && set == 0 && !m.path.held && !empty(cur):
		e.result.Same += int64(gone) // of captures alone: what is in it is not its own
	case gone > 0 && set == 0:
		e.result.Deleted += int64(gone)
		e.remove(w, to)
	case !bytes.Equal(was, cur):
		e.Put(scan.Splice{From: from, To: to, Text: bytes.Clone(cur)})
	}
	return nil
}

// empty reports whether a value holds nothing.
func empty(raw []byte) bool {
	if raw[0] == '{' || raw[0] == '[' {
		return jsontext.SkipSpace(raw, 1) == len(raw)-1
	}
	return string(raw) == "null"
}

// take returns the record for the next match of the edit, if there is one.
func (p *pending) take() (r *Record, there bool) {
	p.done = true
	if !p.list {
		if len(p.records) == 0 {
			return nil, false
		}
		return p.records[0], true
	}
	if p.next >= len(p.records) {
		return nil, false
	}
	p.next++
	return p.records[p.next-1], true
}

// of returns the edit of the record that a move makes of a match: by its ID, or, where
// the match cannot be one now, by its place.
func (e *editor) of(w *walker, mv *Move, m *Match) *pending {
	if r, err := mv.identify(m); err == nil {
		id := r.ID()
		if isList(mv) {
			id.Sub = ""
		}
		if p := e.byID[id]; p != nil {
			return p
		}
	}
	if len(w.frames) == 0 {
		return nil
	}
	for _, a := range e.passed(w, len(w.frames)) {
		if a.edit.move == mv && !a.edit.done && a.complete(len(w.frames)) {
			return a.edit
		}
	}
	return nil
}

// remove takes the value that ends at an offset out of its object or array.
func (e *editor) remove(w *walker, to int64) {
	if len(w.frames) == 0 {
		e.Put(scan.Splice{From: 0, To: to, Text: []byte("null")})
		return
	}
	l := e.level(w)
	l.gone = true
	if l.kept > 0 {
		e.Put(scan.Splice{From: l.end, To: to, Text: nil})
		return
	}
	from := l.segment
	if l.went > from {
		from = l.went
	}
	e.Put(scan.Splice{From: from, To: to, Text: nil})
}

// finish writes the rest.
func (e *editor) finish(w *walker) error {
	if err := e.missed(); err != nil {
		return err
	}
	e.Emit(w.Buf, w.Base, w.Offset())
	return e.Err
}

// missed refuses what has found no place, and counts what was deleted without having been there.
func (e *editor) missed() error {
	for _, p := range e.all {
		var err error
		switch {
		case p.done:
		case len(p.records) == 0:
			e.result.Same++
		case p.lost != nil:
			err = e.refuse(p, p.lost.fault("nothing says what {"+p.lost.lost+"} is"))
		default:
			err = e.refuse(p, p.move.fault(p.records[0], "the document has no place for it"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failed says that a value is in the way of a record.
func (w *walker) failed(object bool) *Error {
	want := "array"
	if object {
		want = "object"
	}
	return &Error{At: w.Here(), Path: w.pointer(),
		Message: fmt.Sprintf("a record cannot be put here: there is no %s", want), Err: ErrPlace}
}
