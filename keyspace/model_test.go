package keyspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// read loads files, of which k.yaml is the first; those that are not sound are part of some tests.
func read(t testing.TB, files map[string]string) *keyspace.Keyspace {
	t.Helper()
	dir := fstest.MapFS{"s.lua": {Data: []byte("return KEYS[1]")}}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte("keywright: 1\npackage: p\nowner: o\n" + text)}
	}
	ks, _ := load.File(dir, "k.yaml")
	return ks
}

const everything = `vars: {id: int, low: high|low}
namespace: {default: shop, names: "shop|test|live"}
owns: ["shop:own:*"]
foreign: ["other:*"]
keys:
  s: {key: "shop:s:{id}", type: string, value: text encrypted, ttl: 1d, was: ["shop:old:{id}", "shop:s:{id}"]}
  obj: {key: "shop:o:{id}", type: string, value: {a: text, b: text encrypted}, ttl: 1d}
  h: {key: "shop:h:{id}", type: hash, fields: {a: text encrypted, b: int}, ttl: 1d}
  m: {key: "shop:m:{id}", type: hash, field: text, value: int encrypted, ttl: 1d}
  l: {key: "shop:l:{id}", type: list, member: int encrypted, ttl: 1d}
  q: {key: "shop:q:{id}", type: queue, value: text encrypted, ttl: none}
  q2: {key: "shop:q2", type: queue, value: {a: int, b: text encrypted}, ttl: none}
  lo: {key: "shop:lo:{id}", type: lock, ttl: 5s, was: ["shop:lock:{id}", "lock_{id}"]}
  e:
    key: shop:e:{id}
    type: entity
    ttl: 1h
    fields: {low: low}
    index: {low: "shop:ei:{low}"}
    was: ["shop:ent:{id}"]
  q3: {key: "shop:q3:{low}", type: queue, order: low, ttl: none, was: ["shop:qqq:{low}"]}
  st: {key: "shop:st:{id}", type: stream, ttl: 1h}
  se: {key: "shop:se:{id}", type: set, member: text, ttl: 1h}
  zs: {key: "shop:zs:{id}", type: zset, member: text, score: int, ttl: 1h}
  cnt: {key: "shop:c:{id}", type: counter, ttl: 1h}
  run: {type: script, file: s.lua, keys: [s]}
janitor: {look: {do: audit, every: 1h}}
`

