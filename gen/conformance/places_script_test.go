package conformance_test

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/portable"
)

// step describes what a program in TypeScript or Python does with an entry: a function of
// testdata/places.ts and places.py, with a key or channel, codecs and values.
type step struct {
	function string
	item     string // in the declaration: "que.job"
	verb     string // key, channel
	places   []sample
	codecs   []string
	values   []value
}

// value represents a sample, an object of some, or a message with an object in it.
type value struct {
	one     *sample
	fields  []sample
	message bool
}

func one(s sample) value { return value{one: &s} }

// stepOf returns what belongs to an entry; ok is false for what only Go has.
func stepOf(u *use) (s step, ok bool) {
	s = step{function: strings.Fields(u.kind)[0], item: u.name, verb: "key", places: u.places}
	switch s.function {
	case "string", "event", "counter", "cache", "object":
		s.function, s.codecs = "text", []string{"value"}
	case "hash", "stream", "entity":
		s.codecs = []string{"fields"}
	case "map":
		s.codecs = []string{"field", "item"}
	case "list", "set":
		s.codecs = []string{"member"}
	case "zset", "ranking":
		s.function, s.codecs = "zset", []string{"member", "score"}
	case "queue":
		job := sample{name: "job", key: true, text: "j1"}
		s.item, s.codecs, s.places = u.name+".job", []string{"payload"}, append(u.places[:len(u.places):len(u.places)], job)
	case "topic":
		s.item, s.verb, s.codecs = u.name+"Channel", "channel", []string{"message"}
	case "durable":
		s.function, s.codecs = "stream", []string{"fields"}
	default:
		return s, false
	}
	if u.sealed { // other languages have no key ring
		if s.function != "hash" && s.function != "entity" {
			return s, false
		}
		s.function = "opaque"
		return s, true
	}
	for _, v := range u.values {
		s.values = append(s.values, one(v))
	}
	if len(u.fields) > 0 {
		channel := s.function == "topic" || u.kind == "durable"
		if u.kind == "durable" && !u.plain {
			s.function = "durable"
		}
		if s.function == "topic" && u.plain {
			s.function = "plain"
		}
		s.values = []value{{fields: u.fields, message: channel && !u.plain}}
		if u.kind == "durable" && u.plain { // the only field of an entry
			s.function = "bare"
		}
	}
	return s, true
}

const messageMS = 1_700_000_000_123

func (v value) ts() string {
	if v.one != nil {
		return v.one.tsText()
	}
	var parts []string
	for _, s := range v.fields {
		if !s.absent {
			parts = append(parts, s.name+": "+s.tsText())
		}
	}
	object := "{ " + strings.Join(parts, ", ") + " }"
	if v.message {
		return fmt.Sprintf("{ timestamp: new Date(%d), data: %s }", messageMS, object)
	}
	return object
}

func (v value) py() string {
	if v.one != nil {
		return v.one.pyText()
	}
	var parts []string
	for _, s := range v.fields {
		if !s.absent {
			parts = append(parts, quoted(s.name)+": "+s.pyText())
		}
	}
	object := "{" + strings.Join(parts, ", ") + "}"
	if v.message {
		return fmt.Sprintf(`{"timestamp": at(%d), "data": %s}`, messageMS, object)
	}
	return object
}

// python returns the arguments of a call: what is stored, what reads it, the values.
func (s step) python(item string, names []string) string {
	if s.function == "opaque" {
		return item + ".fields.decode"
	}
	var stored, reads []string
	for i, c := range s.codecs {
		v, decode := names[i], "decode"
		if s.function == "bare" {
			v = `{"data": ` + v + "}"
		}
		if c == "payload" {
			decode = "decode_job"
		}
		stored = append(stored, fmt.Sprintf("%s.%s.encode(%s)", item, c, v))
		reads = append(reads, item+"."+c+"."+decode)
	}
	return strings.Join(append(append(stored, reads...), names...), ", ")
}

// arguments returns those of a call in TypeScript after its first two.
func (s step) arguments(item string, show func(value) string) string {
	var out []string
	for _, c := range s.codecs {
		out = append(out, item+"."+c)
	}
	for _, v := range s.values {
		out = append(out, show(v))
	}
	return strings.Join(out, ", ")
}

// typeName returns the Python type of a value.
func (s step) typeName(d *declaration, i int) string {
	suffix := gen.Title(s.codecs[min(i, len(s.codecs)-1)])
	switch s.function {
	case "durable":
		suffix = "Message"
	case "bare":
		suffix = "Data"
	}
	return d.name + "." + portable.Pascal(s.item) + suffix
}

// scripted reports whether TypeScript and Python do something with a declaration.
func (d *declaration) scripted() bool {
	return slices.ContainsFunc(d.cases, func(u *use) bool { _, ok := stepOf(u); return ok })
}

func typeScriptUse(batch []*declaration) string {
	var head, body strings.Builder
	for _, d := range batch {
		if d.scripted() { // else it is compiled, and nothing is done with it
			fmt.Fprintf(&head, "import * as %s from \"./%s.js\";\n", d.name, d.name)
		}
		for _, u := range d.cases {
			s, ok := stepOf(u)
			if !ok {
				continue
			}
			item, places := d.name+"."+portable.Camel(s.item), make([]string, len(s.places))
			for i, p := range s.places {
				places[i] = portable.Camel(p.name) + ": " + p.tsText()
			}
			fmt.Fprintf(&body, "  await $%s(s, %q, %s.%s({ %s }), %s);\n", s.function, d.name+" "+u.name, item, s.verb,
				strings.Join(places, ", "), s.arguments(item, value.ts))
		}
	}
	fixed, err := os.ReadFile("testdata/places.ts.txt")
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(
		"import type { Codec, FieldsCodec, PayloadCodec } from \"./%s.js\";\n%s\n%s\nexport async function play(s: "+
			"Server): Promise<void> {\n%s}\n", batch[0].name, head.String(), fixed, body.String())
}

func pythonUse(batch []*declaration) string {
	var head, body strings.Builder
	for _, d := range batch {
		if d.scripted() {
			fmt.Fprintf(&head, "import %s\n", d.name)
		}
		for _, u := range d.cases {
			s, ok := stepOf(u)
			if !ok {
				continue
			}
			item, places := d.name+"."+portable.Snake(s.item), make([]string, len(s.places))
			for i, p := range s.places {
				places[i] = portable.Snake(p.name) + "=" + p.pyText()
			}
			var names []string // each value has the type that the module says
			for i, v := range s.values {
				name := fmt.Sprintf("%s_%s_%d", d.name, u.name, i)
				names = append(names, name)
				fmt.Fprintf(&body, "    %s: %s = %s\n", name, s.typeName(d, i), v.py())
			}
			fmt.Fprintf(&body, "    _%s(s, %q, %s.%s(%s), %s)\n", s.function, d.name+" "+u.name, item, s.verb,
				strings.Join(places, ", "), s.python(item, names))
		}
	}
	fixed, err := os.ReadFile("testdata/places.py.txt")
	if err != nil {
		panic(err)
	}
	return strings.Replace(string(fixed), "# modules\n", head.String(), 1) + "\n\ndef play(s: Server) -> None:\n" +
		body.String()
}
