package apply_test

import (
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	kt "github.com/keywright/keywright/keywrighttest"
)

// One process changes keys at a time.
func TestOneActs(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	c, err := applytest.Open(t, s.URL())(0)
	must(t, err)
	first, err := apply.Act(t.Context(), c)
	must(t, err)
	if _, err := apply.Act(t.Context(), c); err == nil {
		t.Error("two processes act")
	}
	must(t, first.Still())
	first.End()
	second, err := apply.Act(t.Context(), c)
	must(t, err)
	second.End()
	if s.Do("EXISTS", apply.ActingKey) != int64(0) {
		t.Error("the right was not given back")
	}
}
