package parts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/parts"
)

func entryOf(t *testing.T, vars, entry, more string) (*keyspace.Keyspace, *keyspace.Entry) {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: p\nvars: {" + vars + "}\nkeys:\n  x: " +
		entry + "\n" + more)}}, "k.yaml")
	for _, f := range found {
		if f.Severity.String() == "error" {
			t.Fatalf("%s: %s", entry, f.Message)
		}
	}
	return ks, ks.Entries[0]
}

// TestOptions: the options of each construct are what its declaration says, and what it does not say is no option,
// but for what the handle has no default of its own.
func TestOptions(t *testing.T) {
	const vars = "id: int, day: date, hour: date YYYY-MM-DD-HH, month: date YYYY-MM, year: date YYYY, low: high|low, at: unix_ms, s: unix_s"
	for _, c := range []struct{ entry, want string }{
		{"{key: x, type: string, ttl: 1h}", ""}, {"{key: x, type: counter, ttl: 1h}", ""},
		{"{key: x, type: lock, ttl: 5s}", ""},
		{"{key: x, type: lock, ttl: 5s, notify: n}", "Announce true (others listen on the declared channel)"},
		{"{key: x, type: queue, ttl: none}", ""},
		{"{key: x, type: queue, ttl: none, lease: 5s, retry: 3, timeout: 1m}", "Lease 5s; Retry 3; Timeout 1m0s"},
		{"{key: x, type: cache, ttl: 1h}", ""}, {"{key: x, type: cache, ttl: any}", "TTL 1h0m0s"},
		{"{key: x, type: cache, ttl: 1h, fresh: 50m, absent: 1s}", "Fresh 50m0s; Absent 1s"},
		{"{key: x, type: ratelimit, ttl: 1h, rate: 10 per 1m}", "Rule GCRA; Count 10; Per 1m0s; Burst 0"},
		{"{key: x, type: ratelimit, ttl: 1h, rate: 10 per 1m burst 3}", "Rule GCRA; Count 10; Per 1m0s; Burst 3"},
		{"{key: x, type: ratelimit, ttl: 1h, rate: 10 per 1m, algorithm: sliding}", "Rule Sliding; Count 10; Per 1m0s"},
		{"{key: x, type: ratelimit, ttl: 1h, rate: 10 per 1m, algorithm: fixed}", "Rule Fixed; Count 10; Per 1m0s"},
		{"{key: x, type: ranking, ttl: 1h}", "Ties ByMember"},
		{"{key: \"x:{id}:{day}\", type: ranking, ttl: 1h, score: int, ties: first}", "Step Day; Ties FirstToReach"},
		{"{key: \"x:{hour}\", type: ranking, ttl: 1h}", "Step Hour; Ties ByMember"},
		{"{key: \"x:{month}\", type: ranking, ttl: 1h}", "Step Month; Ties ByMember"},
		{"{key: \"x:{year}\", type: ranking, ttl: 1h}", "Step Year; Ties ByMember"},
		{"{key: \"x:{id}\", type: entity, ttl: none, fields: {a: int}, index: {a: i}}", ""},
		{"{key: \"x:{id}\", type: entity, ttl: 1h, fields: {a: int}, index: {a: i}}", "IndexTTL 2h0m0s"},
		{"{key: \"x:{id}\", type: entity, ttl: none, fields: {a: s, b: s, v: int}, index: {a: i}, stamps: {created: b, " +
			"version: v, updated: a}}", "Created b; Version v; Updated a; Seconds true"},
		{"{key: \"x:{id}\", type: entity, ttl: none, fields: {a: s, b: at}, index: {a: i}, stamps: {created: b}}", "Created b"},
		{"{key: \"x:{id}\", type: entity, ttl: 1h in 1s..1d, ttl_by: {a: {high: 1m}}, fields: {a: low}, index: {a: " +
			"\"i:{a}\"}}", "IndexTTL 48h0m0s; TTLFields [a]"},
	} {
		_, e := entryOf(t, vars, c.entry, "")
		var got []string
		h := parts.Of(e)
		for _, o := range h.Options {
			text := fmt.Sprintf("%s %v", o.Name, o.Value)
			if o.Why != "" {
				text += " (" + o.Why + ")"
			}
			if fmt.Sprint(h.Option(o.Name)) != fmt.Sprint(o.Value) {
				t.Errorf("%s is %v", o.Name, h.Option(o.Name))
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != c.want || h.Option("Other") != nil {
			t.Errorf("%s: %s, not %s", c.entry, text, c.want)
		}
	}
}

// TestTopics: the options of a channel are how its messages travel, and what is kept of them.
func TestTopics(t *testing.T) {
	for channel, want := range map[string]string{
		"{channel: c}": "[]", "{channel: c, envelope: plain}": "[{Plain true }]",
		"{channel: c, sharded: true, envelope: plain}": "[{Plain true } {Sharded true }]",
		"{channel: c, durable: true}":                  "[]",
		"{channel: c, durable: {maxlen: 9, age: 1h, retry: 3, timeout: 1m}, envelope: plain}": "[{MaxLen 9 } {Age 1h0m0s } " +
			"{Retry 3 } {Timeout 1m0s } {Plain true }]",
	} {
		ks, _ := entryOf(t, "", "{key: x, type: string, ttl: 1h}", "channels: {c: "+channel+"}\n")
		c := ks.Channel("c")
		options := parts.Topic(c)
		if c.Durable != nil {
			options = parts.Of(c.Durable.Entry).Options
		}
		if got := fmt.Sprint(options); got != want {
			t.Errorf("%s: %s, not %s", channel, got, want)
		}
	}
}

// TestParts: which keys a handle has, what it fills in, in which order the lanes of a queue are, and what is the id of
// an item: a placeholder that no index lacks and that is no field is shared by all items of a store.
func TestParts(t *testing.T) {
	const vars = "low: {type: high|low, default: low}, day: date, month: date YYYY-MM"
	for _, c := range []struct{ entry, want, values string }{
		{"{key: \"x:{a}\", type: string, ttl: 1h}", "Main 0 []", "a"},
		{"{key: \"x:{a}\", type: cache, ttl: 1h}", "Main 0 []; Fill 0 []", "a"},
		{"{key: \"x:{a}:{low}\", type: queue, order: low, ttl: none}", "Lanes 1 [low] [high low]; Job 2 [job]; " +
			"Result 2 [job]; Unique 2 [unique]; Leases 0 []; Delayed 0 []; Dead 0 []; State 0 []; Workers 0 []; Runs 0 []; " +
			"Channel 0 []", "a"},
		{"{key: \"{low}:{a}\", type: queue, ttl: none}", "Lanes 0 []; Job 2 [job]; Result 2 [job]; Unique 2 [unique]; " +
			"Leases 0 []; Delayed 0 []; Dead 0 []; State 0 []; Workers 0 []; Runs 0 []; Channel 0 []", "low a"},
		{"{key: \"x:{a}:{day}\", type: ranking, ttl: 1h, cached: 1m}", "Main 0 [day]; Window 0 [window]", "a"},
		{"{key: \"x:{a}\", type: ranking, ttl: 1h}", "Main 0 []", "a"},
		{"{key: \"x:{a}:{id}\", type: entity, ttl: 1h, fields: {k: text, n: int}, index: {k: \"i:{a}:{k}\", n: \"j:{a}\"}}",
			"Expires 0 []; Records 0 []; Lease 0 []; Item 2 [id]; k 2 [k]; n 0 []", "a"},
		{"{key: \"x:{a}:{id}\", type: entity, ttl: 1h, fields: {n: int}, index: {n: \"i\", expires: ex}}",
			"Expires 0 []; Records 0 []; Lease 0 []; Item 2 [a id]; n 0 []", ""},
	} {
		_, e := entryOf(t, vars, c.entry, "")
		h := parts.Of(e)
		var got []string
		for _, p := range h.All() {
			text := fmt.Sprintf("%s %d %v", p.Name, p.Form, p.Own)
			if len(p.Words) > 0 {
				text += fmt.Sprintf(" %v", p.Words)
			}
			got = append(got, text)
			if found, ok := h.Part(p.Name); ok && found.Pattern != p.Pattern || p.Channel() != (p.Name == "Channel") {
				t.Errorf("%s: %s is another one", c.entry, p.Name)
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.entry, text, c.want)
		}
		if values := strings.Join(parts.Values(e), " "); values != c.values {
			t.Errorf("%s: %s, not %s", c.entry, values, c.values)
		}
		if _, ok := h.Part("Other"); ok || !slices.IsSorted(h.Own()) {
			t.Errorf("%s: %q", c.entry, h.Own())
		}
	}
	if h := parts.Of(&keyspace.Entry{Construct: keyspace.Script}); len(h.All()) > 0 || h.Options != nil {
		t.Errorf("%+v", h)
	}
	for entry, want := range map[string]string{"{key: \"x:{low}\", type: queue, order: low, ttl: none}": "low",
		"{key: x, type: queue, ttl: none}": ""} {
		if _, e := entryOf(t, vars, entry, ""); parts.DefaultLane(e) != want {
			t.Errorf("%s: %q", entry, parts.DefaultLane(e))
		}
	}
}

// TestEventOf: a piece of a message is the id where that is one placeholder, else of the key, else of a field; bytes are
// base64, and the name of a channel without placeholders is fixed.
func TestEventOf(t *testing.T) {
	for _, c := range []struct{ key, channel, want string }{
		{"x:{id}", "{channel: \"c:{id}\", message: {id: int, n: int, t: text optional}}",
			"Publish 0 0s false false [0:c: 1:id:Bare] [1:id:Bare 3:n:Bare 3:t:Quoted]"},
		{"x:{id}:{b}", "{channel: c, sharded: true, envelope: plain, message: {id: int, b: bytes}}",
			"PublishSharded 0 0s true true [0:c] [2:id:Bare 2:b:Quoted+64]"},
		{"x:{id}", "{channel: \"c\", durable: {maxlen: 9, age: 1h}, message: {n: int, j: json}}",
			"Append 9 1h0m0s false true [0:c] [3:n:Bare 3:j:Inline]"},
	} {
		ks, e := entryOf(t, "id: int, b: bytes", "{key: \""+c.key+"\", type: entity, ttl: 1h, fields: {n: int, t: text "+
			"optional, j: json}, index: {n: i}}", "channels: {c: "+c.channel+"}\n")
		channel := ks.Channel("c")
		ev := parts.EventOf(e, channel, channel.Pattern.Elements())
		list := func(pieces []parts.Piece) string {
			var out []string
			for _, p := range pieces {
				text := fmt.Sprintf("%d:%s:%s", p.From, p.Name, p.Form)
				if p.From == parts.Literal {
					text = "0:" + p.Element.Literal
				}
				if p.Base64 {
					text += "+64"
				}
				out = append(out, text)
			}
			return "[" + strings.Join(out, " ") + "]"
		}
		got := fmt.Sprintf("%s %d %s %t %t %s %s", ev.Mode, ev.MaxLen, ev.Age, ev.Plain, ev.Fixed, list(ev.Name), list(ev.Data))
		if got != c.want {
			t.Errorf("%s: %s, not %s", c.channel, got, c.want)
		}
	}
}
