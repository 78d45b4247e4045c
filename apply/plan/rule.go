package plan

import (
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Rule decides about one key at a time. It is asked when a plan is made, and again for
// each key when the plan is executed. It is for one goroutine.
type Rule interface {
	// Decide says what becomes of a key.
	Decide(k *source.Key) Decision
	// Names are the names of the entries, in the order of Decision.Entry.
	Names() []string
	// Glob matches each key that is meant; "" where one glob cannot tell.
	Glob() string
}

// Learner represents a rule that must see all keys before it can decide about one.
type Learner interface {
	Rule
	Learn(k *source.Key)
}

// Decision describes what a rule says of a key. A key that is not meant is not counted.
type Decision struct {
	Entry int  // in Names, or selection.Undeclared
	Meant bool // it is one of those that were asked for
	Leave Code // why it is left alone; "": Step is to be done
	Step  Step
}

// How says what is done to a key.
type How uint8

// The ways.
const (
	Unlink  How = iota // remove it, with the keys of With
	Expire             // give it TTL if it has none
	Item               // delete the item of an entity through its store
	Move               // give it the name To
	Drop               // remove it if the key To is the same
	Persist            // take its TTL away if it ends at Ends
	Retag              // give Members their new names
)

// Step represents a change of one key, and the conditions that hold in the same step of the
// server.
type Step struct {
	How   How
	TTL   time.Duration // of Expire
	Ends  int64         // of Persist, in Unix milliseconds
	Kind  keyspace.Kind // it must be of this type; "": of any
	Idle  time.Duration // it must be unused for so long
	Busy  []string      // none of these sorted sets may have a score in the future, in Unix milliseconds
	With  []string      // keys that go with it
	After []string      // keys that must all be there: the newer ones that are kept

	To         string   // of Move and Drop: the new name
	Content    *Content // how its value is written under the new name; nil: as it is
	Absent     []string // none of these keys may be there
	Rivals     []string // nor any of these just before it: they would get the same name
	Last       bool     // it is changed after all that are not
	Twice      []Names  // of a queue that goes as a whole: keys that may not be there under both names
	Merge      *Merge   // its elements go to the key with the new name, which may be there; nil: the key goes
	Count      string   // of Move: a field; a hash without others is added to the hash with the new name
	Superseded bool     // of Drop: also if To is another value
	Members    *Members // of Retag, and of Move before it: what it holds gets new names; nil: nothing does
}

// Names holds the old name of a key and the new one.
type Names struct{ Old, New string }

// keyMatcher knows what a key is: which declared key, which old or foreign name.
type keyMatcher struct {
	*selection.Selection
	matcher *match.Matcher
	targets []keyspace.Target
	where   []selection.Condition
	narrow  bool // globs narrow the selection
	seen    match.Captures
}

func newKeyMatcher(ks *keyspace.Keyspace, r selection.Request) (*keyMatcher, error) {
	if ks == nil {
		ks = &keyspace.Keyspace{}
	}
	sel, err := selection.Compile(ks, r)
	if err != nil {
		return nil, err
	}
	b := &keyMatcher{Selection: sel, where: r.Where, narrow: len(r.Globs) > 0}
	var items []match.Item
	items, b.targets = ks.Items()
	b.matcher, _, err = match.Compile(items)
	return b, err
}

// ownPrefix begins the names of keys that this program works with. The key that says
// which process executes a plan is there while one does, so no plan is about it.
const ownPrefix = "keywright:"

// look decides what holds for every verb: which key it is, and whether it may be
// touched at all.
func (b *keyMatcher) look(k *source.Key) (d Decision, declared *keyspace.Key) {
	entry, _, ok := b.Find(k.Name)
	if !ok || string(k.Name) == selection.ActingKey {
		return Decision{}, nil
	}
	d = Decision{Entry: entry, Meant: true}
	if len(k.Name) > len(ownPrefix) && string(k.Name[:len(ownPrefix)]) == ownPrefix && entry == selection.Undeclared {
		d.Leave = OwnKey
		return d, nil
	}
	id := b.matcher.Match(k.Name, &b.seen)
	if id == match.None {
		return d, nil
	}
	switch t := b.targets[id]; {
	case t.Key != nil:
		declared = t.Key
	case t.Legacy != nil:
		d.Leave = OldName
	case t.Foreign != nil:
		d.Leave = Foreign
	}
	if declared != nil && parts.Momentary(declared) {
		d.Leave = LiveLease
	}
	return d, declared
}

// capture returns the text of a placeholder of the key that was looked at last.
func (b *keyMatcher) capture(k *source.Key, i int) string { return string(b.seen.Of(k.Name, i)) }

// sibling builds the key of another role of the same instance of a construct; false if
// its placeholders are not all known.
func (b *keyMatcher) sibling(k *source.Key, of *keyspace.Key, role string) (string, bool) {
	for _, other := range of.Entry.Keys {
		if other.Role == role {
			return b.build(k, of.Pattern, other.Pattern)
		}
	}
	return "", false
}

// build builds a key of another pattern with the placeholders that the last key has.
func (b *keyMatcher) build(k *source.Key, from, to *pattern.Pattern) (string, bool) {
	values := make([]string, 0, len(to.Placeholders()))
	for _, p := range to.Placeholders() {
		at := placeholder(from, p.Name)
		if at < 0 {
			return "", false
		}
		values = append(values, b.capture(k, at))
	}
	key, err := to.Build(values...)
	return string(key), err == nil
}

// placeholder returns the place of a placeholder in a pattern, -1 if the pattern does not have it.
func placeholder(p *pattern.Pattern, name string) int {
	for i, q := range p.Placeholders() {
		if q.Name == name {
			return i
		}
	}
	return -1
}

// removals say how a key of each construct is removed, or why it is left alone; nil: like any key.
var removals = map[keyspace.Construct]func(*keyMatcher, *source.Key, *keyspace.Key) (Step, Code){
	keyspace.Plain: nil, keyspace.Counter: nil, keyspace.Ranking: nil, keyspace.RateLimit: nil, keyspace.Script: nil,
	keyspace.Topic: nil,
	keyspace.Lock: func(*keyMatcher, *source.Key, *keyspace.Key) (Step, Code) {
		return Step{}, FencingToken // its other keys are momentary
	},
	keyspace.Entity: ofEntity, keyspace.Cache: (*keyMatcher).ofCache, keyspace.Queue: (*keyMatcher).ofQueue,
}

// removal returns how a key is removed, or why it is left alone.
func (b *keyMatcher) removal(k *source.Key, declared *keyspace.Key) (Step, Code) {
	if declared == nil || removals[declared.Entry.Construct] == nil {
		return Step{}, ""
	}
	return removals[declared.Entry.Construct](b, k, declared)
}

func ofEntity(_ *keyMatcher, k *source.Key, declared *keyspace.Key) (Step, Code) {
	switch {
	case declared.Role != "":
		return Step{}, WithItems
	case k.Kind.String() != string(declared.Kind):
		return Step{}, OtherType
	}
	return Step{How: Item}, ""
}

// ofCache removes a value together with the right to load it.
func (b *keyMatcher) ofCache(k *source.Key, declared *keyspace.Key) (Step, Code) {
	if fill, ok := b.sibling(k, declared, "fill"); ok {
		return Step{With: []string{fill}}, ""
	}
	return Step{}, ""
}

// ofQueue removes a key of a queue as long as nothing works on it, and only where the
// whole queue is meant.
func (b *keyMatcher) ofQueue(k *source.Key, declared *keyspace.Key) (s Step, _ Code) {
	if b.narrow {
		return s, PartOfQueue
	}
	for _, c := range b.where { // a condition on what not all keys of the queue have
		for _, other := range declared.Entry.Keys {
			if other.Role == "leases" && placeholder(other.Pattern, c.Placeholder) < 0 {
				return Step{}, PartOfQueue
			}
		}
	}
	for _, role := range parts.Busy(keyspace.Queue) {
		key, ok := b.sibling(k, declared, role)
		if !ok {
			return Step{}, PartOfQueue
		}
		s.Busy = append(s.Busy, key)
	}
	return s, ""
}

// Untimed takes back the TTLs that an execution of TTL gave: of a key that still has the end
// that it was given.
type Untimed struct {
	declared *selection.Selection
	ends     []int64
}

// NewUntimed makes the rule. ks may be nil: then each key is undeclared.
func NewUntimed(ks *keyspace.Keyspace) (*Untimed, error) {
	declared, err := selection.Compile(ks, selection.Request{})
	return &Untimed{declared: declared}, err
}

// Known tells which end the next key was given, in Unix milliseconds.
func (u *Untimed) Known(ends int64) { u.ends = append(u.ends, ends) }

// Decide implements Rule.
func (u *Untimed) Decide(k *source.Key) Decision {
	if len(u.ends) == 0 {
		return Decision{}
	}
	ends := u.ends[0]
	u.ends = u.ends[1:]
	entry, _, ok := u.declared.Find(k.Name)
	if !ok {
		entry = selection.Undeclared
	}
	return Decision{Entry: entry, Meant: true, Step: Step{How: Persist, Ends: ends}}
}

// Names implements Rule.
func (u *Untimed) Names() []string { return u.declared.Names() }

// Glob implements Rule.
func (u *Untimed) Glob() string { return "" }
