package slot

import "testing"

// The expected slots are what CLUSTER KEYSLOT of redis-server 7.0.15 answers.
func TestOf(t *testing.T) {
	for key, want := range map[string]uint16{
		"":             0,
		"123456789":    12739,
		"foo":          12182,
		"foo{}{bar}":   8363,
		"{user1000}.a": 3443,
		"{user1000}.b": 3443,
	} {
		if got := Of([]byte(key)); got != want {
			t.Errorf("slot of %q = %d, want %d", key, got, want)
		}
	}
}

func TestTag(t *testing.T) {
	for key, want := range map[string]string{
		"foo{{bar}}zap":  "{bar",
		"foo{bar}{zap}":  "bar",
		"foo}{bar}":      "bar",
		"a{b":            "-",
		"foo{}{bar}":     "-",
		"plain":          "-",
		"{\xff\x00}tail": "\xff\x00",
	} {
		tag, ok := Tag([]byte(key))
		got := string(tag)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("tag of %q = %q, want %q", key, got, want)
		}
	}
}

func TestSibling(t *testing.T) {
	for key, want := range map[string]string{"a:b": "{a:b}", "a:{b}:c": "a:{b}:c", "a{}b": "{a{}b}", "{a": "{{a}"} {
		if got := Sibling(key); got != want {
			t.Errorf("%q: %q", key, got)
		}
	}
	for _, key := range []string{"a:b", "a:{b}:c", "lock:issue:42"} {
		if Of([]byte(key)) != Of([]byte(Sibling(key)+":fence")) {
			t.Errorf("%q: another slot", key)
		}
	}
}
