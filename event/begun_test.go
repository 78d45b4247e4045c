package event_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// poisoned is this program as a consumer that dies of message 0.
func poisoned(c *keywright.Client) {
	_ = journal(c, event.StreamConfig{}).Run(context.Background(), "g",
		func(ctx context.Context, m event.Stored[note]) error {
			raw := c.Raw()
			if m.Data.N == 0 {
				_ = raw.Do(ctx, raw.B().Incr().Key("deaths").Build()).Error()
				os.Exit(7)
			}
			return raw.Do(ctx, raw.B().Sadd().Key("handled").Member(fmt.Sprint(m.Data.N)).Build()).Error()
		}, event.RunOptions[note]{Lease: 300 * time.Millisecond})
}

// A message that kills its consumers becomes a dead letter after so many deaths
// as it may have deliveries, and none of those that were in hand with it does.
func TestPoisonCostsOnlyItself(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			stream := journal(open(t, s.URL()), event.StreamConfig{})
			publish(t, stream, 0, 50)
			for range 5 {
				w := exec.Command(os.Args[0])
				w.Env = append(os.Environ(), "EVENT_WORKER="+s.URL(), "EVENT_POISON=1")
				if err := w.Run(); w.ProcessState.ExitCode() != 7 {
					t.Fatalf("the consumer did not die of it: %v", err)
				}
			}
			var got log
			started(t, stream, "g", event.RunOptions[note]{Lease: 300 * time.Millisecond},
				func(_ context.Context, m event.Stored[note]) error {
					if got.add(m); m.Data.N == 0 || m.Deliveries != 1 {
						t.Errorf("message %d comes as delivery %d", m.Data.N, m.Deliveries)
					}
					return nil
				})
			eventually(t, "all others are handled", func() bool { return len(got.numbers()) == 49 })
			eventually(t, "nothing is pending", func() bool {
				stats, err := stream.Stats(t.Context())
				return err == nil && stats.Groups[0].Pending == 0
			})
			dead, err := stream.Dead(t.Context(), event.Begin, 100)
			must(t, err)
			if len(dead) != 1 || dead[0].Data.N != 0 || dead[0].Deliveries != 5 || dead[0].Reason != event.ErrAbandoned.Error() {
				t.Errorf("dead letters: %+v", dead)
			}
			if deaths := s.Do("GET", "deaths"); deaths != "5" {
				t.Errorf("%v consumers died", deaths)
			}
		})
	}
}

// Deploys during a long handler count nothing: neither the message that they cut
// off, nor those that wait for it.
func TestDeploysMakeNoDeadLetters(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), event.StreamConfig{Retry: 1})
	publish(t, s, 0, 30)
	for range 4 {
		began := make(chan struct{}, 100)
		stop := started(t, s, "g", event.RunOptions[note]{Grace: time.Millisecond, Lease: time.Second},
			func(ctx context.Context, m event.Stored[note]) error {
				began <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			})
		<-began
		stop()
	}
	var got log
	started(t, s, "g", event.RunOptions[note]{Lease: time.Second}, func(_ context.Context, m event.Stored[note]) error {
		if got.add(m); m.Deliveries != 1 {
			t.Errorf("message %d comes as delivery %d", m.Data.N, m.Deliveries)
		}
		return nil
	})
	eventually(t, "all are handled", func() bool { return len(got.numbers()) == 30 })
	if !slices.IsSorted(got.numbers()) {
		t.Errorf("out of order: %v", got.numbers())
	}
	if stats, err := s.Stats(t.Context()); err != nil || stats.Dead != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// hasty returns a client that gives a call up soon.
func hasty(t *testing.T, url string) *keywright.Client {
	t.Helper()
	return servertest.Open(t, url, keywright.Options{Attempts: 1, Timeout: 300 * time.Millisecond})
}

// While the server is away and a retry waits, no later message of the key passes.
func TestOrderWhileTheServerIsAway(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			server := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{})
			publish(t, journal(open(t, server.URL()), event.StreamConfig{}), 0, 6)
			mine := journal(hasty(t, "redis://"+proxy.Addr()), event.StreamConfig{})
			var got log
			var failures atomic.Int64
			started(t, mine, "g", event.RunOptions[note]{
				Lease: time.Minute, Backoff: time.Millisecond, Key: func(note) string { return "one" }, Concurrency: 3,
				OnError: func(error) { failures.Add(1) },
			}, func(_ context.Context, m event.Stored[note]) error {
				if got.add(m) == 1 {
					proxy.Freeze()
					return errors.New("once")
				}
				return nil
			})
			eventually(t, "calls fail", func() bool { return failures.Load() >= 6 })
			proxy.Thaw()
			eventually(t, "all are handled", func() bool { return len(got.numbers()) == 7 })
			if numbers := got.numbers(); !slices.Equal(numbers, []int{0, 0, 1, 2, 3, 4, 5}) {
				t.Errorf("they came as %v", numbers)
			}
		})
	}
}

