package entity

import (
	"fmt"
	"testing"
	"time"
)

// TestMemo: a key counts as renewed from when it was asked for, and whoever
// forgets renews again.
func TestMemo(t *testing.T) {
	t.Parallel()
	m := newMemo(time.Hour)
	for _, tt := range []struct {
		ago  time.Duration
		want bool
	}{{0, false}, {50 * time.Minute, false}, {61 * time.Minute, true}} {
		m.done([]string{"k"}, time.Now().Add(-tt.ago))
		if got := m.due("k"); got != tt.want || m.anyDue([]string{"k"}) != tt.want {
			t.Errorf("asked for %v ago: due %v", tt.ago, got)
		}
	}
	if !m.due("other") || !m.anyDue([]string{"k", "other"}) || newMemo(0).due("k") {
		t.Error("a key that was never renewed")
	}
	for i := range 3 * largestMemo {
		m.done([]string{fmt.Sprint(i)}, time.Now())
	}
	if len(m.at) > largestMemo+1 {
		t.Errorf("%d keys are remembered", len(m.at))
	}
}
