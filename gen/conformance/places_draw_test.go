package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/keywright/keywright/keyspace/scalar"
)

// placeTypes lists the types that a placeholder may have; the placeholder of each is
// called p and its number.
var placeTypes = []string{
	"text", "text max 9", "int", "int 1..5", "int -3..", "float", "bool", "bytes", "uuid", "ulid", "hex", "hex 8", "slug",
	"date", "date YYYYMMDD-HH", "timestamp", "unix_s", "unix_ms", "red|green", "two-words|Red|x", "/(a|b|c)+x?/",
}

// valueTypes lists the types of what is stored; p18 is an enum that has a name.
var valueTypes = append([]string{"json", "p18", "low|high"}, placeTypes...)

// use represents an entry and what is done with it.
type use struct {
	kind, name string
	places     []sample // of the key, in their order
	values     []sample // a value, a member and its score, a field and its value
	fields     []sample // by name
	shape      string   // of an entity
	plain      bool     // of a channel
	sealed     bool     // it has something that is encrypted
}

// drawing draws one declaration.
type drawing struct {
	*rand.Rand
	d          *declaration
	keys, subs strings.Builder
	events     string
}

// full reports whether a declaration has every construct. The first of each batch has: its
// module exports all types.
func full(number int) bool { return number%inBatch == 0 }

// draw makes the declaration of a number: each construct, or one or two of them, with
// placeholders and values of types by chance.
func draw(r *rand.Rand, number int) *declaration {
	g := &drawing{Rand: r, d: &declaration{name: fmt.Sprintf("d%d", number)}}
	if full(number) {
		for _, part := range parts {
			part(g)
		}
	} else {
		for _, i := range g.Perm(len(parts))[:1+g.IntN(2)] {
			parts[i](g)
		}
	}
	own := strings.NewReplacer(`k@`, g.d.name) // declarations share a server
	var b strings.Builder
	fmt.Fprintf(&b, "keywright: 1\npackage: %s\nowner: o\nvars:\n", g.d.name)
	for i, typ := range placeTypes {
		fmt.Fprintf(&b, "  p%d: %q\n", i, typ)
	}
	for _, section := range []struct{ name, text string }{{"keys", g.keys.String()}, {"channels", g.subs.String()},
		{"events", g.events}} {
		if section.text != "" {
			fmt.Fprintf(&b, "%s:\n%s", section.name, own.Replace(section.text))
		} else if section.name == "keys" {
			b.WriteString("keys: {}\n")
		}
	}
	g.d.text = b.String()
	return g.d
}

// parts draw one construct each.
var parts = []func(*drawing){
	func(g *drawing) {
		u := &use{kind: "string", name: "txt"}
		key := g.pattern(u)
		u.values = []sample{g.value("v")}
		g.add(u, fmt.Sprintf(`key: %q, type: string, value: %q, ttl: 1d`, key, u.values[0].declared))
	},
	func(g *drawing) { g.record("object", "obj", `type: string, value: %s, ttl: 1d`) },
	func(g *drawing) { g.record("hash", "has", `type: hash, fields: %s, ttl: 1d`) },
	func(g *drawing) {
		u := &use{kind: "map", name: "maps"}
		key := g.pattern(u)
		u.values = []sample{g.value("f", "text", "int", "uuid", "p18", "slug", "date", "bool", "unix_s"), g.value("v")}
		g.add(u, fmt.Sprintf(`key: %q, type: hash, field: %q, value: %q, ttl: 1d`, key, u.values[0].declared,
			u.values[1].declared))
	},
	func(g *drawing) { g.collection("list") },
	func(g *drawing) { g.collection("set") },
	func(g *drawing) { g.scored("zset") },
	func(g *drawing) { g.scored("ranking") },
	func(g *drawing) { g.record("stream", "log", `type: stream, fields: %s, ttl: 1d`) },
	func(g *drawing) {
		u := &use{kind: "cache", name: "cac"}
		key := g.pattern(u)
		u.values = []sample{g.value("v")}
		g.add(u, fmt.Sprintf(`key: %q, type: cache, value: %q, ttl: 1h`, key, u.values[0].declared))
	},
	func(g *drawing) { g.record("cache object", "cao", `type: cache, value: %s, ttl: 1h, absent: 3s`) },
	func(g *drawing) {
		u := &use{kind: "counter", name: "cnt"}
		u.values = []sample{sampled(g.Rand, "v", parsed("int"), false).exact()}
		g.add(u, fmt.Sprintf(`key: %q, type: counter, ttl: 1d`, g.pattern(u)))
	},
	(*drawing).lock,
	func(g *drawing) {
		u := &use{kind: "limit", name: "lim"}
		g.add(u, fmt.Sprintf(`key: %q, type: ratelimit, rate: 5 per 1m, ttl: 5m`, g.pattern(u)))
	},
	func(g *drawing) {
		u := &use{kind: "queue", name: "que"}
		key := g.pattern(u)
		u.values = []sample{g.value("v")}
		g.add(u, fmt.Sprintf(`key: %q, type: queue, value: %q, ttl: none`, key, u.values[0].declared))
	},
	func(g *drawing) { g.record("queue object", "quo", `type: queue, value: %s, ttl: none`) },
	(*drawing).event,
	func(g *drawing) { g.entity("apart") },
	func(g *drawing) { g.entity("shared") },
	func(g *drawing) { g.entity("named") },
	func(g *drawing) { g.channel(&use{kind: "topic", name: "top"}, "") },
	func(g *drawing) {
		g.channel(&use{kind: "durable", name: "dur"}, ", durable: {maxlen: 100, groups: [mail]}")
	},
	(*drawing).exchange,
}

