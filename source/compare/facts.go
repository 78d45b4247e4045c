package compare

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/source"
)

// Facts makes facts of contents: of whole values, and of those that come in parts. Its
// zero value is ready. It is for one goroutine.
type Facts struct {
	begun map[string]*hasher
	own   *hasher // of whole values
}

// hasher returns one for a whole value.
func (s *Facts) hasher(kind source.Kind) *hasher {
	if s.own == nil {
		s.own = newHasher(kind)
	}
	h := s.own
	h.kind, h.d, h.next, h.err = kind, Digest{}, 0, nil
	h.text[0].Reset()
	h.text[1].Reset()
	return h
}

// maxBegun bounds the values that come in parts at the same time: there are as many as
// shards, but a forged archive may begin more.
const maxBegun = 1000

var errBegun = fmt.Errorf("more than %d values in parts are begun and not ended", maxBegun)

// Take adds a content of the key that id names. It is done with the last part; then the
// fact is that of the value, unless there is an error.
func (s *Facts) Take(k *source.Content, id string) (f Fact, done bool, err error) {
	switch {
	case k.Lost != "":
		delete(s.begun, id)
		return f, true, errors.New(k.Lost)
	case k.Payload != nil:
		delete(s.begun, id)
		f, err = s.whole(k)
		return f, true, err
	}
	h := s.begun[id]
	if h == nil || k.Part == 0 {
		if h == nil && len(s.begun) >= maxBegun {
			return f, !k.More, errBegun
		}
		if s.begun == nil {
			s.begun = map[string]*hasher{}
		}
		h = newHasher(k.Kind)
		s.begun[id] = h
	}
	h.part(k)
	if k.More {
		return f, false, nil
	}
	delete(s.begun, id)
	return Fact{There: true, Kind: h.kind, Digest: h.digest(), Expires: k.Expires, Torn: k.Torn}, true, h.err
}

// SameValue reports whether two facts are of equal values, whatever their expiries.
func (f *Fact) SameValue(other *Fact) bool {
	return f.There && other.There && f.Kind == other.Kind && f.Digest == other.Digest && f.Opaque == other.Opaque &&
		!f.Torn && !other.Torn
}
