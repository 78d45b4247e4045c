package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// matched calls each for the paths that end at the value that was just read.
func (w *walker) matched(nodes []*node, at Position) error {
	var raw []byte
	if at.Offset >= w.Base && w.Hold >= 0 && w.Hold <= at.Offset {
		raw = w.Bytes(at.Offset)
	}
	if int64(len(raw)) > w.opt.MaxRecord {
		return &Error{At: at, Path: w.pointer(), Message: fmt.Sprintf("a record has more than %d bytes", w.opt.MaxRecord),
			Err: ErrTooLarge}
	}
	for _, n := range nodes {
		if len(n.moves) == 0 {
			continue
		}
		if w.cover != nil {
			for _, mv := range n.moves {
				w.cover.Matches[mv.Name]++
			}
		}
		m := w.match(n, at, raw)
		if m.Moves = m.taken(); len(m.Moves) == 0 {
			continue
		}
		w.stats.Matches++
		if w.edit != nil {
			if err := w.edit.matched(w, m); err != nil {
				return err
			}
			continue
		}
		if err := w.each(m); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the moves that do not leave the match out.
func (m *Match) taken() []*Move {
	left := m.path.moves
	for i, mv := range left {
		if !mv.excepts(m) {
			continue
		}
		left = slices.Clone(left[:i])
		for _, other := range m.path.moves[i+1:] {
			if !other.excepts(m) {
				left = append(left, other)
			}
		}
		return left
	}
	return left
}

func (mv *Move) excepts(m *Match) bool { return len(mv.Except) > 0 && mv.exceptOf(m) != "" }

func (w *walker) match(n *node, at Position, raw []byte) *Match {
	m := &w.found
	if w.edit != nil { // it keeps matches
		m = &Match{}
	}
	*m = Match{Source: w.source, Moves: n.moves, Place: -1, At: at, Raw: raw, file: w.file, path: n, walk: w,
		names: m.names, members: m.members}
	m.names = w.captured(n, m.names[:0])
	if len(w.frames) > 0 {
		if f := &w.frames[len(w.frames)-1]; !f.object {
			m.Place = f.place
		}
	}
	return m
}

// captured returns the captures of the path to a node, in its order, in the room of others.
func (w *walker) captured(n *node, room []string) []string {
	out := slices.Grow(room, n.captures)[:n.captures]
	for ; n.parent != nil; n = n.parent {
		switch f := &w.frames[n.depth-1]; n.step.Kind {
		case route.Capture:
			out[n.captures-1] = f.name
		case route.Place:
			out[n.captures-1] = strconv.FormatInt(f.place, 10)
		}
	}
	return out
}

// Captures returns what the path and the name of the file have captured.
func (m *Match) Captures() Captures {
	out := Captures{}
	for name, value := range m.file {
		out[name] = value
	}
	for n := m.path; n.parent != nil; n = n.parent {
		if n.step.Kind == route.Capture || n.step.Kind == route.Place {
			out[n.step.Name] = m.names[n.captures-1]
		}
	}
	return out
}

// capture is one of Captures.
func (m *Match) capture(name string) string {
	for n := m.path; n.parent != nil; n = n.parent {
		if (n.step.Kind == route.Capture || n.step.Kind == route.Place) && n.step.Name == name {
			return m.names[n.captures-1]
		}
	}
	return m.file[name]
}

// Path returns where the match is, as a JSON Pointer.
func (m *Match) Path() string {
	if m.walk == nil { // it is not one of a document
		return ""
	}
	return m.walk.pointer()
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the place of the value under way, as a JSON Pointer. Names are only
// known where a path goes on.
func (w *walker) pointer() string {
	var b strings.Builder
	for _, f := range w.frames {
		switch {
		case len(f.nodes) == 0:
			return b.String()
		case f.object:
			b.WriteString("/" + pointerEscape.Replace(f.name))
		default:
			b.WriteString("/" + strconv.FormatInt(f.place, 10))
		}
	}
	return b.String()
}

// referred is a match as the terms of its moves see it.
type referred Match

// Order returns the place in the array that holds the match.
func (m *referred) Order() int64 { return max(0, m.Place) }

// Refer returns the value of a reference.
func (m *referred) Refer(t *route.Term) datum.Datum {
	switch {
	case !t.Whole:
		return datum.Datum{Kind: datum.Spelled, Text: (*Match)(m).capture(t.Capture)}
	case len(t.Members) == 0:
		return datum.Of(m.Raw)
	}
	return datum.Of(jsontext.Lookup((*Match)(m).at(t.Members[0]), t.Members[1:]))
}

// at returns a member of the record; the members are read once.
func (m *Match) at(name string) []byte {
	if !m.split {
		m.split, m.members = true, m.members[:0]
		jsontext.EachMember(m.Raw, func(key, value []byte) {
			m.members = append(m.members, jsontext.Named{Key: key, Value: value})
		})
	}
	for i := range m.members {
		if m.members[i].Is(name) {
			return m.members[i].Value
		}
	}
	return nil
}

// eval returns the value of a term.
func (m *Match) eval(t *route.Term) (datum.Datum, string) { return datum.Eval(t, (*referred)(m)) }
