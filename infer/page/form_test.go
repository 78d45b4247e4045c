package page

import "testing"

// TestEveryFormIsOne compiles what is otherwise compiled when it is used.
func TestEveryFormIsOne(t *testing.T) {
	for _, f := range forms {
		f()
	}
	if len(forms) < 100 {
		t.Errorf("%d forms", len(forms))
	}
}
