// Package acl makes the ACL users of a keyspace: one per owner and reader, with
// the keys, channels and commands that the component needs and no others. The
// owner of an entry may read and write its keys, a reader may read them.
//
// It is pure: it makes rules and compares them; reading a server's users and
// changing them is the command line's. Passwords are no part of it.
//
// An ACL knows globs, and a pattern is narrower than any glob of it. What a user
// can reach beyond what the declaration gives is found exactly and reported (Excess).
//
// The rules need Redis 7.0 or Valkey 7.2: earlier servers cannot tell reading a
// key from writing it (https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/).
//
// API: may change until 1.0.
package acl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
)

// User represents one component and what it may do.
type User struct {
	Name     string
	Keys     []Grant // sorted by glob
	Channels []Grant
	Commands []string // lower case, sorted; "client|id" is a subcommand

	rights rights
	reach  *reach // with what was found out about the globs already
}

// Grant represents one glob of keys or channels.
type Grant struct {
	Glob  string
	Write bool   // else only reading; of channels: publishing, else subscribing
	Name  string // of the entry's key or the channel it is for
}

// NameError represents a component whose name cannot be an ACL user.
type NameError struct {
	Name  string
	Entry string
}

func (e *NameError) Error() string {
	if keyspace.ReservedUser(e.Name) {
		return fmt.Sprintf("%s: %q is an ACL user that is there already", e.Entry, e.Name)
	}
	return fmt.Sprintf("%s: %q cannot be the name of an ACL user, which has no blanks, quotes or control characters",
		e.Entry, e.Name)
}

// Users makes the users of a keyspace, sorted by name. Entries without an owner
// give rights to their readers only.
func Users(ks *keyspace.Keyspace) ([]User, error) {
	b := &builder{ks: ks, reach: newReach(ks), users: map[string]*user{}, inner: inners(ks)}
	b.build()
	if b.err != nil {
		return nil, b.err
	}
	users := b.finish()
	if n := ks.Namespace(); n != nil && n.Name != n.Default { // the users of two namespaces of one server
		for i := range users {
			users[i].Name = n.Name + "." + users[i].Name
		}
	}
	return users, nil
}

// grant says what users may do with the keys of a construct, beside those who own it.
type grant struct {
	reads   role // what its readers do
	repairs role // what the user for repairs does, 0: nothing
	tracks  bool // its handles use client-side caching
	shares  bool // its readers work on it as its owner does: they look at the memory of the server and announce, too
}

// grants has a row for each construct.
var grants = map[keyspace.Construct]grant{
	keyspace.Plain: {reads: read}, keyspace.Cache: {reads: read, tracks: true}, keyspace.Counter: {reads: read},
	keyspace.RateLimit: {reads: read}, keyspace.Script: {reads: read},
	keyspace.Lock:    {reads: read, repairs: write, tracks: true},
	keyspace.Queue:   {reads: write, repairs: write, shares: true}, // they take its jobs
	keyspace.Entity:  {reads: read, repairs: write, tracks: true},
	keyspace.Ranking: {reads: read, repairs: read},
	keyspace.Topic:   {reads: settle},
}

// Repairs reports whether a keyspace has what the user for repairs looks at.
func Repairs(ks *keyspace.Keyspace) bool {
	return slices.ContainsFunc(ks.Entries, func(e *keyspace.Entry) bool { return grants[e.Construct].repairs != 0 })
}

// Repair makes the user that looks at queues, entities, locks and rankings and repairs them. It may SCAN, which
// shows the names of all keys of a server, so no component has that by itself.
func Repair(ks *keyspace.Keyspace, name string) (User, error) {
	b := &builder{ks: ks, reach: newReach(ks), users: map[string]*user{}, inner: inners(ks), repairs: name}
	b.repairer(name)
	if b.err != nil {
		return User{}, b.err
	}
	all := b.finish() // the readers of a queue are among them: they wake its workers
	return all[slices.IndexFunc(all, func(u User) bool { return u.Name == name })], nil
}

// Generate writes the users as an ACL file.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	users, err := Users(ks)
	if err != nil {
		return nil, err
	}
	return []gen.File{{Name: "users.acl", Text: []byte(File(users))}}, nil
}

// File returns the users as lines of an ACL file, which has no comments. Passwords
// are to be added: `>password` or `#sha256` after `on`.
func File(users []User) string {
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "user %s on %s\n", u.Name, strings.Join(u.Rules(), " "))
	}
	return b.String()
}

// SetUser returns the arguments of ACL SETUSER that make the user what it should be,
// whatever it was, and leave its passwords and whether it is on.
func (u User) SetUser() []string {
	return append([]string{u.Name, "clearselectors", "sanitize-payload"}, u.Rules()...)
}

// Rules returns the rules of the user, without `on` and passwords.
func (u User) Rules() []string {
	out := []string{"resetkeys", "resetchannels", "-@all"}
	for _, c := range u.Commands {
		out = append(out, "+"+c)
	}
	return append(append(out, u.KeyRules()...), u.ChannelRules()...)
}

// KeyRules returns ~glob and %R~glob.
func (u User) KeyRules() []string {
	var out []string
	for _, g := range u.Keys {
		out = append(out, keyRule(g))
	}
	return slices.Compact(out)
}

func keyRule(g Grant) string {
	if g.Write {
		return "~" + g.Glob
	}
	return "%R~" + g.Glob
}

// Tracks reports whether the user may receive the names of all keys that change: it may use client-side caching, and an
// ACL does not refuse one form of CLIENT TRACKING alone.
func (u User) Tracks() bool { return slices.Contains(u.Commands, "client|tracking") }

// With returns the user with more commands, as in With("select").
func (u User) With(commands ...string) User {
	u.Commands = slices.Concat(u.Commands, commands)
	slices.Sort(u.Commands)
	u.Commands = slices.Compact(u.Commands)
	return u
}

// ChannelRules returns &glob.
func (u User) ChannelRules() []string {
	var out []string
	for _, g := range u.Channels {
		out = append(out, "&"+g.Glob)
	}
	return slices.Compact(out)
}
