package scope

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// TypeOf resolves the text of a scalar type and marks its var as used.
func (s *Scope) TypeOf(d *Document, n *yaml.Node, what string) (scalar.Type, bool) {
	if n.Kind == yaml.SequenceNode {
		d.Report("KW005", d.At(n), node.MeantEnum(n, what), "%s must be text, not a list", what)
		return scalar.Type{}, false
	}
	text, ok := d.ScalarText(n, what)
	if !ok {
		return scalar.Type{}, false
	}
	if s.room <= 0 && strings.HasPrefix(text, "/") { // reading an expression makes its states
		d.Report("KW103", d.At(n), simpler, "%s: "+tooManyStates, what, MaxStates)
		return scalar.Type{}, false
	}
	t, err := scalar.Parse(text, s.UseVar)
	var fault *scalar.SyntaxError
	if errors.As(err, &fault) {
		word := strings.Fields(text[fault.Offset:] + " .")[0]
		fix := node.Proposal(fault.Proposal)
		if fault.Offset == 0 { // the name of the type itself
			fix = cmp.Or(node.MeantType(text, word), node.NearKey(&d.Reader, word, s.Vars, ScalarNames...), fix)
		}
		d.Report("KW103", d.Within(n, fault.Offset, len(word)), fix, "%s: %s", what, fault.Message)
		return t, false
	}
	if !d.IsText(n, what) { // a var with such a name
		return t, false
	}
	if !s.affords(t) {
		d.Report("KW103", d.At(n), simpler, "%s: "+tooManyStates, what, MaxStates)
		return t, false
	}
	if t.Kind == scalar.JSON && t.File != "" {
		file, _, _ := strings.Cut(t.File, "#")
		target := path.Join(d.Dir, file)
		s.MustExist(d, n, target, what+": the schema file "+target, "create it, or write json without a file")
		t.File = path.Join(d.Dir, t.File)
	}
	s.spells(d.At(n), 1, t)
	return t, true
}

// ScalarNames lists the words a scalar type may begin with.
var ScalarNames = func() []string {
	var names []string
	for k := scalar.Text; k <= scalar.JSON; k++ {
		if k != scalar.Enum && k != scalar.Regexp {
			names = append(names, k.String())
		}
	}
	return names
}()

// MustExist reports a file beside the declaration that is not there.
func (s *Scope) MustExist(d *Document, n *yaml.Node, target, what, fix string) {
	if !fs.ValidPath(target) {
		d.Report("KW308", d.At(n), "name a file below the folder of the first file, relative to this one",
			"%s leads outside of the declaration's folder", what)
		return
	}
	if _, err := fs.Stat(s.FS, target); err != nil {
		d.Report("KW308", d.At(n), fix, "%s does not exist", what)
	}
}

// UseVar answers what a name means. A var may be declared after its use,
// also in another file; one that refers to itself stays unknown.
func (s *Scope) UseVar(name string) (scalar.Type, bool) {
	if p, ok := s.pending[name]; ok {
		delete(s.pending, name)
		s.declare(p.d, p.Property)
	}
	v, ok := s.Vars[name]
	if !ok {
		return scalar.Type{}, false
	}
	v.Used = true
	t := v.Type
	t.Var = name
	return t, true
}

// Fields reads a mapping of names to types.
func (s *Scope) Fields(d *Document, props map[string]node.Property, name, what string) []keyspace.Field {
	p, ok := props[name]
	if !ok {
		return nil
	}
	var out []keyspace.Field
	for i, f := range d.Mapping(p.Value, name+" of "+what) {
		if i == MaxFields {
			d.Report("KW008", d.At(f.Key), "give what is open a type for its name and value: field: text, value: text",
				"%s of %s: a mapping has at most %d fields", name, what, MaxFields)
			break
		}
		if t, ok := s.TypeOf(d, f.Value, "the type of "+f.Name); ok {
			out = append(out, keyspace.Field{Name: f.Name, Type: t, Pos: d.At(f.Key)})
		}
	}
	return out
}

// MaxStates bounds the automaton states of all regular expressions of a declaration, each
// counted once, and of the patterns that hold one: so many take seconds and 100 MB.
const MaxStates = 1 << 18

const tooManyStates = "the regular expressions of the declaration need more than %d automaton states together"

// simpler says what to do about it.
const simpler = "give vars simpler types: an expression like [ab]*a[ab]{12} needs thousands of states"

// affords reports whether there is room for the expression of a type, if it is one, and
// takes the room.
func (s *Scope) affords(t scalar.Type) bool {
	if t.Kind != scalar.Regexp || s.priced[t.Expr] {
		return true
	}
	if s.room <= 0 {
		return false
	}
	s.priced[t.Expr] = true
	if lang, err := t.Value(); err == nil && lang != nil {
		s.room -= len(lang.DFA.Final)
	}
	return s.room > 0
}

// affordsPattern is affords for a pattern that was read.
func (s *Scope) affordsPattern(p *pattern.Pattern) bool {
	for _, place := range p.Placeholders() {
		if place.Type.Kind == scalar.Regexp {
			s.room -= len(p.DFA().Final)
			return s.room > 0
		}
	}
	return true
}

// AffordsPatterns takes the room of n more patterns. It reports false when there is none, which is said
// once, at the first place without room.
func (s *Scope) AffordsPatterns(at keyspace.Pos, n int) bool {
	s.patterns += n
	if s.patterns > MaxPatterns {
		s.TooMuch(at, "patterns, with those that constructs and old names add", MaxPatterns)
	}
	return !s.Over
}

// spells takes the room for the words of an enum that is used at n more places, where nearly all that is made of a
// declaration has them: automata, code, documents.
func (s *Scope) spells(at keyspace.Pos, n int, t scalar.Type) {
	if t.Kind != scalar.Enum || n == 0 {
		return
	}
	for _, word := range t.Values {
		s.spelt += n * (len(word) + 1)
	}
	if s.spelt > MaxEnumBytes {
		s.TooMuch(at, "bytes of words of enums, counted wherever an enum is used", MaxEnumBytes)
	}
}

// SpellsIn is spells for the placeholders of n patterns that are like one.
func (s *Scope) SpellsIn(at keyspace.Pos, n int, p *pattern.Pattern) {
	if p == nil {
		return
	}
	for _, place := range p.Placeholders() {
		s.spells(at, n, place.Type)
	}
}
