package golang_test

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/typed"
)

// placed has NAME wherever a placeholder, a field, an argument or a group can have a name.
const placed = `vars: {NAME: int, day: date, low: high|low}
keys:
  s: {key: "shop:s:{NAME}", type: string, value: int, ttl: 1d}
  h: {key: "shop:h:{NAME}", type: hash, ttl: 1d, fields: {NAME: int, other: text optional}}
  m: {key: "shop:m:{NAME}", type: hash, ttl: 1d, field: int, value: int}
  st: {key: "shop:st:{NAME}", type: stream, fields: {NAME: int}, groups: [NAME], ttl: 1d}
  lo: {key: "shop:lo:{NAME}", type: lock, ttl: 5s}
  c: {key: "shop:c:{NAME}", type: cache, value: {NAME: int}, ttl: 5s, fill: "shop:fill:{NAME}"}
  l: {key: "shop:l:{NAME}", type: ratelimit, rate: 100 per 90s, ttl: 5m}
  q: {key: "shop:q:{NAME}:{low}", type: queue, value: {NAME: int}, lease: 5s, ttl: none, order: low}
  r: {key: "shop:r:{NAME}:{day}", type: ranking, ttl: 7d, score: int, cached: 1m}
  e:
    key: shop:e:{NAME}
    type: entity
    ttl: 1h
    fields: {NAME: int, at: unix_ms}
    index: {NAME: "shop:ei:{NAME}", at: "shop:ea"}
    emits: {create: t}
  e2:
    key: shop:e2:{NAME}:{xx}
    type: entity
    ttl: 1h
    fields: {kind: text, at: unix_ms}
    index: {kind: "shop:e2i:{NAME}:{kind}", at: "shop:e2a:{NAME}", expires: "shop:e2x:{NAME}"}
    emits: {update: t}
  e3:
    key: shop:e3:{xx}:{NAME}
    type: entity
    ttl: 1h
    fields: {NAME: int, at: unix_ms}
    index: {NAME+at: "shop:e3i:{NAME}"}
  run: {type: script, file: s.lua, keys: [s, h], args: {NAME: text}, returns: int}
channels:
  t: {channel: "shop:t:{NAME}", message: {NAME: int}}
  d: {channel: "shop:d:{NAME}", durable: {maxlen: 100, groups: [NAME]}, message: {NAME: int}}
  a: {channel: "shop:a:{NAME}", message: {NAME: int}, reply: {NAME: int}}
pressure: [{at: 80%, entry: e3, where: {NAME: 1}, shorten: to 5m}]
events: {gone: {with: [NAME], deletes: [s, c], emits: [t, d]}}
`

