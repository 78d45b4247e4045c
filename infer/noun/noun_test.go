package noun

import "testing"

func TestSingular(t *testing.T) {
	for many, one := range map[string]string{
		"": "", "s": "s", "ids": "ids", "jobs": "job", "entries": "entry", "ties": "ty", "boxes": "box",
		"classes": "class", "class": "class", "matches": "match", "status": "status", "analysis": "analysis",
		"news": "news", "rss": "rss", "user": "user",
	} {
		if got := Singular(many); got != one {
			t.Errorf("%q: %q, not %q", many, got, one)
		}
	}
}
