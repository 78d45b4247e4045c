package acl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// target describes what a key or a channel can belong to.
type target struct {
	name    string // as warnings call it
	right   string // under which rights know it
	kind    keyspace.Kind
	rank    int // the lower one wins
	order   int
	pattern *pattern.Pattern
	sharded bool
	rest    int // of its pattern, after the literal that it begins with: equal for equal languages
}

// reach answers what a glob reaches: an ACL does not know that the narrowest
// pattern wins, and a declaration does.
type reach struct {
	ks       *keyspace.Keyspace
	keys     realm
	channels realm
	byKey    map[*keyspace.Key]*target
	byEntry  map[*keyspace.Entry][]*target // former names
	byName   map[*keyspace.Channel]*target
	byShard  map[*keyspace.Channel]*target
}

// realm represents the names of one kind: keys, or channels.
type realm struct {
	targets []*target
	globs   map[string]*reached
	begins  beginnings // of targets, made when first asked for
	asked   asked
	budget  int
}

// work bounds how long the warnings of one declaration may take: in steps of
// automata, and overlap steps for each pair of patterns that is compared. What was
// compared before, after other literal text, costs a step.
const (
	work    = 1 << 22
	overlap = 64
)

// reached describes what one glob reaches.
type reached struct {
	hits    []hit
	stray   []byte // the shortest name that belongs to nothing declared; nil: there is none
	unknown bool   // it may reach anything: to tell would take too long
}

// hit represents one target that a glob reaches, with the shortest such name.
type hit struct {
	target  *target
	witness []byte
}

// rankShard is between that of declared keys and that of former names; ranks are
// those of keyspace.Items, twice.
const rankShard = 2*keyspace.RankDeclared + 1

func newReach(ks *keyspace.Keyspace) *reach {
	r := &reach{ks: ks, keys: realm{budget: work}, channels: realm{budget: work}, byKey: map[*keyspace.Key]*target{},
		byEntry: map[*keyspace.Entry][]*target{}, byName: map[*keyspace.Channel]*target{},
		byShard: map[*keyspace.Channel]*target{}}
	for _, k := range ks.Keys {
		r.byKey[k] = r.keys.add(target{name: k.Name, right: k.Name, kind: k.Kind, rank: 2 * keyspace.RankDeclared,
			pattern: k.Pattern})
	}
	for _, e := range ks.Entries {
		for _, p := range e.Was {
			t := r.keys.add(target{name: e.Name + " under a former name", right: "was " + e.Name, kind: e.Keys[0].Kind,
				rank: 2 * keyspace.RankLegacy, pattern: p})
			r.byEntry[e] = append(r.byEntry[e], t)
		}
	}
	for i := range ks.Foreign {
		r.keys.add(target{name: "other software (foreign: " + ks.Foreign[i].Text + ")", rank: 2 * keyspace.RankForeign,
			pattern: ks.Foreign[i].Pattern})
	}
	for _, c := range ks.PubSub() {
		r.byName[c] = r.channels.add(target{name: c.Name, right: "channel " + c.Name, pattern: c.Pattern, sharded: c.Sharded})
		if c.Sharded && !c.Plain {
			r.byShard[c] = r.keys.add(target{name: "the channel " + c.Name, right: "shard " + c.Name, rank: rankShard,
				pattern: c.Pattern})
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

// others returns what a warning calls what belongs to no pattern that was found.
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
	if !r.search(glob, out) {
		*out = reached{stray: []byte(glob), unknown: true}
	}
	return out
}

// Excess represents something that a user can do beyond what the declaration gives it,
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
	var r *reach
	if len(users) > 0 {
		r = users[0].reach
	}
	if r == nil || r.ks != ks {
		r = newReach(ks)
	}
	var out []Excess
	for _, u := range users {
		worst := map[question]string{}
		command := func(u User, g Grant, t *target) string { return u.keyCommand(worst, g, t) }
		for _, g := range u.Keys {
			out = append(out, u.beyond(g, keyRule(g), r.of(g.Glob), false, command)...)
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
func (u User) beyond(g Grant, rule string, to *reached, channel bool,
	command func(u User, g Grant, t *target) string) (out []Excess) {
	add := func(t *target, witness []byte) {
		if c := command(u, g, t); c != "" {
			out = append(out,
				Excess{u.Name, rule, g.Name, t.name, witness, strings.ToUpper(strings.ReplaceAll(c, "|", " ")), channel})
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

// question represents all that the worst command of a user for a key depends on.
type question struct {
	kind  keyspace.Kind
	write bool
	roles uint // a bit for each
}

func (u User) keyCommand(worst map[question]string, g Grant, t *target) string {
	q := question{kind: t.kind, write: g.Write}
	for _, r := range u.rights[t.right] {
		if r == locate {
			return "" // a key that is there for this only
		}
		q.roles |= 1 << r
	}
	c, found := worst[q]
	if !found {
		c = u.worst(u.rights[t.right], t.kind, g.Write)
		worst[q] = c
	}
	return c
}

// worst returns the worst command that a user with these roles can run on a key of a kind and
// may not.
func (u User) worst(roles []role, kind keyspace.Kind, write bool) string {
	var may []string
	for _, r := range roles {
		may = append(may, strings.Fields(r.meant(kind))...)
	}
	for _, c := range effects(kind, write) {
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
