package plan

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

// tags finds the members of sorted sets that are names of cached values.
type tags struct{ rule *Rename }

// newTags makes it; nil if no cached value gets a new name.
func (r *Rename) newTags(ks *keyspace.Keyspace, pairs *Pairs) (*tags, error) {
	cached := &Pairs{}
	for _, p := range pairs.list {
		if p.key != nil && p.key.Entry.Construct == keyspace.Cache && p.key.Role == "" && p.fault == "" && r.chosen(p) {
			cached.list = append(cached.list, p)
		}
	}
	if len(cached.list) == 0 {
		return nil, nil
	}
	rule, err := newRename(ks, cached, RenameOptions{Request: r.Request, Back: true})
	return &tags{rule}, err
}

// member returns the new name of a member, wherever its value is.
func (t *tags) member(name []byte) ([]byte, bool) {
	d := t.rule.Decide(&source.Key{Name: name})
	return []byte(d.Step.To), d.Meant && d.Leave == "" && d.Step.To != ""
}

// retag returns member with what holds the old name.
func (t *tags) retag() Retag {
	return Retag{Glob: t.rule.Glob(), New: func(name []byte) (string, []string, bool) {
		to, ok := t.member(name)
		if !ok {
			return "", nil, false
		}
		still := []string{string(name)}
		p := t.rule.pairs[t.rule.from.Match(name, &t.rule.caught)]
		if p.family != nil {
			if load, ok := t.rule.other(&source.Key{Name: name}, p, p.family.from["fill"]); ok {
				still = append(still, load)
			}
		}
		return string(to), still, true
	}}
}

// tagging reports whether a key may be a tag of a cache: a sorted set of texts.
func tagging(k *keyspace.Key) bool {
	return k.Entry.Construct == keyspace.Plain && k.Kind == keyspace.ZSet &&
		(k.Member == nil || slices.Contains([]scalar.Kind{scalar.Text, scalar.Bytes, scalar.Regexp}, k.Member.Kind))
}

// retags reports whether sets that tag what is renamed are changed where they are.
func (r *Rename) retags() bool { return r.Retag && !r.Drop && r.tags != nil }

// Tags reports whether keys may hold names of other keys: they get the new names before any
// key is renamed, and lose the old ones after that.
func (r *Rename) Tags() bool { return r.Retag && r.tags != nil && r.sets }

// findSets finds the declared sets that may be tags.
func (r *Rename) findSets(ks *keyspace.Keyspace) {
	all := &Pairs{list: slices.Clone(r.pairs)}
	for _, k := range ks.Keys {
		if !tagging(k) {
			continue
		}
		r.sets = true
		all.list = append(all.list, &pair{from: k.Pattern})
		if k.Role == "" {
			for _, was := range k.Entry.Was {
				all.list = append(all.list, &pair{from: was})
			}
		}
	}
	if r.sets {
		r.glob = all.Glob()
	}
}

// tagged returns what becomes of a key that keeps its name: one that may be a tag gets new names.
func (r *Rename) tagged(k *source.Key) (d Decision) {
	if !r.sets || k.Kind != source.Unknown && k.Kind != source.ZSet {
		return d
	}
	id := r.matcher.Match(k.Name, &r.seen)
	if id == match.None {
		return d
	}
	key := r.targets[id].Key
	if was := r.targets[id].Was; was != nil {
		key = was
	}
	if key == nil || !tagging(key) {
		return d
	}
	return Decision{Entry: r.entryOf(key), Meant: true, Step: Step{Do: r.tags.retag(), Last: true}}
}