// TestItems: what a key may belong to comes in the order of the ranks, and what is derived from an old name is an old
// name too, in the namespace or without one; a name that the author wrote himself is not.
func TestItems(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": everything})
	items, targets := ks.Items()
	if len(items) != len(targets) {
		t.Fatal(len(items), len(targets))
	}
	var got []string
	rank := 0
	for i, item := range items {
		if rank = max(rank, item.Rank); rank > item.Rank {
			t.Errorf("%s has the rank %d after %d", item.Pattern, item.Rank, rank)
		}
		switch of := targets[i]; {
		case of.Key != nil:
			if of.Key != ks.Keys[i] || of.Key.Pattern != item.Pattern || item.Rank != keyspace.RankDeclared {
				t.Errorf("%s is %s", item.Pattern, of.Key.Name)
			}
		case of.Legacy != nil:
			got = append(got, fmt.Sprintf("%d %s: %s of %s", item.Rank, item.Pattern, of.Was.Name, of.Legacy.Name))
		case of.Foreign != nil:
			got = append(got, fmt.Sprintf("%d %s: foreign %s", item.Rank, item.Pattern, of.Foreign.Text))
		case of.Owned != nil:
			got = append(got, fmt.Sprintf("%d %s: owned %s", item.Rank, item.Pattern, of.Owned.Text))
		}
	}
	same(t, "items", got, []string{"1 shop:old:{id}: s of s", "1 shop:lock:{id}: lo of lo",
		"1 shop:{#shop:lock:{id}}:fence: lo.fence of lo", "1 shop:{#shop:lock:{id}}:waiters: lo.waiters of lo",
		"1 shop:{#shop:lock:{id}}:shared: lo.shared of lo", "1 lock_{id}: lo of lo", "1 {#lock_{id}}:fence: lo.fence of lo",
		"1 {#lock_{id}}:waiters: lo.waiters of lo", "1 {#lock_{id}}:shared: lo.shared of lo", "1 shop:ent:{id}: e of e",
		"1 shop:{#shop:ent}:expiry: e.expiry of e", "1 shop:{#shop:ent}:ledger: e.ledger of e",
		"1 shop:{#shop:ent}:sweep: e.sweep of e", "1 shop:qqq:{low}: q3 of q3",
		"1 shop:{#shop:qqq}:job:{job}: q3.job of q3", "1 shop:{#shop:qqq}:result:{job}: q3.result of q3",
		"1 shop:{#shop:qqq}:leases: q3.leases of q3", "1 shop:{#shop:qqq}:delayed: q3.delayed of q3",
		"1 shop:{#shop:qqq}:dead: q3.dead of q3", "1 shop:{#shop:qqq}:workers: q3.workers of q3",
		"1 shop:{#shop:qqq}:state: q3.state of q3", "1 shop:{#shop:qqq}:runs: q3.runs of q3",
		"1 shop:{#shop:qqq}:unique:{unique}: q3.unique of q3",
		"2 other:*: foreign other:*", "2 test:*: foreign test:*", "2 live:*: foreign live:*",
		"2 keywright:janitor:*: foreign keywright:janitor:*", "3 shop:own:*: owned shop:own:*",
		`4 shop[^\-A-Za-z0-9_]*: owned shop:*`})
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nnot\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLookup: each name that there is finds its key, a script finds its entry, and no other name finds anything.
func TestLookup(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": everything})
	names := ks.Names()
	if len(names) != len(ks.Keys)+1 || names[len(names)-1] != "run" {
		t.Errorf("%q", names)
	}
	for i, name := range names {
		e, k := ks.Lookup(name)
		switch {
		case name == "run":
			if e == nil || e.Script == nil || k != nil {
				t.Error(e, k)
			}
		case e == nil || k != ks.Keys[i] || k.Entry != e || e.Key(k.Role) != k:
			t.Errorf("%s is %v of %v", name, k, e)
		}
	}
	for _, name := range []string{"", "S", "s.", "lo.fenc", "run.", "fence", "e.index"} {
		if e, k := ks.Lookup(name); e != nil || k != nil {
			t.Errorf("%q is %v of %v", name, k, e)
		}
	}
	if e, _ := ks.Lookup("lo"); e.Key("job") != nil || e.Key("fence").Name != "lo.fence" {
		t.Error("the roles of a lock")
	}
}

// TestRecords: what a record of a file becomes by construct and type, and what of an entry is sealed, in the order of
// the declaration and under the name that people write.
func TestRecords(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": everything})
	var records, sealed []string
	for _, e := range ks.Entries {
		records = append(records, fmt.Sprintf("%s %s %t", e.Name, e.Record(), e.HoldsSealed()))
		for _, k := range e.Keys {
			for _, p := range k.Sealed() {
				sealed = append(sealed, fmt.Sprintf("%s %q %t %s", k.Name, p.Name(), p.Each, p.Type.Definition()))
			}
		}
	}
	same(t, "records", records, []string{"s string true", "obj string true", "h hash true", "m field true",
		"l element true", "q job true", "q2 job true", "lo  false", "e item false", "q3 job false", "st entry false",
		"se member false", "zs scored false", "cnt string false", "run  false"})
	same(t, "sealed", sealed, []string{`s "" false text encrypted`, `obj "b" false text encrypted`,
		`h "a" false text encrypted`, `m "" true int encrypted`, `l "" true int encrypted`,
		`q.job "payload" false text encrypted`, `q2.job "payload.b" false text encrypted`})
	for want, part := range map[string]keyspace.SealedPart{"": {}, "a": {Field: "a"}, "b": {Member: "b"},
		"a.b": {Field: "a", Member: "b"}} {
		if part.Name() != want {
			t.Errorf("%+v is %q", part, part.Name())
		}
	}
}

// TestConstructs: the constructs are as they are stored, and each is in step or not, also one that there is not.
func TestConstructs(t *testing.T) {
	var got []string
	for _, c := range append(keyspace.Constructs(), "other") {
		got = append(got, fmt.Sprintf("%s %q %t", c, c.Stored(), c.InStep()))
	}
	same(t, "constructs", got, []string{` "" false`, `cache "" false`, `lock "lock" true`, `queue "queue" true`,
		`ranking "" false`, `entity "entity" true`, `counter "" false`, `ratelimit "ratelimit" true`,
		`script "script" false`, `channel "channel" false`, `other "other" false`})
	if k := (&keyspace.Entry{Construct: keyspace.Queue}).Record(); k != "" {
		t.Errorf("a queue without keys is of %s", k)
	}
}

// TestTTLRule: a case counts for its word, or for the numbers from its lowest to its highest.
func TestTTLRule(t *testing.T) {
	r := keyspace.TTLRule{Cases: []keyspace.TTLCase{{Word: "1..3", Low: 1, High: 3, TTL: time.Second},
		{Word: "4", Low: 4, High: 4, TTL: time.Minute}, {Word: "high", Low: 1, High: 0, TTL: time.Hour}}}
	for text, want := range map[string]time.Duration{"1": time.Second, "3": time.Second, "4": time.Minute,
		"high": time.Hour,
		"0":    0, "5": 0, "": 0, "HIGH": 0, "low": 0, "1.5": 0, "99999999999999999999": 0, "-1": 0} {
		if got := r.Of(text); got != want {
			t.Errorf("%q lives %s, not %s", text, got, want)
		}
	}
}

// TestOrdering: the only time in a key says which is older, else its only number.
func TestOrdering(t *testing.T) {
	types := map[string]scalar.Type{"id": {Kind: scalar.Int}, "n": {Kind: scalar.Int}, "at": {Kind: scalar.UnixMS},
		"s": {Kind: scalar.UnixS}, "u": {Kind: scalar.ULID}, "ts": {Kind: scalar.Timestamp}, "word": {Kind: scalar.Text},
		"day": {Kind: scalar.Date, Layout: "YYYY-MM-DD"}, "hour": {Kind: scalar.Date, Layout: "MM-DD"}}
	for text, want := range map[string]struct {
		at   int
		time bool
	}{"a:{id}": {0, false}, "a:{word}:{id}": {1, false}, "a:{id}:{at}": {1, true}, "a:{at}:{s}": {-1, false},
		"a:{id}:{n}": {-1, false}, "a": {-1, false}, "a:{word}": {-1, false}, "a:{day}": {0, true}, "a:{hour}": {-1, false},
		"a:{hour}:{id}": {1, false}, "a:{u}": {0, true}, "a:{ts}:{id}:{n}": {0, true}} {
		p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) { t, ok := types[name]; return t, ok })
		if err != nil {
			t.Fatal(err)
		}
		if at, isTime := keyspace.Ordering(p); at != want.at || isTime != want.time {
			t.Errorf("%s: %d %t, not %+v", text, at, isTime, want)
		}
	}
}

