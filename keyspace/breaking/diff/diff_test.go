package diff_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/diff"
	"github.com/keywright/keywright/keyspace/load"
)

func read(t *testing.T, text string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\n" + text)},
		"s.lua": {Data: []byte("return KEYS[1]")}, "t.lua": {Data: []byte("return KEYS[2]")}}, "k.yaml")
	for _, f := range found {
		if f.Severity.String() == "error" {
			t.Fatalf("%s\n%s", text, f.Message)
		}
	}
	return ks
}

const base = `package: p
doc: Doc.
owner: o
owns: ["a:*"]
foreign: ["f:*"]
vars: {id: int, low: high|low, at: unix_ms, v: {type: x|y, retired: [z]}}
ttls: {day: 1d}
shape: "{a}:{b}[:{c}]"
keys:
  s: {key: "a:s:{id}", type: string, value: int, ttl: day, doc: One., readers: [r], was: ["old:{id}"], skip: [owns]}
  h: {key: "a:h:{id}", type: hash, fields: {a: int, b: low}, ttl: 1h, retired: [gone]}
  q: {key: "a:q:{low}", type: queue, order: low, lease: 5s, retry: 3, timeout: 1m, ttl: none, value: {n: int}}
  lo: {key: "a:lo:{id}", type: lock, ttl: 5s, notify: "n:{id}"}
  c: {key: "a:c:{id}", type: cache, ttl: 1h, fresh: 50m, absent: 1s, value: text}
  l: {key: "a:l:{id}", type: ratelimit, ttl: 1h, rate: 10 per 1m burst 3}
  r: {key: "a:r", type: ranking, ttl: 1h, score: int, ties: member}
  st: {key: "a:st", type: stream, ttl: 1h, maxlen: 9, groups: [g]}
  e:
    key: a:e:{id}
    type: entity
    ttl: 1h in 1s..1d
    fields: {low: low, at: at, ver: int}
    index: {low+at: "a:ei:{low}"}
    stamps: {created: at, version: ver}
    ttl_by: {low: {high: 1h}}
    emits: {create: t}
  run: {type: script, file: s.lua, keys: [s], args: {n: int}, returns: int, effect: writes}
channels:
  t: {channel: "t:{id}", message: {id: int}, readers: [r]}
  d: {channel: d, durable: {maxlen: 9, age: 1h, groups: [g], retry: 3}}
  k: {channel: k, reply: {n: int}}
events: {gone: {with: [id], deletes: [s], emits: [t]}}
cleanup: [{match: "a:old:*", idle: 1d}]
pressure: [{at: 80%, entry: e, where: {low: low}, shorten: to 5m}]
janitor: {look: {do: audit, every: 1h}}
retired: {keys: {x: "a:x"}}
`

