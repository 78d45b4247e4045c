package scan

import (
	"cmp"
	"errors"
	"io"
	"slices"
)

// Splice represents a change of the bytes of the document: those from an offset to
// another become others.
type Splice struct {
	From, To int64
	Text     []byte
}

// Output writes the document with the splices done.
type Output struct {
	To      io.Writer
	at      int64 // everything before it is written
	splices []Splice
	Err     error
}

// Emit writes what the window has before an offset.
func (o *Output) Emit(buf []byte, base, to int64) {
	for len(o.splices) > 0 && o.splices[0].To <= to {
		sp := o.splices[0]
		if sp.From < o.at {
			o.Err = cmp.Or(o.Err, errors.New("this cannot happen, please report it: a change of what is written already"))
			return
		}
		o.Write(buf[o.at-base : sp.From-base])
		o.Write(sp.Text)
		o.at, o.splices = sp.To, o.splices[1:]
	}
	if o.at < to {
		o.Write(buf[o.at-base : to-base])
		o.at = to
	}
}

// Write writes bytes that take the place of others.
func (o *Output) Write(b []byte) {
	if o.Err == nil && len(b) > 0 {
		_, o.Err = o.To.Write(b)
	}
}

// Put adds a splice; those inside of it are in its text already.
func (o *Output) Put(sp Splice) {
	for n := len(o.splices) - 1; n >= 0; n-- {
		last := &o.splices[n]
		if sp.From == sp.To && last.From == sp.From && last.To > sp.To {
			last.Text = append(sp.Text, last.Text...) // put in before what was taken out
			return
		}
		if last.From < sp.From || last.To > sp.To || last.From == last.To && last.To == sp.From {
			break
		}
		o.splices = o.splices[:n]
	}
	o.splices = append(o.splices, sp)
}

// Now returns what is between two offsets, with the splices done.
func (o *Output) Now(s *Scanner, from, to int64) []byte {
	raw := s.Buf[from-s.Base : to-s.Base]
	first := slices.IndexFunc(o.splices, func(sp Splice) bool { return sp.From >= from && sp.To <= to })
	if first < 0 {
		return raw
	}
	var out []byte
	at := from
	for _, sp := range o.splices[first:] {
		out = append(append(out, raw[at-from:sp.From-from]...), sp.Text...)
		at = sp.To
	}
	return append(out, raw[at-from:]...)
}
