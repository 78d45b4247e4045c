package infer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/infer/software"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	keygroup "github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// Draft represents a drafted declaration. YAML writes it. All keys are known, in an entry,
// foreign or left.
type Draft struct {
	Package string
	All     Count // looked at
	Known   Count // of these, declared already
	Looked  int64 // of these, those whose value was read whole: types of values come from them
	About   bool  // the counts of entries are near the truth only: of a sample, or of too many keys to keep
	Vars    []Var
	Entries []*Entry
	Foreign []Foreign
	Left    []Left
	Passed  []string // lines of a page that look like keys and were not taken for some

	declared map[*keyspace.Key]int64 // how many keys those of the known declaration have
	page     bool                    // it comes from a page
	options  Options
	borrowed []Var // of the known declaration, that it refers to
	last     bool  // entries that still change are left out
}

// Left is keys, or a pattern, that are not declared, and why.
type Left struct {
	What    string // a pattern; "" where they have none in common
	Why     string
	Example []byte
	Count

	paths []*path.Path
}

// Var represents the type of a placeholder.
type Var struct{ Name, Type string }

// Foreign represents a glob of other software's keys.
type Foreign struct {
	Glob, Software, URL string
	Type                string // "" where they are of several
	Count
	NoTTL int64 // of Keys, those that never expire

	paths []*path.Path
}

// Entry represents a drafted entry.
type Entry struct {
	Name    string
	Pattern string
	Type    string
	Props   []Prop // value, fields, member … in the order they are written
	TTL     string
	Count
	NoTTL   int64 // of Keys, those that never expire
	Odd     int64 // of Keys, those of another type than most; Guesses count them by type
	Example []byte
	Guesses []string // what is guessed, for a comment
	Doc     string   // from a page
	Source  string   // where a page names it

	tokens      []path.Token
	path        *path.Path
	notes       []string // guesses that do not come from what is counted
	silenced    []string // codes of warnings about how the keys are called
	near        bool     // it may be a misspelling: its warnings stay
	literal     string   // the one key it is
	reserved    bool     // its name would be a keyword somewhere
	noConstruct bool     // a construct of it would take keys of another
}

// Confidence returns how sure an entry is: high where words are names and placeholders are identifiers by their form,
// of ten keys or more; medium where words became a placeholder, something is guessed, or there are few keys; low where
// a placeholder has one key.
func (d *Draft) Confidence(e *Entry) keygroup.Confidence {
	varies, words := false, false
	for _, t := range e.tokens {
		varies = varies || t.Class != 0
		words = words || t.Class == class.Text
	}
	switch {
	case e.Keys == 0: // of a page
		return keygroup.Medium
	case varies && e.Keys == 1:
		return keygroup.Low
	case words, varies && e.Keys < 10, len(e.Guesses) > 0:
		return keygroup.Medium
	}
	return keygroup.High
}

// Prop represents a property of an entry; one with Fields is a mapping.
type Prop struct {
	Name, Value string
	Fields      []Var
}

// maxEntries bounds a draft: no program reads more. What is left out is said.
const maxEntries = 300

