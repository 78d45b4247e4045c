package typed_test

import (
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// made keeps operations, so that what they need would be on the heap.
var made struct {
	read  keywright.Op[string]
	write keywright.Act
	row   keywright.Op[person]
}

// TestAnOperationAllocatesNothing: the ones of every day cost what a call of the client
// library costs, and no more for being values.
func TestAnOperationAllocatesNothing(t *testing.T) {
	words := value.Text(0)
	e := keywright.Entry{Name: "thing", Pattern: "thing:{id}", TTL: keywright.TTL{Policy: keywright.Expires,
		Default: time.Minute, Min: time.Minute, Max: time.Minute, Text: "1m"}}
	b := keywright.Binding{Entry: &e, Key: "thing:1"}
	s, h := typed.NewString(b, &words), typed.NewHash(b, &personFields)
	for name, make := range map[string]func(){
		"Get": func() { made.read = s.Get() }, "Set": func() { made.write = s.Set("x") },
		"Get of a hash": func() { made.row = h.Get() },
	} {
		if n := testing.AllocsPerRun(100, make); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
