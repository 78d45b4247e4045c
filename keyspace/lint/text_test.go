package lint

import (
	"slices"
	"strings"
	"testing"
)

// messages returns what a rule says about a declaration: entry, message and fix.
func messages(t *testing.T, code, text string) (out []string) {
	t.Helper()
	for _, f := range run(t, declare(text)) {
		if f.Code == code {
			line := f.Message
			if f.Fix != "" && !strings.HasPrefix(f.Fix, "see ") {
				line += " | " + f.Fix
			}
			out = append(out, line)
		}
	}
	return out
}

// TestWhatIsSaid: what a rule says where its cases differ: of each part of a shape, of each thing that is odd in a text,
// and of each that is one of several.
func TestWhatIsSaid(t *testing.T) {
	const shaped = "shape: \"shop:{p}:{x}[:{y}]\"\nvars: {p: cache|lock, q: cache|tmp, r: lock|cache, n: int}\nkeys:\n  a: {key: "
	const kept = ", type: string, ttl: 1d}"
	for _, c := range []struct {
		code, text string
		want       []string
	}{
		{"KW126", shaped + "\"shop:tmp:x\"" + kept, []string{
			"shop:tmp:x does not have the shape shop:{p}:{x}[:{y}]: tmp is no p (cache, lock)"}},
		{"KW126", shaped + "\"sho:cache:x\"" + kept, []string{
			"sho:cache:x does not have the shape shop:{p}:{x}[:{y}]: part sho must be shop"}},
		{"KW126", shaped + "\"shop:{q}:x\"" + kept, []string{
			"shop:{q}:x does not have the shape shop:{p}:{x}[:{y}]: the p must be one of cache, lock"}},
		{"KW126", shaped + "\"shop:{n}:x\"" + kept, []string{
			"shop:{n}:x does not have the shape shop:{p}:{x}[:{y}]: the p must be one of cache, lock"}},
		{"KW126", shaped + "\"shop:cache:\"" + kept, []string{
			"shop:cache: does not have the shape shop:{p}:{x}[:{y}]: a part is empty"}},
		{"KW126", shaped + "\"shop:cache\"" + kept, []string{
			"shop:cache does not have the shape shop:{p}:{x}[:{y}]: it has fewer parts"}},
		{"KW126", shaped + "\"shop:cache:a:b:c\"" + kept, []string{
			"shop:cache:a:b:c does not have the shape shop:{p}:{x}[:{y}]: it has more parts"}},
		{"KW126", shaped + "\"shop:{r}:x:{y}\"" + kept, nil}, {"KW126", shaped + "\"shop:{p}:{z}\"" + kept, nil},
		{"KW128", "keys: {}\nchannels: {c: \"a b\"}", []string{
			"a b has a space, a control character or a byte that is not text in it"}},
		{"KW128", "vars: {w: \"a|b\u200bc\"}\nkeys:\n  a: {key: \"x:{w}\"" + kept, []string{
			"a value of a placeholder of x:{w} has a character that cannot be seen (U+200B) in it"}},
		{"KW128", "a: {key: \"x\u3164\"" + kept, []string{"x (with U+3164) has a character that cannot be seen (U+3164) in it"}},
		{"KW321", "cluster: true\nkeys:\n  a: {key: \"x:{i}\"" + kept + "\n  b: {key: \"y:{i}\"" + kept + "\n  c: {key: \"z:{i}\"" +
			kept + "\n  s: {type: script, file: s.lua, keys: [a, b, c]}", []string{
			"the script s gets keys of a and of b and 1 more, which are not always in one slot"}},
		{"KW321", "cluster: true\nkeys:\n  a: {key: \"x:{i}\"" + kept + "\n  b: {key: \"y:{i}\"" + kept +
			"\n  s: {type: script, file: s.lua, keys: [a, b]}", []string{
			"the script s gets keys of a and of b, which are not always in one slot"}},
		{"KW339", "vars: {p: high|normal|x|y}\nkeys:\n  a: {key: \"q:{p}\", type: queue, ttl: none}", nil},
		{"KW339", "vars: {p: high|NORMAL|x}\nkeys:\n  a: {key: \"q:{p}\", type: queue, ttl: none}", []string{
			"each {p} of a is a queue of its own: it has no order in which lanes are drained | add order: p"}},
		{"KW339", "a: {key: \"q:{Lane}\", type: queue, ttl: none}", []string{"each {Lane} of a is a queue of its own: it has " +
			"no order in which lanes are drained | declare Lane: high|normal|low under vars, and add order: Lane"}},
		{"KW124", "vars: {user_id: int, userid: int}\nkeys:\n  a: {key: \"x:{userid}:{user_id}\"" + kept, nil},
	} {
		if got := messages(t, c.code, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s:\n%s\nnot\n%s", c.code, c.text, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestAppearance: what a reader sees of a text: letters without their case and of one script, what is composed in
// parts, and nothing of what cannot be seen.
func TestAppearance(t *testing.T) {
	for text, want := range map[string]string{"": "", "User": "user", "us\u0435r": "user", "us\u200ber": "user",
		"가": "\u1100\u1161", "각": "\u1100\u1161\u11a8", "힣": "\u1112\u1175\u11c2", "é": "e\u0301", "É": "e\u0301",
		"\u2010\u2212": "--", "a\x00b": "a\x00b", "語": "語", "\uff55": "u", "\ufffd": "\ufffd"} {
		if got := appearance(text); got != want {
			t.Errorf("%q looks like %q, not %q", text, got, want)
		}
	}
	for _, r := range []rune{0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, 0x2800, 0x200b, 0xfe0f, 0xad} {
		if !invisible(r) || hide("a"+string(r)+"b") != "ab" || appearance(string(r)) != "" {
			t.Errorf("U+%04X is seen", r)
		}
	}
	for _, r := range "a語\u0301 \t" {
		if invisible(r) {
			t.Errorf("%q is not seen", r)
		}
	}
}
