package infer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/software"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
)

// Draft is a drafted declaration. YAML writes it. All keys are known, in an entry,
// foreign or left.
type Draft struct {
	Package string
	All     Count // looked at
	Known   Count // of these, declared already
	About   bool  // there were so many keys that the counts of entries are near the truth only
	Vars    []Var
	Entries []*Entry
	Foreign []Foreign
	Left    []Left
	Passed  []string // lines of a page that look like keys and were not taken for some

	page     bool // it comes from a page
	options  Options
	borrowed []Var // of the known declaration, that it refers to
}

// Left is keys, or a pattern, that are not declared, and why.
type Left struct {
	What    string // a pattern; "" where they have none in common
	Why     string
	Example []byte
	Count

	paths []*path
}

// Var is the type of a placeholder.
type Var struct{ Name, Type string }

// Foreign is a glob of other software's keys.
type Foreign struct {
	Glob, Software, URL string
	Type                string // "" where they are of several
	Count
	NoTTL int64 // of Keys, those that never expire

	paths []*path
}

// Entry is a drafted entry.
type Entry struct {
	Name    string
	Pattern string
	Type    string
	Props   []Prop // value, fields, member … in the order they are written
	TTL     string
	Count
	NoTTL   int64 // of Keys, those that never expire
	Example []byte
	Guesses []string // what is guessed, for a comment
	Doc     string   // from a page
	Source  string   // where a page names it

	tokens      []token
	path        *path
	notes       []string // guesses that do not come from what is counted
	silenced    []string // codes of warnings about how the keys are called
	literal     string   // the one key it is
	reserved    bool     // its name would be a keyword somewhere
	noConstruct bool     // a construct of it would take keys of another
}

// Prop is a property of an entry; one with Fields is a mapping.
type Prop struct {
	Name, Value string
	Fields      []Var
}

// maxEntries bounds a draft: nobody reads more. What is left out is said.
const maxEntries = 300

