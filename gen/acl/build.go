package acl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// builder gathers grants per user.
type builder struct {
	ks    *keyspace.Keyspace
	reach *reach
	users map[string]*user
	inner map[*keyspace.Channel]bool
	err   error

	repairs string // the name of the user for repairs
}

// user represents a user being built.
type user struct {
	keys     map[string]Grant
	channels map[string]Grant
	commands map[string]bool
	does     map[deed]bool // whose commands it has
	rights   rights
}

// deed describes what is done to keys of a kind.
type deed struct {
	role role
	kind keyspace.Kind
}

// user finds or begins a user. The empty name is no user.
func (b *builder) user(name, entry string) *user {
	if name == "" {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '"' || r == '\'' || r >= 0x80 && r < 0xa1
	}) || keyspace.ReservedUser(name) && name != b.repairs {
		b.err = cmp.Or(b.err, error(&NameError{name, entry}))
		return nil
	}
	if b.users[name] == nil {
		b.users[name] = &user{keys: map[string]Grant{}, channels: map[string]Grant{}, commands: map[string]bool{},
			does: map[deed]bool{}, rights: rights{}}
		b.users[name].may(basics)
	}
	return b.users[name]
}

func (u *user) may(commands string) {
	for _, c := range strings.Fields(commands) {
		u.commands[c] = true
	}
}

// build makes the users of everything that is declared.
func (b *builder) build() {
	for _, e := range b.ks.Entries {
		b.entry(e)
		b.script(e)
		b.emits(e)
	}
	for _, c := range b.ks.PubSub() {
		b.channel(c, c.Owner, publishes)
		for _, r := range c.Readers {
			b.channel(c, r, subscribes)
			b.listens(c, r)
			b.answers(c, r)
		}
		if b.scripted(c) {
			b.scripts(c.Owner, c.Name)
		}
	}
	b.pressure()
	b.migrations()
}

// migrations lets who writes an entry that moves from files look at the epoch of its part
// in the same step, and who reads it, too.
func (b *builder) migrations() {
	for _, m := range b.ks.Migrations {
		key := migrationKey + m.ID()
		for _, p := range m.Parts {
			for _, mv := range p.Moves {
				if u := b.user(mv.To.Owner, mv.To.Name); u != nil {
					u.may(runs + " " + migrates)
					u.keys[key] = Grant{Glob: key, Write: true, Name: "the migration " + m.Name}
					u.keys[key+":tickets"] = Grant{Glob: key + ":tickets", Write: true, Name: "the migration " + m.Name}
				}
				for _, r := range mv.To.Readers {
					if u := b.user(r, mv.To.Name); u != nil && !u.keys[key].Write {
						u.may(runsReads + " " + looksAtMigration)
						u.keys[key] = Grant{Glob: key, Name: "the migration " + m.Name}
					}
				}
			}
		}
	}
}

// entry grants the keys of an entry to its owner and readers, under former names
// (`was`) too, until those are gone.
func (b *builder) entry(e *keyspace.Entry) {
	b.keys(e, e.Owner, write)
	for _, r := range e.Readers {
		b.keys(e, r, readerOf(e))
		if u := b.user(r, e.Name); u != nil && e.Construct != keyspace.Plain && len(e.Keys) > 0 {
			u.may(runsReads) // lists, counts and ranks are read by scripts
		}
	}
	for _, name := range append([]string{e.Owner}, e.Readers...) {
		u := b.user(name, e.Name)
		if u != nil && grants[e.Construct].shares {
			u.may(asksMemory)
		}
		if u != nil && caches(e) {
			u.may(tracks)
		}
	}
}

// caches reports whether the handles of an entry use client-side caching: those of values and of hashes do.
func caches(e *keyspace.Entry) bool {
	plain := e.Construct == keyspace.Plain && slices.ContainsFunc(e.Keys, func(k *keyspace.Key) bool {
		return k.Kind == keyspace.String || k.Kind == keyspace.Hash
	})
	return plain || grants[e.Construct].tracks
}

