package construct

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
)

// loaded reads the keys and channels of a text.
func loaded(t testing.TB, text string) *scope.Scope {
	t.Helper()
	s := scope.New(fstest.MapFS{}, nil, scope.MaxStates)
	d := &scope.Document{Reader: node.Reader{File: "k.yaml", Lines: strings.Split(text, "\n"), Out: &s.Findings},
		Props: map[string]node.Property{}}
	root := d.Parse([]byte(text))
	if root == nil {
		t.Fatalf("%s\n%v", text, s.Findings)
	}
	for _, p := range d.Mapping(root, "the file") {
		d.Props[p.Name] = p
	}
	s.Docs = append(s.Docs, d)
	ReadChannels(s, d)
	ReadKeys(s, d)
	AddStreams(s)
	return s
}

// listed writes the keys that there are, each "name kind pattern ttl", and what was found, "code message [fix]".
func listed(s *scope.Scope) string {
	var out []string
	for _, e := range s.KS.Entries {
		for _, k := range e.Keys {
			out = append(out, fmt.Sprintf("%s %s %s %s", k.Name, k.Kind, k.Pattern, k.TTL.Text))
		}
	}
	for _, c := range s.KS.Channels {
		out = append(out, fmt.Sprintf("channel %s %s", c.Name, c.Pattern))
	}
	finding.Sort(s.Findings)
	for _, f := range s.Findings {
		line := f.Code + " " + f.Message
		if f.Fix != "" {
			line += " [" + f.Fix + "]"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestEntries: the keys that each type of entry has, and all that is said of one that cannot be.
func TestEntries(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{`{key: "a:{id}", type: string, value: int, ttl: 1h}`,
			"e string a:{id} 1h"},
		{`{key: "a:{id}", type: hash, fields: {f: int}, ttl: none}`,
			"e hash a:{id} none"},
		{`{key: "a:{id}", type: hash, field: text, value: int, ttl: none}`,
			"e hash a:{id} none"},
		{`{key: "a:{id}", type: list, member: text, ttl: none}`,
			"e list a:{id} none"},
		{`{key: "a:{id}", type: set, member: text, ttl: none}`,
			"e set a:{id} none"},
		{`{key: "a:{id}", type: zset, member: text, ttl: none}`,
			"e zset a:{id} none"},
		{`{key: "a:{id}", type: stream, fields: {f: int}, maxlen: 10, ttl: none}`,
			"e stream a:{id} none"},
		{`{key: "a:{id}", type: lock, ttl: 10s}`,
			"e string a:{id} 10s\ne.fence string {#a:{id}}:fence 1d\ne.waiters zset {#a:{id}}:waiters 1d\n" +
				"e.shared zset {#a:{id}}:shared 1d\nchannel e_released {#a:{id}}:released"},
		{`{key: "a:{id}", type: lock, ttl: 10s, fence: "f:{id}"}`,
			"e string a:{id} 10s\ne.fence string f:{id} 1d\ne.waiters zset {#a:{id}}:waiters 1d\n" +
				"e.shared zset {#a:{id}}:shared 1d\nchannel e_released {#a:{id}}:released"},
		{`{key: "a:{id}", type: cache, value: json, ttl: 10s}`,
			"e string a:{id} 10s\ne.fill string {#a:{id}}:fill 1m"},
		{`{key: "a:{id}", type: counter, ttl: none}`,
			"e string a:{id} none"},
		{`{key: "a:{id}", type: queue, value: json, ttl: any}`,
			"e list a:{id} any\ne.job string {#a:{id}}:job:{job} any\n" +
				"e.result string {#a:{id}}:result:{job} any\ne.leases zset {#a:{id}}:leases any\n" +
				"e.delayed zset {#a:{id}}:delayed any\ne.dead zset {#a:{id}}:dead any\n" +
				"e.workers zset {#a:{id}}:workers 1d\ne.state hash {#a:{id}}:state any\n" +
				"e.runs hash {#a:{id}}:runs any\ne.unique string {#a:{id}}:unique:{unique} any\n" +
				"channel e_ready {#a:{id}}:ready"},
		{`{key: "a:{id}", type: ranking, member: text, ttl: none}`,
			"e zset a:{id} none"},
		{`{key: "a:{id}", type: ratelimit, rate: 10 per 1m, ttl: any}`,
			"e string a:{id} any"},
		{`{key: "a:{id}", type: entity, fields: {name: text, age: int}, index: [name], ttl: none}`,
			"e hash a:{id} none\ne.ledger hash {#a}:ledger none\ne.pending zset {#a}:pending none\n" +
				"KW005 the index of e must be a mapping of names to values, not a list [write a line `name: …` " +
				"for each, without the -]"},
		{`{key: "a:{id}", type: string, value: int}`,
			"e string a:{id} any\n" +
				"KW202 the entry e has no ttl [add ttl: a duration like 30s, none (must never expire) or any " +
				"(undecided)]"},
		{`{type: string, ttl: none}`,
			"KW006 the entry e has no key [add key: …]"},
		{`{key: "a:{id}", ttl: none}`,
			"KW006 the entry e has no type [add type: one of cache, counter, entity, hash, list, lock, " +
				"queue, ranking, ratelimit, script, set, stream, string, zset]"},
		{`{key: "a:{id}", type: strnig, ttl: none}`,
			`KW103 the entry e: "strnig" is not a type [did you mean string?]`},
		{`{key: "a:{id", type: string, ttl: none}`,
			`KW101 the key of e: the placeholder has no closing }; a literal brace is written \{ [did you ` +
				"mean a:{id}?]"},
		{`{key: "a:{id}", type: string, value: itn, ttl: none}`,
			"e string a:{id} none\n" +
				`KW103 the value of e: "itn" is neither a type nor a var [did you mean int?]`},
		{`{key: "a:{id}", type: string, member: int, ttl: none}`,
			"e string a:{id} none\n" +
				"KW302 a string has no member; it belongs to list, ranking, set, zset [did you mean value?]"},
		{`{key: "a:{id}", type: string, ttl: soon}`,
			"e string a:{id} any\n" +
				`KW201 "soon" is neither a duration nor a name from ttls [declare it under ttls, or write a ` +
				"duration like 30s, none or any]"},
		{`{kye: "a:{id}", type: string, ttl: none}`,
			`KW003 the entry e has no property "kye" [did you mean key?]`},
		{`{key: "a:{id}", type: lock, ttl: none}`,
			"e string a:{id} none\ne.fence string {#a:{id}}:fence 1d\ne.waiters zset {#a:{id}}:waiters 1d\n" +
				"e.shared zset {#a:{id}}:shared 1d\nchannel e_released {#a:{id}}:released"},
		{`{key: "a:{id}", type: lock}`,
			"e string a:{id} any\ne.fence string {#a:{id}}:fence 1d\ne.waiters zset {#a:{id}}:waiters 1d\n" +
				"e.shared zset {#a:{id}}:shared 1d\nchannel e_released {#a:{id}}:released\n" +
				"KW202 the entry e has no ttl [add ttl: a duration like 30s, none (must never expire) or any " +
				"(undecided)]"},
		{`{key: 'a\{{id}', type: lock, ttl: 10s, fence: "f:{id}"}`,
			`e string a\{{id} 10s` + "\n" +
				"e.fence string f:{id} 1d\n" +
				"KW105 the shared key of e cannot be derived: a key in the same cluster slot cannot be derived " +
				"from a pattern with a literal brace outside a hash tag [name it: shared: …]\n" +
				"KW105 the waiters key of e cannot be derived: a key in the same cluster slot cannot be derived " +
				"from a pattern with a literal brace outside a hash tag [name it: waiters: …]"},
		{`{key: "a:{id}", type: cache, value: json, ttl: none}`,
			"e string a:{id} none\ne.fill string {#a:{id}}:fill 1m"},
		{`{key: "a:{id}", type: ratelimit, ttl: any}`,
			"e string a:{id} any"},
		{`{key: "a:{id}", type: ratelimit, rate: fast, ttl: any}`,
			"e string a:{id} any\n" +
				`KW307 "fast" is not a rate [as in 100 per 1m, or 100 per 1m burst 20]`},
		{`{key: "a:{id}", type: ratelimit, rate: 0 per 1m, ttl: any}`,
			"e string a:{id} any\n" +
				`KW307 "0 per 1m" is not a rate [as in 100 per 1m, or 100 per 1m burst 20]`},
		{`{key: "a:{id}", type: entity, fields: {name: text}, index: [nmae], ttl: none}`,
			"e hash a:{id} none\ne.ledger hash {#a}:ledger none\ne.pending zset {#a}:pending none\n" +
				"KW005 the index of e must be a mapping of names to values, not a list [write a line `name: …` " +
				"for each, without the -]"},
		{`{key: "a", type: entity, fields: {name: text}, ttl: none}`,
			"e hash a none\ne.ledger hash {#a}:ledger none\ne.pending zset {#a}:pending none"},
		{`{key: "a:{id}", type: entity, ttl: none}`,
			"e hash a:{id} none\ne.ledger hash {#a}:ledger none\ne.pending zset {#a}:pending none\n" +
				"KW006 the entity e has no fields [add fields: {name: text}]"},
		{`{key: "a:{id}", type: queue, value: json, retry: 5, timeout: 1m, dead: "gone:{id}", ttl: any}`,
			"e list a:{id} any\ne.job string {#a:{id}}:job:{job} any\n" +
				"e.result string {#a:{id}}:result:{job} any\ne.leases zset {#a:{id}}:leases any\n" +
				"e.delayed zset {#a:{id}}:delayed any\ne.dead zset gone:{id} any\n" +
				"e.workers zset {#a:{id}}:workers 1d\ne.state hash {#a:{id}}:state any\n" +
				"e.runs hash {#a:{id}}:runs any\ne.unique string {#a:{id}}:unique:{unique} any\n" +
				"channel e_ready {#a:{id}}:ready"},
		{`{key: "a:{id}", type: queue, value: json, order: lane, ttl: any}`,
			"e list a:{id} any\ne.job string {#a:{id}}:job:{job} any\n" +
				"e.result string {#a:{id}}:result:{job} any\ne.leases zset {#a:{id}}:leases any\n" +
				"e.delayed zset {#a:{id}}:delayed any\ne.dead zset {#a:{id}}:dead any\n" +
				"e.workers zset {#a:{id}}:workers 1d\ne.state hash {#a:{id}}:state any\n" +
				"e.runs hash {#a:{id}}:runs any\ne.unique string {#a:{id}}:unique:{unique} any\n" +
				"channel e_ready {#a:{id}}:ready\n" +
				`KW303 e is ordered by "lane", which is no placeholder of its key [add {lane} to the key]`},
		{`{key: "a:{id}", type: ranking, ttl: any}`,
			"e zset a:{id} any"},
		{`{key: "a:{id}", type: hash, fields: {f: int}, field: text, ttl: none}`,
			"e hash a:{id} none\nKW302 e has fixed fields and open ones [keep one of the two]"},
		{`5`,
			`KW005 the entry e must be a mapping with key, type and ttl, not "5"`},
		{`"a:{id}"`,
			`KW005 the entry e must be a mapping with key, type and ttl, not "a:{id}" [did you mean {key: ` +
				`"a:{id}", type: string, ttl: …}?]`},
	} {
		s := loaded(t, "keys:\n  e: "+c.entry)
		if got := listed(s); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.entry, got, c.want)
		}
	}
}