// TestChoose: which namespaces are used is said by name where there are several; each has one name, no two have the
// same, and the name is one that is declared.
func TestChoose(t *testing.T) {
	one := read(t, map[string]string{"k.yaml": "namespace: {default: shop, names: \"test|live\"}\nkeys: {}\n"})
	free := read(t, map[string]string{"k.yaml": "namespace: shop\nkeys: {}\n"})
	two := read(t, map[string]string{"k.yaml": "namespace: shop\nimports: [other.yaml]\nkeys: {}\n",
		"other.yaml": "namespace: bot\nkeys: {}\n"})
	none := read(t, map[string]string{"k.yaml": "keys: {}\n"})
	if len(two.Spaces) != 2 {
		t.Fatal(len(two.Spaces))
	}
	for _, c := range []struct {
		ks         *keyspace.Keyspace
		text, want string
	}{
		{one, "test", "map[shop:test]"}, {one, "shop=live", "map[shop:live]"}, {one, "shop", "map[shop:shop]"},
		{one, "prod", `the namespace "prod" is not one of test, live`}, {one, "bot=test",
			`the declaration has no namespace "bot"; it has shop`}, {one, "test,live", "the namespace shop has two names"},
		{free, "any-thing_1", "map[shop:any-thing_1]"}, {free, "", `the namespace "" is empty`},
		{free, "a b", `the namespace "a b" has a byte that is no letter, digit, - or _`},
		{free, "shop=a=b", `the namespace "a=b" has a byte that is no letter, digit, - or _`},
		{two, "test", "the declaration has the namespaces shop, bot: say which one, as in shop=shop-test"},
		{two, "shop=a,bot=b", "map[bot:b shop:a]"}, {two, "shop=bot,bot=shop", "map[bot:shop shop:bot]"},
		{two, "bot=shop", "the namespaces shop and bot cannot both be shop"},
		{two, "shop=a,bot=a", "the namespaces shop and bot cannot both be a"},
		{none, "test", "the declaration has no namespace: its keys have fixed names"},
	} {
		got, err := c.ks.Choose(c.text)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%q: %s, not %s", c.text, text, c.want)
		}
	}
	n := one.Namespace()
	if two.Namespace() != nil || none.Namespace() != nil || n == nil || n.InEffect() != "shop" ||
		(*keyspace.Namespace)(nil).InEffect() != "" || n.Glob() != `shop[^\-A-Za-z0-9_]*` {
		t.Error("the only namespace, and its name in effect")
	}
	if n.Name = "live"; !slices.Equal(n.Others(), []string{"shop", "test"}) || free.Namespace().Others() != nil {
		t.Errorf("%q", n.Others())
	}
	if n.Name = "other"; !slices.Equal(n.Others(), []string{"shop", "test", "live"}) {
		t.Errorf("%q", n.Others())
	}
}