// readerOf returns what the readers of an entry do: those of a stream with groups consume it, and those of what slides
// renew its TTL.
func readerOf(e *keyspace.Entry) role {
	switch reads := grants[e.Construct].reads; {
	case e.Construct == keyspace.Plain && len(e.Groups) > 0:
		return consume
	case reads == read && e.TTL.Sliding:
		return renew
	default:
		return reads
	}
}

// of returns what a role is for one key of an entry: who prolongs an item also writes when it expires.
func (r role) of(k *keyspace.Key) role {
	switch {
	case r == renew && k.Role == "expiry":
		return prolong
	case r == renew && k.Role == "sweep":
		return read
	}
	return r
}

// window is the role of the keys with the sums of a ranking's periods.
const window = "window"

// keys grants all keys of an entry.
func (b *builder) keys(e *keyspace.Entry, name string, r role) {
	u := b.user(name, e.Name)
	if u == nil {
		return
	}
	for _, k := range e.Keys {
		b.grant(u, k, r.of(k))
	}
	for _, t := range b.reach.former(e) {
		b.target(u, t, r)
	}
}

func (b *builder) grant(u *user, k *keyspace.Key, r role) {
	b.target(u, b.reach.key(k), r)
	if k.Role == window && r == write {
		u.may(renames)
	}
}

// target grants what the warnings know under one name.
func (b *builder) target(u *user, t *target, r role) {
	u.rights.add(t.right, r)
	if d := (deed{r, t.kind}); !u.does[d] {
		u.does[d] = true
		u.may(r.commands(t.kind))
		if r != read {
			u.may(runs)
		}
	}
	for _, glob := range Globs(t.pattern) {
		if r != locate && !b.reach.of(glob).reaches(t) {
			continue // all keys that it is for belong to narrower patterns
		}
		old := u.keys[glob]
		u.keys[glob] = Grant{glob, r != read || old.Write, cmp.Or(old.Name, t.name)}
	}
}

// script grants the owner of a script, and its readers, which run it too, what it
// does to its keys.
func (b *builder) script(e *keyspace.Entry) {
	if e.Script == nil {
		return
	}
	r := write
	if e.Script.Effect == keyspace.Reads {
		r = read
	}
	for _, name := range append([]string{e.Owner}, e.Readers...) {
		u := b.user(name, e.Name)
		if u == nil {
			continue
		}
		u.may(runsReads)
		for _, name := range e.Script.Keys {
			if _, k := b.ks.Lookup(name); k != nil {
				b.grant(u, k, r)
			}
		}
	}
}

// emits lets the owner of an entity announce what happens to its items, and of a
// lock or a queue wake those that wait.
func (b *builder) emits(e *keyspace.Entry) { b.emitsAs(e, e.Owner) }

func (b *builder) emitsAs(e *keyspace.Entry, name string) {
	for _, channel := range e.Emits {
		if c := b.ks.Channel(channel); c != nil && c.Durable == nil {
			b.channel(c, name, publishes)
		} else if u := b.user(name, e.Name); c != nil && c.Key() != nil && u != nil {
			b.grant(u, c.Key(), announce)
		}
	}
	if e.Notify == nil {
		return
	}
	b.channel(e.Notify, name, publishes) // the one that takes a lock also waits for it
	b.channel(e.Notify, name, subscribes)
	if grants[e.Construct].shares {
		for _, r := range e.Readers {
			b.channel(e.Notify, r, publishes)
		}
	}
}

// answers lets readers of requests answer them.
func (b *builder) answers(c *keyspace.Channel, reader string) {
	if c.ReplyTo != nil {
		b.channel(c.ReplyTo, reader, publishes)
		b.scripts(reader, c.Name)
	}
}

// scripted reports whether a channel is published on by a script, which puts the
// server's time into the envelope. It is for channels that the declaration lists.
func (b *builder) scripted(c *keyspace.Channel) bool {
	return !c.Plain && c.Answers == nil && !b.inner[c]
}

// inners returns the channels of constructs, which use them by themselves.
func inners(ks *keyspace.Keyspace) map[*keyspace.Channel]bool {
	out := map[*keyspace.Channel]bool{}
	for _, e := range ks.Entries {
		if e.Notify != nil {
			out[e.Notify] = true
		}
	}
	return out
}

func (b *builder) scripts(name, entry string) {
	if u := b.user(name, entry); u != nil {
		u.may("eval evalsha")
	}
}

