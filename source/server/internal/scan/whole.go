package scan

import (
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
)

// takePart reads one part of a whole value. All but the last go to the consumer at
// once.
func (r *reading) takePart(w *Walk, a *arena) (bool, error) {
	from := int64(0)
	if r.v != nil && r.k.Kind != source.String {
		from = r.v.From + r.v.Looked(r.k.Kind)
	}
	mark := a.mark()
	v := a.value()
	v.From = from
	r.v = v
	got, last, err := r.readPart(w.Shard.Conn, a)
	if err != nil {
		return r.unlike(w, err)
	}
	w.owed += got
	if gone, ask := r.vanished(got); from == 0 && last && (gone || ask) {
		if ask {
			v.Of, r.k.Value, r.stage = 1, v, typing
		}
		return ask, nil
	}
	r.k.Value = v
	if last {
		if r.k.Kind == source.String {
			v.Of = 1
		} else {
			v.Of = from + v.Looked(r.k.Kind)
			r.k.Size = v.Of
		}
		return false, nil
	}
	if r.k.Kind != source.String {
		if err := w.part(r, from+v.Looked(r.k.Kind)); err != nil {
			return false, err
		}
		kept := *v
		kept.Elements, kept.Scores, kept.Ends = nil, nil, nil
		kept.From, r.v = from+v.Looked(r.k.Kind), &kept
	}
	r.n = min(max(stepBytes*max(got, 1)/max(a.since(mark), 1), stepLeast), stepMost)
	a.back(mark)
	r.k.Value = nil
	return true, nil
}

// readPart reads one reply and finds the place of the next part.
func (r *reading) readPart(c *link.Link, a *arena) (got int, last bool, err error) {
	if r.access.cursor {
		if n, err := c.Array(); err != nil || n != 2 {
			return 0, false, link.WrongForm(err, "the two of a SCAN reply")
		}
		cursor, _, err := c.Bulk()
		if err != nil {
			return 0, false, err
		}
		r.cursor = string(cursor)
		got, err = r.elements(c, a, 0)
		return got, r.cursor == "0", err
	}
	if got, err = r.elements(c, a, 0); err != nil {
		return got, false, err
	}
	switch {
	case r.k.Kind == source.String:
		return r.takeText()
	case r.access.nested:
		r.cursor = "(" + a.id
	default:
		r.cursor = strconv.Itoa(atoi(r.cursor) + got)
	}
	return got, got < r.n, nil
}

// takeText puts a string together from its parts.
func (r *reading) takeText() (got int, last bool, err error) {
	part := r.v.Str
	last = len(part) < source.SampleString
	if len(r.text) > 0 || !last {
		r.text = append(r.text, part...)
		r.v.Str = r.text
	}
	r.cursor = strconv.Itoa(len(r.text))
	if !last && len(r.text) >= source.WholeString {
		r.v.Partial, last = true, true
	}
	return 1, last, nil
}
