package acl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// target is what a key or a channel can belong to.
type target struct {
	name    string // as warnings call it
	right   string // under which rights know it
	kind    keyspace.Kind
	rank    int // the lower one wins
	order   int
	pattern *pattern.Pattern
	sharded bool
	wins    []*target // over this one, on the keys that both match; found when first asked
	asked   bool
}

// reach answers what a glob reaches: an ACL does not know that the narrowest
// pattern wins, and a declaration does.
type reach struct {
	keys     realm
	channels realm
	byKey    map[*keyspace.Key]*target
	byEntry  map[*keyspace.Entry][]*target // former names
	byName   map[*keyspace.Channel]*target
	byShard  map[*keyspace.Channel]*target
}

// realm is the names of one kind: keys, or channels.
type realm struct {
	targets []*target
	globs   map[string]*reached
	begins  beginnings // of targets, made when first asked for
	budget  int
}

// work bounds how long the warnings of one declaration may take: in steps of
// automata, and overlap steps for each pair of patterns that is compared.
const (
	work    = 1 << 22
	overlap = 64
)

// reached is what one glob reaches.
type reached struct {
	hits    []hit
	stray   []byte // the shortest name that belongs to nothing declared; nil: there is none
	unknown bool   // it may reach anything: to tell would take too long
}

// hit is one target that a glob reaches, with the shortest such name.
type hit struct {
	target  *target
	witness []byte
}

// rankShard is between that of declared keys and that of former names; ranks are
// those of keyspace.Items, twice.
const rankShard = 2*keyspace.RankDeclared + 1

func newReach(ks *keyspace.Keyspace) *reach {
	r := &reach{keys: realm{budget: work}, channels: realm{budget: work}, byKey: map[*keyspace.Key]*target{}, byEntry: map[*keyspace.Entry][]*target{}, byName: map[*keyspace.Channel]*target{}, byShard: map[*keyspace.Channel]*target{}}
	for _, k := range ks.Keys {
		r.byKey[k] = r.keys.add(target{name: k.Name, right: k.Name, kind: k.Kind, rank: 2 * keyspace.RankDeclared, pattern: k.Pattern})
	}
	for _, e := range ks.Entries {
		for _, p := range e.Was {
			t := r.keys.add(target{name: e.Name + " under a former name", right: "was " + e.Name, kind: e.Keys[0].Kind, rank: 2 * keyspace.RankLegacy, pattern: p})
			r.byEntry[e] = append(r.byEntry[e], t)
		}
	}
	for i := range ks.Foreign {
		r.keys.add(target{name: "other software (foreign: " + ks.Foreign[i].Text + ")", rank: 2 * keyspace.RankForeign, pattern: ks.Foreign[i].Pattern})
	}
	for _, c := range ks.PubSub() {
		r.byName[c] = r.channels.add(target{name: c.Name, right: "channel " + c.Name, pattern: c.Pattern, sharded: c.Sharded})
		if c.Sharded && !c.Plain {
			r.byShard[c] = r.keys.add(target{name: "the channel " + c.Name, right: "shard " + c.Name, rank: rankShard, pattern: c.Pattern})
		}
	}
	return r
}

func (r *reach) key(k *keyspace.Key) *target         { return r.byKey[k] }
func (r *reach) former(e *keyspace.Entry) []*target  { return r.byEntry[e] }
func (r *reach) channel(c *keyspace.Channel) *target { return r.byName[c] }
func (r *reach) shard(c *keyspace.Channel) *target   { return r.byShard[c] }
func (r *reach) of(glob string) *reached             { return r.keys.of(glob) }
func (r *reach) ofChannel(glob string) *reached      { return r.channels.of(glob) }

// others is what a warning calls what belongs to no pattern that was found.
func (r *reached) others() string {
	if r.unknown {
		return "any entry: too many patterns overlap to tell which"
	}
	return ""
}

func (r *reached) reaches(t *target) bool {
	return r.unknown || slices.ContainsFunc(r.hits, func(h hit) bool { return h.target == t })
}

func (r *realm) add(t target) *target {
	t.order = len(r.targets)
	r.targets = append(r.targets, &t)
	return &t
}

// of finds what a glob reaches, once.
func (r *realm) of(glob string) *reached {
	if found := r.globs[glob]; found != nil {
		return found
	}
	if r.globs == nil {
		r.globs = map[string]*reached{}
	}
	out := &reached{}
	r.globs[glob] = out
	p, err := pattern.Glob(glob)
	if err != nil {
		return out
	}
	if !r.search(glob, p, out) {
		*out = reached{stray: []byte(glob), unknown: true}
	}
	return out
}

