package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/content"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/keyspace"
	keygroup "github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
)

// recount asks of every key that was kept what it belongs to, exactly as an audit
// does, and describes the entries by what they have. It says whether the draft is
// another one then.
func (d *Draft) recount(k *tree.Kept, groups []*tree.Group, values []tree.Sample) bool {
	ks, _, _ := d.load()
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return false
	}
	t := d.tally(targets)
	for i := range k.N {
		name, f := k.Name(i), k.Fact(i)
		t.add(m.Match(name, nil), name, f, groups[i])
	}
	d.foreignCounts(t)
	d.leftCounts(t)
	changed := false
	for _, e := range slices.Clone(d.Entries) {
		changed = d.redescribe(e, t.entries[e], values) || changed
	}
	d.Entries = slices.DeleteFunc(d.Entries, func(e *Entry) bool { return e.Name == "" })
	return changed
}

// tally describes what is counted of each entry, glob and path.
type tally struct {
	targets []keyspace.Target
	byItem  []*belonging // nil: nothing has them
	entries map[*Entry]*belonging
	globs   map[string]*belonging
	rest    map[*tree.Group]*belonging // of the tree: keys that nothing has
}

// belonging represents the keys of one entry or glob.
type belonging struct {
	*tree.Group                             // the main key's
	kinds       map[source.Kind]*tree.Group // these by type; nil while they have one
	all         Count                       // and those that a construct brings along
	noTTL       int64                       // of all
	names       [source.Kinds][][]byte
	shapes      map[*tree.Group]bool // of the tree, that these keys are in
	looked      map[int32]bool       // samples that values of these keys are in
}

func newBelonging() *belonging {
	return &belonging{Group: tree.NewGroup(), shapes: map[*tree.Group]bool{}, looked: map[int32]bool{}}
}

// content returns what the values look like: of all samples that one of these keys is in.
func (b *belonging) content(values []tree.Sample) *content.Content {
	c := &content.Content{}
	for _, i := range slices.Sorted(maps.Keys(b.looked)) {
		c.Merge(&values[i].Content)
	}
	return c
}

func (d *Draft) tally(targets []keyspace.Target) *tally {
	t := &tally{targets: targets, byItem: make([]*belonging, len(targets)), entries: map[*Entry]*belonging{},
		globs: map[string]*belonging{}, rest: map[*tree.Group]*belonging{}}
	for i, target := range targets {
		switch {
		case target.Key != nil:
			e := d.named(target.Key.Entry.Name)
			if t.entries[e] == nil {
				t.entries[e] = newBelonging()
			}
			t.byItem[i] = t.entries[e]
		case target.Foreign != nil:
			t.byItem[i] = newBelonging()
			t.globs[target.Foreign.Text] = t.byItem[i]
		}
	}
	return t
}

// maxApart says how many keys of another type than the rest of an entry's are
// declared one by one at most.
const maxApart = 8

func (t *tally) add(item int, name []byte, f *tree.Fact, shape *tree.Group) {
	var b *belonging
	if item != match.None {
		b = t.byItem[item]
	}
	if b == nil {
		if b = t.rest[shape]; b == nil {
			b = newBelonging()
			t.rest[shape] = b
		}
	}
	b.all.add(Count{1, max(f.Bytes, 0)})
	if f.TTL == int64(source.NoTTL) {
		b.noTTL++
	}
	if item != match.None && t.targets[item].Key != nil && t.targets[item].Key.Derived {
		return
	}
	b.count(name, f)
	b.shapes[shape] = true
	if f.Sample >= 0 {
		b.looked[f.Sample] = true
	}
	if len(b.names[f.Kind]) <= maxApart {
		b.names[f.Kind] = append(b.names[f.Kind], name)
	}
}

// count counts a main key, and those of each type by themselves from the second type on.
func (b *belonging) count(name []byte, f *tree.Fact) {
	if b.kinds == nil && b.Keys > b.Kinds[f.Kind] {
		one := *b.Group
		b.kinds = map[source.Kind]*tree.Group{b.Kind(): &one}
	}
	b.Count(name, f)
	if b.kinds == nil {
		return
	}
	if b.kinds[f.Kind] == nil {
		b.kinds[f.Kind] = tree.NewGroup()
	}
	b.kinds[f.Kind].Count(name, f)
}

// redescribe describes an entry by what was counted. It says whether that makes
// another entry of it, one more, or none.
func (d *Draft) redescribe(e *Entry, b *belonging, values []tree.Sample) bool {
	if b == nil || b.all.Keys == 0 || b.Keys == 0 {
		e.Name = "" // all its keys are others'
		return true
	}
	e.Count, e.NoTTL, e.Example = b.all, b.noTTL, b.Example
	if d.splitOddKinds(e, b) {
		return true
	}
	was, ttl := e.Type, e.TTL
	b.Values = b.content(values)
	e.path.Group = b.Group
	e.path.Origins = nil
	for shape := range b.shapes {
		e.path.Origins = append(e.path.Origins, shape)
	}
	if !e.describe() {
		d.drop(e, "keys of type "+e.path.Kind().String()+", which cannot be declared")
		return true
	}
	if e.noConstruct {
		e.Type = "string"
	}
	changed := e.Type != was || e.TTL != ttl
	if changed && d.last {
		d.drop(e, "what its keys are changes with those of others")
	}
	return changed
}

