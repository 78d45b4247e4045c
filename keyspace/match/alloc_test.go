//go:build !race

package match

import "testing"

// Under the race detector sync.Pool forgets at random, so this runs without it.
func TestNoAllocation(t *testing.T) {
	m := compileItems(t, items(t, "queue:{name}", "cache:product:{int}:{uuid}", "cache:{slug}-{small}:x"))
	var c Captures
	for _, key := range []string{"queue:high", "cache:product:42:01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f", "cache:a-b-7:x",
		"nothing:of:this"} {
		k := []byte(key)
		m.Match(k, &c)
		if n := testing.AllocsPerRun(100, func() { m.Match(k, &c) }); n != 0 {
			t.Errorf("%s: %v allocations", key, n)
		}
	}
}
