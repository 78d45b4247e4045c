package acl_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// TestDryRun asks the servers themselves: each user × keys and channels of each
// entry and such that are almost ones × commands. What the declaration gives is
// allowed; what it does not give is refused, or a warning tells it.
func TestDryRun(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		for name, ks := range declarations(t) {
			p := proof{TB: t, what: string(brand) + " " + name, s: s, ks: ks}
			p.run()
			if p.asked < 10 {
				t.Errorf("%s: only %d questions", name, p.asked)
			}
		}
	}
}

// proof holds the users of one declaration against a server.
type proof struct {
	testing.TB
	what    string
	s       *keywrighttest.Server
	ks      *keyspace.Keyspace
	matcher *match.Matcher
	targets []keyspace.Target
	pubsub  named
	shards  named // those that are keys to scripts
	open    []question
	asked   int
	told    int // over-grants that a warning tells
}

func (p *proof) run() {
	list := users(p, p.ks)
	items, targets := p.ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		p.Fatal(err)
	}
	p.matcher, p.targets, p.pubsub = m, targets, newNamed(p, p.ks.PubSub())
	p.shards = newNamed(p,
		slices.DeleteFunc(p.ks.PubSub(), func(c *keyspace.Channel) bool { return !c.Sharded || c.Plain }))
	for _, u := range list {
		if got := p.s.Do(append([]string{"ACL", "SETUSER"}, u.SetUser()...)...); got != "OK" {
			p.Fatalf("%s: %s: %v", p.what, u.Name, got)
		}
	}
	all := acl.Excesses(p.ks, list)
	keys, channels := p.keys(list), p.channels(list)
	for _, u := range list {
		excess := slices.DeleteFunc(slices.Clone(all), func(x acl.Excess) bool { return x.User != u.Name })
		for _, key := range keys {
			p.key(u.Name, key, excess)
		}
		for _, c := range channels {
			p.channel(u.Name, c, excess)
		}
		for _, x := range excess {
			p.example(x)
		}
		p.server(u)
	}
	p.flush()
	for _, u := range list {
		p.s.Do("ACL", "DELUSER", u.Name)
	}
}

// question represents a command that a user may run or not, and what the answer means.
type question struct {
	words  []string
	answer func(allowed bool)
}

// ask puts a question to the server; the answers come with the next flush.
func (p *proof) ask(user string, command []string, answer func(allowed bool)) {
	p.open = append(p.open, question{append([]string{"ACL", "DRYRUN", user}, command...), answer})
}

// flush asks everything in one pipeline.
func (p *proof) flush() {
	client := p.client()
	asks := make([]rueidis.Completed, len(p.open))
	for i, q := range p.open {
		asks[i] = client.B().Arbitrary(q.words...).Build()
	}
	for i, r := range client.DoMulti(p.Context(), asks...) {
		reply, err := r.ToString()
		if err != nil ||
			reply != "OK" && !strings.Contains(reply, "permission") && !strings.Contains(reply, "can't run") &&
				!strings.Contains(reply, "can't access") && !strings.Contains(reply, "has no") {
			p.Fatalf("%s: %q: %s %v", p.what, p.open[i].words, reply, err)
		}
		p.open[i].answer(reply == "OK")
	}
	p.asked += len(p.open)
	p.open = nil
}

// clients are one per server, which another test may have after this one.
var clients = map[*keywrighttest.Server]rueidis.Client{}

func (p *proof) client() rueidis.Client {
	if c := clients[p.s]; c != nil {
		return c
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.s.Addr()}, DisableCache: true,
		ForceSingleClient: true})
	if err != nil {
		p.Fatal(err)
	}
	clients[p.s] = c
	p.Cleanup(func() {
		delete(clients, p.s)
		c.Close()
	})
	return c
}

// probe represents a command and the roles that need it.
type probe struct {
	roles string
	words []string // "" is the key
}

// shard is the kind of a key that means a sharded channel.
const shard keyspace.Kind = "shard"

