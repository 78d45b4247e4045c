package load

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// typeOf resolves the text of a scalar type and marks its var as used.
func (l *loader) typeOf(d *document, n *yaml.Node, what string) (scalar.Type, bool) {
	if n.Kind == yaml.SequenceNode {
		d.report("KW005", d.at(n), meantEnum(n, what), "%s must be text, not a list", what)
		return scalar.Type{}, false
	}
	text, ok := d.scalarText(n, what)
	if !ok {
		return scalar.Type{}, false
	}
	if l.room <= 0 && strings.HasPrefix(text, "/") { // reading an expression makes its states
		d.report("KW103", d.at(n), simpler, "%s: "+tooManyStates, what, maxStates)
		return scalar.Type{}, false
	}
	t, err := scalar.Parse(text, l.useVar)
	var fault *scalar.SyntaxError
	if errors.As(err, &fault) {
		word := strings.Fields(text[fault.Offset:] + " .")[0]
		fix := proposal(fault.Proposal)
		if fault.Offset == 0 { // the name of the type itself
			fix = cmp.Or(meantType(text, word), nearKey(&d.reader, word, l.vars, scalarNames...), fix)
		}
		d.report("KW103", d.within(n, fault.Offset, len(word)), fix, "%s: %s", what, fault.Message)
		return t, false
	}
	if !d.isText(n, what) { // a var with such a name
		return t, false
	}
	if !l.affords(t) {
		d.report("KW103", d.at(n), simpler, "%s: "+tooManyStates, what, maxStates)
		return t, false
	}
	if t.Kind == scalar.JSON && t.File != "" {
		file, _, _ := strings.Cut(t.File, "#")
		target := path.Join(d.dir, file)
		l.mustExist(d, n, target, what+": the schema file "+target, "create it, or write json without a file")
		t.File = path.Join(d.dir, t.File)
	}
	l.spells(d.at(n), 1, t)
	return t, true
}

// scalarNames lists the words a scalar type may begin with.
var scalarNames = func() []string {
	var names []string
	for k := scalar.Text; k <= scalar.JSON; k++ {
		if k != scalar.Enum && k != scalar.Regexp {
			names = append(names, k.String())
		}
	}
	return names
}()

// mustExist reports a file beside the declaration that is not there.
func (l *loader) mustExist(d *document, n *yaml.Node, target, what, fix string) {
	if !fs.ValidPath(target) {
		d.report("KW308", d.at(n), "name a file below the folder of the first file, relative to this one",
			"%s leads outside of the declaration's folder", what)
		return
	}
	if _, err := fs.Stat(l.fsys, target); err != nil {
		d.report("KW308", d.at(n), fix, "%s does not exist", what)
	}
}

// useVar answers what a name means. A var may be declared after its use,
// also in another file; one that refers to itself stays unknown.
func (l *loader) useVar(name string) (scalar.Type, bool) {
	if p, ok := l.pending[name]; ok {
		delete(l.pending, name)
		l.declare(p.d, p.property)
	}
	v, ok := l.vars[name]
	if !ok {
		return scalar.Type{}, false
	}
	v.Used = true
	t := v.Type
	t.Var = name
	return t, true
}

// fields reads a mapping of names to types.
func (l *loader) fields(d *document, props map[string]property, name, what string) []keyspace.Field {
	p, ok := props[name]
	if !ok {
		return nil
	}
	var out []keyspace.Field
	for i, f := range d.mapping(p.value, name+" of "+what) {
		if i == MaxFields {
			d.report("KW008", d.at(f.key), "give what is open a type for its name and value: field: text, value: text",
				"%s of %s: a mapping has at most %d fields", name, what, MaxFields)
			break
		}
		if t, ok := l.typeOf(d, f.value, "the type of "+f.name); ok {
			out = append(out, keyspace.Field{Name: f.name, Type: t, Pos: d.at(f.key)})
		}
	}
	return out
}

// maxStates bounds the automaton states of all regular expressions of a declaration, each
// counted once, and of the patterns that hold one: so many take seconds and 100 MB.
const maxStates = 1 << 18

const tooManyStates = "the regular expressions of the declaration need more than %d automaton states together"

// simpler says what to do about it.
const simpler = "give vars simpler types: an expression like [ab]*a[ab]{12} needs thousands of states"

// affords reports whether there is room for the expression of a type, if it is one, and
// takes the room.
func (l *loader) affords(t scalar.Type) bool {
	if t.Kind != scalar.Regexp || l.priced[t.Expr] {
		return true
	}
	if l.room <= 0 {
		return false
	}
	l.priced[t.Expr] = true
	if lang, err := t.Value(); err == nil && lang != nil {
		l.room -= len(lang.DFA.Final)
	}
	return l.room > 0
}

// affordsPattern is affords for a pattern that was read.
func (l *loader) affordsPattern(p *pattern.Pattern) bool {
	for _, place := range p.Placeholders() {
		if place.Type.Kind == scalar.Regexp {
			l.room -= len(p.DFA().Final)
			return l.room > 0
		}
	}
	return true
}

// affordsPatterns takes the room of n more patterns. It reports false when there is none, which is said
// once, at the first place without room.
func (l *loader) affordsPatterns(at keyspace.Pos, n int) bool {
	l.patterns += n
	if l.patterns > MaxPatterns {
		l.tooMuch(at, "patterns, with those that constructs and old names add", MaxPatterns)
	}
	return !l.over
}

// spells takes the room for the words of an enum that is used at n more places, where nearly all that is made of a
// declaration has them: automata, code, documents.
func (l *loader) spells(at keyspace.Pos, n int, t scalar.Type) {
	if t.Kind != scalar.Enum || n == 0 {
		return
	}
	for _, word := range t.Values {
		l.spelt += n * (len(word) + 1)
	}
	if l.spelt > MaxEnumBytes {
		l.tooMuch(at, "bytes of words of enums, counted wherever an enum is used", MaxEnumBytes)
	}
}

// spellsIn is spells for the placeholders of n patterns that are like one.
func (l *loader) spellsIn(at keyspace.Pos, n int, p *pattern.Pattern) {
	if p == nil {
		return
	}
	for _, place := range p.Placeholders() {
		l.spells(at, n, place.Type)
	}
}

// tooMuch says that more is declared than is read.
func (l *loader) tooMuch(at keyspace.Pos, what string, most int) {
	if !l.over {
		l.anywhere().report("KW008", at,
			"divide it into declarations of their own: each is checked, and generates code, alone",
			"a declaration has at most %d %s", most, what)
	}
	l.over = true
}
