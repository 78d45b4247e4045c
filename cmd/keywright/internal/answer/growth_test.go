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
	if two[0].Growth == nil || *two[0].Growth != (Growth{Over: 5, Open: -10, Dead: 1}) || two[1].Growth != nil {
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

// TestCameAndLeft: what left is what came and is not there, dead jobs are there. Where the counter began again, or jobs
// came that were not counted, neither is told.
func TestCameAndLeft(t *testing.T) {
	t.Parallel()
	const unknown = -1
	for name, c := range map[string]struct {
		was, is    counts
		came, left int64
	}{
		"as many leave as come":     {counts{open: 10, came: 100}, counts{open: 10, came: 150}, 50, 50},
		"nothing happens":           {counts{open: 10, came: 100}, counts{open: 10, came: 100}, 0, 0},
		"never used":                {counts{}, counts{}, 0, 0},
		"jobs die":                  {counts{open: 10, came: 100}, counts{open: 5, dead: 8, came: 104}, 4, 1},
		"dead jobs are retried":     {counts{open: 1, dead: 5, came: 6}, counts{open: 6, came: 6}, 0, 0},
		"dead jobs are discarded":   {counts{open: 1, dead: 5, came: 6}, counts{open: 1, came: 6}, 0, 5},
		"the counter begins again":  {counts{open: 10, came: 100}, counts{open: 10, came: 3}, unknown, unknown},
		"the counter was lost":      {counts{open: 10, came: 100}, counts{open: 10}, unknown, unknown},
		"no job is counted":         {counts{open: 10}, counts{open: 10}, unknown, unknown},
		"some came and none is new": {counts{open: 10, came: 100}, counts{open: 20, came: 105}, unknown, unknown},
		"the first jobs":            {counts{}, counts{open: 3, came: 7}, 7, 4},
	} {
		g := c.is.since(c.was, time.Minute)
		switch {
		case c.came == unknown:
			if g.Came != nil || g.Left != nil {
				t.Errorf("%s: %d came", name, *g.Came)
			}
		case g.Came == nil || g.Left == nil:
			t.Errorf("%s: not known", name)
		case *g.Came != c.came || *g.Left != c.left:
			t.Errorf("%s: %d came and %d left", name, *g.Came, *g.Left)
		}
	}
}