// search looks for what a glob reaches; false if the budget does not do.
func (r *realm) search(glob string, p *pattern.Pattern, out *reached) bool {
	var near []*pattern.Pattern
	for _, t := range r.near(p) {
		if r.budget -= overlap; r.budget < 0 {
			return false
		}
		if key, ok := pattern.Overlap(p, t.pattern); ok {
			near = append(near, t.pattern)
			if key, ok := r.own(p, t, key); ok {
				out.hits = append(out.hits, hit{t, key})
			}
		}
	}
	stray, found, decided := pattern.WitnessWithin(&r.budget, []*pattern.Pattern{p}, near)
	if !decided { // told without an example rather than not at all
		stray, found = []byte(glob), true
	}
	if found {
		out.stray = stray
	}
	return r.budget >= 0
}

// own finds a key of a glob that belongs to a target and to no narrower one. When
// that takes too long to tell, the key that both match is good enough: a warning
// too many is better than one too few.
func (r *realm) own(glob *pattern.Pattern, t *target, common []byte) ([]byte, bool) {
	var without []*pattern.Pattern
	for _, o := range r.winners(t) {
		without = append(without, o.pattern)
	}
	key, found, decided := pattern.WitnessWithin(&r.budget, []*pattern.Pattern{glob, t.pattern}, without)
	if !decided {
		return common, true
	}
	return key, found
}

// winners are the targets that take keys from t: those of a lower rank, narrower
// ones, and of two that are neither the earlier one.
func (r *realm) winners(t *target) []*target {
	if t.asked {
		return t.wins
	}
	t.asked = true
	for _, o := range r.near(t.pattern) {
		if o == t || o.rank > t.rank {
			continue
		}
		if r.budget -= overlap; r.budget < 0 {
			return t.wins
		}
		if _, ok := pattern.Overlap(o.pattern, t.pattern); ok && (o.rank < t.rank || narrower(o, t)) {
			t.wins = append(t.wins, o)
		}
	}
	return t.wins
}

func narrower(o, t *target) bool {
	_, inT := pattern.Contains(t.pattern, o.pattern)
	_, inO := pattern.Contains(o.pattern, t.pattern)
	if inT != inO {
		return inT
	}
	return o.order < t.order
}

// Excess is something that a user can do beyond what the declaration gives it,
// because of what an ACL cannot say.
type Excess struct {
	User    string
	Rule    string // of the user: "~doc:?*", "%R~doc:?*", "&pay:*"
	For     string // the entry or channel that the rule is for
	Reaches string // what it also reaches; "" for names that are not declared
	Witness []byte // such a key or channel
	Command string // what the user can do with it: "DEL"
	Channel bool   // the witness is a channel, else a key
}

// Excesses finds what users can do beyond the declaration, computed on the rules
// that are printed, sorted. A key that belongs to several patterns belongs to the
// narrowest one.
func Excesses(ks *keyspace.Keyspace, users []User) []Excess {
	r := newReach(ks)
	var out []Excess
	for _, u := range users {
		for _, g := range u.Keys {
			out = append(out, u.beyond(g, keyRule(g), r.of(g.Glob), false, keyCommand)...)
		}
		for _, g := range u.Channels {
			out = append(out, u.beyond(g, "&"+g.Glob, r.ofChannel(g.Glob), true, channelCommand)...)
		}
	}
	slices.SortFunc(out, func(a, b Excess) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Reaches, b.Reaches), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// beyond finds what one rule gives too much. command is the worst command that a
// user can run and may not; "" if there is none.
func (u User) beyond(g Grant, rule string, to *reached, channel bool, command func(u User, g Grant, t *target) string) (out []Excess) {
	add := func(t *target, witness []byte) {
		if c := command(u, g, t); c != "" {
			out = append(out, Excess{u.Name, rule, g.Name, t.name, witness, strings.ToUpper(strings.ReplaceAll(c, "|", " ")), channel})
		}
	}
	for _, h := range to.hits {
		add(h.target, h.witness)
	}
	if to.stray != nil {
		add(&target{name: to.others()}, to.stray)
	}
	return out
}

func keyCommand(u User, g Grant, t *target) string {
	var may []string
	for _, r := range u.rights[t.right] {
		if r == locate {
			return "" // a key that is there for this only
		}
		may = append(may, strings.Fields(r.commands(t.kind))...)
	}
	for _, c := range effects(t.kind, g.Write) {
		if slices.Contains(u.Commands, c) && !slices.Contains(may, c) {
			return c
		}
	}
	return ""
}

func channelCommand(u User, _ Grant, t *target) string {
	for _, r := range []role{publishes, subscribes} {
		c := strings.Fields(words[r][t.sharded])[0]
		if slices.Contains(u.Commands, c) && !slices.Contains(u.rights[t.right], r) {
			return c
		}
	}
	return ""
}
