package kernel_test

import (
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
)

func TestDatabase(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for suffix, want := range map[string]int{"": 0, "/0": 0, "/3": 3} {
		c := open(t, s.URL()+suffix, keywright.Options{})
		if got := c.Database(); got != want {
			t.Errorf("%q: database %d, want %d", suffix, got, want)
		}
		if got := kernel.New(c.Raw(), keywright.Options{}).Database(); got != -1 {
			t.Errorf("of a client that exists already: %d", got)
		}
	}
}
