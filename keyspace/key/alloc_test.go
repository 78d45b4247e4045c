//go:build !race

package key_test

import (
	"testing"

	"github.com/keywright/keywright/keyspace/key"
)

// The race detector makes pools forget, so this runs without it.
func TestSlowWithoutAllocating(t *testing.T) {
	s := key.NewSlow("a{x}-{y}", map[string]string{"x": "int", "y": "int"})
	var parts [2]string
	if n := testing.AllocsPerRun(100, func() { s.Split("a12-34", parts[:]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
