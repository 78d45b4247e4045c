package pattern

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// redisMatch is stringmatchlen of Redis 7, as it is written there.
func redisMatch(p, s string) bool {
	for len(p) > 0 && len(s) > 0 {
		switch p[0] {
		case '*':
			for len(p) > 1 && p[1] == '*' {
				p = p[1:]
			}
			if len(p) == 1 {
				return true
			}
			for at := 0; at <= len(s); at++ {
				if redisMatch(p[1:], s[at:]) {
					return true
				}
			}
			return false
		case '?':
			s = s[1:]
		case '[':
			p = p[1:]
			not := len(p) > 0 && p[0] == '^'
			if not {
				p = p[1:]
			}
			match := false
			for {
				if len(p) >= 2 && p[0] == '\\' {
					p = p[1:]
					match = match || p[0] == s[0]
				} else if len(p) == 0 || p[0] == ']' {
					break
				} else if len(p) >= 3 && p[1] == '-' {
					lo, hi := min(p[0], p[2]), max(p[0], p[2])
					p = p[2:]
					match = match || s[0] >= lo && s[0] <= hi
				} else {
					match = match || p[0] == s[0]
				}
				p = p[1:]
			}
			if match == not {
				return false
			}
			s = s[1:]
			if len(p) == 0 { // not closed: the class is the last
				return len(s) == 0
			}
		default:
			if p[0] == '\\' && len(p) >= 2 {
				p = p[1:]
			}
			if p[0] != s[0] {
				return false
			}
			s = s[1:]
		}
		p = p[1:]
	}
	return strings.Trim(p, "*") == "" && len(s) == 0
}

