package page

import (
	"testing"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// TestEveryFormIsOne compiles what is otherwise compiled when it is used.
func TestEveryFormIsOne(t *testing.T) {
	for _, f := range regex.All {
		f()
	}
	if len(regex.All) < 100 {
		t.Errorf("%d forms", len(regex.All))
	}
}
