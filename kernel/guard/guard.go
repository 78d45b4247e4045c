// Package guard checks what a program does to a keyspace against its
// declaration, whatever code does it: it wraps a rueidis client, looks at every
// command and refuses, or reports, keys that are not declared, commands of the
// wrong type, and writes that leave a key without the TTL it must have, with the
// place in the program that sent them. It is for tests and staging.
//
// Where keys are in a command, and what it does to them, is taken from the
// servers' own description of all their commands; of scripts the keys are
// checked before, their types and TTLs afterwards. Where the arguments cannot
// tell, the guard asks the server after the command, in the same round trip.
//
// It is not a permission system (that is ACL) and does not look at values.
//
// API: may change until 1.0.
package guard

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/redis/rueidis"
)

// Problem describes what is wrong with a command.
type Problem uint8

// The problems.
const (
	Undeclared        Problem = iota + 1 // no entry has this key
	FormerName                           // the key is written under a pattern of `was`
	WrongType                            // the command is for another Redis type
	NoTTL                                // the key is left without a TTL and must expire
	TTLTooLong                           // its TTL is above what is declared
	TTLForbidden                         // it has a TTL and must never expire
	Dangerous                            // KEYS, FLUSHALL and others that concern more than declared keys
	UnknownCommand                       // where its keys are cannot be decided
	ByHand                               // a write to keys that only their construct writes: a lock, a queue, an entity
	UndeclaredChannel                    // no channel has this name
	// only the server can tell, afterwards, whether the key has the TTL and type it must have
	Unsettled
)

var problemNames = [...]string{"", "undeclared key", "key under a former name", "wrong type", "key without a TTL",
	"TTL too long", "TTL on a key that must never expire", "dangerous command", "unknown command",
	"a write that only the construct may do", "undeclared channel", "cannot be found in the arguments"}

// String implements fmt.Stringer.
func (p Problem) String() string { return problemNames[p] }

// Violation represents one command that does not fit the declaration. It is an error.
type Violation struct {
	Problem Problem
	Command string // "SET", "XGROUP CREATE"
	Key     string // or the channel; "" for a command that names none
	Entry   string // the entry's or channel's name, "" for what is undeclared
	Detail  string
	Caller  string // file:line of the code that sent it
	Done    bool   // the command was carried out before this could be known
}

func (v *Violation) Error() string {
	text := v.Problem.String() + ": " + v.Command
	if v.Key != "" {
		text += fmt.Sprintf(" on %q", v.Key)
	}
	if v.Entry != "" {
		text += " of " + v.Entry
	}
	if v.Detail != "" {
		text += ": " + v.Detail
	}
	return text + " (sent by " + v.Caller + ")"
}

// Sent reports whether the command was sent, so that it may have been applied.
func (v *Violation) Sent() bool { return v.Done }

// Options of a guard. The zero value refuses.
type Options struct {
	// Report receives each violation, and the command is sent: for staging. Several goroutines may call it at the same
	// time. nil: a command that violates the declaration is not sent; where only the reply shows the violation, the
	// caller gets the *Violation in its place.
	Report func(*Violation)
	// Ignore lists prefixes of packages that are not named as the caller, beside those of rueidis and of keywright: your
	// own wrappers.
	Ignore []string
}

// Guard checks commands against one keyspace. It is safe for concurrent use.
type Guard struct {
	options  Options
	matcher  *match.Matcher
	targets  []keyspace.Target
	ignore   []string
	channels []*keyspace.Channel
	inner    map[*keyspace.Channel]*keyspace.Entry // those of constructs
	scripts  scripts
	proposes proposer
}

// proposer finds what an undeclared key may be meant as. It is safe for concurrent use.
type proposer struct {
	mu   sync.Mutex
	near *keyspace.Near
}

// maxCompared bounds the work of a proposer: what is refused or reported for ever need not
// be explained for ever.
const maxCompared = 200_000

// detail returns a question, "" where nothing declared is near the key.
func (p *proposer) detail(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.near.Work() >= maxCompared {
		return ""
	}
	if found := p.near.To([]byte(key), 1); len(found) > 0 {
		return "did you mean " + found[0].Pattern.String() + " (" + found[0].Name + ")?"
	}
	return ""
}

// New makes a guard of a keyspace that loaded without errors.
func New(ks *keyspace.Keyspace, o Options) (*Guard, error) {
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return nil, fmt.Errorf("the patterns together are too complex to be matched: %w", err)
	}
	g := &Guard{options: o, matcher: m, targets: targets,
		ignore: append([]string{"runtime.", "github.com/redis/rueidis", "github.com/keywright/keywright."}, o.Ignore...)}
	g.proposes.near = keyspace.NewNear(ks)
	g.channels, g.inner, g.scripts = ks.PubSub(), map[*keyspace.Channel]*keyspace.Entry{}, declaredScripts(ks)
	for _, e := range ks.Entries {
		if e.Notify != nil {
			g.inner[e.Notify] = e
		}
	}
	return g, nil
}