// probes are commands per type.
var probes = map[keyspace.Kind][]probe{
	shard:           {{"write", []string{"EVAL", "x", "1", ""}}},
	keyspace.String: {{"read", []string{"GET", ""}}, {"write", []string{"SET", "", "x"}}, {"write", []string{"DEL", ""}}},
	keyspace.Hash: {{"read", []string{"HGETALL", ""}}, {"write", []string{"HSET", "", "f", "x"}},
		{"write", []string{"DEL", ""}}},
	keyspace.List: {{"read", []string{"LRANGE", "", "0", "1"}}, {"write", []string{"LPUSH", "", "x"}},
		{"write", []string{"DEL", ""}}},
	keyspace.Set: {{"read", []string{"SMEMBERS", ""}}, {"write", []string{"SADD", "", "x"}},
		{"write", []string{"DEL", ""}}},
	keyspace.ZSet: {{"read", []string{"ZRANGE", "", "0", "1"}}, {"write", []string{"ZADD", "", "1", "x"}},
		{"write", []string{"DEL", ""}}},
	keyspace.Stream: {{"read", []string{"XLEN", ""}},
		{"consume", []string{"XREADGROUP", "GROUP", "g", "c", "STREAMS", "", ">"}},
		{"consume", []string{"XACK", "", "g", "1-1"}}, {"consume", []string{"XAUTOCLAIM", "", "g", "c", "0", "0"}},
		{"settle announce", []string{"XADD", "", "*", "f", "x"}}, {"settle", []string{"XDEL", "", "1-1"}},
		{"announce", []string{"XTRIM", "", "MAXLEN", "1"}}, {"write", []string{"DEL", ""}}},
}

func (q probe) on(key string) []string {
	out := slices.Clone(q.words)
	out[slices.Index(out, "")] = key
	return out
}

func (p *proof) key(user, key string, excess []acl.Excess) {
	target, kind, roles := p.belongs(user, key)
	for _, q := range probes[kind] {
		want := slices.ContainsFunc(strings.Fields(q.roles), func(r string) bool { return slices.Contains(roles, r) }) ||
			slices.Contains(roles, "write")
		p.judge(user, q.on(key), want, func() bool { return tells(excess, target, key, q.words[0], false) })
	}
}

func (p *proof) judge(user string, command []string, want bool, told func() bool) {
	p.ask(user, command, func(got bool) {
		switch {
		case want && !got:
			p.Errorf("%s: %s may not %q, which is declared", p.what, user, command)
		case got && !want && !told():
			p.Errorf("%s: %s may %q, which is not declared, and no warning says so", p.what, user, command)
		case got && !want:
			p.told++
		}
	})
}

// harmless lists the commands, of probes and of warnings, that change nothing.
var harmless = []string{"GET", "HGET", "HGETALL", "LRANGE", "SMEMBERS", "ZRANGE", "XLEN", "XRANGE", "EXISTS",
	"SUBSCRIBE", "SSUBSCRIBE"}

// tells reports whether a warning says that a user can reach this name, and with
// a command that does as much harm: one that changes nothing tells of no change.
func tells(excess []acl.Excess, target, name, command string, channel bool) bool {
	return slices.ContainsFunc(excess, func(x acl.Excess) bool {
		if x.Channel != channel || x.Reaches != target ||
			slices.Contains(harmless, x.Command) && !slices.Contains(harmless, command) {
			return false
		}
		glob, err := pattern.Glob(x.Rule[strings.IndexAny(x.Rule, "~&")+1:])
		if err != nil {
			return false
		}
		_, ok := glob.Match([]byte(name))
		return ok
	})
}