// TestEachPropertyIsListed: each change of one property of a declaration is listed, with what was there and what is,
// and nothing else is.
func TestEachPropertyIsListed(t *testing.T) {
	old := read(t, base)
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{"package: p", "package: q", "~ file.package: p → q"},
		{"doc: Doc.", "doc: Other.", "~ file.doc: Doc. → Other."},
		{"owner: o", "owner: two", `~ file.owner: o → two
~ entry s.owner: o → two
~ entry h.owner: o → two
~ entry q.owner: o → two
~ entry lo.owner: o → two
~ entry c.owner: o → two
~ entry l.owner: o → two
~ entry r.owner: o → two
~ entry st.owner: o → two
~ entry e.owner: o → two
~ entry run.owner: o → two
~ entry d.owner: o → two
~ channel d.owner: o → two
~ channel k.owner: o → two
~ channel k_reply.readers: o → two
~ channel lo_released.owner: o → two
~ channel q_ready.owner: o → two
~ channel t.owner: o → two`},
		{`owns: ["a:*"]`, `owns: ["a:*", "b:*"]`, "+ file.owns: b:*"},
		{`foreign: ["f:*"]`, `foreign: ["g:*"]`, "~ file.foreign: f:* → g:*"},
		{"id: int,", "id: int 1..,", `~ file.vars.id: int → int 1..
~ entry s.{id}: int → int 1..
~ entry h.{id}: int → int 1..
~ entry lo.{id}: int → int 1..
~ entry lo.fence.{id}: int → int 1..
~ entry lo.waiters.{id}: int → int 1..
~ entry lo.shared.{id}: int → int 1..
~ entry c.{id}: int → int 1..
~ entry c.fill.{id}: int → int 1..
~ entry l.{id}: int → int 1..
~ entry e.{id}: int → int 1..
~ entry e.index.low+at.member: int → int 1..
~ entry e.expiry.member: int → int 1..
~ entry e.ledger.name-of-a-field: int → int 1..`},
		{"low: high|low,", "low: high|mid|low,", `~ file.vars.low: high|low → high|mid|low
~ entry h.fields.b: high|low (low) → high|mid|low (low)
~ entry q.{low}: high|low → high|mid|low
~ entry e.fields.low: high|low (low) → high|mid|low (low)
~ entry e.index.low+at.{low}: high|low → high|mid|low`},
		{"{type: x|y, retired: [z]}", "{type: x|y, default: x, retired: [z]}", "+ file.vars.v.default: x"},
		{"{type: x|y, retired: [z]}", "{type: x|y, retired: [z, w]}", "+ file.vars.v.retired: w"},
		{"ttls: {day: 1d}", "ttls: {day: 2d}", `~ file.ttls.day: 1d → 2d
~ entry s.ttl: 1d → 2d`},
		{`[:{c}]"`, `[:{d}]"`, "~ file.shape: {a}:{b}[:{c}] → {a}:{b}[:{d}]"},
		{"value: int, ttl: day", "value: text, ttl: day", "~ entry s.value: int → text"},
		{"doc: One.", "doc: Two.", "~ entry s.doc: One. → Two."},
		{"readers: [r], was", "readers: [r, q], was", "~ entry s.readers: r → r, q"},
		{`was: ["old:{id}"]`, `was: ["old:{id}", "older:{id}"]`, "+ entry s.was: older:{id}"},
		{"skip: [owns]", "skip: [shape]", "~ entry s.skip: owns → shape"},
		{`  s: {key: "a:s:{id}"`, `  s: {key: "a:ss:{id}"`, "~ entry s.key: a:s:{id} → a:ss:{id}"},
		{"fields: {a: int, b: low}", "fields: {a: int, b: low, c: text}", "+ entry h.fields.c: text"},
		{"fields: {a: int, b: low}", "fields: {b: low, a: int}", ""},
		{"retired: [gone]", "retired: [gone, went]", "+ entry h.retired: went"},
		{"lease: 5s", "lease: 6s", "~ entry q.lease: 5s → 6s"},
		{"retry: 3, timeout", "retry: 4, timeout", "~ entry q.retry: 3 → 4"},
		{"timeout: 1m", "timeout: 2m", "~ entry q.timeout: 1m → 2m"},
		{"value: {n: int}}", "value: {n: text}}", "~ entry q.payload.n: int → text"},
		{`notify: "n:{id}"`, `notify: "m:{id}"`, "~ channel lo_released.channel: n:{id} → m:{id}"},
		{"ttl: 5s, notify", "ttl: 6s, notify", "~ entry lo.ttl: 5s → 6s"},
		{"fresh: 50m", "fresh: 40m", "~ entry c.fresh: 50m → 40m"},
		{"absent: 1s", "absent: 2s", "~ entry c.absent: 1s → 2s"},
		{"burst 3", "burst 4", "~ entry l.rate: 10 per 1m burst 3 → 10 per 1m burst 4"},
		{"rate: 10 per 1m burst 3", "rate: 10 per 1m, algorithm: sliding", `~ entry l.algorithm: gcra → sliding
~ entry l.rate: 10 per 1m burst 3 → 10 per 1m burst 0`},
		{"ties: member", "ties: first", `~ entry r.score: int → float
~ entry r.ties: member → first`},
		{"maxlen: 9, groups: [g]", "maxlen: 8, groups: [g, h]", `~ entry st.maxlen: 9 → 8
~ entry st.groups: g → g, h`},
		{"stamps: {created: at, version: ver}", "stamps: {created: at}", "- entry e.stamps.version: ver"},
		{"{high: 1h}", "{high: 2h}", "~ entry e.ttl_by.low.high: 1h → 2h"},
		{"emits: {create: t}", "emits: {delete: t}", `+ entry e.emits.delete: t
- entry e.emits.create: t`},
		{`index: {low+at: "a:ei:{low}"}`, `index: {low+at: "a:ej:{low}"}`,
			"~ entry e.index.low+at.key: a:ei:{low} → a:ej:{low}"},
		{"file: s.lua", "file: t.lua", `~ entry run.file: s.lua → t.lua
~ entry run.text: 14 bytes, b0e193f4 → 14 bytes, b0dad82f`},
		{"args: {n: int}", "args: {n: int, m: text}", "+ entry run.args.m: text"},
		{"returns: int", "returns: text", "~ entry run.returns: int → text"},
		{"effect: writes", "effect: reads", "~ entry run.effect: writes → reads"},
		{"message: {id: int}", "message: {id: int, more: text optional}", "+ channel t.message.more: text optional"},
		{`  t: {channel: "t:{id}",`, `  t: {channel: "t:{id}", sharded: true,`,
			"~ channel t.form: pub/sub → sharded pub/sub"},
		{`  t: {channel: "t:{id}",`, `  t: {channel: "u:{id}",`, "~ channel t.channel: t:{id} → u:{id}"},
		{"{maxlen: 9, age: 1h, groups: [g], retry: 3}", "{maxlen: 8, age: 2h, groups: [h], retry: 4}",
			`~ entry d.ttl: 1h sliding → 2h sliding
~ entry d.dead.ttl: 1h sliding → 2h sliding
~ entry d.retry: 3 → 4
~ entry d.maxlen: 9 → 8
~ entry d.groups: g → h`},
		{"reply: {n: int}", "reply: {n: text}", `~ channel k.reply.n: int → text
~ channel k_reply.message.n: int → text`},
		{"with: [id], deletes", "with: [id, at], deletes", "~ event gone.with: id → id, at"},
		{"deletes: [s],", "deletes: [s, c],", "~ event gone.deletes: s → s, c"},
		{"idle: 1d", "idle: 2d",
			"~ file.cleanup: a:old:* idle 24h0m0s older 0s keep 0 → a:old:* idle 48h0m0s older 0s keep 0"},
		{"at: 80%", "at: 85%",
			"~ file.pressure: at 80% e where low is low: shorten to 5m → at 85% e where low is low: shorten to 5m"},
		{"do: audit, every: 1h", "do: audit, every: 2h", "~ file.janitor.look: audit, every 1h → audit, every 2h"},
		{`retired: {keys: {x: "a:x"}}`, `retired: {keys: {x: ["a:x", "a:y"]}}`,
			"~ file.retired.keys.x: a:x → a:x, a:y"},
		{"  r: {key: \"a:r\", type: ranking, ttl: 1h, score: int, ties: member}\n", "", "- entry r: a:r, ranking, 1h"},
		{"  run: {type", "  start: {type", "~ entry start: renamed from run"},
		{"  c: {key:", "  z: {key: \"a:z\", type: string, ttl: 1h}\n  c: {key:", "+ entry z: a:z, string, 1h"},
	} {
		if !strings.Contains(base, c.from) {
			t.Fatal(c.from)
		}
		var got []string
		for _, change := range diff.Of(old, read(t, strings.Replace(base, c.from, c.to, 1))) {
			got = append(got, change.String())
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s → %s:\n%s\nnot\n%s", c.from, c.to, text, c.want)
		}
	}
}

