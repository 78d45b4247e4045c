package infer

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
)

// resolveConflicts loads the draft as anybody would and mends what is wrong with it:
// patterns that can be read in two ways or overlap, names that are keywords,
// keys that a construct brings along. What cannot be mended is left out, and
// said.
func (d *Draft) resolveConflicts() {
	for range maxMends {
		ks, findings, lines := d.load()
		changed := false
		for _, f := range findings {
			if e := d.at(lines, f.Pos.Line); e != nil && f.Severity == finding.Error && e.Name != "" {
				d.simplify(e)
				changed = true
			}
		}
		if !changed {
			changed = d.mend(ks)
		}
		if !changed {
			return
		}
		d.Entries = slices.DeleteFunc(d.Entries, func(e *Entry) bool { return e.Name == "" })
		d.vars()
		d.names()
	}
	d.giveUp()
}

// maxMends bounds the rounds of mending; each settles one fault at least.
const maxMends = 60

// giveUp leaves out every entry that something is still wrong with.
func (d *Draft) giveUp() {
	for range len(d.Entries) {
		ks, findings, lines := d.load()
		wrong := map[*Entry]string{}
		for _, f := range findings {
			if e := d.at(lines, f.Pos.Line); e != nil && f.Severity == finding.Error {
				wrong[e] = f.Message
			}
		}
		all := d.within(ks)
		if len(wrong) == 0 {
			items, targets := all.Items()
			if _, _, err := match.Compile(items); err != nil { // lint may say it at a known entry
				if list := d.involved(err, targets); len(list) > 0 {
					wrong[smallest(list)] = tooComplex
				}
			}
		}
		if len(wrong) == 0 {
			for _, f := range lint.Run(all) {
				if e := d.named(f.Entry); e != nil && !slices.Contains(e.silenced, f.Code) {
					wrong[e] = f.Message
				}
			}
		}
		if len(wrong) == 0 {
			return
		}
		for _, e := range slices.Clone(d.Entries) {
			if why := wrong[e]; why != "" {
				d.drop(e, why)
			}
		}
		d.Entries = slices.DeleteFunc(d.Entries, func(e *Entry) bool { return e.Name == "" })
		d.vars()
		d.names()
	}
}

// load loads the draft by itself, and gives the line each entry begins at.
func (d *Draft) load() (*keyspace.Keyspace, []finding.Finding, []int) {
	text, lines := d.write(slices.Concat(d.Vars, d.borrowed))
	ks, findings := load.File(oneFile{bytes.NewReader(text), int64(len(text))}, draftName)
	return ks, findings, lines
}

// within returns the known declaration with the draft in it.
func (d *Draft) within(ks *keyspace.Keyspace) *keyspace.Keyspace {
	known := d.options.Known
	if known == nil {
		return ks
	}
	all := *known
	all.Vars = slices.Clone(known.Vars)
	for _, v := range ks.Vars {
		if !isKnown(d.options, v.Name) {
			all.Vars = append(all.Vars, v)
		}
	}
	all.Entries = slices.Concat(known.Entries, ks.Entries)
	all.Keys = slices.Concat(known.Keys, ks.Keys)
	all.Foreign = slices.Concat(known.Foreign, ks.Foreign)
	all.Channels = slices.Concat(known.Channels, ks.Channels)
	return &all
}

// at returns the entry that a line of the text belongs to.
func (d *Draft) at(lines []int, line int) *Entry {
	i, found := slices.BinarySearch(lines, line)
	if !found {
		i--
	}
	if i < 0 || i >= len(d.Entries) {
		return nil
	}
	return d.Entries[i]
}

// drop leaves an entry out.
func (d *Draft) drop(e *Entry, why string) {
	e.Name = ""
	if e.path != nil {
		d.leave([]*path.Path{e.path}, e.Pattern, why)
		return
	}
	d.Left = append(d.Left, Left{What: e.Pattern, Why: why})
}

// simplify makes one text of a segment with several placeholders.
func (d *Draft) simplify(e *Entry) {
	for i, s := range e.path.Segments {
		if n := strings.Count(skeletonClasses(s.Shape), "c"); n > 1 {
			s.Shape, s.Words = string(tree.TextShape), nil
			e.path.Segments[i] = s
			e.tokens = e.path.Tokens()
			path.NameTokens(e.tokens)
			return
		}
	}
	if !d.narrowed(e) {
		d.drop(e, "its pattern cannot be declared as it is")
	}
}

