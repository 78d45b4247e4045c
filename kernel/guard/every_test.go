package guard

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
)

// harmless lists the commands that name no key and may be sent: those of the
// connection, of transactions, and those that only look.
var harmless = strings.Fields(`
	acl acl|cat acl|dryrun acl|genpass acl|getuser acl|help acl|list acl|log acl|users acl|whoami asking auth
	client client|caching client|capa client|getname client|getredir client|help client|id client|info client|list client|no-evict client|no-touch
	client|setinfo client|setname client|tracking client|trackinginfo
	cluster cluster|count-failure-reports cluster|countkeysinslot cluster|getkeysinslot cluster|help cluster|info cluster|keyslot cluster|links cluster|myid
	cluster|myshardid cluster|nodes cluster|replicas cluster|shards cluster|slaves cluster|slot-stats cluster|slots
	command command|count command|docs command|getkeys command|getkeysandflags command|help command|info command|list config config|get config|help
	dbsize discard echo exec function function|dump function|help function|list function|stats hello info lastsave latency latency|doctor latency|graph
	latency|help latency|histogram latency|history latency|latest lolwut memory memory|doctor memory|help memory|malloc-stats memory|stats
	module module|help module|list multi object object|help ping pubsub pubsub|channels pubsub|help pubsub|numpat pubsub|numsub pubsub|shardchannels
	pubsub|shardnumsub punsubscribe quit randomkey readonly readwrite reset role scan script script|exists script|help script|load script|show
	slowlog slowlog|get slowlog|help slowlog|len time unsubscribe unwatch wait waitaof xgroup xgroup|help xinfo xinfo|help`)

// TestEveryCommandIsDecided: each command that names no key is either refused or
// among those that do no harm; a new one is neither.
func TestEveryCommandIsDecided(t *testing.T) {
	for name, c := range commands {
		keyed := slices.ContainsFunc(c.specs, func(s spec) bool { return !s.unknown })
		refused := concern[name] != ""
		switch listed := slices.Contains(harmless, name); {
		case keyed || announcing[name] != nil:
			if listed {
				t.Errorf("%s names keys or channels", name)
			}
		case refused == listed:
			t.Errorf("%s is refused: %t, and harmless: %t", name, refused, listed)
		}
	}
	for name := range concern {
		if commands[name] == nil {
			t.Errorf("there is no command %s", name)
		}
	}
}

// arguments returns a call of a command with a key in the place of one spec, and
// harmless words in all others.
func (c *command) arguments(s *spec, key string) []string {
	args := strings.Split(c.name, "|")
	for len(args) < 12 {
		args = append(args, "1")
	}
	if s.keyword != "" {
		at := max(s.begin, len(args))
		for len(args) < at {
			args = append(args, "1")
		}
		return append(args, s.keyword, key, "1")
	}
	if s.keynum {
		args[s.begin+s.a] = "1"
		args[s.begin+s.b] = key
		return args
	}
	args[s.begin] = key
	return args
}

// TestNoCommandWritesByHand: whatever command writes, in whatever place the key
// is, only the construct may write what is its own.
func TestNoCommandWritesByHand(t *testing.T) {
	ks, _ := load.File(fstest.MapFS{"k.yaml": {Data: []byte(`keywright: 1
owner: o
keys:
  lock: {key: lock, type: lock, ttl: 1m}
  jobs: {key: jobs, type: queue, ttl: none}
  item: {key: "item:{id}", type: entity, ttl: 1h, fields: {n: int}, index: {n: "items:n"}}
  rate: {key: rate, type: ratelimit, rate: 5 per 1m, ttl: 5m}
`)}}, "k.yaml")
	g, err := New(ks, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for name, c := range commands {
		for i := range c.specs {
			s := &c.specs[i]
			if !s.changes || s.channel || s.unknown || c.group == "scripting" || concern[name] != "" {
				continue
			}
			for _, key := range []string{"lock", "{lock}:fence", "jobs", "{jobs}:job:7", "{jobs}:dead", "item:1", "items:n",
				"rate"} {
				args := c.arguments(s, key)
				if key == "items:n" && name == "pexpire" || key == "rate" && name == "unlink" { // the construct sends it itself
					continue
				}
				found := slices.ContainsFunc(g.Check(args...),
					func(v *Violation) bool { return v.Problem == ByHand && v.Key == key })
				if tried++; !found {
					t.Errorf("%s may be sent", strings.Join(args, " "))
				}
			}
		}
	}
	if tried < 900 {
		t.Errorf("only %d calls", tried)
	}
}

// TestEveryKeyIsFound: a key that nothing declares is found in every place of every
// command, whether it is read or written there.
func TestEveryKeyIsFound(t *testing.T) {
	ks, _ := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\nowner: o\nforeign: [\"1\"]\nkeys:\n  a: {key: a, type: string, ttl: 1d}\n")}}, "k.yaml")
	g, err := New(ks, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range commands {
		for i := range c.specs {
			if s := &c.specs[i]; !s.channel && !s.unknown && concern[name] == "" {
				args := c.arguments(s, "strange")
				found := slices.ContainsFunc(g.Check(args...),
					func(v *Violation) bool { return v.Problem == Undeclared && v.Key == "strange" })
				if !found {
					t.Errorf("%s may be sent", strings.Join(args, " "))
				}
			}
		}
	}
}
