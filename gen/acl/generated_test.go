package acl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keywrighttest"
)

// TestGenerated holds generated declarations against both servers: no over-grant
// without a warning, no under-grant. KEYWRIGHT_SOAK says how many; `make soak`
// asks for 2,000.
func TestGenerated(t *testing.T) {
	n, seed := gate.Count(t, "KEYWRIGHT_SOAK", 12, 25), gate.Seed(t)
	servers := map[keywrighttest.Brand]*keywrighttest.Server{}
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		servers[brand] = keywrighttest.Start(t, brand)
	}
	asked, told := 0, 0
	drawn := map[string]int{"type: script": 0, "emits:": 0, "fence:": 0, "pressure:": 0}
	for i := range n {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		text, ks := g.declaration(t)
		for what := range drawn {
			drawn[what] += min(1, strings.Count(text, what))
		}
		for brand, s := range servers {
			p := proof{TB: t, what: string(brand), s: s, ks: ks}
			p.run()
			asked, told = asked+p.asked, told+p.told
		}
		if t.Failed() {
			t.Fatalf("seed %d, declaration %d:\n%s", seed, i, text)
		}
	}
	t.Logf("%d declarations, %d questions, %d over-grants, each told; drawn: %v", n, asked, told, drawn)
	if told < n {
		t.Errorf("only %d over-grants in %d declarations: they are too tame", told, n)
	}
	for what, count := range drawn {
		if count*10 < n {
			t.Errorf("%q is in %d of %d declarations", what, count, n)
		}
	}
}

// generator draws declarations whose patterns overlap and hold each other.
type generator struct {
	*rand.Rand
	places int
}

func (g *generator) one(words ...string) string { return words[g.IntN(len(words))] }

// types say what placeholders are of; "" is plain text.
var types = []string{"", "", "int", "int 0..", "int -5..5", "int 3..8", "int 5..15", "text", "text max 3", "hex",
	"hex 4", "slug", "uuid", "ulid", "bool", "float", "bytes", "date", "date YYYYMMDD", "timestamp", "unix_s", "a|b",
	"a|b*|c?|é", "/[x-z]+/", "/a[0-9]*/"}

// pattern returns a pattern of few words, with as many placeholders as come.
func (g *generator) pattern() string {
	var parts []string
	for range 1 + g.IntN(3) {
		part := g.one("a", "b", "aa", "doc", "x*", "q?", "[s]", "é")
		switch g.IntN(5) {
		case 0, 1:
			part = g.place()
		case 2:
			part = g.one("a", "b") + g.one("", "-", ".") + g.place()
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ":")
	if g.IntN(6) == 0 {
		return g.one("a", "doc") + ":{rest}"
	}
	return text
}

func (g *generator) place() string {
	g.places++
	return fmt.Sprintf("{p%d_%d}", g.IntN(len(types)), g.places)
}

// vars declares the placeholders that a text uses.
func vars(text string) string {
	out := []string{"rest: text rest"}
	for _, word := range strings.Split(text, "{p")[1:] {
		name := "p" + word[:strings.Index(word, "}")]
		kind, _ := strconv.Atoi(word[:strings.Index(word, "_")])
		if line := fmt.Sprintf("%s: %q", name, types[kind]); types[kind] != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return "vars: {" + strings.Join(out, ", ") + "}\n"
}

// component returns an owner or reader.
func (g *generator) component() string { return g.one("api", "web", "mail") }

func (g *generator) roles() string {
	out := ", owner: " + g.component()
	var readers []string
	for _, r := range []string{"api", "web", "mail"} {
		if g.IntN(3) == 0 {
			readers = append(readers, r)
		}
	}
	return out + ", readers: [" + strings.Join(readers, ", ") + "]"
}

// entries and channels are the forms of what is declared; %k is the pattern, %d a
// number, and {n} a field.
var (
	entries = []string{"type: string, ttl: 1d", "type: string, ttl: 1d sliding",
		"type: hash, ttl: 1d sliding", "type: hash, ttl: 1d", "type: list, ttl: any", "type: set, ttl: none",
		"type: zset, ttl: 1d", "type: stream, groups: [g], ttl: none", "type: stream, ttl: 1d",
		"type: cache, ttl: 1h", "type: lock, ttl: 1m", "type: queue, ttl: none", "type: counter, ttl: none",
		"type: ranking, ttl: 1d", "type: ratelimit, ttl: 1m",
		"type: entity, ttl: 1h, fields: {n: int}, index: {n: \"idx%d:n\"}",
		"type: string, ttl: 1d, was: [\"old%d:{rest}\"]",
		"type: lock, ttl: 1m, fence: \"doc:{#%k}:f%d\", waiters: \"{#%k}:w\", notify: \"a:n%d\"", announcing, announcing}
	channels = []string{"", ", sharded: true", ", envelope: plain", ", durable: {groups: [g]}", ", reply: {n: int}"}
)

// announcing is an entity whose items are announced on channels of its own, and which
// a rule for short memory may name.
const announcing = "type: entity, ttl: 1h, fields: {n: int 1..5, at: unix_ms}, index: {n+at: \"x:%d:{n}\"}, emits: " +
	"{create: m%d, delete: d%d}"

// draft represents the lines of a declaration that is drawn.
type draft struct {
	foreign                   string
	keys, announced, pressure []string
}

// with returns a draft with more lines.
func (d draft) with(more draft) draft {
	return draft{d.foreign, slices.Concat(d.keys, more.keys), slices.Concat(d.announced, more.announced),
		slices.Concat(d.pressure, more.pressure)}
}

// loaded loads a draft; false if its parts may not be together.
func (d draft) load() (string, *keyspace.Keyspace, bool) {
	text := section("keys", d.keys) + section("channels", d.announced) + section("pressure", d.pressure)
	text = "keywright: 1\n" + d.foreign + vars(text) + text
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}, "s.lua": {Data: []byte("return 1")}}, "k.yaml")
	if finding.Count(found).Errors > 0 {
		return text, nil, false
	}
	return text, ks, legal(ks)
}