func skeletonClasses(shape string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && class.IsClass(byte(r)) {
			return 'c'
		}
		return 'x'
	}, shape)
}

// mend looks at what the linter would say.
func (d *Draft) mend(ks *keyspace.Keyspace) bool {
	all := d.within(ks)
	items, targets := all.Items()
	_, conflicts, err := match.Compile(items)
	if err != nil {
		return d.simpler(d.involved(err, targets))
	}
	changed := false
	for _, c := range conflicts {
		changed = d.part(targets[c.A], targets[c.B]) || changed
		if changed {
			return true
		}
	}
	changed = d.takeDerived(ks)
	for _, f := range lint.Run(all) {
		e := d.named(f.Entry)
		if e == nil || e.Name == "" || slices.Contains(e.silenced, f.Code) {
			continue
		}
		switch {
		case f.Code == "KW130" && !e.reserved:
			e.reserved = true
		case f.Code == "KW124" && d.declareTexts(e):
		case f.Code == "KW129":
			d.narrow(e, f.Message)
		case silencedHere[f.Code]:
			e.silenced = append(e.silenced, f.Code)
		default:
			d.drop(e, f.Message)
		}
		changed = true
	}
	return changed
}

// silencedHere are warnings about how keys are called, at the entry: live keys are
// called as they are.
var silencedHere = path.Words("KW125 KW126 KW128 KW131")

const tooComplex = "the patterns together are too complex to be compared"

// involved returns the entries of the draft whose patterns cannot be compared: all entries where none of them is named.
func (d *Draft) involved(err error, targets []keyspace.Target) []*Entry {
	var out []*Entry
	if complex, ok := errors.AsType[*match.ComplexError](err); ok {
		for _, i := range complex.Items {
			if k := targets[i].Key; k != nil {
				if e := d.named(k.Entry.Name); e != nil && !slices.Contains(out, e) {
					out = append(out, e)
				}
			}
		}
	}
	if len(out) == 0 {
		return d.Entries
	}
	return out
}

// simpler narrows the texts of entries that cannot be compared. Where that changes nothing it leaves out the smallest.
func (d *Draft) simpler(list []*Entry) bool {
	if len(list) == 0 {
		return false
	}
	narrower := false
	for _, e := range list {
		narrower = d.narrowed(e) || narrower
	}
	if !narrower {
		d.drop(smallest(list), tooComplex)
	}
	return true
}

// smallest returns the entry with the fewest keys.
func smallest(list []*Entry) *Entry {
	return slices.MinFunc(list, func(a, b *Entry) int { return cmp.Compare(a.Keys, b.Keys) })
}

// takeDerived leaves out entries whose keys a construct brings along.
func (d *Draft) takeDerived(ks *keyspace.Keyspace) bool {
	changed := false
	for _, part := range d.Entries {
		if part.Name == "" || !part.derived() {
			continue
		}
		_, own := ks.Lookup(part.Name)
		for _, k := range ks.Keys {
			if own == nil || !k.Derived || k.Kind != own.Kind {
				continue
			}
			if _, all := pattern.Contains(k.Pattern, own.Pattern); all {
				if e := d.named(k.Entry.Name); e != nil && e != part {
					d.take(e, part)
					changed = true
					break
				}
			}
		}
	}
	return changed
}

