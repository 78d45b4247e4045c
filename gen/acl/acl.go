// Package acl makes the ACL users of a keyspace: one per owner and reader, with
// the keys, channels and commands that the component needs and no others. The
// owner of an entry may read and write its keys, a reader may read them.
//
// It is pure: it makes rules and compares them; reading a server's users and
// changing them is the command line's. Passwords are no part of it.
//
// An ACL knows globs, and a pattern is narrower than any glob of it. What a user
// can reach beyond what the declaration gives is found exactly and told (Excess).
//
// The rules need Redis 7.0 or Valkey 7.2: earlier servers cannot tell reading a
// key from writing it (https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/).
//
// API: may change until 1.0.
package acl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// User is one component and what it may do.
type User struct {
	Name     string
	Keys     []Grant // sorted by glob
	Channels []Grant
	Commands []string // lower case, sorted; "client|id" is a subcommand
}

// Grant is one glob of keys or channels.
type Grant struct {
	Glob  string
	Write bool   // else only reading; of channels: publishing, else subscribing
	Name  string // of the entry's key or the channel it is for
}

// NameError is a component whose name cannot be an ACL user.
type NameError struct {
	Name  string
	Entry string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%s: %q cannot be the name of an ACL user, which has no blanks, quotes or control characters", e.Entry, e.Name)
}

// Users makes the users of a keyspace, sorted by name. Entries without an owner
// give rights to their readers only.
func Users(ks *keyspace.Keyspace) ([]User, error) {
	b := &builder{ks: ks, users: map[string]*user{}}
	for _, k := range ks.Keys {
		b.entry(k)
	}
	for _, e := range ks.Entries {
		b.script(e)
		b.emits(e)
	}
	for _, c := range ks.PubSub() {
		b.channel(c, c.Owner, true)
		for _, r := range c.Readers {
			b.channel(c, r, false)
			b.answers(c, r)
		}
		if b.publishes(c) {
			b.scripts(c.Owner, c.Name)
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.finish(), nil
}

// Generate writes the users as an ACL file.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	users, err := Users(ks)
	if err != nil {
		return nil, err
	}
	return []gen.File{{Name: "users.acl", Text: []byte(File(users))}}, nil
}

// File is the users as lines of an ACL file, which has no comments. Passwords
// are to be added: `>password` or `#sha256` behind `on`.
func File(users []User) string {
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "user %s on %s\n", u.Name, strings.Join(u.Rules(), " "))
	}
	return b.String()
}

// SetUser is the arguments of ACL SETUSER that make the user what it should be,
// whatever it was, and leave its passwords and whether it is on.
func (u User) SetUser() []string {
	return append([]string{u.Name, "clearselectors"}, u.Rules()...)
}

// Rules are the rules of the user, without `on` and passwords.
func (u User) Rules() []string {
	out := []string{"resetkeys", "resetchannels", "-@all"}
	for _, c := range u.Commands {
		out = append(out, "+"+c)
	}
	return append(append(out, u.KeyRules()...), u.ChannelRules()...)
}

// KeyRules are ~glob and %R~glob.
func (u User) KeyRules() []string {
	var out []string
	for _, g := range u.Keys {
		if g.Write {
			out = append(out, "~"+g.Glob)
		} else {
			out = append(out, "%R~"+g.Glob)
		}
	}
	return slices.Compact(out)
}

// ChannelRules are &glob.
func (u User) ChannelRules() []string {
	var out []string
	for _, g := range u.Channels {
		out = append(out, "&"+g.Glob)
	}
	return slices.Compact(out)
}

// builder gathers grants per user.
type builder struct {
	ks    *keyspace.Keyspace
	users map[string]*user
	err   error
}

// user is a user being built.
type user struct {
	keys     map[string]Grant
	channels map[string]Grant
	commands map[string]bool
}

// user finds or begins a user. Nobody is no user.
func (b *builder) user(name, entry string) *user {
	if name == "" {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' || r == '\'' || r >= 0x80 && r < 0xa1 }) {
		b.err = cmp.Or(b.err, error(&NameError{name, entry}))
		return nil
	}
	if b.users[name] == nil {
		b.users[name] = &user{keys: map[string]Grant{}, channels: map[string]Grant{}, commands: map[string]bool{}}
		b.users[name].may(basics)
	}
	return b.users[name]
}