// belongs returns what a key belongs to, as the matcher says, and what the user may do
// with it, in the words of this test.
func (p *proof) belongs(user, key string) (target string, kind keyspace.Kind, roles []string) {
	i := p.matcher.Match([]byte(key), nil)
	if target, kind, roles := p.shard(user, key); target != "" && (i == match.None || p.targets[i].Key == nil) {
		return target, kind, roles
	}
	if i == match.None || p.targets[i].Owned != nil {
		return "", keyspace.String, nil
	}
	for _, m := range p.ks.Migrations {
		switch key {
		case keyspace.MigrationKeys + m.ID():
			return "the migration " + m.Name, keyspace.Hash, p.migrationRoles(user, m)
		case keyspace.MigrationKeys + m.ID() + ":tickets":
			return "the migration " + m.Name, keyspace.ZSet,
				slices.DeleteFunc(p.migrationRoles(user, m), func(role string) bool { return role == "read" })
		}
	}
	switch t := p.targets[i]; {
	case t.Foreign != nil:
		return "other software (foreign: " + t.Foreign.Text + ")", keyspace.String, nil
	case t.Legacy != nil:
		return t.Legacy.Name + " under a former name", t.Legacy.Keys[0].Kind, p.entryRoles(user, t.Legacy)
	default:
		return t.Key.Name, t.Key.Kind, p.keyRoles(user, t.Key)
	}
}

// shard: the name of a sharded channel is a key to those that publish on it.
func (p *proof) shard(user, key string) (string, keyspace.Kind, []string) {
	c := p.shards.of(key)
	switch {
	case c == nil:
		return "", keyspace.String, nil
	case slices.Contains(p.channelRoles(user, c), "publish"):
		return "the channel " + c.Name, shard, []string{"write"}
	}
	return "the channel " + c.Name, keyspace.String, nil
}

// named finds channels by name, the narrowest first.
type named struct {
	list []*keyspace.Channel
	m    *match.Matcher
}

func newNamed(t testing.TB, list []*keyspace.Channel) named {
	items := make([]match.Item, len(list))
	for i, c := range list {
		items[i].Pattern = c.Pattern
	}
	m, _, err := match.Compile(items)
	if err != nil {
		t.Fatal(err)
	}
	return named{list, m}
}

func (n named) of(name string) *keyspace.Channel {
	if i := n.m.Match([]byte(name), nil); i != match.None {
		return n.list[i]
	}
	return nil
}

// migrationRoles: who writes what moves from files takes part in the migration.
func (p *proof) migrationRoles(user string, m *keyspace.Migration) (roles []string) {
	for _, part := range m.Parts {
		for _, mv := range part.Moves {
			if mv.To.Owner == user {
				roles = append(roles, "write")
			}
			if slices.Contains(mv.To.Readers, user) {
				roles = append(roles, "read")
			}
		}
	}
	return roles
}

func (p *proof) entryRoles(user string, e *keyspace.Entry) (roles []string) {
	if e.Owner == user {
		roles = append(roles, "write")
	}
	for _, rule := range p.ks.Pressure {
		if rule.Entry == e && p.ks.PressureLease.Entry.Owner == user {
			roles = append(roles, "write")
		}
	}
	if slices.Contains(e.Readers, user) {
		roles = append(roles, "read")
		switch {
		case e.Construct == keyspace.Queue:
			roles = append(roles, "write")
		case e.Topic != nil:
			roles = append(roles, "consume", "settle")
		case len(e.Groups) > 0:
			roles = append(roles, "consume")
		}
	}
	return roles
}

func (p *proof) keyRoles(user string, k *keyspace.Key) []string {
	roles := p.entryRoles(user, k.Entry)
	for _, e := range p.ks.Entries {
		if runs := e.Owner == user || slices.Contains(e.Readers, user); runs && e.Script != nil &&
			slices.Contains(e.Script.Keys, k.Name) {
			roles = append(roles, "read")
			if e.Script.Effect != keyspace.Reads {
				roles = append(roles, "write")
			}
		}
		if c := k.Entry.Topic; c != nil && k == c.Key() && p.announces(user, e, c) {
			roles = append(roles, "read", "announce")
		}
	}
	return roles
}

// announces: the owner of an entity does, and the component that takes its items when
// memory is short.
func (p *proof) announces(user string, e *keyspace.Entry, c *keyspace.Channel) bool {
	if !slices.Contains(slices.Collect(maps.Values(e.Emits)), c.Name) {
		return false
	}
	return e.Owner == user || slices.ContainsFunc(p.ks.Pressure, func(r keyspace.Pressure) bool {
		return r.Entry == e && p.ks.PressureLease.Entry.Owner == user
	})
}

