package load

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// Expressions that need many states each are read while there is room for them, and what
// has no room is said.
func TestExpressionsAreBounded(t *testing.T) {
	vars, keys := &strings.Builder{}, &strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(vars, "  v%d: /[ab]*a[ab]{8}x%d/\n", i, i)
		fmt.Fprintf(keys, "  k%d: {key: \"k%d:{v%d}\", type: string, ttl: 1d}\n", i, i, i)
	}
	text := "keywright: 1\nowner: o\nvars:\n" + vars.String() + "keys:\n" + keys.String()
	files := fstest.MapFS{"k.yaml": {Data: []byte(text)}}
	ks, found := within(40_000, files, "k.yaml", nil)
	told := 0
	for _, f := range found {
		if strings.Contains(f.Message, "automaton states together") {
			told++
		}
	}
	if told < 100 || len(ks.Keys) > 80 {
		t.Errorf("%d keys, told %d times: %v", len(ks.Keys), told, found[:min(3, len(found))])
	}
	if ks, found := within(1<<20, files, "k.yaml", nil); len(found) > 0 || len(ks.Keys) != 200 {
		t.Errorf("with room for all: %d keys, %v", len(ks.Keys), found[:min(3, len(found))])
	}
}
