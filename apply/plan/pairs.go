package plan

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/selection"
)

// Pairs holds old and new patterns of keys.
type Pairs struct {
	list []*pair
}

// pair represents an old pattern and the new one.
type pair struct {
	from, to *pattern.Pattern
	key      *keyspace.Key // what a key is under its new name; nil: it is not said
	family   *family       // the keys of all roles; nil: it is a key by itself
	former   bool          // the old pattern is one of `was`: no declared key matches it
	at       []int         // of each placeholder of to: its place in from
	fault    Code          // why none of its keys can have the new name
	rivals   []*pair       // other pairs to the same pattern
}

// family represents the patterns of one entry by role, before and after.
type family struct{ from, to map[string]*pattern.Pattern }

// WithoutTag returns the old patterns that have a hash tag where the new one has none: keys that shared a slot of a
// cluster do not share one any more, and what changes them in one step fails there.
func (ps *Pairs) WithoutTag() (patterns []string) {
	for _, p := range ps.list {
		_, had := p.from.HashTag()
		if _, has := p.to.HashTag(); had && !has {
			patterns = append(patterns, p.from.String())
		}
	}
	return patterns
}

// Former returns the pairs that a declaration has: each pattern of `was`, with the keys that
// are derived from it.
func Former(ks *keyspace.Keyspace) (*Pairs, error) {
	ps := &Pairs{}
	for _, e := range ks.Entries {
		for _, was := range e.Was {
			if err := ps.entry(e, was, e.Keys[0].Pattern, true); err != nil {
				return nil, err
			}
		}
	}
	return ps.ready()
}

// entry adds the keys of an entry with one main pattern and with another one.
func (ps *Pairs) entry(e *keyspace.Entry, from, to *pattern.Pattern, former bool) error {
	f := &family{map[string]*pattern.Pattern{}, map[string]*pattern.Pattern{}}
	for _, k := range e.Keys {
		var err error
		if f.from[k.Role], err = e.Renamed(k, from); err == nil {
			f.to[k.Role], err = e.Renamed(k, to)
		}
		if err != nil {
			return &selection.Error{What: fmt.Sprintf("the %s key of %s cannot be derived: %v", k.Role, e.Name, err),
				Hint: "name it in the declaration"}
		}
		ps.add(&pair{from: f.from[k.Role], to: f.to[k.Role], key: k, family: f, former: former})
	}
	return nil
}

// add adds a pair unless both patterns are the same.
func (ps *Pairs) add(p *pair) {
	if p.from.String() != p.to.String() {
		ps.list = append(ps.list, p)
	}
}

// Moved returns the pairs from one namespace to another: the same declaration, loaded in each.
func Moved(from, to *keyspace.Keyspace) (*Pairs, error) {
	if len(from.Entries) != len(to.Entries) {
		return nil, &selection.Error{What: "the declaration is not the same in both namespaces", Hint: "run it again"}
	}
	ps := &Pairs{}
	for i, e := range to.Entries {
		f := &family{map[string]*pattern.Pattern{}, map[string]*pattern.Pattern{}}
		for j, k := range e.Keys {
			f.from[k.Role], f.to[k.Role] = from.Entries[i].Keys[j].Pattern, k.Pattern
			ps.add(&pair{from: f.from[k.Role], to: k.Pattern, key: k, family: f})
		}
	}
	// Patterns that overlap do so in both namespaces, and a key is of the same one in both.
	return ps.linked(), nil
}

// Mapped returns the pairs of "OLD=NEW". Where one of both is the pattern of an entry, or an
// old one of it, the keys that its construct derives go along.
func Mapped(ks *keyspace.Keyspace, texts []string) (*Pairs, error) {
	ps := &Pairs{}
	for _, text := range texts {
		old, to, ok := cutMap(text)
		if !ok {
			return nil, &selection.Error{What: fmt.Sprintf("%q is no old and new pattern", text),
				Hint: "write --map 'user:{id}=usr:{id}'"}
		}
		old, to = nameAsDeclared(ks, old, to)
		var both [2]*pattern.Pattern
		for i, side := range []string{old, to} {
			var err error
			if both[i], err = parsed(ks, side, old, to); err != nil {
				return nil, &selection.Error{What: fmt.Sprintf("the pattern %q: %v", side, err),
					Hint: "docs/language.md says what a pattern is"}
			}
		}
		if k := declaredAs(ks, to, old); k == nil {
			ps.add(&pair{from: both[0], to: both[1]})
		} else if k.Role != "" {
			ps.add(&pair{from: both[0], to: both[1], key: k})
		} else if err := ps.entry(k.Entry, both[0], both[1], false); err != nil {
			return nil, err
		}
	}
	return ps.ready()
}

// simple is a placeholder that is a name alone.
var simple = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// nameAsDeclared gives the placeholders of both patterns the names that they have in the declared pattern which one of both is
// but for these names: what a placeholder takes is known by its name.
func nameAsDeclared(ks *keyspace.Keyspace, old, to string) (string, string) {
	if declaredAs(ks, to, old) != nil {
		return old, to
	}
	for _, side := range []string{to, old} {
		for p := range declaredPatterns(ks) {
			if simple.ReplaceAllString(side, "{}") != simple.ReplaceAllString(p.String(), "{}") {
				continue
			}
			names := map[string]string{}
			theirs := simple.FindAllString(p.String(), -1)
			for i, name := range simple.FindAllString(side, -1) {
				names[name] = theirs[i]
			}
			rename := func(name string) string { return cmp.Or(names[name], name) }
			return simple.ReplaceAllStringFunc(old, rename), simple.ReplaceAllStringFunc(to, rename)
		}
	}
	return old, to
}

