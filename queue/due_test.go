package queue_test

import (
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestAnswersThatOvertake: an answer that was on its way before a delayed job was there,
// and comes after the one that tells of it, does not postpone the job.
func TestAnswersThatOvertake(t *testing.T) {
	q := queue.Open(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), "mail", value.Text(0), queue.Options{})
	const soon, later = time.Hour, 10 * time.Hour
	for name, c := range map[string]struct {
		answers []queue.Answer
		want    time.Duration
	}{
		"in order":           {[]queue.Answer{{1, 1, later}, {2, 2, soon}}, soon},
		"overtaken":          {[]queue.Answer{{2, 2, soon}, {1, 2, later}}, soon},
		"both under way":     {[]queue.Answer{{1, 2, soon}, {2, 2, later}}, soon},
		"sent after that":    {[]queue.Answer{{1, 1, soon}, {2, 2, later}}, later},
		"an earlier one yet": {[]queue.Answer{{2, 2, later}, {1, 2, soon}}, soon},
	} {
		if got := queue.Expected(q, c.answers...); got > c.want || got < c.want-time.Minute {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}
