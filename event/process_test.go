package event_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
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
		key := fmt.Sprint("order:", m.Data.N%5)
		if err := raw.Do(ctx, raw.B().Rpush().Key(key).Element(fmt.Sprint(m.Data.N)).Build()).Error(); err != nil {
			return err
		}
		return raw.Do(ctx, raw.B().Sadd().Key("handled").Member(fmt.Sprint(m.Data.N)).Build()).Error()
	}, event.RunOptions[note]{Lease: 300 * time.Millisecond, Concurrency: 4, Batch: 20, Name: os.Getenv("EVENT_NAME"),
		Backoff: time.Millisecond, Key: func(n note) string { return fmt.Sprint(n.N % 5) }})
	os.Exit(0)
}

// Consumers are killed with messages in hand; none is lost.
func TestKilledConsumers(t *testing.T) {
	gate.Skip(t, "kills consumers in ten worlds")
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand)+" two databases", func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			var both sync.WaitGroup
			for _, url := range []string{s.URL(), s.URL() + "/1"} {
				both.Go(func() { killed(t, url, url, 600, 6, dimension{}) })
			}
			both.Wait()
		})
		t.Run(string(brand)+" slow replies", func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: 10 * time.Millisecond})
			killed(t, s.URL(), "redis://"+proxy.Addr(), 200, 4, dimension{})
		})
		t.Run(string(brand)+" one name, and no memory now and then", func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			killed(t, s.URL(), s.URL(), 600, 6, dimension{name: "one", full: s})
		})
		t.Run(string(brand)+" a backlog of a dead consumer", func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			backlog := gate.Count(t, "KEYWRIGHT_SOAK", 2_000, 2_000)
			fill(t, s, backlog, backlog, "dead")
			killed(t, s.URL(), s.URL(), 200, 4, dimension{backlog: int64(backlog)})
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
			killed(t, cluster.URL(), cluster.URL(), 300, 4, dimension{})
			close(over)
			moves.Wait()
		})
	}
}

// dimension describes what makes kills harder.
type dimension struct {
	name    string                // of all consumers, so that each goes on with what the last one had in hand
	full    *keywrighttest.Server // its memory is full at every second kill
	backlog int64                 // messages from 1 that a dead consumer has read
}

// kill kills a process; where memory is to be full it is until the next one is refused.
func (d dimension) kill(t *testing.T, n int, w *exec.Cmd, next func() *exec.Cmd) *exec.Cmd {
	t.Helper()
	full := d.full != nil && n%2 == 1
	if full {
		d.full.Do("CONFIG", "SET", "maxmemory", "1")
	}
	must(t, w.Process.Kill())
	_ = w.Wait()
	if !full {
		return next()
	}
	d.full.Do("CONFIG", "RESETSTAT")
	w = next()
	eventually(t, "it is refused", func() bool {
		return strings.Contains(fmt.Sprint(d.full.Do("INFO", "errorstats")), "errorstat_OOM")
	})
	d.full.Do("CONFIG", "SET", "maxmemory", "0")
	return w
}

// ordered fails for messages of a key of which a later one was begun before an earlier
// one; those that were begun again do not count.
func ordered(t *testing.T, c *keywright.Client) {
	t.Helper()
	for key := range 5 {
		begun, err := c.Raw().Do(t.Context(), c.Raw().B().Lrange().Key(fmt.Sprint("order:", key)).Start(0).Stop(-1).Build()).
			AsIntSlice()
		must(t, err)
		last := int64(-1)
		seen := map[int64]bool{}
		for _, n := range begun {
			if seen[n] {
				continue
			}
			if seen[n] = true; n < last {
				t.Errorf("key %d: %d began after %d", key, n, last)
			}
			last = n
		}
	}
}

// killed lets consumers work through messages, and kills them one after the other.
func killed(t *testing.T, url, theirs string, messages int64, kills int, d dimension) {
	c := open(t, url)
	stream := journal(c, event.StreamConfig{})
	var publisher sync.WaitGroup
	defer publisher.Wait()
	publisher.Go(func() {
		for i := d.backlog; i < d.backlog+messages; i++ {
			for {
				_, err := stream.Publish(t.Context(), note{N: int(i) + 1})
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
		w.Env = append(os.Environ(), "EVENT_WORKER="+theirs, "EVENT_NAME="+d.name)
		must(t, w.Start())
		return w
	}
	w := worker()
	defer func() { _ = w.Process.Kill(); _ = w.Wait() }()
	for n := range kills {
		before := handled()
		eventually(t, "it works", func() bool { return handled() > before || before == d.backlog+messages })
		w = d.kill(t, n, w, worker)
	}
	for before := handled(); before < d.backlog+messages; before = handled() {
		eventually(t, "more are handled", func() bool { return handled() > before })
	}
	eventually(t, "and acknowledged", func() bool {
		stats, err := stream.Stats(t.Context())
		return err == nil && stats.Groups[0].Pending == 0 && stats.Groups[0].Lag == 0 && stats.Dead == 0
	})
	if d.name != "" {
		ordered(t, c)
	}
	if n, err := c.Raw().Do(t.Context(), c.Raw().B().Exists().Key("again").Build()).AsInt64(); err != nil || n == 0 {
		t.Error("no kill hit a consumer with messages in hand: the test shows nothing")
	}
}
