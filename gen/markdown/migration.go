package markdown

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// migration describes how files become keys, part by part.
type migration struct {
	Name, Doc string
	Parts     []part
}

type part struct {
	Name, Doc string
	Moves     []row // entry, from, what of the record
	Gates     string
}

func migrations(ks *keyspace.Keyspace) (out []migration) {
	for _, m := range ks.Migrations {
		to := migration{Name: m.Name, Doc: m.Doc}
		for _, p := range m.Parts {
			one := part{Name: p.Name, Doc: p.Doc, Gates: gates(p.Gates)}
			for _, mv := range p.Moves {
				one.Moves = append(one.Moves, row{mv.To.Name, mv.Source.File.String() + ":" + mv.From.String(), terms(mv)})
			}
			to.Parts = append(to.Parts, one)
		}
		out = append(out, to)
	}
	return out
}

// terms returns what of a record is stored where.
func terms(mv *keyspace.Move) string {
	var out []string
	add := func(name string, term fmt.Stringer) { out = append(out, name+" "+term.String()) }
	for _, b := range mv.With {
		if b.Term.Capture != b.Name {
			add("{"+b.Name+"}", b.Term)
		}
	}
	if mv.Field != nil {
		add("field", mv.Field)
	}
	if mv.Member != nil {
		add("member", mv.Member)
	}
	if mv.Score != nil {
		add("score", mv.Score)
	}
	if mv.Value != nil {
		add("value", mv.Value)
	}
	for _, b := range mv.Fields {
		add(b.Name, b.Term)
	}
	if mv.TTL != nil && mv.TTL.From != nil {
		add("lives from", mv.TTL.From)
	}
	if mv.TTL != nil && mv.TTL.Until != nil {
		add("lives until", mv.TTL.Until)
	}
	return strings.Join(out, ", ")
}

// gates returns what must hold, in words.
func gates(g keyspace.Gates) string {
	out := fmt.Sprintf("at least %d comparisons, at most %d unequal, for %s, at most %d marks", g.Compared, g.Unequal,
		keyspace.FormatDuration(g.For), g.Marks)
	if g.Backup > 0 {
		out += ", a verified backup of at most " + keyspace.FormatDuration(g.Backup)
	}
	return out
}
