package plan

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

type scalarType = scalar.Type

// RenameOptions say what is renamed, and how.
type RenameOptions struct {
	Request    selection.Request // Globs are about old names
	Drop       bool              // nothing is renamed: old keys go whose value is there under the new name
	Superseded bool              // with Drop: also those that have another value there
	Back       bool              // the pairs were turned round: new names need not be declared
	Copied     bool              // keys are copied to another place: nothing works on them there
	Merge      bool              // queues may be in use under both names: jobs go one by one. Not in a cluster
	Retag      bool              // sets of names that keep theirs get the new names of what they tag
}

// Rename represents the rule that gives keys with an old name the new one.
type Rename struct {
	*keyMatcher
	RenameOptions
	pairs   []*pair
	glob    string
	entries []int // by pair
	from    *match.Matcher
	near    *match.Matcher // old patterns with any text in their placeholders
	tags    *tags          // nil: no cached value gets a new name
	sets    bool           // keys that keep their names may be tags
	globs   *match.Matcher
	caught  match.Captures
}

// NewRename makes the rule.
func NewRename(ks *keyspace.Keyspace, pairs *Pairs, o RenameOptions) (*Rename, error) {
	r, err := newRename(ks, pairs, o)
	if err != nil {
		return nil, err
	}
	if r.tags, err = r.newTags(ks, pairs); err == nil && r.Retag && r.tags != nil {
		r.findSets(ks)
	}
	return r, err
}

func newRename(ks *keyspace.Keyspace, pairs *Pairs, o RenameOptions) (*Rename, error) {
	b, err := newKeyMatcher(ks, selection.Request{Entries: o.Request.Entries, Owners: o.Request.Owners,
		Where: o.Request.Where})
	if err != nil {
		return nil, err
	}
	b.where, b.narrow = o.Request.Where, len(o.Request.Globs) > 0
	r := &Rename{keyMatcher: b, RenameOptions: o}
	chosen := &Pairs{}
	var items, near []match.Item
	for _, p := range pairs.list {
		if !r.chosen(p) {
			continue
		}
		chosen.list = append(chosen.list, p)
		items = append(items, match.Item{Pattern: p.from})
		near = append(near, match.Item{Pattern: p.anyText()})
		r.entries = append(r.entries, r.entryOf(p.key))
	}
	r.pairs, r.glob = chosen.list, chosen.Glob()
	if r.from, _, err = match.Compile(items); err != nil {
		return nil, err
	}
	if r.near, _, err = match.Compile(near); err != nil {
		return nil, err
	}
	return r, r.compileGlobs()
}

func (r *Rename) compileGlobs() error {
	var items []match.Item
	for _, g := range r.Request.Globs {
		p, err := pattern.Glob(g)
		if err != nil {
			return &selection.Error{What: g + " is no glob: " + err.Error(), Hint: "write a glob as SCAN MATCH takes it: user:*"}
		}
		items = append(items, match.Item{Pattern: p})
	}
	if len(items) == 0 {
		return nil
	}
	var err error
	r.globs, _, err = match.Compile(items)
	return err
}

// chosen reports whether the request may mean keys of a pair.
func (r *Rename) chosen(p *pair) bool {
	q := r.Request
	if len(q.Entries)+len(q.Owners) > 0 && p.key == nil {
		return false
	}
	if len(q.Entries) > 0 && !slices.Contains(q.Entries, p.key.Entry.Name) ||
		len(q.Owners) > 0 && !slices.Contains(q.Owners, p.key.Entry.Owner) {
		return false
	}
	return !slices.ContainsFunc(q.Where, func(c selection.Condition) bool { return !p.from.Has(c.Placeholder) })
}

// entryOf returns the place of a key's entry in Names.
func (r *Rename) entryOf(k *keyspace.Key) int {
	if k == nil {
		return selection.Undeclared
	}
	return slices.Index(r.Names(), k.Entry.Name)
}

// Glob implements Rule.
func (r *Rename) Glob() string {
	if len(r.Request.Globs) == 1 && !r.sets {
		return r.Request.Globs[0]
	}
	return r.glob
}

// Decide implements Rule. A key of an unknown type is taken for one of the declared type.
func (r *Rename) Decide(k *source.Key) Decision {
	if d := r.decide(k); d.Meant {
		return d
	}
	return r.tagged(k)
}

func (r *Rename) decide(k *source.Key) (d Decision) {
	id := r.from.Match(k.Name, &r.caught)
	if id == match.None {
		return r.unlike(k)
	}
	if r.globs != nil && r.globs.Match(k.Name, nil) == match.None {
		return d
	}
	p := r.pairs[id]
	for _, c := range r.Request.Where {
		if r.value(k, p, c.Placeholder) != c.Value {
			return d
		}
	}
	var now *keyspace.Target
	if item := r.matcher.Match(k.Name, &r.seen); item != match.None {
		now = &r.targets[item]
	}
	if p.former && now != nil && now.Key != nil {
		return d
	}
	d = Decision{Entry: r.entries[id], Meant: true}
	if d.Leave = r.outside(p, now); d.Leave == "" {
		d.Leave = p.fault
	}
	if d.Leave == "" {
		d.Step, d.Leave = r.step(k, p)
	}
	return d
}

