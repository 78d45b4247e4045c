package answer

import (
	"testing"
	"time"
)

// TestGrowth: of one reading nothing is said; then it is counted from the first one, and once there are readings of a
// minute before, over one minute to two. A queue that was not there has no growth, and says so by having none.
func TestGrowth(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	var past Past
	read := func(after time.Duration, jobs, dead int64, titles ...string) []Queue {
		q := Queues{}
		for _, title := range titles {
			q.Queues = append(q.Queues, Queue{Entry: title, Jobs: jobs + dead, Dead: dead})
		}
		q.Grow(began.Add(after), past)
		past = q.Past
		return q.Queues
	}
	if one := read(0, 100, 1, "a"); one[0].Growth != nil {
		t.Errorf("%+v from one reading", one[0].Growth)
	}
	two := read(5*time.Second, 90, 2, "a", "b")
	if two[0].Growth == nil || *two[0].Growth != (Growth{5, -10, 1}) || two[1].Growth != nil {
		t.Errorf("%+v, %+v", two[0].Growth, two[1].Growth)
	}
	for after := 10 * time.Second; after <= 10*time.Minute; after += 5 * time.Second {
		jobs := int64(after / time.Second)
		g := read(after, jobs, 2, "a")[0].Growth
		if g == nil || g.Over > 120 || after > time.Minute && g.Over < 60 {
			t.Fatalf("after %v: %+v", after, g)
		}
		if after > 3*time.Minute && (g.Open != int64(g.Over) || g.Dead != 0) {
			t.Errorf("after %v: %+v", after, g)
		}
	}
	if slow := read(30*time.Minute, 0, 0, "a")[0].Growth; slow == nil || slow.Over < 1200 {
		t.Errorf("a reading after a long time is counted from the latest there was: %+v", slow)
	}
}