// entry draws an entry, and the channels that it needs.
func (g *generator) entry(i int) (d draft) {
	pattern, form := g.pattern(), entries[g.IntN(len(entries))]
	fill := strings.NewReplacer("%d", strconv.Itoa(i), "%k", pattern).Replace
	d.keys = []string{fmt.Sprintf("  e%d: {key: %q, %s%s}\n", i, pattern, fill(form), g.roles())}
	if form == announcing {
		durable := fmt.Sprintf("  d%d: {channel: \"doc:d%d\", durable: {age: 1d}%s}\n", i, i, g.roles())
		d.announced = []string{fmt.Sprintf("  m%d: {channel: %q%s}\n", i, fill("m%d:%k"), g.roles()), durable}
	}
	return d
}

// script draws a script on some of the entries that are there.
func (g *generator) script(i int, keys []string) draft {
	var names []string
	for _, line := range keys {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.HasPrefix(name, "e") && g.IntN(2) == 0 {
			names = append(names, name)
		}
	}
	const form = "  s%d: {type: script, file: s.lua, keys: [%s], owner: %s, effect: %s}\n"
	return draft{
		keys: []string{fmt.Sprintf(form, i, strings.Join(names, ", "), g.component(), g.one("reads", "idempotent"))}}
}

// declaration draws entries, channels, scripts and rules for short memory, and keeps
// those that may be together.
func (g *generator) declaration(t testing.TB) (string, *keyspace.Keyspace) {
	var d draft
	if g.IntN(3) == 0 {
		d.foreign = "foreign: [\"" + g.one("bull:*", "a:?", "doc*") + "\"]\n"
	}
	add := func(more draft) {
		if _, _, ok := d.with(more).load(); ok {
			d = d.with(more)
		}
	}
	for i := range 3 + g.IntN(6) {
		add(g.entry(i))
	}
	for i := range g.IntN(5) {
		add(draft{announced: []string{fmt.Sprintf("  c%d: {channel: %q%s%s}\n", i, g.pattern(),
			channels[g.IntN(len(channels))], g.roles())}})
	}
	for i := range g.IntN(3) {
		add(g.script(i, d.keys))
	}
	for i, line := range d.keys {
		if name, form, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.Contains(form, "{n+at:") {
			add(draft{pressure: []string{fmt.Sprintf("  - {at: %d%%, entry: %s, where: {n: 1..3}, shorten: to 5m}\n", 80+i,
				name)}})
		}
	}
	if len(d.keys)+len(d.announced) == 0 {
		d.keys = []string{"  e: {key: a, type: string, ttl: 1d, owner: api}\n"}
	}
	text, ks, ok := d.load()
	if !ok {
		t.Fatalf("%s", text)
	}
	return text, ks
}

func section(name string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return name + ":\n" + strings.Join(lines, "")
}

// legal: patterns that overlap hold each other, as lint wants it.
func legal(ks *keyspace.Keyspace) bool {
	items, _ := ks.Items()
	_, conflicts, err := match.Compile(items)
	return err == nil &&
		!slices.ContainsFunc(conflicts, func(c match.Conflict) bool { return items[c.A].Rank == keyspace.RankDeclared })
}