// Wrap puts the guard in front of a client; it fits keywright.Options.Wrap.
func (g *Guard) Wrap(c rueidis.Client) rueidis.Client { return &client{Client: c, g: g} }

// Check looks at one command without sending anything and gives its violations. It
// is for other clients than rueidis: call it from their hooks. What only the server
// can tell afterwards, as whether HSET or a script leaves a key with its TTL, is
// Unsettled: a wrapped client asks. Otherwise the two find the same.
func (g *Guard) Check(args ...string) []*Violation {
	var v verdict
	g.check(&v, args)
	v.unsettled("ask PTTL and TYPE of it afterwards")
	g.place(&v)
	return v.found
}

// unsettled makes violations of what only the outcome tells.
func (v *verdict) unsettled(why string) {
	for _, q := range v.after {
		v.found = append(v.found,
			&Violation{Problem: Unsettled, Command: q.command, Key: q.key, Entry: q.entry.Name, Detail: why})
	}
	v.after = nil
}

// verdict describes what is known of some commands before they are sent.
type verdict struct {
	found []*Violation
	after []question // what only the outcome tells
	one   [1]question
}

// question represents a key to be asked about after a command.
type question struct {
	command string
	key     string
	entry   *keyspace.Key
	typed   bool // its type is to be asked too
}

// find takes a key to its target, nil for an undeclared one.
func (g *Guard) find(key string) *keyspace.Target {
	i := g.matcher.Match(unsafe.Slice(unsafe.StringData(key), len(key)), nil)
	if i == match.None {
		return nil
	}
	t := &g.targets[i]
	if t.Owned != nil || t.Foreign != nil && t.Foreign.Sibling { // another tenant's keys are not this program's
		return nil
	}
	return t
}

// check looks at one command.
func (g *Guard) check(v *verdict, args []string) {
	c := lookup(args)
	switch {
	case len(args) == 0:
		return
	case c == nil:
		v.add(UnknownCommand, args, "", nil, "the guard does not know where its keys are")
		return
	}
	if why := dangerous(c.name, args); why != "" {
		v.add(Dangerous, args, "", nil, why)
		return
	}
	if announcing[c.name] != nil {
		g.announced(v, c, args)
		return
	}
	if c.name == "sort" || c.name == "sort_ro" {
		g.looksUp(v, args)
	}
	for i := range c.specs {
		s := &c.specs[i]
		if !s.channel {
			s.keys(args, func(at int) { g.key(v, c, i, args, at) })
		}
	}
}

// looksUp judges the keys that SORT reads by its patterns: BY weight:*, GET item:*->name.
func (g *Guard) looksUp(v *verdict, args []string) {
	for i := 2; i+1 < len(args); i++ {
		if !has(args[i:i+1], "BY", "GET") {
			continue
		}
		i++
		name, _, _ := strings.Cut(args[i], "->")
		before, after, found := strings.Cut(name, "*")
		if !found { // "#", "nosort": no key is read
			continue
		}
		p, err := pattern.Glob(escapes.Replace(before) + "*" + escapes.Replace(after))
		if err != nil ||
			!slices.ContainsFunc(g.targets, func(t keyspace.Target) bool { return t.Key != nil && overlaps(p, t.Key.Pattern) }) {
			v.add(Undeclared, args, name, nil, "")
		}
	}
}

// escapes lists the bytes that mean something in a glob and nothing to SORT.
var escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

func overlaps(a, b *pattern.Pattern) bool {
	_, ok := pattern.Overlap(a, b)
	return ok
}

// key looks at one key of a command.
func (g *Guard) key(v *verdict, c *command, i int, args []string, at int) {
	s, key := &c.specs[i], args[at]
	target := g.find(key)
	switch {
	case target == nil:
		if ch := g.channel(key); c.group != "scripting" || ch == nil || !ch.Sharded {
			v.add(Undeclared, args, key, nil, g.proposes.detail(key))
		}
		return
	case target.Foreign != nil:
		return
	case target.Legacy != nil:
		if s.makes && !s.reads || s.makes && kinds[c.group] != "" {
			v.add(FormerName, args, key, nil, "the entry "+target.Legacy.Name+" has the pattern "+target.Was.Pattern.String())
		}
		return
	}
	entry := target.Key
	if s.changes && onlyConstruct(entry, c.name) && !(c.group == "scripting" && g.scripts.may(args, entry)) {
		v.add(ByHand, args, key, entry,
			"a "+string(entry.Entry.Construct)+" is written by its own functions, which keep its keys in step")
		return
	}
	if kind := c.kind(i); kind != "" && kind != entry.Kind {
		v.add(WrongType, args, key, entry,
			fmt.Sprintf("it is declared as a %s, and the command is for a %s", entry.Kind, kind))
		return
	}
	if !c.writes || !s.makes {
		return
	}
	g.lifetime(v, c, args, key, entry)
}