// splitOddKinds declares the few keys that are of another type than the others by
// themselves. Where they are more, or cannot be declared so, the entry stays if nearly
// all its keys have one type, and says which others have not. An entry of which fewer
// have is left: it is two things.
func (d *Draft) splitOddKinds(e *Entry, b *belonging) bool {
	most := b.Kind()
	odd := b.Keys - b.Kinds[most]
	if odd == 0 {
		return false
	}
	var names []string
	for kind, list := range b.names {
		if source.Kind(kind) != most {
			for _, n := range list {
				names = append(names, string(n))
			}
		}
	}
	slices.Sort(names)
	literal := e.path.Sep == "" && len(e.path.Segments) == 1 && path.IsLiteral(e.path.Segments[0].Shape)
	switch {
	case !d.last && odd <= maxApart && !literal && !slices.ContainsFunc(names, d.cannotDeclare):
		for _, name := range names {
			d.declareKey(e, name)
		}
		return true
	case mostlyOneKind(b.Group) && !literal:
		b.TTL, b.Most = b.kinds[most].TTL, b.kinds[most].Most // what the entry says is of its type
		return false
	}
	d.drop(e, severalTypes(b.Group))
	return true
}

// mostlyOneKind reports whether nearly all keys have one type: the others are mistakes then.
func mostlyOneKind(g *tree.Group) bool { return float64(g.Kinds[g.Kind()]) >= oneKind*float64(g.Keys) }

// oneKind is the share of keys that have the type of their entry at least.
const oneKind = 0.95

// severalTypes says why an entry is left, with how many keys are of which type.
func severalTypes(g *tree.Group) string {
	var kinds []source.Kind
	for kind, n := range g.Kinds {
		if n > 0 {
			kinds = append(kinds, source.Kind(kind))
		}
	}
	slices.SortStableFunc(kinds, func(x, y source.Kind) int { return cmp.Compare(g.Kinds[y], g.Kinds[x]) })
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, grouped(g.Kinds[kind])+" of type "+kind.String())
	}
	return "keys of several types under one pattern: " + strings.Join(parts, ", ")
}

// cannotDeclare reports whether a key cannot be declared by its name.
func (d *Draft) cannotDeclare(name string) bool {
	return len(name) > maxPatternName || tree.HasClass(name) || holdsToken(name) || slices.ContainsFunc(d.Entries,
		func(o *Entry) bool { return o.literal == name })
}

// declareKey declares one key by its name.
func (d *Draft) declareKey(e *Entry, name string) {
	p := &path.Path{Segments: []path.Segment{{Shape: name}}, Group: tree.NewGroup()}
	one := &Entry{Name: "new", path: p, tokens: p.Tokens(), literal: name}
	one.notes = []string{"of another type than the others of " + e.Pattern + ": a mistake?"}
	one.Pattern = path.Spell(one.tokens)
	one.Type, one.TTL = "string", "any"
	d.Entries = append(d.Entries, one)
}

// holdsToken reports whether a name has something of one person or session in it: a draft goes to a repository.
func holdsToken(name string) bool {
	masked := keygroup.Mask([]byte(name))
	return slices.ContainsFunc([]string{"{text}", "{uuid}", "{ulid}", "{hex}"}, func(p string) bool {
		return strings.Contains(masked, p)
	})
}

// maxPatternName says how long a name may be to be declared by itself.
const maxPatternName = 200

func (d *Draft) foreignCounts(t *tally) {
	for i := range d.Foreign {
		f := &d.Foreign[i]
		if b := t.globs[f.Glob]; b != nil {
			f.Count, f.NoTTL, f.Type = b.all, b.noTTL, ""
			if b.Keys > 0 && b.Kinds[b.Kind()] == b.Keys {
				f.Type = b.Kind().String()
			}
		}
	}
	d.Foreign = slices.DeleteFunc(d.Foreign, func(f Foreign) bool { return f.Keys == 0 })
}

// leftCounts sets how many keys each line about undeclared keys counts, and adds one
// for keys that were thought to be declared.
func (d *Draft) leftCounts(t *tally) {
	for i := range d.Left {
		l := &d.Left[i]
		if len(l.paths) == 0 {
			continue
		}
		l.Count, l.Example = Count{}, nil
		for _, p := range l.paths {
			for _, shape := range p.Origins {
				l.take(t.rest[shape])
				delete(t.rest, shape)
			}
		}
	}
	other := Left{Why: "like the keys of an entry, but not quite"}
	i := slices.IndexFunc(d.Left, func(l Left) bool { return l.Why == other.Why })
	for shape, b := range t.rest {
		if i >= 0 {
			other = d.Left[i]
		}
		other.take(b)
		other.paths = append(other.paths, &path.Path{Origins: []*tree.Group{shape}, Group: shape})
		if i >= 0 {
			d.Left[i] = other
		}
	}
	if i < 0 && other.Keys > 0 {
		d.Left = append(d.Left, other)
	}
	d.Left = slices.DeleteFunc(d.Left, func(l Left) bool { return l.Keys == 0 })
}

func (l *Left) take(b *belonging) {
	if b == nil {
		return
	}
	l.add(b.all)
	if l.Example == nil || string(b.Example) < string(l.Example) {
		l.Example = b.Example
	}
}