// pattern returns a pattern with up to three placeholders, sometimes with one at its
// beginning.
func (g *drawing) pattern(u *use) string {
	order := g.Perm(len(placeTypes))[:1+g.IntN(3)]
	text := "k@" + u.name
	for i, p := range order {
		s := sampled(g.Rand, fmt.Sprint("p", p), parsed(placeTypes[p]), true)
		u.places = append(u.places, s)
		if i == 0 && g.IntN(3) == 0 {
			text = "{" + s.name + "}:" + text
		} else {
			text += ":{" + s.name + "}"
		}
	}
	return text
}

func parsed(text string) scalar.Type {
	if text == "p18" {
		text = placeTypes[18]
	}
	t, err := scalar.Parse(text, nil)
	if err != nil {
		panic(err)
	}
	return t
}

// value draws a type and a value of it.
func (g *drawing) value(name string, among ...string) sample {
	if len(among) == 0 {
		among = valueTypes
	}
	text := among[g.IntN(len(among))]
	s := sampled(g.Rand, name, parsed(text), false)
	s.declared = text
	return s
}

// object draws some fields.
func (g *drawing) object(u *use) string {
	var parts []string
	for i := range 1 + g.IntN(6) {
		s := g.value(fmt.Sprint("f", i))
		s.optional = i > 0 && g.IntN(3) == 0 // the first one is there: a stream has no entry without fields
		s.absent = s.optional && g.IntN(2) == 0
		u.fields = append(u.fields, s)
		parts = append(parts, s.declaration())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// sealing draws fields of which some are encrypted.
func (g *drawing) sealing(u *use) string {
	var parts []string
	g.object(u)
	for i := range u.fields {
		f := &u.fields[i]
		if f.sealed = g.IntN(5) == 0; f.sealed && !f.absent {
			u.sealed = true
		}
		parts = append(parts, f.declaration())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (g *drawing) add(u *use, declared string) *use {
	g.d.cases = append(g.d.cases, u)
	fmt.Fprintf(&g.keys, "  %s: {%s}\n", u.name, declared)
	return u
}

// memberTypes can be distinguished from each other in a set and name the field of a hash.
var memberTypes = []string{"text", "int", "uuid", "hex 8", "date", "p18", "slug", "bool", "unix_s", "timestamp",
	"bytes", "float"}

// record draws what has fields; some of them are encrypted.
func (g *drawing) record(kind, name, declared string) {
	u := &use{kind: kind, name: name}
	key := g.pattern(u)
	g.add(u, fmt.Sprintf(`key: %q, `+declared, key, g.sealing(u)))
}

func (g *drawing) collection(kind string) {
	u := &use{kind: kind, name: kind + "s"}
	key := g.pattern(u)
	u.values = []sample{g.value("m")}
	g.add(u, fmt.Sprintf(`key: %q, type: %s, member: %q, ttl: 1d`, key, kind, u.values[0].declared))
}

func (g *drawing) scored(kind string) {
	u := &use{kind: kind, name: kind[:3]}
	key := g.pattern(u)
	if kind == "ranking" {
		u.values = []sample{g.value("m", "text", "int", "uuid", "slug"), g.value("s", "int", "float")}
	} else {
		u.values = []sample{g.value("m", memberTypes...), g.value("s", "int", "float", "int 0..", "unix_s", "unix_ms")}
	}
	u.values[1] = u.values[1].exact()
	g.add(u, fmt.Sprintf(`key: %q, type: %s, member: %q, score: %q, ttl: 1d`, key, kind, u.values[0].declared,
		u.values[1].declared))
}

func (g *drawing) lock() {
	u := &use{kind: "lock", name: "loc"}
	key := g.pattern(u)
	rest := ""
	for i := range u.places {
		rest += ":{" + u.places[len(u.places)-1-i].name + "}"
	}
	g.add(u, fmt.Sprintf(`key: %q, type: lock, ttl: 1m, fence: "k@fence%s", waiters: "k@wait%s"`, key, rest, rest))
}

func (g *drawing) event() {
	u := &use{kind: "event", name: "vic"}
	u.values = []sample{g.value("v", "text")}
	key := g.pattern(u)
	g.add(u, fmt.Sprintf(`key: %q, type: string, value: text, ttl: 1d`, key))
	var with []string
	for _, p := range u.places {
		with = append(with, p.name)
	}
	g.events = fmt.Sprintf("  done: {with: [%s], deletes: [vic]}\n", strings.Join(with, ", "))
}

// namedTypes lists the types of a field that has the name of the id, and another type:
// text takes any id, and the others only their own.
var namedTypes = []string{"text", "int", "float", "bool", "unix_s", "unix_ms", "date", "timestamp"}

// indexed lists the types of fields that an index tells apart in its key.
var indexed = append([]string{"p18", "low|high"}, placeTypes...)

// entity draws an entity: with its placeholders in the id, with one that its
// indexes have too, or with a field of the id's name.
func (g *drawing) entity(shape string) {
	u := &use{kind: "entity " + shape, name: "en" + shape[:1], shape: shape}
	var index string
	switch shape {
	case "apart":
		key := g.pattern(u)
		fields := g.sealing(u)
		kind := g.index(u)
		index = fmt.Sprintf(`key: %q, fields: %s, index: {g: "k@enai:{g}", at: "k@enaz"}`, key, with(fields, kind))
	case "shared":
		order := g.Perm(len(placeTypes))
		for _, p := range order[:2] {
			u.places = append(u.places, sampled(g.Rand, fmt.Sprint("p", p), parsed(placeTypes[p]), true))
		}
		fields := g.sealing(u)
		kind := g.index(u)
		a, b := u.places[0].name, u.places[1].name
		index = fmt.Sprintf(
			`key: "k@ens:{%s}:{%s}", fields: %s, index: {g: "k@ensi:{%s}:{g}", at: "k@ensz:{%s}"}, emits: {create: made, update: changed, delete: gone, expire: ended}`, a, b, with(fields, kind), a, a)
		for name, rest := range map[string]string{"made": ", durable: {maxlen: 9}", "changed": "",
			"gone": ", durable: {maxlen: 9}", "ended": ", durable: {maxlen: 9}"} {
			fmt.Fprintf(&g.subs, "  %s: {channel: \"k@%s:{%s}:{%s}\", message: {%s: %s, %s: %s}%s}\n", name, name, b, a, a, a,
				b, b, rest)
		}
	case "named":
		p := g.IntN(len(placeTypes))
		id := sampled(g.Rand, fmt.Sprint("p", p), parsed(placeTypes[p]), true)
		u.places = []sample{id}
		own := g.named(id)
		fields := g.sealing(u)
		kind := g.index(u)
		u.fields = append(u.fields, own)
		index = fmt.Sprintf(`key: "k@enn:{%s}", fields: %s, index: {%s: "k@enni:{%s}", g: "k@enng:{g}", at: "k@ennz"}`,
			id.name, with(with(fields, kind), own.declaration()), id.name, id.name)
	}
	g.add(u, index+`, type: entity, ttl: 1h`)
}

func with(object, field string) string { return strings.TrimSuffix(object, "}") + ", " + field + "}" }

// index draws the fields g and at, by which an index sorts.
func (g *drawing) index(u *use) string {
	text := indexed[g.IntN(len(indexed))]
	s := sampled(g.Rand, "g", parsed(text), true)
	s.declared, s.key = text, false
	at := g.value("at", "unix_ms", "unix_s", "int", "float").exact()
	u.fields = append(u.fields, s, at)
	return s.declaration() + ", " + at.declaration()
}

// named returns the field that has the name of the id: of its type, or of another one.
func (g *drawing) named(id sample) sample {
	field := id
	field.key, field.declared = false, id.name
	if g.IntN(2) == 0 {
		text := namedTypes[g.IntN(len(namedTypes))]
		field = sampled(g.Rand, id.name, parsed(text), true)
		field.key, field.declared = false, text
		field.take(id)
	}
	return field
}

// channel draws what is published.
func (g *drawing) channel(u *use, rest string) {
	key := g.pattern(u)
	g.d.cases = append(g.d.cases, u)
	envelope := ""
	if u.plain = g.IntN(3) == 0; u.plain {
		envelope = "envelope: plain, "
	}
	fmt.Fprintf(&g.subs, "  %s: {channel: %q, %smessage: %s%s}\n", u.name, key, envelope, g.object(u), rest)
}

func (g *drawing) exchange() {
	u := &use{kind: "exchange", name: "ask"}
	key := g.pattern(u)
	g.d.cases = append(g.d.cases, u)
	fmt.Fprintf(&g.subs, "  ask: {channel: %q, message: %s, reply: {m: float}}\n", key, g.object(u))
}
