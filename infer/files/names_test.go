package files

import (
	"slices"
	"strings"
	"testing"
)

// TestWordsOf: a name is taken apart at marks and at capitals, in small letters, each word as one of its kind; bytes
// that are no text part words, too.
func TestWordsOf(t *testing.T) {
	for name, want := range map[string][]string{
		"": nil, "__": nil, "rssFeeds": {"rss", "feed"}, "rss_feeds": {"rss", "feed"}, "RSS": {"rss"},
		"HTTPKeys": {"httpkey"}, "a1B2": {"a1", "b2"},
		"users.json": {"user", "json"}, "日本-x": {"日本", "x"}, "éÀ": {"é", "à"}, "\xffa": {"a"}, "a\xff": {"a"},
		"a\xff\xfeb": {"a", "b"}, "\xff": nil,
		"a—b": {"a", "b"},
	} {
		if got := wordsOf(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q, and not %q", name, got, want)
		}
	}
}

// TestPlainName: letters, digits and _, not too many, and a letter first.
func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"": "n", "a": "a", "A B": "a_b", "--a--b--": "a_b", "1a": "n_1a", "日": "n", "é1": "n_1", "a\xffb": "a_b",
		strings.Repeat("a", 60): strings.Repeat("a", 48),
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, and not %q", name, got, want)
		}
	}
}

// TestFree: the first number that makes a name free.
func TestFree(t *testing.T) {
	taken := map[string]bool{"a": true, "a_2": true, "b_2": true}
	for name, want := range map[string]string{"a": "a_3", "b": "b", "": ""} {
		if got := free(name, func(s string) bool { return taken[s] }); got != want {
			t.Errorf("%q: %q, and not %q", name, got, want)
		}
	}
}

// TestMember: a member is written plainly where its name is a word, else between quotes.
func TestMember(t *testing.T) {
	for name, want := range map[string]string{"a": ".a", "_a1": "._a1",
		"1a": `."1a"`, "a-b": `."a-b"`, "": `.""`, `a"b`: `."a\"b"`, "日": `."日"`} {
		if got := member(name); got != want {
			t.Errorf("%q: %s, and not %s", name, got, want)
		}
	}
	if got := escaped.Replace("a~b/c{d[e"); got != "a~0b~1c~2d~3e" {
		t.Error(got)
	}
}

// TestIsWord: a name that a program has given, and no id.
func TestIsWord(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "name": true, "a12": true, "a123": false, "user-1": false, "deadbeef": true, "deadbee1": false,
		"dead1":                 true,
		strings.Repeat("a", 40): true, strings.Repeat("a", 41): false,
	} {
		if isWord(name) != want {
			t.Errorf("%q: %v", name, isWord(name))
		}
	}
}
