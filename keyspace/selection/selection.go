// Package selection says which keys of a keyspace are meant: those of some entries, of
// an owner, of a glob, or those in which a placeholder has a value. What belongs to an
// entry includes the keys that its construct derives.
//
// It only tells keys apart; it reads no server and changes nothing.
package selection

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
)

// Request says what is meant. Its parts narrow each other: a key must be of one of the
// entries, of one of the owners, match one of the globs, and fulfil each condition. An
// empty part does not narrow. Undeclared is bounded by the namespaces of the declaration,
// if it has any: what is outside of them is of another environment or program.
type Request struct {
	Entries    []string    // names, as in the declaration
	Owners     []string    //
	Globs      []string    // as SCAN MATCH has them
	Where      []Condition //
	Undeclared bool        // keys that no entry declares and that are not foreign, and no others
	Within     []string    // globs: keys that no entry declares are only meant inside of one of them, or with an old name
}

// Condition holds for a key whose placeholder has exactly this value. A key without the
// placeholder does not fulfil it.
type Condition struct{ Placeholder, Value string }

// ParseCondition reads "issue=123".
func ParseCondition(text string) (Condition, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Condition{},
			&Error{What: fmt.Sprintf("%q is no condition", text), Hint: "write placeholder=value, as in issue=123"}
	}
	return Condition{name, value}, nil
}

// Error represents a request that cannot be fulfilled as it is written.
type Error struct{ What, Hint string }

// Error implements error.
func (e *Error) Error() string { return e.What }

// Undeclared is the entry of a key that no entry declares.
const Undeclared = -1

// Selection tells whether a key is meant. It is safe for one goroutine.
type Selection struct {
	names   []string // of all entries
	matcher *match.Matcher
	targets []target // by item
	globs   *match.Matcher
	within  *match.Matcher
	all     bool // keys that no entry declares may be meant, too
	glob    string
	seen    match.Captures
}

// target describes what an item of the matcher is.
type target struct {
	key     *keyspace.Key
	entry   int  // Undeclared for foreign and owned globs, and old names
	foreign bool // another program's, or keywright's own
	legacy  bool // an old name: of the namespace in effect, wherever it is
	wanted  bool
	must    []must
}

// must represents a condition on a capture.
type must struct {
	capture int
	value   string
}

// Compile prepares a request. ks may be nil: then each key is undeclared.
func Compile(ks *keyspace.Keyspace, r Request) (*Selection, error) {
	if ks == nil {
		ks = &keyspace.Keyspace{}
	}
	s := &Selection{}
	index := map[*keyspace.Entry]int{}
	for i, e := range ks.Entries {
		index[e] = i
		s.names = append(s.names, e.Name)
	}
	if err := known(ks, r); err != nil {
		return nil, err
	}
	items, of := ks.Items()
	var err error
	if s.matcher, _, err = match.Compile(items); err != nil {
		return nil, err
	}
	for i := range items {
		t := target{entry: Undeclared, foreign: of[i].Foreign != nil, legacy: of[i].Legacy != nil,
			wanted: !r.Undeclared || of[i].Owned != nil}
		if k := of[i].Key; k != nil {
			t.key, t.entry = k, index[k.Entry]
			t.must, t.wanted = conditions(k.Pattern, r.Where)
			t.wanted = t.wanted && !r.Undeclared && meant(k.Entry, r)
		}
		s.targets = append(s.targets, t)
	}
	s.all = len(r.Entries) == 0 && len(r.Owners) == 0 && len(r.Where) == 0
	if s.globs, err = compileGlobs(r.Globs); err != nil {
		return nil, err
	}
	if r.Undeclared {
		r.Within = inside(ks, r.Within)
	}
	if s.within, err = compileGlobs(r.Within); err != nil {
		return nil, err
	}
	s.glob = s.common(items, r)
	return s, nil
}

// known refuses names that the declaration does not have.
func known(ks *keyspace.Keyspace, r Request) error {
	var owners, places []string
	for _, e := range ks.Entries {
		owners = append(owners, e.Owner)
		for _, k := range e.Keys {
			for _, p := range k.Pattern.Placeholders() {
				places = append(places, p.Name)
			}
		}
	}
	names := make([]string, len(ks.Entries))
	for i, e := range ks.Entries {
		names[i] = e.Name
	}
	var asked []string
	for _, c := range r.Where {
		asked = append(asked, c.Placeholder)
	}
	for _, part := range []struct {
		what         string
		asked, known []string
	}{{"entry", r.Entries, names}, {"owner", r.Owners, owners}, {"placeholder", asked, places}} {
		for _, name := range part.asked {
			if slices.Contains(part.known, name) {
				continue
			}
			hint := "`keywright explain` lists what it declares"
			if near := typo.Nearest(name, part.known); near != "" {
				hint = "did you mean " + near + "?"
			}
			return &Error{fmt.Sprintf("the declaration has no %s %q", part.what, name), hint}
		}
	}
	return nil
}

func meant(e *keyspace.Entry, r Request) bool {
	return (len(r.Entries) == 0 || slices.Contains(r.Entries, e.Name)) &&
		(len(r.Owners) == 0 || slices.Contains(r.Owners, e.Owner))
}

// conditions returns those on the placeholders of a pattern; false if it lacks one.
func conditions(p *pattern.Pattern, where []Condition) (out []must, ok bool) {
	for _, c := range where {
		i := slices.IndexFunc(p.Placeholders(), func(place pattern.Placeholder) bool { return place.Name == c.Placeholder })
		if i < 0 {
			return nil, false
		}
		out = append(out, must{i, c.Value})
	}
	return out, true
}