// TestGenerated: code is generated for one namespace; an entry or channel outside of it is refused, a script is not.
func TestGenerated(t *testing.T) {
	for _, c := range []struct{ first, other, want string }{
		{"keys: {a: {key: a, type: string, ttl: 1d}}", "keys: {}", ""},
		{"namespace: shop\nkeys: {a: {key: \"shop:a\", type: string, ttl: 1d}}",
			"namespace: shop\nkeys: {r: {type: script, file: s.lua, keys: [a]}}", "shop"},
		{"namespace: shop\nkeys: {}", "keys: {r: {type: script, file: s.lua}}", "shop"},
		{"namespace: shop\nkeys: {}", "namespace: bot\nkeys: {b: {key: \"bot:b\", type: string, ttl: 1d}}",
			"the entry b is not in the namespace shop: generate code from one file, with imports in its namespace"},
		{"namespace: shop\nkeys: {}", "namespace: bot\nkeys: {}\nchannels: {c: \"bot:c\"}",
			"the channel c is not in the namespace shop: generate code from one file, with imports in its namespace"},
	} {
		n, err := read(t, map[string]string{"k.yaml": c.first + "\nimports: [o.yaml]\n", "o.yaml": c.other + "\n"}).Generated()
		got := n.InEffect()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.other, got, c.want)
		}
	}
}

