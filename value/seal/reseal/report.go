package reseal

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
)

// Report describes what a walk has found.
type Report struct {
	Server     string         // "redis 7.0.15, single"
	Endpoint   string         // without credentials
	Active     string         // the id of the key that seals
	Parts      []*Part        // in the order of the declaration
	Incomplete source.Reasons // why it may not be all; empty: it is
	All        bool           // everything that is declared encrypted was looked at
	Passes     int            // how many walks
	Resealed   int64          // in all passes
	Raced      int64          // not replaced, since something else was quicker

	known []string
}

// Part represents one part of an entry that is declared encrypted.
type Part struct {
	Entry     string
	Name      string // "phone", "" for a whole value
	Type      string
	Texts     int64
	Keys      map[string]int64 // those that open, by the id of their key
	Unknown   map[string]int64 // by ids that the ring does not have; at most 20 of them, the rest as "others"
	Forged    map[string]int64 // they do not open with the key of the ring that they name
	NotSealed int64            // plain, or sealed by something else
	Plain     int64            // of those: plain text that Adopt seals
	// of those: plain text that is not of the declared type, which no reader could read; Adopt leaves it
	Misfits  int64
	Fixed    int64     // of those under other keys: entries of streams cannot be changed
	Examples []Example // of those that do not open, the first five

	resealed, raced int64
	at              keyspace.SealedPart
}

// Example represents a text that does not open.
type Example struct {
	Key   string
	Where string // in the key: a field, the index in a list, the id of a stream's entry
	State State
}

// State describes why a text does not open.
type State string

// What may be wrong with a text.
const (
	NotInRing   State = "not in the ring"
	DoesNotOpen State = "does not open"
	NotSealed   State = "not sealed"
	NotAsTyped  State = "not of its type"
)

// maxExamples bounds how many texts a part names.
const maxExamples = 5

func (p *Part) example(key, where string, s State) {
	one := Example{key, where, s}
	if len(p.Examples) < maxExamples && !slices.Contains(p.Examples, one) { // a scan may see a key twice
		p.Examples = append(p.Examples, one)
	}
}

// Raced returns the texts of the part that the last walk did not replace, since something
// else was quicker.
func (p *Part) Raced() int64 { return p.raced }

func (r *Report) sums() (resealed, raced int64) {
	for _, p := range r.Parts {
		resealed, raced = resealed+p.resealed, raced+p.raced
	}
	return resealed, raced
}

// Total adds up the parts.
func (r *Report) Total() Part {
	sum := Part{Keys: map[string]int64{}, Unknown: map[string]int64{}, Forged: map[string]int64{}}
	for _, p := range r.Parts {
		sum.Texts, sum.NotSealed, sum.Fixed = sum.Texts+p.Texts, sum.NotSealed+p.NotSealed, sum.Fixed+p.Fixed
		sum.Plain, sum.Misfits = sum.Plain+p.Plain, sum.Misfits+p.Misfits
		for _, m := range []struct{ to, from map[string]int64 }{{sum.Keys, p.Keys}, {sum.Unknown, p.Unknown},
			{sum.Forged, p.Forged}} {
			for id, n := range m.from {
				m.to[id] += n
			}
		}
	}
	return sum
}

// Closed returns the texts that do not open.
func (p *Part) Closed() int64 {
	n := p.NotSealed
	for _, m := range []map[string]int64{p.Unknown, p.Forged} {
		for _, some := range m {
			n += some
		}
	}
	return n
}

// Old returns the texts that open, but with another key than the active one.
func (p *Part) Old(active string) (n int64) {
	for id, some := range p.Keys {
		if id != active {
			n += some
		}
	}
	return n
}

// Unused returns the keys of the ring, but the active one, that nothing on the server
// is sealed with: none of them unless the walk saw everything. What does not open
// counts for the key that it names. A key that was just added is one of them, and
// one that a process with an older ring still seals with may be: see
// docs/encryption.md before one is removed.
func (r *Report) Unused() (ids []string) {
	if len(r.Incomplete) > 0 || !r.All {
		return nil
	}
	sum := r.Total()
	for _, id := range r.known {
		if id != r.Active && sum.Keys[id]+sum.Forged[id] == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// String returns the report in a line.
func (r *Report) String() string {
	sum := r.Total()
	return fmt.Sprintf("%d texts, %d under other keys than %s, %d that do not open", sum.Texts, sum.Old(r.Active),
		r.Active, sum.Closed())
}
