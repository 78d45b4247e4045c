package source_test

import (
	"testing"

	"github.com/keywright/keywright/source"
)

// As the server's own stringmatchlen answers.
func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"a*", "abc", true}, {"a*c", "abc", true},
		{"a*c", "abd", false}, {"*b*", "abc", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false}, {"**a", "bba", true}, {"[abc]x", "bx", true},
		{"[^abc]x", "bx", false}, {"[a-c]x", "bx", true}, {"[c-a]x", "bx", true}, {`\*`, "*", true}, {`\*`, "a", false},
		{"[a", "a", true}, {"[]a", "a", false}, {"user:*:name", "user:1:2:name", true}, {"user:*:name", "user:name", false},
		{"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false}, {"a*", "", false}, {"?*", "", false},
	} {
		if got := source.Glob([]byte(c.pattern), []byte(c.name)); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.name, got)
		}
	}
}
