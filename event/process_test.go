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
	"github.com/keywright/keywright/slot"
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
		_ = raw.Do(ctx, raw.B().Ping().Build()).Error() // so that a kill finds some in hand
		return raw.Do(ctx, raw.B().Sadd().Key("handled").Member(fmt.Sprint(m.Data.N)).Build()).Error()
	}, event.RunOptions[note]{Lease: 300 * time.Millisecond, Concurrency: 4, Batch: 20})
	os.Exit(0)
}

// Consumers are killed with messages in hand; none is lost.
func TestKilledConsumers(t *testing.T) {
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand)+" two databases", func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			var both sync.WaitGroup
			for _, url := range []string{s.URL(), s.URL() + "/1"} {
				both.Go(func() { killed(t, url, url, 600, 6) })
			}
			both.Wait()
		})
		t.Run(string(brand)+" slow replies", func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: 10 * time.Millisecond})
			killed(t, s.URL(), "redis://"+proxy.Addr(), 200, 4)
		})
		t.Run(string(brand)+" a slot that moves", func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 2, 0)
			owner := int(slot.Of([]byte("journal"))) * 2 / 16384
			over := make(chan struct{})
			var moves sync.WaitGroup
			moves.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-over:
						return
					case <-time.After(100 * time.Millisecond):
						cluster.MoveSlotOf("journal", (owner+n)%2, (owner+n+1)%2)
					}
				}
			})
			killed(t, cluster.URL(), cluster.URL(), 300, 4)
			close(over)
			moves.Wait()
		})
	}
}

// killed lets consumers work through messages, and kills them one after the other.
func killed(t *testing.T, url, theirs string, messages int64, kills int) {
	c := open(t, url)
	stream := journal(c, event.StreamConfig{})
	var publisher sync.WaitGroup
	defer publisher.Wait()
	publisher.Go(func() {
		for i := range messages {
			for {
				_, err := stream.Publish(t.Context(), note{N: int(i)})
				if err == nil || t.Context().Err() != nil {
					break
				}
				if class, _ := keywright.ClassOf(err); class != keywright.NotApplied {
					t.Error(err)
				}
			}
		}
	})
	handled := func() int64 {
		n, err := c.Raw().Do(t.Context(), c.Raw().B().Scard().Key("handled").Build()).AsInt64()
		if err != nil {
			return -1
		}
		return n
	}
	worker := func() *exec.Cmd {
		w := exec.Command(os.Args[0])
		w.Env = append(os.Environ(), "EVENT_WORKER="+theirs)
		must(t, w.Start())
		return w
	}
	for range kills {
		before := handled()
		w := worker()
		eventually(t, "it works", func() bool { return handled() > before || before == messages })
		must(t, w.Process.Kill())
		_ = w.Wait()
	}
	w := worker()
	defer func() { _ = w.Process.Kill(); _ = w.Wait() }()
	eventually(t, "all are handled", func() bool { return handled() == messages })
	eventually(t, "and acknowledged", func() bool {
		stats, err := stream.Stats(t.Context())
		return err == nil && stats.Groups[0].Pending == 0 && stats.Groups[0].Lag == 0 && stats.Dead == 0
	})
	if n, err := c.Raw().Do(t.Context(), c.Raw().B().Exists().Key("again").Build()).AsInt64(); err != nil || n == 0 {
		t.Error("no kill hit a consumer with messages in hand: the test shows nothing")
	}
}