// Draft drafts a declaration of what has been added so far.
func (in *Infer) Draft() *Draft {
	d := &Draft{Package: in.options.Package, All: in.seen, Known: in.covered, About: in.tree != nil, options: in.options}
	if d.About {
		d.draft(in.tree.paths(), noNames)
	} else {
		d.ofKept(&in.kept, in.samples.looks)
	}
	d.left("", "names that are longer than any pattern", in.long)
	slices.SortStableFunc(d.Entries, func(a, b *Entry) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return d
}

// maxRounds bounds how often what is left is looked at again by itself.
const maxRounds = 8

// ofKept drafts what was kept. What is left then is drafted again as if the draft
// were a declaration, until nothing comes of it: a merge would find the same.
func (d *Draft) ofKept(k *kept, values []sample) {
	d.round(k, values)
	for range maxRounds {
		more := &Draft{Package: d.Package, All: d.All, options: d.options}
		ks, _, _ := d.load()
		more.options.Known = d.within(ks)
		items, _ := more.options.Known.Items()
		m, _, err := match.Compile(items)
		if err != nil {
			return
		}
		over := k.without(m)
		if over.n == 0 {
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
		slices.SortFunc(d.Vars, func(a, b Var) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// round drafts what was kept, and counts it again until the draft stays.
func (d *Draft) round(k *kept, values []sample) {
	tree, groups := grow(k, values)
	d.draft(tree.paths(), k.named)
	for range maxRecounts {
		if !d.recount(k, groups) {
			return
		}
		d.vars()
		d.names()
		d.settle()
	}
}

// draft makes entries of paths.
func (d *Draft) draft(paths []*path, names func(glob string, kind source.Kind) [][]byte) {
	paths = generalise(gather(generalise(d.heaviest(paths))))
	unite(paths)
	slices.SortStableFunc(paths, func(a, b *path) int { return cmp.Compare(b.keys, a.keys) })
	paths = d.without(d.foreign(paths, names))
	for _, p := range paths {
		d.entry(p)
	}
	d.vars()
	d.names()
	d.settle()
}

// maxRecounts bounds how often what was counted makes another draft.
const maxRecounts = 20

// maxPaths bounds what is compared with each other.
const maxPaths = 3000

// heaviest are the paths with most keys; the others are left.
func (d *Draft) heaviest(paths []*path) []*path {
	if len(paths) <= maxPaths {
		return paths
	}
	slices.SortStableFunc(paths, func(a, b *path) int { return cmp.Compare(b.keys, a.keys) })
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

// leave does not declare paths.
func (d *Draft) leave(paths []*path, what, why string) {
	l := Left{What: what, Why: why, paths: slices.Clone(paths)}
	for _, p := range paths {
		l.add(Count{p.keys, p.size})
		if l.Example == nil || bytes.Compare(p.example, l.Example) < 0 {
			l.Example = p.example
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
func unite(paths []*path) {
	words := map[string][]string{}
	for _, p := range paths {
		for _, s := range p.segments {
			if s.vocab != "" {
				words[s.vocab] = append(words[s.vocab], s.words...)
			}
		}
	}
	for _, p := range paths {
		for i := range p.segments {
			if s := &p.segments[i]; s.vocab != "" {
				s.words = slices.Compact(slices.Sorted(slices.Values(words[s.vocab])))
			}
		}
	}
}

func (d *Draft) entry(p *path) {
	one := []*path{p}
	switch e := newEntry(p); {
	case len(d.Entries) == maxEntries:
		d.leave(one, "", "a draft has at most "+strconv.Itoa(maxEntries)+" entries; these have the fewest keys")
	case len(p.example) == 0:
		d.leave(one, "", "the key without a name")
	case e.nameless():
		d.leave(one, "", nothingInCommon)
	case !e.describe():
		d.leave(one, spell(e.tokens), "keys of type "+p.kind().String()+", which cannot be declared")
	default:
		d.Entries = append(d.Entries, e)
	}
}

func newEntry(p *path) *Entry {
	e := &Entry{Count: Count{p.keys, p.size}, NoTTL: p.ttl.none, Example: p.example, path: p, tokens: p.tokens()}
	nameTokens(e.tokens)
	return e
}

// nameless: a pattern without a word, of texts that may be anything.
func (e *Entry) nameless() bool {
	loose := false
	for _, t := range e.tokens {
		if len(wordsOf(t.literal)) > 0 || len(t.words) > 0 {
			return false
		}
		loose = loose || t.class == text || t.class == binary || t.class == rest
	}
	return loose
}

// describe fills in type, TTL and values. It is false for types that the
// language does not have.
func (e *Entry) describe() bool {
	e.Guesses, e.Props = slices.Clone(e.notes), nil
	if e.path.software != "" {
		e.guess("kept by %s, for this application", e.path.software)
	}
	e.TTL = e.path.ttl.text(e)
	describe, known := describers[e.path.kind()]
	if !known {
		return false
	}
	if e.path.values == nil {
		e.path.values = &content{}
	}
	describe(e, e.path.values)
	for k, n := range e.path.kinds {
		if n > 0 && source.Kind(k) != e.path.kind() {
			e.guess("%d of the keys are of type %s: they belong to something else", n, source.Kind(k))
		}
	}
	return true
}

var describers = map[source.Kind]func(*Entry, *content){
	source.String: (*Entry).str, source.Hash: (*Entry).hash, source.Stream: (*Entry).stream,
	source.List: (*Entry).list, source.Set: (*Entry).set, source.ZSet: (*Entry).zset,
}

func (e *Entry) guess(format string, args ...any) {
	e.Guesses = append(e.Guesses, fmt.Sprintf(format, args...))
}

func (e *Entry) prop(name, value string) {
	if value != "" {
		e.Props = append(e.Props, Prop{Name: name, Value: value})
	}
}

// says reports whether one of the pattern's words is in the set.
func (e *Entry) says(words map[string]bool) bool {
	for _, t := range e.tokens {
		if slices.ContainsFunc(wordsOf(t.literal), func(w string) bool { return words[w] }) {
			return true
		}
	}
	return false
}

func (e *Entry) expires() bool { return e.path.ttl.none == 0 && e.path.ttl.some > 0 }

// longestToken is the longest value that a lock's token would have.
const longestToken = 128

func (e *Entry) str(c *content) {
	e.Type = "string"
	typ := c.whole.typ(0)
	switch {
	case c.sketches > 0 && c.sketches == c.whole.n:
		e.guess("HyperLogLogs (PFADD), by the head of the values")
		e.prop("value", "bytes")
		return
	case c.bits > 0 && 2*c.bits > c.whole.n && e.says(bitWords):
		e.guess("bitmaps (SETBIT), by the name and values that are no text")
		e.prop("value", "bytes")
		return
	case isLock(e.path) && e.path.ttl.max <= 24*time.Hour && c.largest <= longestToken && typ != "json" && !e.derived():
		e.Type = "lock"
		e.guess("a lock, by its name and its TTL")
		return
	case typ == "int" && !c.whole.negative && e.says(countWords) && !e.expires():
		e.Type = "counter"
		e.guess("a counter, by its name and its numbers")
		return
	case e.expires() && e.says(cacheWords):
		e.Type = "cache"
		e.guess("a cache, by its name and its TTL")
	case e.expires() && e.says(limitWords) && (typ == "int" || typ == "float"):
		e.guess("a rate limit? `type: ratelimit` says how many are allowed")
	}
	if c.objects > 0 && c.objects == min(c.whole.n, firstValues) && typ == "json" && c.fields.fixed() {
		e.Props = append(e.Props, Prop{Name: "value", Fields: c.fields.vars()})
		return
	}
	e.prop("value", typ)
}

// derived: a key that a construct keeps beside its own.
func (e *Entry) derived() bool {
	last := e.tokens[len(e.tokens)-1]
	for _, role := range []string{"fence", "waiters", "shared", "released", "leases", "delayed", "dead", "state", "workers", "runs", "ready", "fill"} {
		if strings.HasSuffix(last.literal, "}:"+role) {
			return true
		}
	}
	return false
}

func (e *Entry) hash(c *content) {
	e.Type = "hash"
	if c.fields.fixed() {
		e.Props = append(e.Props, Prop{Name: "fields", Fields: c.fields.vars()})
		return
	}
	e.prop("field", c.fields.names.typ(0))
	e.prop("value", c.fields.any.typ(0))
}

// vars are fixed fields with their types.
func (f *fields) vars() []Var {
	var out []Var
	for _, name := range slices.Sorted(maps.Keys(f.byName)) {
		one := f.byName[name]
		typ := one.typ(30)
		if one.nested {
			typ = "json"
		}
		if typ == "" {
			typ = "text"
		}
		if one.n < f.values || one.nulls > 0 {
			typ += " optional"
		}
		out = append(out, Var{name, typ})
	}
	return out
}

func (e *Entry) stream(c *content) {
	e.Type = "stream"
	if c.fields.fixed() {
		e.Props = append(e.Props, Prop{Name: "fields", Fields: c.fields.vars()})
	}
	e.prop("maxlen", strconv.FormatInt(roundUp(max(e.path.most, 1000)), 10))
	e.guess("maxlen: nothing in the data bounds it")
}

func (e *Entry) list(c *content) {
	e.Type = "list"
	if e.path.ttl.some == 0 && e.says(queueWords) && !e.derived() {
		e.guess("a queue? `type: queue` gives its jobs leases, retries and a place for the dead")
	}
	e.prop("member", c.member.typ(0))
}

func (e *Entry) set(c *content) {
	e.Type = "set"
	e.guessIndex()
	e.prop("member", c.member.typ(0))
}

func (e *Entry) zset(c *content) {
	e.Type = "zset"
	if c.scores.geo() && (!c.scores.micros() || e.says(geoWords)) {
		e.guess("places (GEOADD), by scores that are geohashes")
		e.guessIndex()
		e.prop("member", c.member.typ(0))
		e.prop("score", "int")
		return
	}
	if e.says(rankWords) && c.scores.typ() != "unix_s" && c.scores.typ() != "unix_ms" {
		e.Type = "ranking"
		e.guess("a ranking, by its name")
	}
	e.guessIndex()
	e.prop("member", c.member.typ(0))
	e.prop("score", c.scores.typ())
}

func (e *Entry) guessIndex() {
	if e.says(indexWords) {
		e.guess("an index, by its name: `type: entity` keeps it in step with its items")
	}
}

// roundUp is the next number that a person would write: 1, 2 or 5 and zeros.
func roundUp(n int64) int64 {
	for step := int64(1); ; step *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if m*step >= n || step > math.MaxInt64/100 {
				return m * step
			}
		}
	}
}

// steps are the TTLs that people write, in seconds: also those that are no round
// number of a larger unit.
var steps = []int64{
	1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 2700,
	hour, 3 * hour / 2, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 8 * hour, 12 * hour, 18 * hour,
	day24, 3 * day24 / 2, 2 * day24, 3 * day24, 4 * day24, 5 * day24, 7 * day24, 10 * day24, 14 * day24, 15 * day24, 21 * day24,
	28 * day24, 30 * day24, 31 * day24, 45 * day24, 60 * day24, 90 * day24, 92 * day24, 100 * day24, 120 * day24, 180 * day24, 365 * day24, 730 * day24, 1095 * day24, 1825 * day24, 3650 * day24,
}

const (
	hour  = 3600
	day24 = 24 * hour
)

// spread is how far the middle of many TTLs lies below the longest before they
// are taken for chosen, and not for one TTL of which some is used up.
const (
	spread   = 5
	manyTTLs = 30
	// outlier: of so many keys, TTLs that much longer than the others' are slips
	outlier    = 8
	enoughTTLs = 500
)

// slip is the share of keys that differ from the others and are taken for
// mistakes.
const slip = 0.02

// text is the TTL of an entry, as a declaration writes it: one that all of its
// keys keep. What is probably meant is a guess beside it.
func (t *ttls) text(e *Entry) string {
	switch {
	case t.some == 0:
		return "none"
	case t.none > t.some:
		e.guess("%d of %d keys expire, the others never do: somebody must decide", t.some, t.none+t.some)
		return "any"
	case t.none > 0:
		e.guess("%d of %d keys never expire, the others within %s: do they leak?", t.none, t.none+t.some, duration(roundTTL(t.max)))
		return "any"
	}
	longest := roundTTL(t.max)
	usual := roundTTL(t.below(0.9))
	few := roundTTL(t.below(1 - slip/2))
	outliers := t.some >= enoughTTLs && few*outlier <= longest
	if outliers {
		e.guess("a few keys have a TTL of up to %s, the others of %s at most", duration(longest), duration(few))
		usual = few
	}
	if outliers || t.some >= manyTTLs && t.below(0.5)*spread < longest {
		if least := roundTTL(max(t.min, time.Second)); least < usual && usual < longest {
			if !outliers {
				e.guess("TTLs differ widely: the bounds are what was seen")
			}
			return fmt.Sprintf("%s in %s..%s", duration(usual), duration(min(least, time.Minute)), duration(longest))
		}
	}
	return duration(longest)
}

// roundTTL is the next TTL that people write.
func roundTTL(d time.Duration) time.Duration {
	for _, s := range steps {
		if s := time.Duration(s) * time.Second; d <= s {
			return s
		}
	}
	const year = 365 * 24 * time.Hour
	return (d + year - 1) / year * year
}

// duration writes a TTL in its largest unit.
func duration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(max(d/time.Second, 1)), 10) + "s"
}

// foreign takes out the keys of software that is known by its keys.
func (d *Draft) foreign(paths []*path, names func(glob string, kind source.Kind) [][]byte) []*path {
	seen := make([]software.Observation, len(paths))
	for i, p := range paths {
		seen[i] = software.Observation{Key: p.example, Kind: p.kind(), Fields: p.fieldNames()}
	}
	found := software.Found(seen)
	for i := range found {
		found[i].NameKeys(names)
	}
	globs := map[string]*Foreign{}
	kept := slices.DeleteFunc(slices.Clone(paths), func(p *path) bool {
		for i := range found {
			glob, ok := found[i].Has(p.example)
			if !ok {
				continue
			}
			if found[i].Ours {
				p.software = found[i].Name
				return false
			}
			f := globs[glob]
			if f == nil {
				f = &Foreign{Glob: glob, Software: found[i].Name, URL: found[i].URL, Type: p.kind().String()}
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

func (f *Foreign) take(p *path) {
	f.add(Count{p.keys, p.size})
	f.NoTTL += p.ttl.none
	f.paths = append(f.paths, p)
	if f.Type != p.kind().String() {
		f.Type = ""
	}
}

// fieldNames are the fields of hashes or JSON objects that were seen.
func (g *group) fieldNames() []string {
	if g.values == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(g.values.fields.byName))
}
