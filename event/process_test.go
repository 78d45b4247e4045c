package event_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/keywrighttest"
)

// worker is this program as a consumer in a process of its own: it writes down
// what it has handled and is killed by its parent.
func worker() {
	url := os.Getenv("EVENT_WORKER")
	if url == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it does not outlive its parent for long
	defer cancel()
	c, err := keywright.Open(ctx, url, keywright.Options{Attempts: 20})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("EVENT_POISON") != "" {
		poisoned(c)
	}
	_ = journal(c, event.StreamConfig{Retry: 1000}).Run(ctx, "g", func(ctx context.Context, m event.Stored[note]) error {
		raw := c.Raw()
		if m.Deliveries > 1 {
			_ = raw.Do(ctx, raw.B().Incr().Key("again").Build()).Error()
		}
		<-time.After(time.Millisecond) // so that a kill finds some in hand
		return raw.Do(ctx, raw.B().Sadd().Key("handled").Member(fmt.Sprint(m.Data.N)).Build()).Error()
	}, event.RunOptions[note]{Lease: 300 * time.Millisecond, Concurrency: 4, Batch: 20})
	os.Exit(0)
}

// Consumers are killed with messages in hand; none is lost.
func TestKilledConsumers(t *testing.T) {
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			c := open(t, s.URL())
			stream := journal(c, event.StreamConfig{})
			var wg sync.WaitGroup
			const messages, kills = 600, 8
			wg.Go(func() {
				for i := range messages {
					if _, err := stream.Publish(t.Context(), note{N: i}); err != nil {
						t.Error(err)
					}
				}
			})
			handled := func() int64 { return s.Do("SCARD", "handled").(int64) }
			for range kills {
				before := handled()
				w := exec.Command(os.Args[0])
				w.Env = append(os.Environ(), "EVENT_WORKER="+s.URL())
				must(t, w.Start())
				eventually(t, "it works", func() bool { return handled() > before || before == messages })
				must(t, w.Process.Kill())
				_ = w.Wait()
			}
			wg.Wait()
			w := exec.Command(os.Args[0])
			w.Env = append(os.Environ(), "EVENT_WORKER="+s.URL())
			must(t, w.Start())
			defer func() { _ = w.Process.Kill(); _ = w.Wait() }()
			eventually(t, "all are handled", func() bool { return handled() == messages })
			eventually(t, "and acknowledged", func() bool {
				stats, err := stream.Stats(t.Context())
				return err == nil && stats.Groups[0].Pending == 0 && stats.Groups[0].Lag == 0 && stats.Dead == 0
			})
			if s.Do("EXISTS", "again").(int64) == 0 {
				t.Error("no kill hit a consumer with messages in hand: the test shows nothing")
			}
		})
	}
}