func (d *Draft) named(name string) *Entry {
	for _, e := range d.Entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// part settles which of two keys that overlap stays: what is declared already,
// one that a construct brings along, then the one with more keys; the other is
// made narrower first.
func (d *Draft) part(p, q keyspace.Target) bool {
	a, b := p.Key, q.Key
	var x, y *Entry
	if a != nil {
		x = d.named(a.Entry.Name)
	}
	if b != nil {
		y = d.named(b.Entry.Name)
	}
	switch {
	case x == y:
		return false
	case y == nil:
		d.narrow(x, "it overlaps with "+textOf(q))
	case x == nil:
		d.narrow(y, "it overlaps with "+textOf(p))
	case a.Derived && !b.Derived:
		d.take(x, y)
	case b.Derived && !a.Derived:
		d.take(y, x)
	case a.Derived:
		d.plain(x)
		d.plain(y)
	case d.unite(x, y):
	default:
		less, more := x, y
		if x.Keys >= y.Keys {
			less, more = y, x
		}
		if !d.narrowed(less) && !d.narrowed(more) {
			d.drop(less, "it overlaps with "+more.Pattern)
		}
	}
	return true
}

// textOf returns the pattern that is declared already.
func textOf(t keyspace.Target) string {
	switch {
	case t.Key != nil:
		return t.Key.Pattern.String()
	case t.Legacy != nil:
		return "an old name of " + t.Was.Name
	case t.Foreign != nil:
		return t.Foreign.Text
	case t.Owned != nil:
		return t.Owned.Text
	}
	return "another pattern"
}

// unite makes one entry of two that are of one kind: where they differ it takes
// the values of both.
func (d *Draft) unite(x, y *Entry) bool {
	a, b := x.path, y.path
	if a.Sep != b.Sep || len(a.Segments) != len(b.Segments) || a.Kind() != b.Kind() || !path.SameTTLs([]*path.Path{a, b}) {
		return false
	}
	joined := make([]path.Segment, len(a.Segments))
	for i := range a.Segments {
		s, ok := path.Joint(a.Segments[i], b.Segments[i])
		if !ok {
			return false
		}
		joined[i] = s
	}
	a.Absorb(b)
	for i := range joined {
		joined[i].Seen = a.Segments[i].Seen
	}
	a.Segments = joined
	if *x = *newEntry(a); !x.describe() {
		return false
	}
	x.Name = a.Kind().String() // any: named again
	y.Name = ""
	return true
}

// take makes e the construct that has these keys too.
func (d *Draft) take(e, part *Entry) {
	e.add(part.Count)
	e.NoTTL += part.NoTTL
	e.path.Origins = append(e.path.Origins, part.path.Origins...)
	part.Name = ""
}

// plain makes a construct a string again.
func (d *Draft) plain(e *Entry) { e.Type, e.noConstruct = "string", true }

// narrow gives texts the bytes that were seen in them.
func (d *Draft) narrow(e *Entry, why string) {
	if !d.narrowed(e) {
		d.drop(e, why)
	}
}

// narrowed is false where there is no text that could be narrower.
func (d *Draft) narrowed(e *Entry) bool {
	done := false
	for i := range e.path.Segments { // a text twice narrowed stays as it is
		s := &e.path.Segments[i]
		if s.Shape != string(tree.TextShape) || len(s.Words) > 0 || s.Seen.Kinds == 0 {
			continue
		}
		switch {
		case s.Seen.Kinds&(class.IsOdd|class.IsDivider|class.IsOther) == 0:
			s.Words = []string{"/[" + path.Alphabet(s.Seen.Kinds) + "]+/"}
		case e.path.Sep != "" && e.path.Sep != ":" && s.Seen.Kinds&class.IsOdd == 0:
			s.Words = []string{"/[^" + strings.ReplaceAll(e.path.Sep, "/", `\x2f`) + "]+/"} // a segment has no separator in it
		default:
			continue
		}
		done = true
	}
	if done {
		e.tokens = e.path.Tokens()
		path.NameTokens(e.tokens)
	}
	return done
}

// declareTexts writes out that a placeholder is a text, where its name is close
// to another's.
func (d *Draft) declareTexts(e *Entry) bool {
	changed := false
	for i := range e.path.Segments {
		s := &e.path.Segments[i]
		if s.Shape == string(tree.TextShape) && len(s.Words) == 0 {
			s.Words = []string{"text"}
			changed = true
		}
	}
	if changed {
		e.tokens = e.path.Tokens()
		path.NameTokens(e.tokens)
	}
	return changed
}

// oneFile represents a file system of one file, read once.
type oneFile struct {
	*bytes.Reader
	size int64
}

const draftName = "keyspace.yaml"

func (f oneFile) Open(name string) (fs.File, error) {
	if name != draftName {
		return nil, fs.ErrNotExist
	}
	return f, nil
}

func (f oneFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f oneFile) Close() error               { return nil }
func (f oneFile) Name() string               { return draftName }
func (f oneFile) Size() int64                { return f.size }
func (f oneFile) Mode() fs.FileMode          { return 0o444 }
func (f oneFile) ModTime() time.Time         { return time.Time{} }
func (f oneFile) IsDir() bool                { return false }
func (f oneFile) Sys() any                   { return nil }
