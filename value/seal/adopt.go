package seal

import "github.com/keywright/keywright"

// Adopting represents a keywright.Sealer for the time in which what was plain text becomes
// sealed: it opens both. First every process gets one that still writes plain
// text, then one that seals; when `keywright seal adopt` has sealed the rest, the
// ring itself, which refuses plain text. Until then anyone that may write
// can put plain text in the place of a sealed one. It is safe for concurrent use.
type Adopting struct {
	Ring  *Ring
	Plain bool // writes plain text: other processes cannot open sealed ones yet
}

// Seal implements keywright.Sealer.
func (a Adopting) Seal(at keywright.Place, plain string) (string, error) {
	if !a.Plain {
		return a.Ring.Seal(at, plain)
	}
	if !IsPlain(plain) {
		return "", errLooksSealed
	}
	return plain, nil
}

// Open implements keywright.Sealer.
func (a Adopting) Open(at keywright.Place, stored string) (string, error) {
	if IsPlain(stored) {
		return stored, nil
	}
	return a.Ring.Open(at, stored)
}

// IsPlain reports whether a text cannot be a sealed one, of this version or a later
// one: those begin with a control byte and the length of the key's id.
func IsPlain(text string) bool {
	return len(text) < Overhead(1) || text[0] == 0 || text[0] >= ' ' || text[0] == '\t' || text[0] == '\n' ||
		text[0] == '\r' || text[1] == 0 || int(text[1]) > maxID
}
