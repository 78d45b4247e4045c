package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestEachWaiting: each job that waits in a lane or for its time is named once, however many
// there are, until that is enough.
func TestEachWaiting(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	want := map[string]bool{}
	var tasks []queue.Task[string]
	for i := range 2500 {
		task := queue.Task[string]{ID: fmt.Sprint("job-", i)}
		if i%2 == 1 {
			task.In = time.Hour
		}
		want[task.ID] = true
		tasks = append(tasks, task)
	}
	_, err := q.EnqueueAll(t.Context(), tasks)
	must(t, err)
	must(t, q.EachWaiting(t.Context(), func(id string) bool {
		if !want[id] {
			t.Errorf("%s came twice, or is no job", id)
		}
		delete(want, id)
		return true
	}))
	if len(want) > 0 {
		t.Errorf("%d are not named", len(want))
	}
	n := 0
	must(t, q.EachWaiting(t.Context(), func(string) bool { n++; return n < 7 }))
	if n != 7 {
		t.Errorf("it went on to %d", n)
	}
}