func (p *proof) channelRoles(user string, c *keyspace.Channel) (roles []string) {
	add := func(ok bool, role string) {
		if ok {
			roles = append(roles, role)
		}
	}
	add(c.Owner == user, "publish")
	add(slices.Contains(c.Readers, user), "subscribe")
	add(c.Answers != nil && slices.Contains(c.Answers.Readers, user), "publish")
	for _, e := range p.ks.Entries {
		add(p.announces(user, e, c), "publish")
		if e.Notify == c {
			add(e.Owner == user, "publish")
			add(e.Owner == user, "subscribe")
			add(e.Construct == keyspace.Queue && slices.Contains(e.Readers, user), "publish")
		}
	}
	return roles
}

func (p *proof) channel(user, name string, excess []acl.Excess) {
	target, sharded, roles := "", false, []string(nil)
	if c := p.pubsub.of(name); c != nil {
		target, sharded, roles = c.Name, c.Sharded, p.channelRoles(user, c)
	}
	commands := map[string][]string{"publish": {"PUBLISH", name, "x"}, "subscribe": {"SUBSCRIBE", name}}
	if sharded {
		commands = map[string][]string{"publish": {"SPUBLISH", name, "x"}, "subscribe": {"SSUBSCRIBE", name}}
	}
	for role, command := range commands {
		p.judge(user, command, slices.Contains(roles, role),
			func() bool { return tells(excess, target, name, command[0], true) })
	}
}

// examples lists the arguments of the commands that warnings name.
var examples = map[string][]string{
	"SET": {"SET", "", "x"}, "GET": {"GET", ""}, "GETEX": {"GETEX", "", "PX", "1"}, "HSET": {"HSET", "", "f", "x"}, "HGET": {"HGET", "", "f"},
	"LPUSH": {"LPUSH", "", "x"}, "LRANGE": {"LRANGE", "", "0", "1"},
	"SADD": {"SADD", "", "x"}, "SMEMBERS": {"SMEMBERS", ""}, "ZADD": {"ZADD", "", "1", "x"},
	"ZRANGE": {"ZRANGE", "", "0", "1"}, "XADD": {"XADD", "", "*", "f", "x"},
	"XRANGE": {"XRANGE", "", "-", "+"}, "XREADGROUP": {"XREADGROUP", "GROUP", "g", "c", "STREAMS", "", ">"},
	"XTRIM": {"XTRIM", "", "MAXLEN", "1"}, "XDEL": {"XDEL", "", "1-1"}, "XSETID": {"XSETID", "", "1-1"},
	"DEL": {"DEL", ""}, "EXISTS": {"EXISTS", ""}, "PEXPIRE": {"PEXPIRE", "", "1"},
	"PUBLISH": {"PUBLISH", "", "x"}, "SPUBLISH": {"SPUBLISH", "", "x"}, "SUBSCRIBE": {"SUBSCRIBE", ""},
	"SSUBSCRIBE": {"SSUBSCRIBE", ""},
}

// example: what a warning says a user may do, it may do.
func (p *proof) example(x acl.Excess) {
	words := examples[x.Command]
	if words == nil {
		p.Fatalf("%s: add an example of %s", p.what, x.Command)
	}
	p.ask(x.User, probe{words: words}.on(string(x.Witness)), func(allowed bool) {
		if !allowed {
			p.Errorf("%s: a warning says that %s may %s %q of %q by %s", p.what, x.User, x.Command, x.Witness, x.Reaches, x.Rule)
		}
	})
}

