package load

import (
	"strings"
	"testing"
)

// TestWhatWasMeant: a mistake that others have made is reported once, with what was
// meant.
func TestWhatWasMeant(t *testing.T) {
	const head = "keywright: 1\npackage: p\nowner: o\n"
	const lanes = `declare the lanes under vars, as in lane: high|normal|low, put {lane} into the key, write order: lane`
	for _, test := range []struct{ text, want string }{
		{"keys:\n  a: {key: a, typ: hash, ttl: 1h}\n",
			`k.yaml:5:15: KW003 the entry a has no property "typ" [typ] (did you mean type?)`},
		{"keys:\n  a: {pattern: a, type: hash, ttl: 1h}\n",
			`k.yaml:5:7: KW003 the entry a has no property "pattern" [pattern] (did you mean key?)`},
		{"keys:\n  a: {key: a, type: hash, expires: 1h}\n",
			`k.yaml:5:27: KW003 the entry a has no property "expires" [expires] (did you mean ttl?)`},
		{"queues: {}\n",
			`k.yaml:4:1: KW003 the file has no property "queues" [queues] (write its entries under keys, each with type: queue)`},
		{"keys\n  a: {key: \"a:{id}\", type: hash, ttl: 1h}\n",
			`k.yaml:4:1: KW002 a name without a colon [keys] (did you mean keys:?)`},
		{"keys:\n  a: {key: \"a:{id}\", type: hash, ttl: 1h\n  b: {key: \"b:{id}\", type: hash, ttl: 1h}\n",
			`k.yaml:6:4: KW002 a [, { or quote is not closed, or a comma is missing, in this line or in one above (close it)`},
		{"keys:\n  a: {key: a:{id}, type: hash, ttl: 1h}\n",
			`k.yaml:5:14: KW009 a pattern inside [ ] or { } is not read as text (put quotes around it, as in ["x:{id}"])`},
		{"keys:\n  a: {key: a, type: hash, ttl: 1 hour}\n", `KW201 "1" has no unit [1] (did you mean 1h?)`},
		{"keys:\n  a: {key: a, type: hash, ttl: 2H}\n", `KW201 "2H" has no unit "H" [2H] (did you mean 2h?)`},
		{"keys:\n  a: {key: a, type: hash, ttl: 5m..1h}\n",
			`KW201 "5m..1h" has no unit "m.." [5m..1h] (did you mean 5m in 5m..1h?)`},
		{"keys:\n  a: {key: a, type: sorted_set, ttl: 1h}\n",
			`KW103 the entry a: "sorted_set" is not a type [sorted_set] (did you mean zset?)`},
		{"keys:\n  a: {key: a, type: str, ttl: 1h}\n",
			`KW103 the entry a: "str" is not a type [str] (did you mean string?)`},
		{"keys:\n  a: {key: a, type: queue, ttl: none, lanes: [high, low]}\n",
			`KW003 the entry a has no property "lanes" [lanes] (` + lanes + ")"},
		{"keys:\n  a: {key: a, type: queue, ttl: none, priorities: 3}\n",
			`KW003 the entry a has no property "priorities" [priorities] (` + lanes + ")"},
		{"vars:\n  kind: [a, b]\n", `KW005 the type of kind must be text, not a list (did you mean kind: a|b?)`},
		{"vars: {kind: {type: [a, b]}}\n", `KW005 the type of kind must be text, not a list (did you mean kind: a|b?)`},
		{"vars:\n  kind: [\"a b\", {c: d}]\n",
			`KW005 the type of kind must be text, not a list (an enum is written as a|b|c)`},
		{"keys:\n  a: {key: a, type: set, member: [a, b], ttl: 1h}\n",
			`KW005 the member of a must be text, not a list (did you mean a|b?)`},
		{"keys:\n  a: {key: a, type: hash, fields: {f: [a, b]}, ttl: 1h}\n",
			`KW005 the type of f must be text, not a list (did you mean f: a|b?)`},
		{"keys:\n  a: {key: a, type: stream, ttl: 1h, maxlen: 10k}\n",
			`KW307 maxlen must be a whole number of at least 1, not "10k" [10k] (did you mean 10000?)`},
		{"keys:\n  a: {key: a, type: string, ttl: 1h, value: int?}\n",
			`"int?" is neither a type nor a var [int?] (did you mean int optional?)`},
		{"keys:\n  a: {key: a, type: string, ttl: 1h, value: optional int}\n",
			`"optional" is neither a type nor a var [optional] (did you mean int optional?)`},
		{"keys:\n  a: {key: a, type: string, ttl: 1h, value: 1..10}\n",
			`"1..10" is neither a type nor a var [1..10] (did you mean int 1..10?)`},
		{"keys:\n  a: {key: \"a:{{id}}\", type: string, ttl: 1h}\n", `(did you mean {id}?)`},
	} {
		ks, found := load(head + test.text)
		got := print(ks.Files, found)
		if !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got\n%swant only\n%s", test.text, got, test.want)
		}
	}
}

// TestVersionAsText: a version in quotes is the right number in the wrong form.
func TestVersionAsText(t *testing.T) {
	ks, found := load("keywright: \"1\"\nkeys: {}\n")
	const want = `k.yaml:1:12: KW011 the version of the language is a number, and "1" is text ["1"] ` +
		"(write keywright: 1, without quotes)\n"
	if got := print(ks.Files, found); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