// A reply with messages that is lost does not let later ones pass them.
func TestOrderWhenAReplyIsLost(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			server := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{})
			theirs := journal(open(t, server.URL()), event.StreamConfig{})
			mine := journal(open(t, "redis://"+proxy.Addr()), event.StreamConfig{})
			var got log
			started(t, mine, "g", event.RunOptions[note]{},
				func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
			for n := 0; n < 40; n += 10 {
				proxy.LoseReplyTo("XREADGROUP")
				publish(t, theirs, n, n+10)
				eventually(t, "a reply is lost", proxy.Lost)
				eventually(t, "all are handled", func() bool { return len(got.numbers()) >= n+10 })
			}
			if numbers := got.numbers(); len(numbers) != 40 || !slices.IsSorted(numbers) {
				t.Errorf("they came as %v", numbers)
			}
		})
	}
}

// A consumer that is run again under its name begins with what was pending for
// that name, without waiting for a lease, and in order.
func TestSameNameGoesOn(t *testing.T) {
	server := keywrighttest.Start(t, keywrighttest.Redis)
	s := journal(open(t, server.URL()), event.StreamConfig{})
	publish(t, s, 0, 20)
	server.Do("XGROUP", "CREATE", "journal", "g", "0")
	server.Do("XREADGROUP", "GROUP", "g", "me", "COUNT", "8", "STREAMS", "journal", ">")
	var got log
	started(t, s, "g", event.RunOptions[note]{Name: "me", Lease: time.Hour},
		func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
	eventually(t, "all are handled", func() bool { return len(got.numbers()) == 20 })
	if !slices.IsSorted(got.numbers()) {
		t.Errorf("out of order: %v", got.numbers())
	}
}

// A handler that lives keeps its message while replies take a third of the lease. A
// machine that is too busy for a short lease is slow enough for a longer one; what
// is wrong by its design robs at every scale.
func TestSlowRepliesRobNobody(t *testing.T) {
	gate.Skip(t, "measures how long a lease is kept")
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			var wrong error
			for lease := 900 * time.Millisecond; lease < 8*time.Second; lease *= 2 {
				if wrong = robbed(t, brand, lease); wrong == nil {
					return
				}
				t.Logf("with a lease of %v: %v", lease, wrong)
			}
			t.Error(wrong)
		})
	}
}

// robbed lets a message be handled until twelve signs of life have arrived, while
// another consumer looks for one to claim.
func robbed(t *testing.T, brand keywrighttest.Brand, lease time.Duration) error {
	server := keywrighttest.Start(t, brand)
	proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{Delay: lease / 2})
	c, err := keywright.Open(t.Context(), "redis://"+proxy.Addr(), keywright.Options{Timeout: 10 * lease, Connections: -1})
	must(t, err)
	defer c.Close()
	mine, theirs := journal(c, event.StreamConfig{}), journal(open(t, server.URL()), event.StreamConfig{})
	publish(t, theirs, 0, 1)
	var others atomic.Int64
	began, done := make(chan struct{}, 10), make(chan error, 10)
	stop := started(t, mine, "g", event.RunOptions[note]{Lease: lease, Name: "slow"},
		func(ctx context.Context, m event.Stored[note]) error {
			began <- struct{}{}
			idle, signs := int64(0), 0
			eventually(t, "signs of life arrive", func() bool {
				before := idle
				row := server.Do("XPENDING", "journal", "g", "-", "+", "1").([]any)
				if len(row) == 0 {
					return true
				}
				if idle = row[0].([]any)[2].(int64); idle < before {
					signs++
				}
				return signs == 12 || ctx.Err() != nil
			})
			done <- context.Cause(ctx)
			return ctx.Err()
		})
	defer stop()
	<-began
	defer started(t, theirs, "g", event.RunOptions[note]{Lease: lease},
		func(context.Context, event.Stored[note]) error { others.Add(1); return nil })()
	if err := <-done; err != nil {
		return fmt.Errorf("its context ended: %w", err)
	}
	if others.Load() != 0 {
		return errors.New("another consumer had it, too")
	}
	return nil
}

// Under full memory a message that is to be a dead letter waits, and those after
// it, until there is room.
func TestFullMemory(t *testing.T) {
	server := keywrighttest.Start(t, keywrighttest.Redis)
	s := journal(open(t, server.URL()), event.StreamConfig{})
	publish(t, s, 0, 3)
	server.Do("XGROUP", "CREATE", "journal", "g", "0")
	server.Do("CONFIG", "SET", "maxmemory", "1")
	var got log
	var refused atomic.Bool
	started(t, s, "g", event.RunOptions[note]{OnError: func(err error) {
		if strings.Contains(err.Error(), "OOM") {
			refused.Store(true)
		}
	}}, func(_ context.Context, m event.Stored[note]) error {
		if got.add(m); m.Data.N == 0 {
			return event.Discard(errors.New("no"))
		}
		return nil
	})
	eventually(t, "the dead letter is refused", refused.Load)
	if numbers := got.numbers(); !slices.Equal(numbers, []int{0}) {
		t.Errorf("%v passed it", numbers)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	eventually(t, "all is done", func() bool {
		stats, err := s.Stats(t.Context())
		return err == nil && stats.Dead == 1 && stats.Groups[0].Pending == 0 && len(got.numbers()) == 3
	})
}
