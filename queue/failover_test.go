package queue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestFailover: the primary dies, by sentinels and in a cluster of 3+3; every job
// that the replicas had is done, and the worker goes on by itself.
func TestFailover(t *testing.T) {
	t.Parallel()
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartSentinel(t, keywrighttest.Redis, 2, 3)
		failover(t, s.URL(), func() {
			s.Primary.Copied(s.Replicas...)
			s.Primary.Kill()
		})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 1)
		failover(t, c.URL(), func() {
			for i := range 3 { // whichever server has the queue's slot
				c.Failover(3 + i)
			}
		})
	})
}

func failover(t *testing.T, url string, harm func()) {
	q := queue.Open(open(t, url), "mail", value.Text(0), queue.Options{Lease: 2 * time.Second})
	var mu sync.Mutex
	done := map[string]bool{}
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		done[j.ID] = true
		return nil
	}, queue.WorkerOptions{Concurrency: 4}))
	put := func(round string) (ids []string) {
		for i := range 50 {
			id := fmt.Sprint(round, "-", i)
			eventually(t, "enqueued", func() bool {
				_, err := q.Enqueue(t.Context(), queue.Task[string]{ID: id})
				return err == nil
			})
			ids = append(ids, id)
		}
		return ids
	}
	all := put("before")
	harm()
	all = append(all, put("after")...)
	eventually(t, "all are done", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range all {
			if !done[id] {
				return false
			}
		}
		return true
	})
}
