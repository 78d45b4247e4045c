package packed

import "strconv"

// Listpack visits the entries of a listpack one by one.
type Listpack struct {
	Rest  []byte
	space [20]byte
	Bad   bool
}

// NewListpack returns the visit of a listpack.
func NewListpack(p []byte) *Listpack {
	if len(p) < ListpackHead+1 {
		return &Listpack{Bad: true}
	}
	return &Listpack{Rest: p[ListpackHead:]}
}

// Next returns the next entry; nil, and bad, if there is none.
func (l *Listpack) Next() []byte {
	if l.Bad || len(l.Rest) == 0 || l.Rest[0] == 0xff {
		l.Bad = true
		return nil
	}
	v, size := listpackEntry(l.Rest, &l.space)
	if size == 0 || size+BackSize(size) > len(l.Rest) {
		l.Bad = true
		return nil
	}
	l.Rest = l.Rest[size+BackSize(size):]
	return v
}

// Number returns the next entry as a number.
func (l *Listpack) Number() int64 {
	n, err := strconv.ParseInt(string(l.Next()), 10, 64)
	l.Bad = l.Bad || err != nil
	return n
}

// Ends reports whether that was all, and made sense.
func (l *Listpack) Ends() bool { return !l.Bad && len(l.Rest) == 1 && l.Rest[0] == 0xff }
