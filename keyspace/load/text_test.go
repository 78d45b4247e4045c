package load

import (
	"strings"
	"testing"
)

// What an editor takes for a number or a boolean is no text to the loader, either, and
// what it takes for text is no number.
func TestTextIsTextToEveryReader(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"doc: 42\n", `k.yaml:2:6: KW005 doc must be text, and YAML reads 42 as a number [42] (quote it: "42")`},
		{"doc: \"42\"\n", ""},
		{"owner: true\n", `KW005 owner must be text, and YAML reads true as true or false [true] (quote it: "true")`},
		{"owns: 1.0\n", `KW005 owns must be text, and YAML reads 1.0 as a number [1.0] (quote it: "1.0")`},
		{"owns: [a, 3]\n", `KW005 an item of owns must be text, and YAML reads 3 as a number`},
		{"gen: {go: 7}\n", `KW005 the folder of go must be text`},
		{"package: \"\"\n", "k.yaml:2:10: KW010 the name of a package has 1 to 64 characters"},
		{"events: {sold: {with: [1]}}\n", "KW005 an item of with must be text"},
		{"ttls: {on: 1d}\nkeys: {a: {key: a, type: string, ttl: 30}}\n", "KW201 \"30\" has no unit"},
		{"cluster: \"true\"\n", `KW005 cluster must be true or false, not "true"`},
		{"cluster: True\n", ""},
		{"keys: {a: {key: 42, type: string, ttl: 1d}}\n", "KW005 the key of a must be text, and YAML reads 42 as a number"},
		{"keys: {a: {key: \"42\", type: string, ttl: 1d}}\n", ""},
		{"keys: {a: {key: a, type: stream, ttl: 1d, maxlen: \"9\"}}\n", `KW005 maxlen must be a number, not text`},
		{"keys: {a: {key: a, type: ratelimit, ttl: 1d, rate: 1 per 1m, algorithm: []}}\n",
			"KW005 algorithm must be one of gcra, sliding, fixed, not a list"},
	} {
		ks, found := load(head + test.text)
		got := print(ks.Files, found)
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: got\n%swant\n%s", test.text, got, test.want)
		}
	}
	if ks, found := load("keywright: \"1\"\n"); len(found) != 1 {
		t.Errorf("a version that is text: %s", print(ks.Files, found))
	}
}