// unlike names the keys that have an old pattern but for the values of placeholders: their
// types are narrower now. Keys that are declared, or foreign, are none of them.
func (r *Rename) unlike(k *source.Key) (d Decision) {
	id := r.near.Match(k.Name, &r.caught)
	if id == match.None || r.globs != nil && r.globs.Match(k.Name, nil) == match.None || len(r.Request.Where) > 0 {
		return d
	}
	if item := r.matcher.Match(k.Name, &r.seen); item != match.None && r.targets[item].Owned == nil {
		return d
	}
	return Decision{Entry: r.entries[id], Meant: true, Leave: NotReadable}
}

// value returns the text of a placeholder of the old name.
func (r *Rename) value(k *source.Key, p *pair, name string) string {
	return string(r.caught.Of(k.Name, placeholder(p.from, name)))
}

// outside says why a key must keep its name for what it is now.
func (r *Rename) outside(p *pair, now *keyspace.Target) Code {
	key := p.key
	if key == nil && now != nil {
		if now.Foreign != nil {
			return Foreign
		}
		if key = now.Key; key != nil && key.Entry.Construct != keyspace.Plain && !parts.Momentary(key) {
			return PartOfConstruct
		}
	}
	switch {
	case key == nil:
		return ""
	case parts.Momentary(key) && !r.Copied:
		return LiveLease
	case sealedEntry(key.Entry):
		return SealedToName
	}
	return ""
}

// step returns how a key gets its new name, or why it cannot.
func (r *Rename) step(k *source.Key, p *pair) (s Step, _ Code) {
	to, ok := r.renamed(k, p.at, p.to)
	if !ok || bytes.Equal(to, k.Name) {
		return s, NotReadable
	}
	s = Step{Do: Move{}, To: string(to), Content: r.content(k, p)}
	if r.Drop {
		s.Do = Drop{Superseded: r.Superseded}
	}
	is := p.key
	if !r.Back {
		now := (*keyspace.Key)(nil)
		if item := r.matcher.Match(to, &r.seen); item != match.None {
			now = r.targets[item].Key
		}
		switch {
		case p.key != nil && now != p.key && r.declares(p):
			return s, NotReadable
		case p.key == nil && now != nil && now.Entry.Construct != keyspace.Plain:
			return s, PartOfConstruct
		}
		is = cmp.Or(is, now)
	}
	if is != nil && k.Kind != source.Unknown && k.Kind.String() != string(is.Kind) {
		return s, OtherType
	}
	for _, q := range p.rivals {
		if name, ok := r.rival(k, p, q); ok {
			s.Rivals = append(s.Rivals, name)
		}
	}
	if p.key != nil && tagging(p.key) && r.retags() {
		s.Do, s.Last = Move{Retag: r.tags.retag()}, true
	}
	code := r.conditions(k, p, &s)
	return s, code
}

// declares reports whether the new pattern of a pair is the declared one: one that --map
// names may be of a declaration that is yet to be written.
func (r *Rename) declares(p *pair) bool { return p.to.String() == p.key.Pattern.String() }

// renamed builds a name of captures of the old one.
func (r *Rename) renamed(k *source.Key, at []int, to *pattern.Pattern) ([]byte, bool) {
	values := make([]string, len(at))
	for i, from := range at {
		values[i] = string(r.caught.Of(k.Name, from))
	}
	name, err := to.Build(values...)
	return name, err == nil
}

// rival returns the old name of another pair that would get the same new name.
func (r *Rename) rival(k *source.Key, p, q *pair) (string, bool) { return r.other(k, p, q.from) }

// other returns a name of another pattern with the placeholders of the old name.
func (r *Rename) other(k *source.Key, p *pair, to *pattern.Pattern) (string, bool) {
	if to == nil {
		return "", false
	}
	var at []int
	for _, place := range to.Placeholders() {
		i := placeholder(p.from, place.Name)
		if i < 0 {
			return "", false
		}
		at = append(at, i)
	}
	name, ok := r.renamed(k, at, to)
	return string(name), ok
}

// lastRoles lists the keys of a queue that name jobs: a worker that finds a job there needs
// the rest of it.
var lastRoles = []string{"", "delayed", "dead", "leases"}

// queueCount is the field of a queue's state that counts its jobs.
const queueCount = "enqueued"

// conditions adds what must hold in the same step, by what the key is of its construct.
func (r *Rename) conditions(k *source.Key, p *pair, s *Step) Code {
	if p.key == nil || r.Copied || constructs[p.key.Entry.Construct].rename == nil {
		return ""
	}
	if p.family == nil {
		return PartOfConstruct
	}
	return constructs[p.key.Entry.Construct].rename(r, k, p, s)
}

