package queue_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// TestEachWaitingWhileJobsMove: no job that waits all the time is passed over, also where others
// are cancelled, or come from those that wait for their time into a lane, while it reads.
func TestEachWaitingWhileJobsMove(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL())
	q := queue.Open(c, "mail", value.Text(0), queue.Options{})
	server := c.Raw()
	do := func(words ...string) []string { // a number is no list
		t.Helper()
		reply, err := server.Do(t.Context(), server.B().Arbitrary(words...).Build()).ToMessage()
		must(t, err)
		out, _ := reply.AsStrSlice()
		return out
	}
	var lane, delayed string
	var tasks []queue.Task[string]
	stays := map[string]bool{}
	for i := range 6000 {
		task := queue.Task[string]{ID: fmt.Sprint("job-", i)}
		if i%2 == 1 {
			task.In = time.Hour
		}
		stays[task.ID] = true
		tasks = append(tasks, task)
	}
	for some := range slices.Chunk(tasks, 1000) {
		_, err := q.EnqueueAll(t.Context(), some)
		must(t, err)
	}
	for _, key := range do("KEYS", "*") {
		switch kind, _ := server.Do(t.Context(), server.B().Type().Key(key).Build()).ToString(); kind {
		case "list":
			lane = key
		case "zset":
			delayed = key
		}
	}
	named := map[string]bool{}
	of := map[string]int{} // how many were named of a kind
	must(t, q.EachWaiting(t.Context(), func(id string) bool {
		named[id] = true
		n, err := strconv.Atoi(strings.TrimPrefix(id, "job-"))
		must(t, err)
		key := []string{lane, delayed}[n%2]
		if of[key]++; of[key]%700 == 0 { // those that were named last are cancelled
			ids := do("LRANGE", lane, "-300", "-1")
			if key == delayed {
				ids = do("ZRANGE", delayed, "-300", "-1")
			}
			for _, id := range ids {
				delete(stays, id)
				_, err := q.Cancel(t.Context(), id)
				must(t, err)
			}
		}
		if len(named) == 700 { // the first that wait for their time are due
			ids := do("ZRANGE", delayed, "0", "499")
			do(append([]string{"ZREM", delayed}, ids...)...)
			do(append([]string{"RPUSH", lane}, ids...)...)
		}
		return true
	}))
	for id := range stays {
		if !named[id] {
			t.Errorf("%s was passed over", id)
			return
		}
	}
}

// TestPagesOverlap: what is taken out of a list where it was read moves nothing out of sight.
func TestPagesOverlap(t *testing.T) {
	all := make([]string, 5000)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	stays := slices.Clone(all)
	named := map[string]bool{}
	more, err := queue.FromEnd(func(from, to int64) ([]string, error) {
		n := int64(len(stays))
		return slices.Clone(stays[min(from, n):min(to+1, n)]), nil
	}, func(id string) bool {
		if named[id] = true; len(named)%900 == 0 && len(stays) > 2000 {
			stays = stays[800:] // from the end that was read
		}
		return true
	})
	if err != nil || !more || len(named) != len(all) {
		t.Errorf("%d were named, %v", len(named), err)
	}
}
