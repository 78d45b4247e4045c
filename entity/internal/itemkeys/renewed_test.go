package itemkeys

import (
	"fmt"
	"testing"
	"time"
)

// TestRenewedKeys: a key counts as renewed from when it was asked for, and a handle that
// forgets renews again.
func TestRenewedKeys(t *testing.T) {
	t.Parallel()
	m := NewRenewedKeys(time.Hour)
	for _, tt := range []struct {
		ago  time.Duration
		want bool
	}{{0, false}, {50 * time.Minute, false}, {61 * time.Minute, true}} {
		m.Done([]string{"k"}, time.Now().Add(-tt.ago))
		if got := m.Due("k"); got != tt.want || m.AnyDue([]string{"k"}) != tt.want {
			t.Errorf("asked for %v ago: due %v", tt.ago, got)
		}
	}
	if !m.Due("other") || !m.AnyDue([]string{"k", "other"}) || NewRenewedKeys(0).Due("k") {
		t.Error("a key that was never renewed")
	}
	for i := range 3 * mostRenewed {
		m.Done([]string{fmt.Sprint(i)}, time.Now())
	}
	if len(m.at) > mostRenewed+1 {
		t.Errorf("%d keys are remembered", len(m.at))
	}
}
