package bind

import "testing"

// TestRoomForInstances: as many as there is room for are all of them; one more is said,
// and one that is known is no more.
func TestRoomForInstances(t *testing.T) {
	s := search{seen: map[string]Values{}, most: 2}
	for _, id := range []string{"a", "b", "a"} {
		if s.add(Values{"n": id}); s.more {
			t.Fatalf("%s is more than two", id)
		}
	}
	if s.add(Values{"n": "c"}); !s.more || len(s.seen) != 2 {
		t.Errorf("%t, %d held", s.more, len(s.seen))
	}
}