// TestGlobsAreThoseOfRedis: a glob has the keys that Redis finds with it, for all globs of a few odd parts.
func TestGlobsAreThoseOfRedis(t *testing.T) {
	for _, c := range []struct {
		glob string
		in   string // divided by spaces; _ is the empty key
		out  string
	}{
		{"a", "a", "_ b aa"}, {"a*", "a ab a:b", "_ b"}, {"**", "_ a ab", ""}, {"a?c", "abc a:c", "ac abbc"},
		{"[ab]c", "ac bc", "c cc abc"}, {"[^ab]", "c :", "a b _"}, {"[a-c]", "a b c", "d -"}, {"[c-a]", "a b c", "d -"},
		{"[a-]", "]", "b a- -"}, {`[\]]`, "]", `\`}, {`[a\-c]`, "a - c", "b"}, {"[", "", "_ [ a"}, {"[^", "a [", "_ ab"},
		{"[a", "a", "[a _ b"}, {"a[]b", "", "ab b a"}, {"a[^]b", "axb a]b", "ab"}, {`\*`, "*", `a \*`}, {`a\`, `a\`, "a"},
		{`\[a]`, "[a]", "a"}, {"[^]", "a ]", "_"}, {"a]", "a]", "a"}, {"[a-c]*[0-9]", "a1 cx9", "1 d1 a"},
	} {
		p := glob(t, c.glob)
		for want, list := range map[bool]string{true: c.in, false: c.out} {
			for _, key := range strings.Fields(list) {
				key = strings.TrimPrefix(key, "_")
				if p.matches([]byte(key)) != want || redisMatch(c.glob, key) != want {
					t.Errorf("%q on %q: %t, and Redis: %t", c.glob, key, p.matches([]byte(key)), redisMatch(c.glob, key))
				}
			}
		}
	}
	parts := rapid.SampledFrom([]string{"a", "b", ":", "*", "?", "[", "]", "^", "-", `\`, "\xff", "[ab]", "[^a]", "[b-a]"})
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(parts, 1, 6).Draw(t, "glob"), "")
		p, err := Glob(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			key := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', ':', ']', '-', '^', '\\', '*'}), 0, 4, -1).Draw(t, "key")
			if p.matches([]byte(key)) != redisMatch(text, key) {
				t.Fatalf("%q on %q: %t", text, key, p.matches([]byte(key)))
			}
		}
	})
}

// TestShapesOfGlobs: what a glob is made of, and that two stars are one.
func TestShapesOfGlobs(t *testing.T) {
	for text, want := range map[string]string{
		"a*b": `"a" wild! "b"`, "a**": `"a" wild!`, "***": "wild!", "?*": "wild! wild!", "*?*": "wild! wild! wild!",
		"[ab]": "wild", "[:]": "wild!", "[^a]": "wild!", "[0-z]": "wild!", `\**`: `"*" wild!`, `a\b`: `"ab"`, `\`: `"\\"`,
		"*[*": "wild! wild", `*\*`: `wild! "*"`,
	} {
		if got := shape(glob(t, text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestGlobsThatAreTooLarge: one with very many wildcards is refused, in words.
func TestGlobsThatAreTooLarge(t *testing.T) {
	text := "*a" + strings.Repeat("?", 20)
	_, err := Glob(text)
	var fault *SyntaxError
	if !errors.As(err, &fault) || fault.Length != len(text) ||
		fault.Message != "the glob needs more than 20000 automaton states; use fewer wildcards" {
		t.Errorf("%v", err)
	}
}

// TestScanGlobs: the glob for SCAN, the one for an ACL, and whether that is exact. A glob is its own.
func TestScanGlobs(t *testing.T) {
	for _, c := range []struct {
		text, scan, acl string
		exact           bool
	}{
		{"a:b", "a:b", "a:b", true},
		{`a*?[]\\`, `a\*\?\[\]\\`, `a\*\?\[\]\\`, true},
		{"a^-", "a^-", "a^-", true},
		{"a b", "a b", "a?b", false},
		{`a\x00\x7f\x1f`, "a\x00\x7f\x1f", "a???", false},
		{`'"`, `'"`, "??", false},
		{"é가", "é가", "é가", true},
		{`\xc3`, "\xc3", "?", false},
		{`\xc3\x28`, "\xc3(", "?(", false},
		{"\ufffd", "\ufffd", "\ufffd", true},
		{"{n}{e}:{x}", "*:*", "*:*", false},
		{`\*{n}`, "", "", false},
		{"*{n}*{e}", `\**\**`, `\**\**`, false},
		{"{#a}:{n}", "{a}:*", "{a}:*", false},
		{"glob a*[b ]", "a*[b ]", "a*?", false},
		{"glob a", "a", "a", false},
		{`glob a\ b\"`, `a\ b\"`, "a?b?", false},
		{`glob [é][^\*]\*`, `[é][^\*]\*`, `[é][^\*]\*`, false},
		{"glob [\xff", "[\xff", "?", false},
		{`glob \é`, `\é`, "??", false},
	} {
		if c.scan == "" {
			if _, err := Parse(c.text, resolve); err == nil {
				t.Errorf("%s is a pattern", c.text)
			}
			continue
		}
		p := read(t, c.text)
		acl, exact := p.ACLGlob()
		if p.ScanGlob() != c.scan || acl != c.acl || exact != c.exact {
			t.Errorf("%s: %q %q %t", c.text, p.ScanGlob(), acl, exact)
		}
		for _, text := range []string{c.scan, c.acl} {
			if key, ok := Contains(glob(t, text), p); !ok {
				t.Errorf("%s: %q misses %q", c.text, text, key)
			}
		}
		if exact {
			if key, ok := Contains(p, glob(t, acl)); !ok {
				t.Errorf("%s: %q has %q, too", c.text, acl, key)
			}
		}
	}
	for text, want := range map[string]string{"": "", "ab": "ab", `*?[]\`: `\*\?\[\]\\`, "\xff*": "\xff\\*", "{}": "{}"} {
		if got := GlobLiteral(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestPrefixesHold: what is no glob, or another form of one, covers nothing; one that is covers all that begins so.
func TestPrefixesHold(t *testing.T) {
	x := PrefixesOf([]*Pattern{parse(t, "a:{rest}"), glob(t, "ab:*"), glob(t, "?*"), glob(t, "c"), glob(t, "d*e*"),
		glob(t, "longer-prefix:*")})
	for text, want := range map[string]bool{"a:{n}": false, "ab:{n}": true, "ab:": true, "ab": false, "c": false,
		"d:e": false, "glob ab:c*": true, "glob a*": false, "longer-prefix:{x}": true, "longer-prefi": false, "{x}": false} {
		if x.Cover(read(t, text)) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
	if PrefixesOf(nil).Cover(parse(t, "a")) {
		t.Error("nothing covers something")
	}
}