// TestNamesOfPlaceholders: whatever a placeholder is called, with a namespace or without, it hides no package and no
// variable of the code, and none hides it.
func TestNamesOfPlaceholders(t *testing.T) {
	spaces := []string{"", "namespace: shop\n"}
	for i, name := range strings.Fields("entity spec err1 s v keywright ns job") {
		ks := declare(t, "keywright: 1\npackage: p\nowner: o\n"+spaces[i%2]+strings.ReplaceAll(placed, "NAME", name))
		for _, fault := range faults(t, generate(t, ks)) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestNamesOfEntries: entries, channels and events whose names become the same words, or those of something that is
// derived from another one, are still distinguished in the code.
func TestNamesOfEntries(t *testing.T) {
	derived := strings.Fields(strings.ReplaceAll("%_store %_value %_handle %_fields %_id %_board %_topic %_message %_channel % "+
		"parse_% %_key %_ %2", "%", "product") + " new tuning entries sweeper client _ __")
	for _, kind := range []string{
		`{key: "x%d", type: hash, ttl: 1d, fields: {a: int, b: text encrypted}}`,
		`{key: "x%d:{day}", type: ranking, ttl: 7d, score: int, cached: 1m}`,
		`{key: "x%d", type: cache, value: {q: int}, ttl: 5s}`,
		`{key: "x%d:{low}", type: queue, value: {q: int}, lease: 5s, ttl: none, order: low}`,
		`{key: "x%d:{id}:{d}", type: entity, ttl: 1h, fields: {q: int}, index: {q: "y%[1]d:{q}"}}`,
		`{type: script, file: s.lua, keys: [other], args: {e: text}, returns: int, doc: "%d"}`,
	} {
		var list strings.Builder
		for i, name := range derived {
			fmt.Fprintf(&list, "  %s: "+kind+"\n", name, i)
		}
		ks := declare(t, `keywright: 1
package: p
owner: o
vars: {q: int, id: int, d: int, day: date, low: high|low}
keys:
  other: {key: other, type: string, ttl: 1d}
`+list.String()+`channels:
  product: {channel: cc, message: {n: int}}
  product_: {channel: ccc, message: {n: int}}
  _product: {channel: d, durable: {maxlen: 100, groups: [product]}, message: {n: int}}
  product__: {channel: "ee:{id}", message: {n: int}, reply: {x: text}}
events: {product: {with: [n], deletes: [other], emits: [product_, product, _product]}}
`)
		for _, fault := range faults(t, generate(t, ks)) {
			t.Errorf("%s: %s", kind, fault)
		}
	}
}

// TestEachAlone: an entry alone imports what it uses, and no more.
func TestEachAlone(t *testing.T) {
	vars := strings.Split(everyType(), "\n")[3]
	all := regexp.MustCompile(`(?m)^  \w+: \{key: .*$`).FindAllString(everyType(), -1)
	all = append(all, "  named: {key: n, type: hash, field: json, value: int, ttl: 1d}",
		"  sealed: {key: n, type: hash, field: text encrypted, value: int, ttl: 1d}")
	if len(all) < 100 {
		t.Fatal(len(all))
	}
	for _, line := range all {
		if strings.Contains(line, "emits:") {
			continue
		}
		for _, fault := range faults(t, generate(t, declare(t, "keywright: 1\npackage: p\n"+vars+"\nkeys:\n"+line+"\n"))) {
			t.Errorf("%s: %s", line, fault)
		}
	}
}

// TestFieldsHideNoMethod: a field that is called like a method of the handle of a hash has another name there.
func TestFieldsHideNoMethod(t *testing.T) {
	handle := reflect.TypeFor[struct{ typed.Hash[int] }]()
	var names []string
	for i := range handle.NumMethod() {
		names = append(names, handle.Method(i).Name)
	}
	if len(names) < 8 {
		t.Fatal(names)
	}
	names = append(names, "Key", "Hash", "Removable")
	all := declarations(t, generate(t, declare(t, "keywright: 1\npackage: p\nkeys:\n  h: {key: h, type: hash, ttl: 1d, "+
		"fields: {"+strings.Join(names, ": text, ")+": text}}\n")))
	for _, name := range names {
		if all["HHandle."+name] != "" || all["HHandle."+name+"2"] == "" {
			t.Errorf("the field %s hides a method, or has none", name)
		}
	}
}

// TestScriptsAreAsWritten: the text of a script is in the code byte by byte, whatever is written before it: long lines
// with commas, marks of quotation in a comment, and a text that is no line of Go.
func TestScriptsAreAsWritten(t *testing.T) {
	long := strings.Repeat("word, ", 40)
	for _, doc := range []string{"plain", "the user`s cart", "a \" and a '", "`a` and `b`", "it's // `"} {
		for _, lua := range []string{
			"-- " + long + "\nlocal x = {" + long + "}\nreturn KEYS[1]\n", "return KEYS[1] -- `\n-- " + long + "\n",
			"return KEYS[1]\r\n-- " + long, "-- \xff\n-- " + long, "-- \u2028\n-- " + long + "\n", long} {
			ks, _ := load.File(fstest.MapFS{"s.lua": {Data: []byte(lua)}, "k.yaml": {Data: fmt.Appendf(nil,
				"keywright: 1\npackage: p\nkeys:\n  a: {key: \"a`\", type: string, ttl: 1d, doc: %q}\n"+
					"  s: {type: script, file: s.lua, keys: [a]}\n  t: {type: script, file: s.lua, keys: [a], doc: %[1]q}\n", doc)}},
				"k.yaml")
			if len(ks.Entries) != 3 {
				t.Fatal(len(ks.Entries))
			}
			all := declarations(t, generate(t, ks))
			for _, name := range []string{"script_S", "script_T"} {
				if got := stringsOf(t, all[name]); got[1] != ks.Entries[1].Script.Text {
					t.Errorf("%q after %q: it is %q", lua, doc, got)
				}
			}
		}
	}
}

// TestDocuments: a doc is a comment, whatever its lines are: no directive, no constraint, and gofmt lays it out in no
// other way.
func TestDocuments(t *testing.T) {
	for _, doc := range []string{"", "Package p is mine.", "mine", "+build ignore", "a\n+build ignore\n  +build x\n\t+build y",
		"go:build ignore", "a\r\nb\rc", "- a long item, " + strings.Repeat("of words ", 30), " 1. b\n 2. c", "# Head\n\ntext",
		"\tcode\n  indented", "[link]: http://x", "Deprecated: no", strings.Repeat("x", 300), "\u202eltr\u2066\x7f\ufeff",
		strings.Repeat("+build ", 40), "a\n\n\n\nb", "*/ func init() {}", "```\ncode\n```"} {
		text := generate(t, declare(t,
			fmt.Sprintf("keywright: 1\npackage: p\ndoc: %q\nkeys:\n  a: {key: a, type: string, ttl: 1d, doc: %q}\n", doc, doc)))
		for _, fault := range faults(t, text) {
			t.Errorf("%q: %s", doc, fault)
		}
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if bytes.HasPrefix(line, []byte("// +build")) || bytes.HasPrefix(line, []byte("//go:")) ||
				bytes.ContainsAny(line, "\r\x7f\u202e\u2066\ufeff") {
				t.Errorf("%q: the line %q", doc, line)
			}
		}
	}
}

// TestMany: 300 entries are one file, whose parts are laid out on their own, with one blank line between them.
func TestMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("keywright: 1\npackage: p\nkeys:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  k%d: {key: \"k%[1]d:{id}\", type: string, ttl: 1d}\n", i)
	}
	text := generate(t, declare(t, b.String()))
	for _, fault := range faults(t, text) {
		t.Error(fault)
	}
	if n := bytes.Count(text, []byte("\nfunc Parse")); n != 300 || bytes.Contains(text, []byte("\n\n\n")) {
		t.Errorf("it has %d parsers", n)
	}
}