// server: no component has commands that find keys or concern the server. Who may track keys is reported.
func (p *proof) server(u acl.User) {
	user := u.Name
	p.ask(user, []string{"CLIENT", "TRACKING", "ON", "BCAST"}, func(allowed bool) {
		if allowed != u.Tracks() {
			p.Errorf("%s: %s may hear of all keys that change: %t, told: %t", p.what, user, allowed, u.Tracks())
		}
	})
	for _, command := range [][]string{{"SCAN", "0"}, {"RANDOMKEY"}, {"KEYS", "*"}, {"FLUSHALL"}, {"FLUSHDB"},
		{"SWAPDB", "0", "1"}, {"SELECT", "1"}, {"CONFIG", "GET", "*"}, {"DBSIZE"}, {"ACL", "LIST"}, {"SHUTDOWN"},
		{"CLIENT", "NO-EVICT", "ON"}, {"CLIENT", "KILL", "ID", "1"}} {
		p.ask(user, command, func(allowed bool) {
			if allowed {
				p.Errorf("%s: %s may run %q", p.what, user, command)
			}
		})
	}
}

// borders are texts that some types take and others do not.
var borders = []string{"a", "b", "aa", "1", "5", "9", "10", "-7", "0", "beef", "x-1", "A", "true", "20260101",
	"2026-11-20", "red", "a:b", "é", "\xff", "*", "[a]", `\`, " ", "0190a1b2-0000-7000-8000-000000000001",
	"01ARZ3NDEKTSV4RRFFQ69G5FAV"}

// keys returns keys at the borders: of every pattern, of two patterns at once, what
// globs reach and patterns do not, and such that are almost right.
func (p *proof) keys(list []acl.User) []string {
	var patterns []*pattern.Pattern
	for _, k := range p.ks.Keys {
		patterns = append(patterns, k.Pattern)
	}
	for _, e := range p.ks.Entries {
		patterns = append(patterns, e.Was...)
	}
	for _, f := range p.ks.Foreign {
		patterns = append(patterns, f.Pattern)
	}
	globs := map[string]bool{}
	for _, u := range list {
		for _, g := range u.Keys {
			globs[g.Glob] = true
		}
	}
	return near(p, patterns, globs)
}

func (p *proof) channels(list []acl.User) []string {
	var patterns []*pattern.Pattern
	for _, c := range p.ks.PubSub() {
		patterns = append(patterns, c.Pattern)
	}
	globs := map[string]bool{}
	for _, u := range list {
		for _, g := range u.Channels {
			globs[g.Glob] = true
		}
	}
	return near(p, patterns, globs)
}

func near(t testing.TB, patterns []*pattern.Pattern, globs map[string]bool) []string {
	out := map[string]bool{"zz:1": true, "*": true}
	for i, q := range patterns {
		out[string(q.Example())] = true
		for _, text := range borders {
			values := make([]string, len(q.Placeholders()))
			for j, place := range q.Placeholders() {
				values[j] = place.Type.Example()
			}
			for j := range values {
				was := values[j]
				values[j] = text
				if key, err := q.Build(values...); err == nil {
					out[string(key)] = true
				}
				values[j] = was
			}
		}
		for _, o := range patterns[i+1:] {
			if key, ok := pattern.Overlap(q, o); ok {
				out[string(key)] = true
			}
		}
		for g := range globs {
			glob, err := pattern.Glob(g)
			if err != nil {
				t.Fatal(err)
			}
			if key, found, _ := pattern.Witness([]*pattern.Pattern{glob}, []*pattern.Pattern{q}); found {
				out[string(key)] = true
			}
			if key, ok := pattern.Overlap(glob, q); ok {
				out[string(key)] = true
			}
		}
		for _, miss := range misses(q.Example()) {
			out[string(miss)] = true
		}
	}
	delete(out, "")
	return slices.Sorted(maps.Keys(out))
}

// misses returns keys that are almost key.
func misses(key []byte) [][]byte {
	out := [][]byte{append([]byte("x"), key...), append(bytes.Clone(key), "x"...), append(bytes.Clone(key), ":x"...),
		bytes.ToUpper(key), key[1:], key[:len(key)-1]}
	if at := bytes.LastIndexByte(key, ':'); at > 0 {
		out = append(out, key[:at], append(bytes.Clone(key[:at]), "x"+string(key[at:])...))
	}
	return out
}