// declaredPatterns yields the patterns of all keys, and the old ones of entries.
func declaredPatterns(ks *keyspace.Keyspace) iter.Seq[*pattern.Pattern] {
	return func(yield func(*pattern.Pattern) bool) {
		for _, k := range ks.Keys {
			if !yield(k.Pattern) {
				return
			}
		}
		for _, e := range ks.Entries {
			for _, p := range e.Was {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// cutMap cuts at the first = that is not within braces.
func cutMap(text string) (old, to string, ok bool) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '=':
			if depth == 0 {
				return text[:i], text[i+1:], i > 0 && i+1 < len(text)
			}
		}
	}
	return "", "", false
}

// declaredAs returns the key that has one of the patterns; the first that has one counts. An
// old pattern of an entry is that of its main key.
func declaredAs(ks *keyspace.Keyspace, texts ...string) *keyspace.Key {
	for _, text := range texts {
		for _, k := range ks.Keys {
			if k.Pattern.String() == text {
				return k
			}
		}
		for _, e := range ks.Entries {
			if slices.ContainsFunc(e.Was, func(p *pattern.Pattern) bool { return p.String() == text }) {
				return e.Keys[0]
			}
		}
	}
	return nil
}

// parsed reads a pattern. Its placeholders are of the types that the declared key with one
// of the patterns gives them, else of those of vars, else any text without a colon.
func parsed(ks *keyspace.Keyspace, text string, sides ...string) (*pattern.Pattern, error) {
	for _, e := range ks.Entries {
		for _, p := range e.Was {
			if p.String() == text {
				return p, nil
			}
		}
	}
	k := declaredAs(ks, sides...)
	return pattern.Parse(text, func(name string) (t scalarType, ok bool) {
		if k != nil {
			if t, ok = k.Pattern.Types()(name); ok {
				return t, true
			}
		}
		for _, v := range ks.Vars {
			if v.Name == name {
				return v.Type, true
			}
		}
		return t, false
	})
}

// Back returns the pairs the other way round.
func (ps *Pairs) Back() *Pairs {
	out, turned := &Pairs{}, map[*family]*family{}
	for _, p := range ps.list {
		q := &pair{from: p.to, to: p.from, key: p.key}
		if p.family != nil {
			if turned[p.family] == nil {
				turned[p.family] = &family{p.family.to, p.family.from}
			}
			q.family = turned[p.family]
		}
		q.link()
		out.list = append(out.list, q)
	}
	return out
}

// anyText returns the old pattern with any text in its placeholders, or as it is where that
// could be read in two ways.
func (p *pair) anyText() *pattern.Pattern {
	loose, err := pattern.Parse(p.from.String(), nil)
	if err != nil {
		return p.from
	}
	return loose
}

// link finds the placeholders of the new pattern in the old one.
func (p *pair) link() {
	for _, place := range p.to.Placeholders() {
		i := placeholder(p.from, place.Name)
		if i < 0 {
			p.fault = NewPlaceholder
		}
		p.at = append(p.at, i)
	}
	for _, place := range p.from.Placeholders() {
		if !p.to.Has(place.Name) {
			p.fault = LostPlaceholder
		}
	}
}

// linked links all pairs.
func (ps *Pairs) linked() *Pairs {
	for _, p := range ps.list {
		p.link()
	}
	return ps
}

// ready checks the pairs against one another: a new name that is an old one, too, would be
// renamed again.
func (ps *Pairs) ready() (*Pairs, error) {
	ps.linked()
	for i, p := range ps.list {
		for _, q := range ps.list {
			if p.former || q.former {
				continue // what has a declared name has no old one
			}
			if key, both := pattern.Overlap(p.to, q.from); both {
				return nil, &selection.Error{
					What: fmt.Sprintf("%q is a new name by %s and an old one by %s: it would be renamed again",
						key, p.to, q.from), Hint: "rename by a pattern that is neither, in two runs"}
			}
		}
		for _, q := range ps.list[:i] {
			if p.to.String() == q.to.String() {
				p.rivals, q.rivals = append(p.rivals, q), append(q.rivals, p)
			} else if key, both := pattern.Overlap(p.to, q.to); both && !(p.former && q.former) {
				return nil, &selection.Error{What: fmt.Sprintf("%q would be a new name by %s and by %s", key, p.to, q.to),
					Hint: "rename to patterns that have no key in common"}
			}
		}
	}
	return ps, nil
}

// Empty reports whether there is nothing to rename.
func (ps *Pairs) Empty() bool { return len(ps.list) == 0 }

// Describe names the pairs: old and new pattern.
func (ps *Pairs) Describe() (out [][2]string) {
	for _, p := range ps.list {
		out = append(out, [2]string{p.from.String(), p.to.String()})
	}
	return out
}

// Glob matches each key that has an old pattern; "" where one glob cannot tell.
func (ps *Pairs) Glob() string {
	if len(ps.list) == 0 {
		return ""
	}
	if len(ps.list) == 1 {
		return ps.list[0].from.ScanGlob()
	}
	shared := beginning(ps.list[0].from)
	for _, p := range ps.list[1:] {
		text, n := beginning(p.from), 0
		for n < min(len(shared), len(text)) && shared[n] == text[n] {
			n++
		}
		shared = shared[:n]
	}
	if shared == "" {
		return ""
	}
	return pattern.GlobLiteral(shared) + "*"
}

// beginning returns the text that all keys of a pattern begin with.
func beginning(p *pattern.Pattern) string {
	if elems := p.Elements(); len(elems) > 0 {
		return elems[0].Literal
	}
	return strings.TrimSuffix(p.String(), "*")
}
