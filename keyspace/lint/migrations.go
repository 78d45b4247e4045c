package lint

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
)

// eachMove visits the moves of all migrations, in their order.
func (c *context) eachMove(visit func(m *keyspace.Migration, p *keyspace.Part, mv *keyspace.Move)) {
	for _, m := range c.Migrations {
		for _, p := range m.Parts {
			for _, mv := range p.Moves {
				visit(m, p, mv)
			}
		}
	}
}

// taken represents one term of a move, and where it is written.
type taken struct {
	name string
	term route.Term
	pos  keyspace.Pos
}

// takes returns the terms whose values are stored.
func takes(mv *keyspace.Move) (out []taken) {
	for name, t := range map[string]*route.Term{"field": mv.Field, "member": mv.Member, "score": mv.Score,
		"value": mv.Value, "tries": mv.Tries} {
		if t != nil {
			out = append(out, taken{name, *t, mv.At[name]})
		}
	}
	slices.SortFunc(out, func(a, b taken) int { return strings.Compare(a.name, b.name) })
	for _, b := range slices.Concat(mv.With, mv.Fields) {
		out = append(out, taken{b.Name, b.Term, b.Pos})
	}
	return out
}

// storesRecord reports whether a move stores the whole record.
func storesRecord(mv *keyspace.Move) bool {
	return slices.ContainsFunc(takes(mv), func(t taken) bool { return bare(t.term) && len(t.term.Members) == 0 })
}

// bare reports whether a term is a member of the record, or all of it, as it is.
func bare(t route.Term) bool { return t.Func == "" && t.Whole }

// writtenBack: what is stored must say what was in the file, or the file cannot
// follow.
func (c *context) writtenBack() {
	c.eachMove(func(m *keyspace.Migration, _ *keyspace.Part, mv *keyspace.Move) {
		stored := takes(mv)
		for _, t := range stored {
			if t.term.Back() || storesRecord(mv) {
				continue
			}
			for _, ref := range t.term.References() {
				if ref.Whole &&
					!slices.ContainsFunc(stored,
						func(o taken) bool { return bare(o.term) && slices.Equal(o.term.Members, ref.Members) }) {
					c.report(t.pos, mv.To.Name, "store "+ref.String()+" beside it, or choose a conversion that can be undone",
						"%s keeps only %s: what %s was in the file cannot be written back", mv.To.Name, t.term, ref)
				}
			}
		}
		for _, name := range mv.Captures() {
			if captureStated(m, mv, name) || mv.Kept[name] != nil {
				continue
			}
			c.report(mv.At["from"], mv.To.Name,
				"use {"+name+"} in the key, a field or a member; or say which hash keeps its text: kept: {"+name+": …}",
				"no key or value of %s says what {%s} was: its records cannot be written back", mv.To.Name, name)
		}
	})
}

// captureStated reports whether what a move stores, or another move of the same records,
// says what a capture was.
func captureStated(m *keyspace.Migration, mv *keyspace.Move, name string) bool {
	for _, p := range m.Parts {
		for _, other := range p.Moves {
			if other.Source != mv.Source || other.From.String() != mv.From.String() {
				continue
			}
			if _, ok := other.Told[name]; ok {
				return true
			}
			for _, t := range takes(other) {
				if t.term.Back() &&
					slices.ContainsFunc(t.term.References(), func(r route.Term) bool { return !r.Whole && r.Capture == name }) {
					return true
				}
			}
		}
	}
	return false
}

// movedTTL: a record that has lived for a while begins again.
func (c *context) movedTTL() {
	c.eachMove(func(_ *keyspace.Migration, _ *keyspace.Part, mv *keyspace.Move) {
		own := mv.Kind == keyspace.StringRecord || mv.Kind == keyspace.HashRecord || mv.Kind == keyspace.ItemRecord
		if own && mv.TTL == nil && mv.To.TTL.Policy == keyspace.TTLExpires {
			c.report(mv.At["to"], mv.To.Name, "", "records of %s live for %s from the import on, however old they are",
				mv.To.Name, mv.To.TTL.Text)
		}
	})
}

