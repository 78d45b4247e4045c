package state

import (
	"testing"
)

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{"San Diego News": "san_diego_news", "  A--B! ": "a_b", "NASA": "nasa",
		"朝日新聞": "feed_" + Hash("朝日新聞")} {
		if s := Slug(name); s != want {
			t.Errorf("%s: %s", name, s)
		}
	}
}
