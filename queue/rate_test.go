package queue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestRates: the workers of two processes together never exceed a rate over any second
// by more than its burst, by the clock of the server, which is the fence of a job that
// has not run before. They reach 98 % of it, unless the machine itself is late.
func TestRates(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{20, 100, 1000} {
		for _, burst := range []int{1, 10} {
			t.Run(fmt.Sprint(rate, " burst ", burst), func(t *testing.T) {
				t.Parallel()
				var reached float64
				var late time.Duration
				for range 3 {
					fences, noise := paced(t, rate, burst)
					if n := fullest(fences); n > rate+burst {
						t.Fatalf("%d jobs began within a second", n)
					}
					last, first := fences[len(fences)-1], fences[burst-1] // the burst is there at once
					reached, late = float64(len(fences)-burst)*1e6/float64(last-first)/float64(rate), noise
					if t.Logf("%.3f of the rate is reached; a ticker was late by %v", reached, late); reached >= 0.98 {
						return
					}
				}
				if late < 5*time.Millisecond || reached < 0.2 {
					t.Errorf("%.3f of the rate is reached; a ticker was late by %v", reached, late)
				}
			})
		}
	}
}

// paced gives when jobs for two seconds began, in µs of the server, and by how much a
// ticker of 5 ms was late meanwhile.
func paced(t *testing.T, rate, burst int) (fences []int64, late time.Duration) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	o := queue.Options{Rate: rate, Per: time.Second, Burst: burst}
	jobs := 2*rate + burst
	_, err := queue.Open(open(t, s.URL()), "mail", value.Text(0), o).EnqueueAll(t.Context(),
		make([]queue.Task[string], jobs))
	must(t, err)
	var mu sync.Mutex
	over := make(chan struct{})
	for range 2 {
		defer started(t, queue.Open(open(t, s.URL()), "mail", value.Text(0), o).Worker(func(_ context.Context,
			j *queue.Job[string]) error {
			mu.Lock()
			defer mu.Unlock()
			if fences = append(fences, j.Fence); len(fences) == jobs {
				close(over)
			}
			return nil
		}, queue.WorkerOptions{Concurrency: 5}))()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for before := time.Now(); ; {
		select {
		case <-over:
			slices.Sort(fences)
			return fences, late
		case <-tick.C:
			now := time.Now()
			late, before = max(late, now.Sub(before)-5*time.Millisecond), now
		case <-time.After(time.Minute):
			t.Fatalf("%d jobs are not done in a minute", jobs)
		}
	}
}

// fullest returns the most of some times in µs that are within a second.
func fullest(times []int64) (most int) {
	from := 0
	for to := range times {
		for times[to]-times[from] >= 1_000_000 {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}
