package queue_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestRates: a rate is reached, about, and never exceeded, by the workers of two
// processes together. bench/cmd/queuebench measures how well it is reached.
func TestRates(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{20, 100, 1000} {
		for _, burst := range []int{1, 10} {
			t.Run(fmt.Sprint(rate, " burst ", burst), func(t *testing.T) {
				t.Parallel()
				s := keywrighttest.Start(t, keywrighttest.Redis)
				o := queue.Options{Rate: rate, Per: time.Second, Burst: burst}
				jobs := 2*rate + burst
				q := queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
				_, err := q.EnqueueAll(t.Context(), make([]queue.Task[string], jobs))
				must(t, err)
				var ran atomic.Int64
				over := make(chan time.Duration, 1)
				began := time.Now()
				for range 2 {
					started(t, queue.Open(open(t, s.URL()), "mail", value.Text(0), o).Worker(func(context.Context,
						*queue.Job[string]) error {
						if ran.Add(1) == int64(jobs) {
							over <- time.Since(began)
						}
						return nil
					}, queue.WorkerOptions{Concurrency: 5}))
				}
				if took := <-over; took < 2*time.Second || took > 8*time.Second {
					t.Errorf("%d jobs in %v: two seconds are the least", jobs, took)
				} else {
					t.Logf("%d jobs in %v", jobs, took)
				}
			})
		}
	}
}