// inside returns what bounds keys that nothing declares: the namespaces in effect, where
// nothing narrower is asked for.
func inside(ks *keyspace.Keyspace, within []string) []string {
	if len(within) > 0 {
		return within
	}
	for _, n := range ks.Spaces {
		within = append(within, n.Glob())
	}
	return within
}

// compileGlobs makes a matcher of globs, nil without any.
func compileGlobs(globs []string) (*match.Matcher, error) {
	var items []match.Item
	for _, g := range globs {
		p, err := pattern.Glob(g)
		if err != nil {
			return nil, &Error{fmt.Sprintf("%q is no glob: %v", g, err), "write a glob as SCAN MATCH takes it: user:*"}
		}
		items = append(items, match.Item{Pattern: p})
	}
	if len(items) == 0 {
		return nil, nil
	}
	m, _, err := match.Compile(items)
	return m, err
}

// Of says whether a key is meant, and which entry declares it: its place in Names, or
// Undeclared.
func (s *Selection) Of(key []byte) (entry int, ok bool) {
	entry, _, ok = s.Find(key)
	return entry, ok
}

// Foreign reports whether a key is another program's, as the declaration says, or one of keywright's own: no entry
// declares it, and none should.
func (s *Selection) Foreign(key []byte) bool {
	id := s.matcher.Match(key, &s.seen)
	return id != match.None && s.targets[id].foreign
}

// ActingKey says which process changes keys on a server, TemporaryPrefix begins the names of keys
// under which large values are put together, and RenamingPrefix those that say which copies a
// rename is making.
const (
	ActingKey       = "keywright:acting"
	TemporaryPrefix = "keywright:restoring:"
	RenamingPrefix  = "keywright:renaming:"
)

// workingPrefixes begin the names of keys with which keywright works.
var workingPrefixes = [][]byte{[]byte(TemporaryPrefix), []byte(RenamingPrefix), []byte(keyspace.JanitorKeys)}

// Working reports whether a key is one with which keywright works while it changes others.
func Working(key []byte) bool {
	return string(key) == ActingKey ||
		slices.ContainsFunc(workingPrefixes, func(prefix []byte) bool { return bytes.HasPrefix(key, prefix) })
}

// Moves is Of for what is saved, copied, restored and compared: no keys that are Working.
func (s *Selection) Moves(key []byte) (entry int, ok bool) {
	if Working(key) {
		return Undeclared, false
	}
	return s.Of(key)
}

// Find is Of that also gives the declared key; nil if none declares it.
func (s *Selection) Find(key []byte) (entry int, declared *keyspace.Key, ok bool) {
	id := s.matcher.Match(key, &s.seen)
	t := target{entry: Undeclared, wanted: true}
	if id != match.None {
		t = s.targets[id]
	}
	if !t.wanted || t.entry == Undeclared && !s.all {
		return t.entry, t.key, false
	}
	if t.entry == Undeclared && !t.legacy && s.within != nil && s.within.Match(key, nil) == match.None {
		return t.entry, t.key, false
	}
	for _, m := range t.must {
		if string(s.seen.Of(key, m.capture)) != m.value {
			return t.entry, t.key, false
		}
	}
	return t.entry, t.key, s.globs == nil || s.globs.Match(key, nil) != match.None
}

// Names returns the names of all entries.
func (s *Selection) Names() []string { return s.names }

// Glob matches each key that is meant, and as few others as one glob can tell: what to
// give SCAN MATCH. It is empty where that would not help.
func (s *Selection) Glob() string { return s.glob }

// common returns the longest beginning that all keys that are meant share, as a glob.
func (s *Selection) common(items []match.Item, r Request) string {
	if len(r.Globs) == 1 && s.all {
		return r.Globs[0]
	}
	if s.all && len(r.Within) == 0 {
		return ""
	}
	var globs []string
	if s.all {
		globs = append(globs, r.Within...)
	}
	for i, t := range s.targets {
		if t.wanted && (t.entry != Undeclared || t.legacy && s.all) {
			globs = append(globs, items[i].Pattern.ScanGlob())
		}
	}
	if len(globs) == 1 {
		return globs[0]
	}
	if len(globs) == 0 {
		return ""
	}
	if s.all && len(r.Within) == 1 && inOne(r.Within[0], globs) {
		return r.Within[0]
	}
	shared := literal(globs[0])
	for _, g := range globs[1:] {
		other := literal(g)
		n := 0
		for n < min(len(shared), len(other)) && shared[n] == other[n] {
			n++
		}
		shared = shared[:n]
	}
	if shared == "" {
		return ""
	}
	return escape(shared) + "*"
}

// inOne reports whether globs only match keys of one namespace, of which the first one is.
func inOne(within string, globs []string) bool {
	name := literal(within)
	for _, g := range globs {
		if g != within && !pattern.InNamespace(g, name) {
			return false
		}
	}
	return true
}

// literal returns what a glob begins with before its first special character.
func literal(glob string) string {
	var out []byte
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*', '?', '[':
			return string(out)
		case '\\':
			if i++; i == len(glob) {
				return string(out)
			}
		}
		out = append(out, glob[i])
	}
	return string(out)
}

// escape makes a glob that matches a text only.
func escape(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\^-`, text[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