// words lists the commands of those that publish and of those that subscribe, by
// whether a channel is sharded.
var words = map[role]map[bool]string{
	publishes:  {false: "publish", true: "spublish"},
	subscribes: {false: "subscribe psubscribe", true: "ssubscribe"},
}

func (b *builder) channel(c *keyspace.Channel, name string, r role) {
	u := b.user(name, c.Name)
	if u == nil {
		return
	}
	t := b.reach.channel(c)
	u.rights.add(t.right, r)
	u.may(words[r][c.Sharded])
	for _, glob := range Globs(c.Pattern) {
		u.channels[glob] = Grant{glob, r == publishes || u.channels[glob].Write, c.Name}
	}
	if r == publishes && c.Sharded && !c.Plain {
		b.target(u, b.reach.shard(c), locate)
	}
}

// listens lets a reader subscribe to all channels of a pattern at once. A server compares the
// glob of PSUBSCRIBE with its rules byte by byte, so the rule is the glob that generated
// code subscribes with, in place of the tighter ones. A rule for all channels would be the
// only one of its user: a pattern without a literal is subscribed to channel by channel. So is one
// with bytes that a rule cannot carry: no rule is the same as its glob.
func (b *builder) listens(c *keyspace.Channel, name string) {
	u := b.user(name, c.Name)
	glob, _ := c.Pattern.ACLGlob()
	if u == nil || c.Sharded || len(c.Pattern.Placeholders()) == 0 || b.inner[c] || c.Answers != nil || glob == "*" ||
		glob != c.Pattern.ScanGlob() {
		return
	}
	for _, tight := range Globs(c.Pattern) {
		if !u.channels[tight].Write {
			delete(u.channels, tight)
		}
	}
	u.channels[glob] = Grant{glob, u.channels[glob].Write, c.Name}
}

// pressure lets the component that acts when memory is short do it: it shortens
// and deletes items of every entity that a rule names.
func (b *builder) pressure() {
	if b.ks.PressureLease == nil {
		return
	}
	name := b.ks.PressureLease.Entry.Owner
	u := b.user(name, b.ks.PressureLease.Name)
	if u == nil {
		return
	}
	u.may(asksMemory + " " + ownSlots)
	for i := range b.ks.Pressure {
		e := b.ks.Pressure[i].Entry
		b.keys(e, name, write)
		b.emitsAs(e, name)
	}
}

// repairer is the one user that may find keys: it looks for lost jobs and wrong
// entries of indexes, and may do all with the queues, entities and locks that it mends. Rankings
// it reads.
func (b *builder) repairer(name string) {
	u := b.user(name, "the user for repairs")
	if u == nil {
		return
	}
	u.may(finds)
	u.may(acts)
	u.may(runs)
	u.keys[actingKey] = Grant{Glob: actingKey, Write: true, Name: "the right to execute a plan"}
	for _, e := range b.ks.Entries {
		does := grants[e.Construct].repairs
		if does != 0 {
			b.keys(e, name, does)
		}
		if does == write {
			b.emitsAs(e, name)
		}
	}
}

func (b *builder) finish() []User {
	var out []User
	for name, u := range b.users {
		done := User{Name: name, rights: u.rights, reach: b.reach}
		for c := range u.commands {
			done.Commands = append(done.Commands, c)
		}
		slices.Sort(done.Commands)
		done.Keys, done.Channels = sorted(u.keys), sorted(u.channels)
		out = append(out, done)
	}
	slices.SortFunc(out, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func sorted(grants map[string]Grant) []Grant {
	var out []Grant
	for _, g := range grants {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Grant) int { return cmp.Compare(a.Glob, b.Glob) })
	return out
}

// rights describes what the declaration gives a component: roles by key or channel.
type rights map[string][]role

func (r rights) add(right string, given role) {
	if !slices.Contains(r[right], given) {
		r[right] = append(r[right], given)
	}
}

// literal returns the text that every key of a pattern begins with.
func literal(p *pattern.Pattern) string {
	if e := p.Elements(); len(e) > 0 && e[0].Placeholder < 0 {
		return e[0].Literal
	}
	return ""
}
