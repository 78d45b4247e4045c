package typo

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

func TestNearest(t *testing.T) {
	words := []string{"doc", "key", "type", "ttl", "owner", "readers", "member", "score", "fail-on", "include", "tls-ca",
		"tls-key"}
	for word, want := range map[string]string{
		"tll": "ttl", "TTL": "ttl", "tpye": "type", "onwer": "owner", "memeber": "member", "scores": "score",
		"reader": "readers",
		"x":      "", "frobnicate": "", "": "", "ke": "key", "kye": "key", "doc": "doc", "fial-on": "fail-on",
		"INCLDE": "include", "tls-cs": "tls-ca",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "acb", 1}, {"ca", "abc", 3},
		{"kitten", "sitting", 3}, {"idle", "idel", 1}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		a, b := rapid.StringMatching(`[ab:]{0,8}`).Draw(t, "a"), rapid.StringMatching(`[ab:]{0,8}`).Draw(t, "b")
		d := Distance(a, b)
		if d != Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) ||
			d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("Distance(%q, %q) = %d", a, b, d)
		}
	})
}
