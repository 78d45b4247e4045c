package plan

import (
	"hash/fnv"
	"math"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Delete represents the rule that removes what is selected.
type Delete struct {
	*keyMatcher
	within []string // of Within
}

// NewDelete makes the rule. ks may be nil: then each key is undeclared. What is not
// declared may be of another program on the same server: only what the namespace
// bounds, else a glob, else the globs of owns, is deleted, unless notShared says that
// there is no other program.
func NewDelete(ks *keyspace.Keyspace, r selection.Request, notShared bool) (*Delete, error) {
	if err := bounded(ks, &r, notShared); err != nil {
		return nil, err
	}
	b, err := newKeyMatcher(ks, r)
	d := &Delete{keyMatcher: b}
	if r.Undeclared {
		d.within = r.Within
	}
	return d, err
}

// Within returns the globs of owns that bound keys which nothing declares. nil: owns does not bound them.
func (r *Delete) Within() []string { return r.within }

// bounded refuses a request for undeclared keys that nothing bounds.
func bounded(ks *keyspace.Keyspace, r *selection.Request, notShared bool) error {
	switch {
	case ks == nil:
		ks = &keyspace.Keyspace{}
	case notShared && len(ks.Spaces) > 0:
		return &selection.Error{What: "a namespace is declared: a server is shared where there are several",
			Hint: "leave out --not-shared; --match without --undeclared deletes outside of the namespace"}
	}
	if !r.Undeclared || notShared || len(ks.Spaces)+len(r.Globs)+len(r.Within) > 0 {
		return nil
	}
	for _, g := range ks.Owns {
		r.Within = append(r.Within, g.Text)
	}
	if len(r.Within) == 0 {
		return &selection.Error{What: "keys that are not declared may be of other programs on this server",
			Hint: "name yours with --match GLOB, declare owns or a namespace, or say --not-shared"}
	}
	return nil
}

// Decide implements Rule.
func (r *Delete) Decide(k *source.Key) Decision {
	d, declared := r.look(k)
	if d.Meant && d.Leave == "" {
		d.Step, d.Leave = r.removal(k, declared)
	}
	return d
}

// TTL represents the rule that gives keys which lost their TTL the declared one.
type TTL struct {
	*keyMatcher
	spread float64
}

// DefaultSpread is over which share of a TTL the ends of the keys are spread.
const DefaultSpread = 0.5

// NewTTL makes the rule. Keys of one entry end evenly spread over the last part of the
// declared TTL: with a spread of 0.5 and a TTL of an hour, between 30 minutes and an
// hour from now.
func NewTTL(ks *keyspace.Keyspace, r selection.Request, spread float64) (*TTL, error) {
	b, err := newKeyMatcher(ks, r)
	return &TTL{b, spread}, err
}

// Decide implements Rule.
func (r *TTL) Decide(k *source.Key) Decision {
	d, declared := r.look(k)
	if !d.Meant || d.Leave != "" {
		return d
	}
	ttl := time.Duration(0)
	if declared != nil && declared.TTL.Policy == keyspace.TTLExpires {
		ttl = declared.TTL.Default
		if ttl == 0 {
			ttl = declared.TTL.Max
		}
	}
	switch {
	case declared != nil && ttl <= 0:
		d.Leave = Lasting
	case ttl <= 0:
		d.Leave = NoTTL
	case k.TTL != source.NoTTL:
		d.Leave = HasTTL
	case constructs[declared.Entry.Construct].noTTL != "":
		d.Leave = constructs[declared.Entry.Construct].noTTL
	case k.Kind.String() != string(declared.Kind):
		d.Leave = OtherType
	default:
		d.Step = Step{Do: Expire{Type: declared.Kind, TTL: spread(k.Name, ttl, r.share(declared))}}
	}
	return d
}

// share is over which part of its TTL a key is spread.
func (r *TTL) share(k *keyspace.Key) float64 {
	if constructs[k.Entry.Construct].even {
		return 0
	}
	return r.spread
}

// spread returns the TTL of a key: the same each time, so that a plan made again says the
// same.
func spread(key []byte, ttl time.Duration, share float64) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write(key)
	x := h.Sum64() // mixed, since names that differ at the end give sums that are near
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	earlier := float64(x) / math.MaxUint64 * share * float64(ttl)
	return max((ttl - time.Duration(earlier)).Truncate(time.Millisecond), time.Millisecond)
}

// Undo represents the rule that gives keys the names back that they had.
type Undo struct {
	*Rename
	each []*match.Matcher // by pair
	old  []string         // names that keys had, those of the next keys first
}

// NewUndo makes the rule, for the pairs of the rename. With merge the jobs of queues go back one by
// one, as RenameOptions.Merge says.
func NewUndo(ks *keyspace.Keyspace, pairs *Pairs, merge bool) (*Undo, error) {
	r, err := NewRename(ks, pairs.Back(), RenameOptions{Back: true, Merge: merge, Retag: true})
	if err != nil {
		return nil, err
	}
	u := &Undo{Rename: r}
	for _, p := range r.pairs {
		m, _, err := match.Compile([]match.Item{{Pattern: p.from}})
		if err != nil {
			return nil, err
		}
		u.each = append(u.each, m)
	}
	return u, nil
}

// Known tells the name that the next key had.
func (u *Undo) Known(old []byte) { u.old = append(u.old, string(old)) }

// Decide implements Rule. The conditions are those of the pair that gives the key the name
// that it had.
func (u *Undo) Decide(k *source.Key) (d Decision) {
	if len(u.old) == 0 {
		return d
	}
	old := u.old[0]
	u.old = u.old[1:]
	if old == string(k.Name) {
		return u.tagged(k)
	}
	d = Decision{Entry: selection.Undeclared, Meant: true, Leave: NotReadable}
	for i, p := range u.pairs {
		if u.each[i].Match(k.Name, &u.caught) == match.None {
			continue
		}
		step, code := u.step(k, p)
		if step.To == old {
			d.Entry, d.Step, d.Leave = u.entries[i], step, code
			d.Step.Rivals = nil
			return d
		}
	}
	return d
}

// Names returns the names of all entries.
func (u *Undo) Names() []string { return u.Rename.Names() }
