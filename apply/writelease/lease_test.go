package writelease_test

import (
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/internal/expect"
	kt "github.com/keywright/keywright/keywrighttest"
)

var must = expect.NoError

// One process changes keys at a time.
func TestOneActs(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	c, err := applytest.Open(t, s.URL())(0)
	must(t, err)
	first, err := writelease.Acquire(t.Context(), c)
	must(t, err)
	if _, err := writelease.Acquire(t.Context(), c); err == nil {
		t.Error("two processes act")
	}
	must(t, first.Held())
	first.Release()
	second, err := writelease.Acquire(t.Context(), c)
	must(t, err)
	second.Release()
	if s.Do("EXISTS", writelease.Key) != int64(0) {
		t.Error("the right was not given back")
	}
}
