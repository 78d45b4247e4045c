package pattern

import "testing"

// What a prefix covers, the automata say too; another form of glob is none.
func TestPrefixesCover(t *testing.T) {
	globs := []string{"app:*", `ta\*k*`, "a:?*", "b*c", "b:[x]*", "word"}
	var list []*Pattern
	for _, text := range globs {
		g, err := Glob(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	x := PrefixesOf(list)
	union, err := Join(list...)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"app:{a}": true, "app:x": true, "ap:{a}": false, "ta*k{a}": true,
		"task:{a}": false, "a:{a}": false, "b{a}c": false, "b:x{a}": false, "word": false, "{a}": false, "app{a}": false} {
		p, err := Parse(text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := x.Cover(p); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if _, inside := union.Contains(p); want && !inside {
			t.Errorf("%s is said to be covered", text)
		}
	}
	star, err := Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := Parse("{a}:x", nil); p == nil || !PrefixesOf([]*Pattern{star}).Cover(p) {
		t.Error("* does not cover all")
	}
}
