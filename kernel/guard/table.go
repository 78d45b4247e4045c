package guard

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

const wholeServer = "it concerns the whole server, not the keys of a declaration"

// concern is the commands that are no business of a program that uses a keyspace,
// and why. Subcommands are as in the table of commands.
var concern = func() map[string]string {
	out := map[string]string{
		"keys":     "it stops the server for as long as it runs; use SCAN, or a declared index",
		"flushall": "it deletes every key of the server", "flushdb": "it deletes every key of the database",
		"swapdb": "it exchanges whole databases", "move": "it takes the key out of the database, and out of sight",
		"select": "a connection has one database, that of its URL", "migrate": "it takes keys to another server",
	}
	for name := range strings.FieldsSeq(wholeServers) {
		out[name] = wholeServer
	}
	return out
}()

// wholeServers lists the commands that change the server for all programs.
const wholeServers = `
	acl|deluser acl|load acl|save acl|setuser bgrewriteaof bgsave client|kill client|pause client|reply client|unblock client|unpause
	cluster|addslots cluster|addslotsrange cluster|bumpepoch cluster|delslots cluster|delslotsrange cluster|failover cluster|flushslots cluster|forget
	cluster|meet cluster|replicate cluster|reset cluster|saveconfig cluster|set-config-epoch cluster|setslot config|resetstat config|rewrite config|set
	debug failover function|delete function|flush function|kill function|load function|restore latency|reset memory|purge module|load module|loadex
	module|unload monitor pfdebug pfselftest psync replconf replicaof restore-asking save script|debug script|flush script|kill shutdown slaveof
	slowlog|reset sync`

// dangerous says why a command is refused whatever it names, "" if it is not.
func dangerous(name string, args []string) string {
	if name == "copy" && has(args[min(3, len(args)):], "DB") {
		return concern["move"]
	}
	return concern[name]
}

// own is the keys, by role ("index" is any index), for which a construct sends commands itself, and these
// commands: everything else it does by scripts. All keys of a construct that keeps them in step are its own
// besides.
var own = map[keyspace.Construct]map[string][]string{
	keyspace.Queue:     {"workers": {"zrem"}, "state": {"hdel"}},
	keyspace.RateLimit: {"": {"unlink"}},
	keyspace.Entity:    {"index": {"pexpire"}},
	keyspace.Cache:     {"fill": nil},
	keyspace.Ranking:   {"window": nil},
	keyspace.Topic: {"": {"xack", "xclaim", "xautoclaim", "xgroup|create", "xgroup|createconsumer", "xgroup|delconsumer"},
		"dead": nil}, // programs of other languages consume, too; what publishes and trims is the channel's alone
}

// onlyConstruct reports whether a write to a key is its construct's alone.
func onlyConstruct(k *keyspace.Key, command string) bool {
	role, _, _ := strings.Cut(k.Role, ".")
	sent, its := own[k.Entry.Construct][role]
	return (its || k.Entry.Construct.InStep()) && !slices.Contains(sent, command)
}

// names says which arguments of a command are channels.
type names struct {
	last  bool // all from the first on, else only the first
	globs bool
	sends bool
}

// announcing is the commands with channels.
var announcing = map[string]*names{
	"publish": {sends: true}, "spublish": {sends: true},
	"subscribe": {last: true}, "ssubscribe": {last: true}, "psubscribe": {last: true, globs: true},
}

// announced judges the channels of a command.
func (g *Guard) announced(v *verdict, c *command, args []string) {
	form := announcing[c.name]
	for i, name := range args[min(1, len(args)):] {
		if i > 0 && !form.last {
			return
		}
		if strings.HasPrefix(name, "__key") || strings.HasPrefix(name, "__redis__:") { // the server's own
			continue
		}
		ch := g.channel(name)
		switch {
		case form.globs && g.anyDeclared(name):
		case ch == nil:
			v.add(UndeclaredChannel, args, name, nil, "")
		case form.sends && g.inner[ch] != nil:
			v.add(ByHand, args, name, g.inner[ch].Keys[0], "only the construct announces on "+ch.Name)
		case (c.name[0] == 's' && c.name != "subscribe") != ch.Sharded && !form.globs:
			v.add(UndeclaredChannel, args, name, nil, sharding(ch))
		}
	}
}

func sharding(c *keyspace.Channel) string {
	if c.Sharded {
		return "the channel " + c.Name + " is sharded: SPUBLISH and SSUBSCRIBE"
	}
	return "the channel " + c.Name + " is not sharded: PUBLISH and SUBSCRIBE"
}

// channel finds a channel of pub/sub by its name on the server, nil if there is none.
func (g *Guard) channel(name string) *keyspace.Channel {
	for _, c := range g.channels {
		if _, ok := c.Pattern.Match([]byte(name)); ok {
			return c
		}
	}
	return nil
}

// anyDeclared reports whether some declared channel is among those of a glob.
func (g *Guard) anyDeclared(glob string) bool {
	p, err := pattern.Glob(glob)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(g.channels,
		func(c *keyspace.Channel) bool { _, ok := pattern.Overlap(p, c.Pattern); return ok })
}
