package load

import (
	"strings"
	"testing"
)

func TestShapeFaults(t *testing.T) {
	for shape, want := range map[string]string{
		"{a}:{b}[:{c}":     `the optional part "{c}" has no closing ]`,
		"{a}[:{b}]:{c}":    `only optional parts may follow an optional one, not ":{c}"`,
		"{a}::{b}":         "a part is empty",
		":{a}":             "a part is empty",
		"{a}:":             "a part is empty",
		"{a}-{b}":          `a part is either a literal or one {name}, not "{a}-{b}"`,
		"x{a}":             `a part is either a literal or one {name}, not "x{a}"`,
		"{a}[{b}]":         `expected : before "{b}]"`,
		"{a}]":             `expected : before "]"`,
		"{a}[:{b}][:{c}]x": `only optional parts may follow an optional one, not "x"`,
	} {
		ks, findings := load(head + "shape: \"" + shape + "\"\n")
		if got := print(ks.Files, findings); !strings.HasPrefix(got, "k.yaml:2:8: KW106 shape: "+want) || len(findings) != 1 {
			t.Errorf("%s: %s", shape, got)
		}
	}
}