// partOrder: what one part moves must not depend on another one.
func (c *context) partOrder() {
	for _, m := range c.Migrations {
		entries, paths := map[string]string{}, map[string]string{}
		for _, p := range m.Parts {
			for _, mv := range p.Moves {
				path := mv.Source.Name + ":" + mv.From.String()
				if other, ok := entries[mv.To.Name]; ok && other != p.Name {
					c.report(mv.At["to"], mv.To.Name, "put its moves into one part", "%s is moved by the part %s and by the part %s",
						mv.To.Name, other, p.Name)
				}
				if other, ok := paths[path]; ok && other != p.Name {
					c.report(mv.At["from"], mv.To.Name, "put the moves into one part", "the part %s moves the same records", other)
				}
				entries[mv.To.Name], paths[path] = p.Name, p.Name
			}
			for _, mv := range p.Moves {
				for _, name := range sortedNames(mv.Kept) {
					if _, moved := entries[mv.Kept[name].Name]; !moved {
						c.report(mv.At["kept."+name], mv.To.Name, "move "+mv.Kept[name].Name+" in this part or before",
							"%s keeps {%s} and is not moved yet", mv.Kept[name].Name, name)
					}
				}
			}
		}
	}
}

func sortedNames(m map[string]*keyspace.Entry) (out []string) {
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// weakGates: a gate that is always open.
func (c *context) weakGates() {
	for _, m := range c.Migrations {
		for _, p := range m.Parts {
			g := p.Gates
			if g.Pos.File == "" {
				continue
			}
			if g.Compared == 0 {
				c.report(g.Pos, "", "", "the part %s goes on without a comparison", p.Name)
			}
			if g.Unequal > 0 || g.Marks > 0 {
				c.report(g.Pos, "", "", "the part %s goes on while records differ", p.Name)
			}
		}
	}
}

// keptTwice: a record inside of a record that is stored whole.
func (c *context) keptTwice() {
	c.eachMove(func(m *keyspace.Migration, _ *keyspace.Part, mv *keyspace.Move) {
		for _, p := range m.Parts {
			for _, outer := range p.Moves {
				inside := outer.Source == mv.Source && len(outer.From.Steps) < len(mv.From.Steps) &&
					slices.Equal(outer.From.Steps, mv.From.Steps[:len(outer.From.Steps)])
				if inside && storesRecord(outer) {
					c.report(mv.At["from"], mv.To.Name, "", "these records are also in the values of %s, which takes the whole of %s",
						outer.To.Name, outer.From)
				}
			}
		}
	})
}

// unusedSources: a file that nothing is moved from.
func (c *context) unusedSources() {
	for _, m := range c.Migrations {
		for _, s := range m.Sources {
			used := false
			for _, p := range m.Parts {
				used = used || slices.ContainsFunc(p.Moves, func(mv *keyspace.Move) bool { return mv.Source == s })
			}
			if !used {
				c.report(s.Pos, "", "", "no move takes from the source %s", s.Name)
			}
		}
	}
}

// ignoredAndMoved: what is said to stay in the files is moved, or nothing is below its path.
func (c *context) ignoredAndMoved() {
	for _, m := range c.Migrations {
		for _, i := range m.Ignore {
			for _, p := range m.Parts {
				for _, mv := range p.Moves {
					n := len(i.From.Steps)
					if mv.Source == i.Source && len(mv.From.Steps) >= n && slices.Equal(mv.From.Steps[:n], i.From.Steps) {
						c.report(i.Pos, mv.To.Name, "ignore what is beside it, or take the move out",
							"%s is ignored, and %s is moved from it to %s", i, mv.From, mv.To.Name)
					}
				}
			}
		}
	}
}
