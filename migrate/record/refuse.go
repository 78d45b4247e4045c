package record

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"

	"github.com/keywright/keywright/keyspace/route"
)

// refuse leaves an edit out that cannot be written, where the caller takes such; otherwise it is the error.
func (e *editor) refuse(p *pending, err error) error {
	var bad *Reject
	if e.refused == nil || !errors.As(err, &bad) {
		return err
	}
	if p.refused {
		return nil
	}
	p.done, p.refused, p.next = true, true, len(p.records)
	return e.refused(bad)
}

// blocked refuses additions whose way is closed by a value of another shape.
func (e *editor) blocked(w *walker, adds []*addition, shape bool) error {
	err := w.failed(shape)
	for _, a := range adds {
		if e.refused == nil {
			return err
		}
		if failed := e.refuse(a.edit, a.fault(err.Message)); failed != nil {
			return failed
		}
	}
	return nil
}

// fill returns a value with the records of one match written into it. One that the declaration would not
// read from there is refused, and the others are written without it.
func (e *editor) fill(m *Match, base []byte, edits []*pending, records []*Record, added bool) (value []byte,
	done int, err error) {
	for {
		cur, bad := base, -1
		var fault error
		same := make([]bool, len(edits))
		for i, p := range edits {
			if p.refused {
				continue
			}
			next, err := p.move.apply(m, &e.Style, cur, records[i])
			if err != nil {
				bad, fault = i, err
				break
			}
			same[i], cur = bytes.Equal(cur, next), next
		}
		for i, p := range edits {
			if p.refused || bad >= 0 {
				continue
			}
			now := *m
			now.Raw, now.members, now.split = cur, nil, false
			if !p.move.ofValue() {
				now.Raw = nil
			}
			if err := p.move.reads(&now, records[i]); err != nil {
				bad, fault = i, err
			}
		}
		if bad < 0 {
			for i, p := range edits {
				if p.refused {
					continue
				}
				switch done++; {
				case added:
					e.result.Added++
				case same[i]:
					e.result.Same++
				default:
					e.result.Changed++
				}
			}
			return cur, done, nil
		}
		if err := e.refuse(edits[bad], fault); err != nil {
			return nil, 0, err
		}
	}
}

// place returns the match that an addition would be.
func (e *editor) place(a *addition) *Match {
	m := &Match{Source: e.source, Moves: a.node.moves, Place: -1, path: &node{}, file: Captures{}}
	for name, text := range e.walk.file {
		m.file[name] = text
	}
	for i, n := len(a.steps)-1, a.node; n.parent != nil; i, n = i-1, n.parent {
		k := n.step.Kind
		switch {
		case k != route.Capture && k != route.Place:
		case i < len(e.walk.frames)-1 && k == route.Capture:
			m.file[n.step.Name] = e.walk.frames[i].name
		case i < len(e.walk.frames)-1:
			m.file[n.step.Name] = strconv.FormatInt(e.walk.frames[i].place, 10)
		case a.steps[i] != nil:
			m.file[n.step.Name] = a.steps[i].Text
		}
	}
	return m
}

// onlyEdits writes a document that has nothing but the edits.
func (e *editor) onlyEdits(w *walker) (Rewritten, error) {
	var adds []*addition
	for _, p := range e.all {
		if len(p.records) == 0 {
			e.result.Same++
		}
	}
	adds = append(adds, e.adds...)
	if len(adds) == 0 {
		e.Write(w.Buf)
		return e.result, e.Err
	}
	var text []byte
	if w.Lines {
		members, err := e.build(adds, 1)
		if err != nil {
			return e.result, err
		}
		for _, m := range members {
			text = append(append(text, e.Inline(m.Value)...), '\n')
		}
	} else {
		values, err := e.buildOne(adds, 0)
		if err != nil || len(values) == 0 { // all were refused
			e.Write(w.Buf)
			return e.result, cmp.Or(err, e.Err)
		}
		text = append(e.Indented(nil, values[0], "\n"), '\n')
	}
	e.Write(text)
	return e.result, e.Err
}