// Draft drafts a declaration of what has been added so far.
func (in *Infer) Draft() *Draft {
	d := &Draft{Package: in.options.Package, All: in.seen, Known: in.covered, About: in.tree != nil, Looked: in.looked,
		options: in.options, declared: in.declared()}
	if in.tree != nil {
		d.draft(path.Of(in.tree), noNames)
	} else {
		d.ofKept(&in.kept, in.samples.Looks)
	}
	d.leftApart(in.long, in.slips)
	slices.SortStableFunc(d.Entries, func(a, b *Entry) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return d
}

// tooLong is why names that are longer than any pattern are left.
const tooLong = "names that are longer than any pattern"

// maxRounds bounds how often what is left is looked at again by itself.
const maxRounds = 8

// ofKept drafts what was kept. What is left then is drafted again as if the draft
// were a declaration, until nothing comes of it: a merge would find the same.
func (d *Draft) ofKept(k *tree.Kept, values []tree.Sample) {
	d.round(k, values)
	for range maxRounds {
		more := &Draft{Package: d.Package, All: d.All, options: d.options}
		ks, _, _ := d.load()
		more.options.Known, more.declared = d.within(ks), d.declaredWith(ks)
		m, _, err := matchDeclared(more.options.Known)
		if err != nil {
			return
		}
		over := k.Without(m)
		if over.N == 0 {
			return
		}
		more.round(over, values)
		d.Left = more.Left
		if len(more.Entries)+len(more.Foreign) == 0 {
			return
		}
		d.Entries = append(d.Entries, more.Entries...)
		d.Foreign = append(d.Foreign, more.Foreign...)
		d.Vars = append(d.Vars, more.Vars...)
		for _, v := range more.borrowed { // without it, a placeholder would be any text
			if !slices.ContainsFunc(slices.Concat(d.Vars, d.borrowed), func(o Var) bool { return o.Name == v.Name }) {
				d.borrowed = append(d.borrowed, v)
			}
		}
		slices.SortFunc(d.Vars, func(a, b Var) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// declaredWith returns how many keys those of the known declaration, and of the draft, have.
func (d *Draft) declaredWith(ks *keyspace.Keyspace) map[*keyspace.Key]int64 {
	out := maps.Clone(d.declared)
	for _, k := range ks.Keys {
		if e := d.named(k.Entry.Name); e != nil && !k.Derived {
			out[k] = e.Keys
		}
	}
	return out
}

// round drafts what was kept, and counts it again until the draft stays.
func (d *Draft) round(k *tree.Kept, values []tree.Sample) {
	tree, groups := tree.Grow(k, values)
	d.draft(path.Of(tree), k.Named)
	for n, most := 0, maxRecounts+1; n < most; n++ {
		if n == maxRecounts {
			d.last, most = true, n+len(d.Entries)+1
		}
		if !d.recount(k, groups, values) {
			return
		}
		d.vars()
		d.names()
		d.resolveConflicts()
	}
}

// draft makes entries of paths.
func (d *Draft) draft(paths []*path.Path, names func(glob string, kind source.Kind) [][]byte) {
	path.Counted(paths)
	paths = path.Generalise(path.Merge(path.Generalise(d.heaviest(path.Tenants(paths)))))
	unite(paths)
	slices.SortStableFunc(paths, func(a, b *path.Path) int { return cmp.Compare(b.Keys, a.Keys) })
	paths = d.without(d.foreign(paths, names))
	for _, p := range paths {
		d.entry(p)
	}
	d.vars()
	d.names()
	d.resolveConflicts()
}

// maxRecounts bounds how often what was counted makes another draft. An entry that still
// is another one each time is left out, so that what is counted is what is drafted.
const maxRecounts = 20

// maxPaths bounds what is compared with each other.
const maxPaths = 3000

// heaviest returns the paths with most keys; the others are left.
func (d *Draft) heaviest(paths []*path.Path) []*path.Path {
	if len(paths) <= maxPaths {
		return paths
	}
	slices.SortStableFunc(paths, func(a, b *path.Path) int { return cmp.Compare(b.Keys, a.Keys) })
	d.leave(paths[maxPaths:], "", nothingInCommon)
	return paths[:maxPaths]
}

const nothingInCommon = "names with nothing in common; a pattern of them would be one of any key"

// left adds to what is not declared.
func (d *Draft) left(what, why string, n Count) {
	if n.Keys > 0 {
		d.Left = append(d.Left, Left{What: what, Why: why, Count: n})
	}
}

// leftApart tells what was not looked at for patterns: names that are too long, and those that are mistakes.
func (d *Draft) leftApart(long Count, s slips) {
	d.left("", tooLong, long)
	for _, slip := range slices.Sorted(maps.Keys(s)) {
		d.left("", byMistake+finding.Printable(slip), *s[slip])
	}
}

// byMistake is why names that a program put together wrongly are left.
const byMistake = "a program put the name together by mistake: "

// leave does not declare paths.
func (d *Draft) leave(paths []*path.Path, what, why string) {
	l := Left{What: what, Why: why, paths: slices.Clone(paths)}
	for _, p := range paths {
		l.add(Count{p.Keys, p.Size})
		if l.Example == nil || bytes.Compare(p.Example, l.Example) < 0 {
			l.Example = p.Example
		}
	}
	if l.Keys == 0 {
		return
	}
	if i := slices.IndexFunc(d.Left, func(o Left) bool { return o.What == what && o.Why == why }); i >= 0 {
		d.Left[i].add(l.Count)
		d.Left[i].paths = append(d.Left[i].paths, l.paths...)
		return
	}
	d.Left = append(d.Left, l)
}

// unite gives all enumerations of one vocabulary the same words: a placeholder
// means one thing.
func unite(paths []*path.Path) {
	words := map[string][]string{}
	for _, p := range paths {
		for _, s := range p.Segments {
			if s.Vocab != "" {
				words[s.Vocab] = append(words[s.Vocab], s.Words...)
			}
		}
	}
	for _, p := range paths {
		for i := range p.Segments {
			if s := &p.Segments[i]; s.Vocab != "" {
				s.Words = slices.Compact(slices.Sorted(slices.Values(words[s.Vocab])))
			}
		}
	}
}

func (d *Draft) entry(p *path.Path) {
	one := []*path.Path{p}
	switch e := newEntry(p); {
	case len(d.Entries) == maxEntries:
		d.leave(one, "", "a draft has at most "+strconv.Itoa(maxEntries)+" entries; these have the fewest keys")
	case len(p.Example) == 0:
		d.leave(one, "", "the key without a name")
	case e.nameless():
		d.leave(one, "", nothingInCommon)
	case d.About && !mostlyOneKind(p.Group): // of what is kept recount says it
		d.leave(one, path.Spell(e.tokens), severalTypes(p.Group))
	case !e.describe():
		d.leave(one, path.Spell(e.tokens), "keys of type "+p.Kind().String()+", which cannot be declared")
	default:
		d.Entries = append(d.Entries, e)
	}
}

func newEntry(p *path.Path) *Entry {
	e := &Entry{Count: Count{p.Keys, p.Size}, NoTTL: p.TTL.None, Example: p.Example, path: p, tokens: p.Tokens()}
	if e.near = p.Near != ""; e.near {
		e.notes = []string{"may be a misspelling of " + p.Near}
	}
	path.NameTokens(e.tokens)
	return e
}

// nameless: a pattern without a word, of texts that may be anything.
func (e *Entry) nameless() bool {
	loose := false
	for _, t := range e.tokens {
		if len(path.WordsOf(t.Literal)) > 0 || len(t.Words) > 0 {
			return false
		}
		loose = loose || t.Class == class.Text || t.Class == class.Binary || t.Class == class.Rest
	}
	return loose
}

// foreign takes out the keys of software that is known by its keys.
func (d *Draft) foreign(paths []*path.Path, names func(glob string, kind source.Kind) [][]byte) []*path.Path {
	seen := make([]software.Observation, len(paths))
	for i, p := range paths {
		seen[i] = software.Observation{Key: p.Example, Kind: p.Kind(), Fields: p.FieldNames()}
	}
	found := software.Found(seen)
	slices.SortStableFunc(found, func(a, b software.Product) int { // sessions in a cache are sessions
		return cmp.Compare(rank(a), rank(b))
	})
	for i := range found {
		found[i].NameKeys(names)
	}
	globs := map[string]*Foreign{}
	kept := slices.DeleteFunc(slices.Clone(paths), func(p *path.Path) bool {
		for i := range found {
			glob, ok := found[i].Has(p.Example)
			if !ok {
				continue
			}
			if found[i].Ours {
				p.Software = found[i].Name
				return false
			}
			f := globs[glob]
			if f == nil {
				f = &Foreign{Glob: glob, Software: found[i].Name, URL: found[i].URL, Type: p.Kind().String()}
				globs[glob] = f
			}
			f.take(p)
			return true
		}
		return false
	})
	for _, glob := range slices.Sorted(maps.Keys(globs)) {
		d.Foreign = append(d.Foreign, *globs[glob])
	}
	return kept
}

// rank puts what is the application's before what is another software's.
func rank(p software.Product) int {
	if p.Ours {
		return 0
	}
	return 1
}

func (f *Foreign) take(p *path.Path) {
	f.add(Count{p.Keys, p.Size})
	f.NoTTL += p.TTL.None
	f.paths = append(f.paths, p)
	if f.Type != p.Kind().String() {
		f.Type = ""
	}
}

// without leaves out what is probably a mistake or noise: typos, keys that are
// nearly those of a family, and names that nothing else is like.
func (d *Draft) without(paths []*path.Path) []*path.Path {
	gone := map[*path.Path]bool{}
	families := d.families(paths)
	for _, p := range paths {
		if q := p.SlipOf(paths); q != nil {
			d.leave([]*path.Path{p}, p.Text(),
				fmt.Sprintf("guess: a mistake? %s are written as %s", plural(q.Keys, "key"), q.Text()))
			gone[p] = true
		} else if known := p.SlipOfKnown(families); known != "" {
			d.leave([]*path.Path{p}, p.Text(), "guess: a mistake? it is nearly "+known)
			gone[p] = true
		} else if w, of, sure := p.TypoOf(families); sure {
			d.leave([]*path.Path{p}, p.Text(), fmt.Sprintf("guess: a typo of %s? %s has it", w, of.Name))
			gone[p] = true
		} else if w != "" {
			p.Near = fmt.Sprintf("%s: %s has it", w, of.Name)
			if of.Keys > 0 {
				p.Near += ", with " + plural(of.Keys, "key")
			}
		}
	}
	paths = slices.DeleteFunc(paths, func(p *path.Path) bool { return gone[p] })
	lonely := path.Noise(paths, d.All.Keys)
	d.leave(lonely, "", nothingInCommon)
	return slices.DeleteFunc(paths, func(p *path.Path) bool { return slices.Contains(lonely, p) })
}

// maxFamilies bounds what typos are looked for in.
const maxFamilies = 400

func (d *Draft) families(paths []*path.Path) []path.Family {
	var out []path.Family
	if d.options.Known != nil {
		for _, k := range d.options.Known.Keys {
			out = append(out, path.KnownFamily(k, d.declared[k]))
		}
	}
	for _, p := range paths { // those with most keys come first
		f := path.Family{Sep: p.Sep, Keys: p.Keys, Name: p.Text()}
		for _, s := range p.Segments {
			w := ""
			if path.IsLiteral(s.Shape) {
				w = s.Shape
			}
			f.Words = append(f.Words, w)
		}
		out = append(out, f)
	}
	return out[:min(len(out), maxFamilies)]
}

// noNames is in place of the keys of a keyspace that was too large to keep them.
func noNames(string, source.Kind) [][]byte { return nil }
