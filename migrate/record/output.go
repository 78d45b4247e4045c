package record

import (
	"errors"
	"io"
	"slices"
)

// splice represents a change of the bytes of the document: those from an offset to
// another become others.
type splice struct {
	from, to int64
	text     []byte
}

// output writes the document with the splices done.
type output struct {
	to      io.Writer
	at      int64 // everything before it is written
	splices []splice
	err     error
}

// emit writes what the window has before an offset.
func (o *output) emit(buf []byte, base, to int64) {
	for len(o.splices) > 0 && o.splices[0].to <= to {
		sp := o.splices[0]
		if sp.from < o.at {
			o.err = cmpOr(o.err, errors.New("this cannot happen, please report it: a change of what is written already"))
			return
		}
		o.write(buf[o.at-base : sp.from-base])
		o.write(sp.text)
		o.at, o.splices = sp.to, o.splices[1:]
	}
	if o.at < to {
		o.write(buf[o.at-base : to-base])
		o.at = to
	}
}

func cmpOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (o *output) write(b []byte) {
	if o.err == nil && len(b) > 0 {
		_, o.err = o.to.Write(b)
	}
}

// put adds a splice; those inside of it are in its text already.
func (o *output) put(sp splice) {
	for n := len(o.splices) - 1; n >= 0; n-- {
		last := &o.splices[n]
		if sp.from == sp.to && last.from == sp.from && last.to > sp.to {
			last.text = append(sp.text, last.text...) // put in before what was taken out
			return
		}
		if last.from < sp.from || last.to > sp.to || last.from == last.to && last.to == sp.from {
			break
		}
		o.splices = o.splices[:n]
	}
	o.splices = append(o.splices, sp)
}

// now returns what is between two offsets, with the splices done.
func (o *output) now(s *scanner, from, to int64) []byte {
	raw := s.buf[from-s.base : to-s.base]
	first := slices.IndexFunc(o.splices, func(sp splice) bool { return sp.from >= from && sp.to <= to })
	if first < 0 {
		return raw
	}
	var out []byte
	at := from
	for _, sp := range o.splices[first:] {
		out = append(append(out, raw[at-from:sp.from-from]...), sp.text...)
		at = sp.to
	}
	return append(out, raw[at-from:]...)
}