// TestChangeInALine: a change says what is new, gone, changed or renamed in one line.
func TestChangeInALine(t *testing.T) {
	for want, c := range map[string]diff.Change{
		"+ entry a: x":                {Subject: "entry a", New: "x"},
		"- entry a: x":                {Subject: "entry a", Old: "x"},
		"~ entry a: x → y":            {Subject: "entry a", Old: "x", New: "y"},
		"~ entry b: renamed from a":   {Subject: "entry b", Old: "a", New: "b", Renamed: true},
		"+ entry a.ttl: 1d":           {Subject: "entry a", Property: "ttl", New: "1d"},
		"+ entry a":                   {Subject: "entry a"},
		"~ file.cluster: false → yes": {Subject: "file", Property: "cluster", Old: "false", New: "yes"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestNothingAndEverything: two equal declarations differ in nothing, and of an empty one all is new or gone, in the
// order of the declaration.
func TestNothingAndEverything(t *testing.T) {
	all, none := read(t, base), read(t, "package: p\ncluster: true\nkeys: {}\nevents: {e: {with: []}}\n")
	if got := diff.Of(all, all); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	var added, gone []string
	for _, c := range diff.Of(none, all) {
		if c.Property == "" && c.New != "" {
			added = append(added, c.Subject)
		}
	}
	for _, c := range diff.Of(all, none) {
		if c.Property == "" && c.New == "" {
			gone = append(gone, c.Subject)
		}
	}
	want := "entry s, entry h, entry q, entry lo, entry c, entry l, entry r, entry st, entry e, entry run, entry d, " +
		"channel d, channel k, channel k_reply, channel lo_released, channel q_ready, channel t, event gone"
	if got := strings.Join(added, ", "); got != want {
		t.Errorf("new: %s", got)
	}
	if got := strings.Join(gone, ", "); got != want {
		t.Errorf("gone: %s", got)
	}
	var file []string
	for _, c := range diff.Of(read(t, "package: p\nkeys: {}\n"), none) {
		file = append(file, c.String())
	}
	if got := strings.Join(file, ", "); got != "+ file.cluster: true, + event e: (empty)" {
		t.Error(got)
	}
}