// lifetime judges what a write does to the TTL of a key: by its arguments where
// they say it, else by what the server answers afterwards.
func (g *Guard) lifetime(v *verdict, c *command, args []string, key string, entry *keyspace.Key) {
	said, ok := commandTTL(c, args)
	ttl := entry.TTL
	switch {
	case ttl.Policy == keyspace.TTLAny:
	case !ok: // the outcome tells
		if len(v.after) == 0 {
			v.after = v.one[:0]
		}
		scripted := c.group == "scripting" || kinds[c.group] == "" && c.name != "expire"
		if ttl.Policy == keyspace.TTLExpires || scripted {
			v.after = append(v.after, question{display(args), key, entry, scripted})
		}
	case said == 0 && ttl.Policy == keyspace.TTLExpires:
		v.add(NoTTL, args, key, entry, "the declaration says "+ttl.Text)
	case said != 0 && ttl.Policy == keyspace.TTLNone:
		v.add(TTLForbidden, args, key, entry, "the declaration says "+ttl.Text)
	case ttl.Policy == keyspace.TTLExpires && said > ttl.LiveMax():
		v.add(TTLTooLong, args, key, entry,
			fmt.Sprintf("%s; the declaration says %s", keyspace.FormatDuration(said), ttl.Text))
	}
}

// answer judges what the server said of a key afterwards.
func (g *Guard) answer(v *verdict, q question, kind string, ms int64) {
	ttl := q.entry.TTL
	args := []string{q.command}
	before := len(v.found)
	switch {
	case ms == -2 || kind == "none":
		return // it is not there: nothing can be wrong with it
	case kind != "" && kind != string(q.entry.Kind):
		v.add(WrongType, args, q.key, q.entry, fmt.Sprintf("it is a %s now and is declared as a %s", kind, q.entry.Kind))
	case ms == -1 && ttl.Policy == keyspace.TTLExpires:
		v.add(NoTTL, args, q.key, q.entry, "the declaration says "+ttl.Text)
	case ms >= 0 && ttl.Policy == keyspace.TTLNone:
		v.add(TTLForbidden, args, q.key, q.entry, "the declaration says "+ttl.Text)
	case ttl.Policy == keyspace.TTLExpires && time.Duration(ms)*time.Millisecond > ttl.LiveMax():
		v.add(TTLTooLong, args, q.key, q.entry,
			fmt.Sprintf("%s; the declaration says %s", keyspace.FormatDuration(time.Duration(ms)*time.Millisecond), ttl.Text))
	}
	for _, found := range v.found[before:] {
		found.Done = true
	}
}

func (v *verdict) add(p Problem, args []string, key string, entry *keyspace.Key, detail string) {
	found := &Violation{Problem: p, Command: display(args), Key: key, Detail: detail}
	if entry != nil {
		found.Entry = entry.Name
	}
	v.found = append(v.found, found)
}

// display returns the name of a command without its arguments: those hold values.
func display(args []string) string {
	name := strings.ToUpper(args[0])
	if len(args) > 1 && commands[strings.ToLower(args[0])+"|"+strings.ToLower(args[1])] != nil {
		name += " " + strings.ToUpper(args[1])
	}
	return name
}

// place says where the commands came from, once for all of them.
func (g *Guard) place(v *verdict) {
	if len(v.found) == 0 {
		return
	}
	caller := g.caller()
	for _, found := range v.found {
		if found.Caller == "" {
			found.Caller = caller
		}
	}
}

// caller returns the first place on the stack outside of the clients.
func (g *Guard) caller() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !g.ignored(&f) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return "keywright itself"
		}
	}
}

// ignored reports whether a place on the stack is one of the clients. Of generated code the caller is of interest.
func (g *Guard) ignored(f *runtime.Frame) bool {
	own, ours := strings.CutPrefix(f.Function, "github.com/keywright/keywright/")
	program := strings.HasPrefix(own, "examples/") || strings.HasPrefix(own, "cmd/") || strings.HasPrefix(own, "bench/")
	return ours && !program && !strings.HasSuffix(f.File, "_test.go") || strings.Contains(f.Function, ".(*Keyspace).") ||
		slices.ContainsFunc(g.ignore, func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) })
}