// renameLock renames a key of a lock as long as no process holds it, or waits for it.
func (r *Rename) renameLock(k *source.Key, p *pair, s *Step) Code {
	var ok bool
	if s.Absent, ok = r.busy(k, p); !ok {
		return PartOfConstruct
	}
	return ""
}

// renameQueue renames a key of a queue as long as nothing works on it, and only where the whole
// queue is meant. Jobs that go one by one go before what is left of them.
func (r *Rename) renameQueue(k *source.Key, p *pair, s *Step) Code {
	var ok bool
	if s.Busy, ok = r.busy(k, p); !ok || r.narrow || slices.ContainsFunc(r.where, func(c selection.Condition) bool {
		return !p.family.from["leases"].Has(c.Placeholder)
	}) {
		return PartOfQueue
	}
	s.Last = slices.Contains(lastRoles, p.key.Role)
	if r.Drop {
		return ""
	}
	switch {
	case r.Merge && s.Last:
		s.Do, s.Last = r.merging(k, p), false
	case r.Merge && p.key.Role == "state":
		s.Do, s.Last = Move{Count: queueCount}, true
	case r.Merge:
		s.Last = true
	case !r.Back:
		s.Do = Move{Twice: r.naming(k, p)}
	}
	return ""
}

// busy returns the keys of the construct that are empty, or not there, while no process uses it.
func (r *Rename) busy(k *source.Key, p *pair) (names []string, ok bool) {
	for _, role := range parts.Busy(p.key.Entry.Construct) {
		name, ok := r.other(k, p, p.family.from[role])
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// naming returns the keys of a queue that name jobs, and what is known of those that have begun. In
// whichever of them a program has put a job under the new name, its key stays, and the jobs that the
// old one names must stay with it.
func (r *Rename) naming(k *source.Key, p *pair) (out []Names) {
	for _, role := range append(lastRoles[:len(lastRoles):len(lastRoles)], "runs") {
		from, to := p.family.from[role], p.family.to[role]
		for _, lane := range lanesOf(p.key.Entry, from) {
			old, ok := r.inLane(k, p, from, lane)
			now, has := r.inLane(k, p, to, lane)
			if ok && has {
				out = append(out, Names{old, now})
			}
		}
	}
	return out
}

// lanesOf returns the lanes that a pattern has a placeholder for; one without a name: it has none.
func lanesOf(e *keyspace.Entry, of *pattern.Pattern) []string {
	if of != nil && e.Order != "" {
		if at := placeholder(of, e.Order); at >= 0 {
			return of.Placeholders()[at].Type.Values
		}
	}
	return []string{""}
}

// inLane returns a name of another pattern with the placeholders of the old name, and this lane.
func (r *Rename) inLane(k *source.Key, p *pair, to *pattern.Pattern, lane string) (string, bool) {
	if to == nil {
		return "", false
	}
	var values []string
	for _, place := range to.Placeholders() {
		switch {
		case lane != "" && place.Name == p.key.Entry.Order:
			values = append(values, lane)
		case p.from.Has(place.Name):
			values = append(values, r.value(k, p, place.Name))
		default:
			return "", false
		}
	}
	name, err := to.Build(values...)
	return string(name), err == nil
}

// merging returns how the elements of a key go; where the names of jobs cannot be derived from its own, it goes itself.
func (r *Rename) merging(k *source.Key, p *pair) Action {
	m := Merge{Old: r.around(k, p, p.family.from["job"]), New: r.around(k, p, p.family.to["job"])}
	for i, side := range []map[string]*pattern.Pattern{p.family.from, p.family.to} {
		name, ok := r.other(k, p, side["runs"])
		if !ok {
			return Move{}
		}
		m.Runs[i] = name
	}
	return m
}

// around returns what a name has before and after the one placeholder that the old name lacks.
func (r *Rename) around(k *source.Key, p *pair, of *pattern.Pattern) (out [2]string) {
	side := 0
	for _, e := range of.Elements() {
		if e.Placeholder < 0 {
			out[side] += e.Literal
		} else if name := of.Placeholders()[e.Placeholder].Name; p.from.Has(name) {
			out[side] += r.value(k, p, name)
		} else {
			side = 1
		}
	}
	return out
}

// Kind returns the type that all keys have which are meant, "" if they have several, or any.
func (r *Rename) Kind() keyspace.Kind {
	kind := keyspace.Kind("")
	for i, p := range r.pairs {
		if p.key == nil || i > 0 && p.key.Kind != kind || r.sets && p.key.Kind != keyspace.ZSet {
			return ""
		}
		kind = p.key.Kind
	}
	return kind
}

// Typed reports whether keys must be of a type.
func (r *Rename) Typed() bool {
	return slices.ContainsFunc(r.pairs, func(p *pair) bool { return p.key != nil })
}
