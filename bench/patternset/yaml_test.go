package patternset

import (
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
)

// The generated file is a declaration without a fault, of any size.
func TestYAMLLoads(t *testing.T) {
	for _, n := range []int{1, 100, 1000} {
		ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: New(n).YAML()}}, "k.yaml")
		if len(findings) > 0 {
			f := findings[0]
			t.Fatalf("%d entries: %d:%d: %s %s", n, f.Pos.Line, f.Pos.Column, f.Code, f.Message)
		}
		if len(ks.Entries) != n {
			t.Errorf("%d entries asked for, %d loaded", n, len(ks.Entries))
		}
	}
}