// TestChannels: the channels that there are, and all that is said of one that cannot be.
func TestChannels(t *testing.T) {
	for _, c := range []struct{ channel, want string }{
		{`{channel: "c:{id}", message: {f: int}}`,
			"channel e c:{id}"},
		{`{channel: "c:{id}", message: {f: text}, sharded: true}`,
			"channel e c:{id}"},
		{`{channel: "c:{id}", message: {f: int}, durable: {maxlen: 10}}`,
			"e stream c:{id} none\ne.dead stream {#c:{id}}:dead none\nchannel e c:{id}"},
		{`{message: {f: int}}`,
			"KW006 the channel e has no channel [add channel: …]"},
		{`{channel: "c:{id", message: {f: int}}`,
			`KW101 the channel e: the placeholder has no closing }; a literal brace is written \{ [did you ` +
				"mean c:{id}?]"},
		{`{channel: "c:{id}"}`,
			"channel e c:{id}"},
		{`{channel: "c:{id}", message: {f: itn}}`,
			"channel e c:{id}\n" +
				`KW103 the type of f: "itn" is neither a type nor a var [did you mean int?]`},
		{`{channel: "c:{id}", message: {f: int}, durable: {maxlen: 0}}`,
			"e stream c:{id} none\ne.dead stream {#c:{id}}:dead none\nchannel e c:{id}\n" +
				`KW307 maxlen must be a whole number of at least 1, not "0"`},
		{`{channel: "c:{id}", message: {f: int}, durable: yes}`,
			"e stream c:{id} none\ne.dead stream {#c:{id}}:dead none\nchannel e c:{id}\n" +
				`KW005 durable must be true or a mapping, not "yes" [write true, or as in {maxlen: 100000, age: ` +
				"7d}]"},
		{`{channel: "c:{id}", message: {f: int}, sharded: 5}`,
			"channel e c:{id}\n" +
				`KW005 sharded must be true or false, not "5" [write true or false]`},
		{`6`,
			`KW005 the channel e must be text, and YAML reads 6 as a number [quote it: "6"]`},
	} {
		s := loaded(t, "channels:\n  e: "+c.channel)
		if got := listed(s); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.channel, got, c.want)
		}
	}
}
