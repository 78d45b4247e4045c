package rdb

import "strconv"

// listpack visits the entries of a listpack one by one.
type listpack struct {
	rest  []byte
	space [20]byte
	bad   bool
}

func newListpack(p []byte) *listpack {
	if len(p) < listpackHead+1 {
		return &listpack{bad: true}
	}
	return &listpack{rest: p[listpackHead:]}
}

// next returns the next entry; nil, and bad, if there is none.
func (l *listpack) next() []byte {
	if l.bad || len(l.rest) == 0 || l.rest[0] == 0xff {
		l.bad = true
		return nil
	}
	v, size := listpackEntry(l.rest, &l.space)
	if size == 0 || size+backSize(size) > len(l.rest) {
		l.bad = true
		return nil
	}
	l.rest = l.rest[size+backSize(size):]
	return v
}

func (l *listpack) number() int64 {
	n, err := strconv.ParseInt(string(l.next()), 10, 64)
	l.bad = l.bad || err != nil
	return n
}

func (l *listpack) ends() bool { return !l.bad && len(l.rest) == 1 && l.rest[0] == 0xff }
