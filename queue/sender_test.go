package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestAJobThatWasNotSent: a caller that leaves while the calls of others are under
// way is notified that nothing was applied, and its job never comes. So when the client
// closes.
func TestAJobThatWasNotSent(t *testing.T) {
	t.Parallel()
	for _, leaves := range []string{"its context ends", "the client closes"} {
		t.Run(leaves, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			client, begun := watched(t, s.URL())
			q := queue.Open(client, "mail", value.Text(0), queue.Options{})
			must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{Payload: "first"})))
			s.Stop()
			defer s.Continue()
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					_, err := q.Enqueue(context.Background(), queue.Task[string]{Payload: "under way"})
					class, _ := keywright.ClassOf(err)
					unsent := class == keywright.NotApplied && errors.Is(err, keywright.ErrClosed) // it waited for a connection
					if err != nil && class != keywright.UnknownOutcome && !unsent {
						t.Errorf("a call under way: %v", err)
					}
				})
			}
			eventually(t, "two calls are under way", func() bool { return begun("enqueue") == 3 })
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			why := context.DeadlineExceeded
			if leaves == "the client closes" {
				ctx, why = context.Background(), keywright.ErrClosed
				go client.Close()
			}
			_, err := q.Enqueue(ctx, queue.Task[string]{Payload: "never"})
			if class, _ := keywright.ClassOf(err); class != keywright.NotApplied || !errors.Is(err, why) {
				t.Errorf("a job that was not sent: %v", err)
			}
			s.Continue()
			wg.Wait()
			for _, id := range s.Do("LRANGE", "mail", "0", "-1").([]any) {
				if text, _ := s.Do("GET", "{mail}:job:"+id.(string)).(string); strings.HasSuffix(text, "never") {
					t.Error("it is there")
				}
			}
			if n := s.Do("LLEN", "mail"); leaves == "its context ends" && n != int64(3) {
				t.Errorf("%v jobs", n)
			}
		})
	}
}
