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

// Step represents a change of one key, and the conditions that hold in the same step of the
// server.
type Step struct {
	Do      Action
	To      string        // the name that it gets, or has got; "": it keeps its own
	Content *Content      // how its value is written under that name; nil: as it is
	Idle    time.Duration // it must be unused for so long
	Busy    []string      // none of these sorted sets may have a score in the future, in Unix milliseconds
	Absent  []string      // none of these keys may be there
	Rivals  []string      // nor any of these just before it: they would get the same name
	After   []string      // keys that must all be there: the newer ones that are kept
	Last    bool          // it is changed after all that are not
}

// Action is what is done to a key: one of the kinds below, each with what it alone needs.
type Action interface{ action() }

func (Unlink) action()  {}
func (Item) action()    {}
func (Expire) action()  {}
func (Persist) action() {}
func (Move) action()    {}
func (Merge) action()   {}
func (Drop) action()    {}
func (Retag) action()   {}

// Unlink removes a key, with the keys of With.
type Unlink struct{ With []string }

// Item deletes the item of an entity through its store.
type Item struct{}

// Expire gives a key a TTL if it has none, and is of the type.
type Expire struct {
	TTL  time.Duration
	Type keyspace.Kind
}

// Persist takes the TTL of a key away if it ends then, in Unix milliseconds.
type Persist struct{ Ends int64 }

// Move gives a key its new name.
type Move struct {
	Twice []Names // of a queue that goes as a whole: keys that may not be there under both names
	Count string  // a field; a hash without others is added to the hash with the new name
	Retag Retag   // before that, if it has a New
}

// Merge moves the elements of a queue's key to the key with the new name, which may be there, each with its job.
type Merge struct {
	Old, New [2]string // the key of a job before and after its id
	Runs     [2]string // what is known of jobs that have begun, under the old name and the new one
}

// Drop removes a key if that with the new name is the same.
type Drop struct{ Superseded bool } // also if it is another value

// Retag gives members of a sorted set that are names of cached values their new names: the tags of
// a cache are such sets. It is for one goroutine.
type Retag struct {
	// Glob matches each member that gets a new name; "" where one glob cannot tell.
	Glob string

	// New is the new name of a member; false: it keeps its name. The member stays beside the
	// new one as long as one of the keys of still is there: the value, or its load.
	New func(name []byte) (to string, still []string, ok bool)
}

// Retag returns how members of the key get new names; without a New: they keep theirs.
func (s *Step) Retag() Retag {
	if move, ok := s.Do.(Move); ok {
		return move.Retag
	}
	retag, _ := s.Do.(Retag)
	return retag
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

// construct describes how keys of one construct are changed where that differs from any key.
type construct struct {
	remove func(*keyMatcher, *source.Key, *keyspace.Key) (Step, Code)
	rename func(*Rename, *source.Key, *pair, *Step) Code // adds what must hold in the same step
	noTTL  Code                                          // why its keys get no TTL; "": they do
	even   bool                                          // its keys end at the same time: else it would be torn
}

// constructs has a row for each construct; an empty one: as any key.
var constructs = map[keyspace.Construct]construct{
	keyspace.Plain: {}, keyspace.Counter: {}, keyspace.Ranking: {}, keyspace.RateLimit: {}, keyspace.Topic: {},
	keyspace.Script: {},
	keyspace.Lock:   {remove: removeLock, rename: (*Rename).renameLock},
	keyspace.Entity: {remove: removeItem, noTTL: EntityTTL},
	keyspace.Cache:  {remove: (*keyMatcher).removeCache},
	keyspace.Queue:  {remove: (*keyMatcher).removeQueue, rename: (*Rename).renameQueue, even: true},
}

// removal returns how a key is removed, or why it is left alone.
func (b *keyMatcher) removal(k *source.Key, declared *keyspace.Key) (Step, Code) {
	if declared == nil || constructs[declared.Entry.Construct].remove == nil {
		return Step{Do: Unlink{}}, ""
	}
	return constructs[declared.Entry.Construct].remove(b, k, declared)
}

// removeLock removes nothing: the other keys are momentary.
func removeLock(*keyMatcher, *source.Key, *keyspace.Key) (Step, Code) { return Step{}, FencingToken }

func removeItem(_ *keyMatcher, k *source.Key, declared *keyspace.Key) (Step, Code) {
	switch {
	case declared.Role != "":
		return Step{}, WithItems
	case k.Kind.String() != string(declared.Kind):
		return Step{}, OtherType
	}
	return Step{Do: Item{}}, ""
}

// removeCache removes a value together with the right to load it.
func (b *keyMatcher) removeCache(k *source.Key, declared *keyspace.Key) (Step, Code) {
	if fill, ok := b.sibling(k, declared, "fill"); ok {
		return Step{Do: Unlink{With: []string{fill}}}, ""
	}
	return Step{Do: Unlink{}}, ""
}

// removeQueue removes a key of a queue as long as nothing works on it, and only where the
// whole queue is meant.
func (b *keyMatcher) removeQueue(k *source.Key, declared *keyspace.Key) (s Step, _ Code) {
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
	s.Do = Unlink{}
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
	return Decision{Entry: entry, Meant: true, Step: Step{Do: Persist{Ends: ends}}}
}

// Names implements Rule.
func (u *Untimed) Names() []string { return u.declared.Names() }

// Glob implements Rule.
func (u *Untimed) Glob() string { return "" }