func (u *user) may(commands string) {
	for _, c := range strings.Fields(commands) {
		u.commands[c] = true
	}
}

// entry grants one key to its owner and readers. Old names (`was`) are read
// until they are gone.
func (b *builder) entry(k *keyspace.Key) {
	b.grant(b.user(k.Entry.Owner, k.Name), k, true)
	for _, r := range k.Entry.Readers {
		b.grant(b.user(r, k.Name), k, k.Entry.Construct == keyspace.Topic) // a consumer writes down what it has had
	}
	if k.Entry.Construct == keyspace.Entity {
		for _, r := range k.Entry.Readers {
			b.lists(r, k.Name)
		}
	}
	if u := b.user(k.Entry.Owner, k.Name); u != nil && k.Role == "" {
		for _, old := range k.Entry.Was {
			u.add(old, true, k.Name)
		}
	}
}

// lists lets a reader of items list and count them, which scripts do that only read.
func (b *builder) lists(reader, entry string) {
	if u := b.user(reader, entry); u != nil {
		u.may("eval_ro evalsha_ro")
	}
}

func (b *builder) grant(u *user, k *keyspace.Key, write bool) {
	if u == nil {
		return
	}
	u.add(k.Pattern, write, k.Name)
	u.may(readsAny)
	u.may(reads[k.Kind])
	if write {
		u.may(writesAny)
		u.may(writes[k.Kind])
	} else if k.Entry.TTL.Sliding && k.Kind == keyspace.String {
		return // a reader peeks; renewing is the owner's
	}
}

func (u *user) add(p *pattern.Pattern, write bool, name string) {
	for _, glob := range Globs(p) {
		old := u.keys[glob]
		u.keys[glob] = Grant{glob, write || old.Write, cmp.Or(old.Name, name)}
	}
}

// script grants the owner of a script what the script does to its keys.
func (b *builder) script(e *keyspace.Entry) {
	u := b.user(e.Owner, e.Name)
	if e.Script == nil || u == nil {
		return
	}
	u.may("eval_ro evalsha_ro")
	writing := e.Script.Effect != keyspace.Reads
	for _, name := range e.Script.Keys {
		if _, k := b.ks.Lookup(name); k != nil {
			b.grant(u, k, writing)
		}
	}
}

// emits lets the owner of an entity announce what happens to its items.
func (b *builder) emits(e *keyspace.Entry) {
	for _, name := range e.Emits {
		if c := b.ks.Channel(name); c != nil && c.Durable == nil {
			b.channel(c, e.Owner, true)
		} else if c != nil && c.Key() != nil {
			b.grant(b.user(e.Owner, e.Name), c.Key(), true)
		}
	}
	if e.Notify != nil { // whoever takes the lock also waits for it
		b.channel(e.Notify, e.Owner, true)
		b.channel(e.Notify, e.Owner, false)
	}
}

// answers lets who reads requests answer them.
func (b *builder) answers(c *keyspace.Channel, reader string) {
	if c.ReplyTo != nil {
		b.channel(c.ReplyTo, reader, true)
		b.scripts(reader, c.Name)
	}
}

// publishes reports whether a channel is published on by a script, which puts the
// server's time into the envelope. It is for channels that the declaration lists.
func (b *builder) publishes(c *keyspace.Channel) bool {
	return !c.Plain && c.Answers == nil && !slices.ContainsFunc(b.ks.Entries, func(e *keyspace.Entry) bool { return e.Notify == c })
}

func (b *builder) scripts(name, entry string) {
	if u := b.user(name, entry); u != nil {
		u.may("eval evalsha")
	}
}

func (b *builder) channel(c *keyspace.Channel, name string, publish bool) {
	u := b.user(name, c.Name)
	if u == nil {
		return
	}
	for _, glob := range Globs(c.Pattern) {
		u.channels[glob] = Grant{glob, publish || u.channels[glob].Write, c.Name}
	}
	if publish && c.Sharded && !c.Plain {
		u.add(c.Pattern, true, c.Name) // the script that publishes finds the node by it, as by a key
	}
	if publish {
		u.may("publish spublish")
	} else {
		u.may("subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe")
	}
}

func (b *builder) finish() []User {
	var out []User
	for name, u := range b.users {
		done := User{Name: name}
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