// TestLacks: what an announcement cannot be made of, in the order of the message and of the name of the channel, with
// what to do about each.
func TestLacks(t *testing.T) {
	for _, c := range []struct{ on, channel, want string }{
		{"update", `{channel: "c:{a}", message: {a: text, n: int, x: int optional}}`, ""},
		{"update", `{channel: "c:{x}", message: {y: int}}`,
			"e announces on c, but does not always have y for the message (name a field of e, or make it optional); " +
				"e announces on c, but does not always have x for the name of the channel, c:{x} (name a field of e)"},
		{"update", `{channel: "c:{o}", message: {o: int}}`, "e announces on c, but does not always have o for the message " +
			"(name a field of e, or make it optional); e announces on c, but does not always have o for the name of the " +
			"channel, c:{o} (name a field of e)"},
		{"expire", `{channel: "c:{m}", message: {n: int}}`, "e announces on c when it has expired and is gone, but does not " +
			"always have m for the name of the channel, c:{m} (name the id or a field with an index key per value)"},
		{"create", `{channel: "c:{n}", durable: {maxlen: 5}}`, "e announces on c, a stream whose key depends on n: an item " +
			"can change that, and the step that changes it must know the key before (use placeholders of the key of e only)"},
		{"expire", `{channel: "c:{n}", durable: {maxlen: 5}}`, ""}, {"create", `{channel: "c:{a}", durable: {maxlen: 5}}`, ""},
		{"delete", `{channel: "c", message: {s: text}}`, "e announces on c with s, which is encrypted: it is sealed for " +
			"the key of the item, and does not open elsewhere (leave it out of the message)"},
		{"delete", `{channel: "c", message: {n: int encrypted}}`, "e announces on c with n, which is encrypted: it is " +
			"sealed for the key of the item, and does not open elsewhere (leave it out of the message)"},
		{"update", `{channel: "c", message: {raw: bytes}}`,
			"e announces on c with raw, which is bytes of any length (leave it out of the message)"},
		{"update", `{channel: "c", message: {n: text}}`, ""},
		{"update", `{channel: "c", message: {n: unix_ms}}`,
			"e announces on c with n, which is int, and the message says unix_ms (give both the same type)"},
		{"update", `{channel: "c", message: {d: date YYYY}}`,
			"e announces on c with d, which is date, and the message says date YYYY (give both the same type)"},
		{"update", `{channel: "c", message: {k: text}}`,
			"e announces on c with k, which is bytes, and the message says text (give both the same type)"},
		{"update", `{channel: "c", message: {k: bytes}}`, ""},
	} {
		ks := read(t, map[string]string{"k.yaml": fmt.Sprintf(`vars: {k: bytes}
keys:
  e:
    key: e:{a}:{k}
    type: entity
    ttl: 1h
    fields: {n: int, m: int, o: int optional, s: text encrypted, raw: bytes, d: date}
    index: {n: "e:n:{n}"}
    emits: {%s: c}
channels: {c: %s}
`, c.on, c.channel)})
		e, _ := ks.Lookup("e")
		var got []string
		for _, l := range e.Lacks(c.on, ks.Channel("c")) {
			got = append(got, l.Text+" ("+l.Fix+")")
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s on %s:\n%s\nnot\n%s", c.on, c.channel, text, c.want)
		}
	}
	ks := read(t, map[string]string{"k.yaml": "keys: {}\nchannels: {c: {channel: \"c:{a}:{b}\", message: {a: text, " +
		"n: int}}}\nevents: {gone: {with: [a], emits: [c]}}\n"})
	got := ks.Events[0].Lacks(ks.Channel("c"))
	if len(got) != 2 || got[0] != (keyspace.Lack{
		Text: "the event gone announces on c, but does not always have n for the message",
		Fix:  "add it to with, or make it optional"}) || got[1] != (keyspace.Lack{
		Text: "the event gone announces on c, but does not always have b for the name of the channel, c:{a}:{b}",
		Fix:  "add it to with"}) {
		t.Errorf("%+v", got)
	}
}

// TestChannels: how messages travel, which channels are no streams, and which hold something sealed.
func TestChannels(t *testing.T) {
	ks := read(t, map[string]string{"k.yaml": `keys: {}
channels:
  a: a
  b: {channel: b, sharded: true, envelope: plain, message: {n: int encrypted}}
  c: {channel: c, durable: true, envelope: plain}
  d: {channel: d, reply: {n: int encrypted}}
  e: {channel: e, message: {n: int}}
`})
	var got []string
	for _, c := range ks.Channels {
		got = append(got, fmt.Sprintf("%s: %s, %t, %t", c.Name, c.Form(), c.Seals(), c.Key() != nil))
		if found := ks.Channel(c.Name); found != c {
			t.Errorf("%s is %v", c.Name, found)
		}
	}
	same(t, "channels", got, []string{"a: pub/sub, false, false", "b: sharded pub/sub, without an envelope, true, false",
		"c: a stream, without an envelope, false, true", "d: pub/sub, as requests, true, false",
		"d_reply: pub/sub, true, false", "e: pub/sub, false, false"})
	if list := ks.PubSub(); len(list) != 5 || len(ks.Channels) != 6 || slices.ContainsFunc(list,
		func(c *keyspace.Channel) bool { return c.Name == "c" }) || ks.Channel("f") != nil || ks.Channel("") != nil {
		t.Errorf("%d of %d are no streams", len(list), len(ks.Channels))
	}
	for _, durable := range []*keyspace.Durable{{}, {Entry: &keyspace.Entry{}}} {
		if k := (&keyspace.Channel{Durable: durable}).Key(); k != nil {
			t.Error(k)
		}
	}
}
