package indexrecord

import (
	"errors"
	"strings"
)

var errEntry = errors.New("an index record cannot be read: `keywright entities repair` puts it right")

// Moved returns an index record, or marks (id is ""), for items whose index keys have other
// names: to says where the keys of a place are now (its Value does not count). A place that
// to does not know is left out: a program that knows that index finds it not complete, and
// fills it by Indexes. A newer form is ErrForm; a record that cannot be read is an error
// that says how to repair it.
func Moved(id, entry string, to func(Place) (Place, bool)) (string, error) {
	if id != "" {
		if !Formed(entry) {
			return "", ErrForm
		}
		if entry == "" {
			return "", nil
		}
		text, ok := movedSegments(entry[1:], to, 0)
		if !ok {
			return "", errEntry
		}
		return "=" + text, nil
	}
	m := ReadMarks(entry)
	if m.Newer {
		return "", ErrForm
	}
	var lines []Mark
	for _, l := range m.Lines {
		if tag, ok := movedTag(l.Tag, to); ok {
			l.Tag = tag
			lines = append(lines, l)
		}
	}
	return m.Token + LinesOf(lines), nil
}

// movedTag returns a tag with the other names of the keys of its index.
func movedTag(tag string, to func(Place) (Place, bool)) (string, bool) {
	p, ok := PlaceOf(tag)
	if ok {
		p, ok = to(p)
	}
	return p.Tag(), ok
}

// movedSegments returns the segments of an entry, with those of open intents in them; false
// if not all of it is segments. Only an entry itself (depth 0) has intents, and only an
// intent has segments in it: deeper ones name no place, and stay as they are.
func movedSegments(text string, to func(Place) (Place, bool), depth int) (string, bool) {
	var out []byte
	rest := len(text)
	for name, value := range Segments(text) {
		rest -= len(Append(nil, name, value))
		tag, doubted := strings.CutPrefix(name, Doubt)
		switch _, place := PlaceOf(tag); {
		case place:
			moved, ok := movedTag(tag, to)
			if !ok {
				continue
			}
			if doubted {
				moved = Doubt + moved
			}
			out = Append(out, moved, value)
		case name == "!" && depth == 0, name == "m" && depth == 1:
			inner, ok := movedSegments(value, to, depth+1)
			if !ok {
				return "", false
			}
			out = Append(out, name, inner)
		default:
			out = Append(out, name, value)
		}
	}
	return string(out), rest == 0
}
