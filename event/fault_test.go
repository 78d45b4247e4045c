package event_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// A reply that is lost, of each kind, loses no message.
func TestLostReplies(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			server := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{})
			theirs := journal(open(t, server.URL()), event.StreamConfig{Retry: 1000})
			mine := journal(open(t, "redis://"+proxy.Addr()), event.StreamConfig{Retry: 1000})
			var mu sync.Mutex
			seen := map[int]bool{}
			var failed bool
			started(t, mine, "g", event.RunOptions[note]{Lease: 300 * time.Millisecond, Backoff: time.Millisecond},
				func(_ context.Context, m event.Stored[note]) error {
					mu.Lock()
					defer mu.Unlock()
					if failed = !failed; failed {
						return errors.New("every other time")
					}
					seen[m.Data.N] = true
					return nil
				})
			n := 0
			for _, word := range []string{"XREADGROUP", "XACK", "EVALSHA", "EVALSHA"} {
				proxy.LoseReplyTo(word)
				publish(t, theirs, n, n+10)
				n += 10
				eventually(t, "a reply to "+word+" is lost", proxy.Lost)
				eventually(t, "all are handled", func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) == n })
			}
			eventually(t, "nothing is pending", func() bool {
				stats, err := theirs.Stats(t.Context())
				return err == nil && stats.Groups[0].Pending+stats.Groups[0].Lag+stats.Dead == 0
			})
		})
	}
}

// A stream that is gone, with its groups, begins again, and nothing of the new one
// is missed.
func TestStreamIsGone(t *testing.T) {
	server := keywrighttest.Start(t, keywrighttest.Redis)
	s := journal(open(t, server.URL()), event.StreamConfig{})
	var got log
	started(t, s, "g", event.RunOptions[note]{New: true},
		func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
	eventually(t, "it listens", func() bool {
		publish(t, s, 0, 1)
		return len(got.numbers()) > 0
	})
	server.Do("DEL", "journal")
	publish(t, s, 1, 50)
	eventually(t, "all of the new stream is handled", func() bool {
		numbers := got.numbers()
		return len(numbers) >= 50 && numbers[len(numbers)-1] == 49
	})
}

// When the node of a sharded channel and of a stream dies, its replica takes
// over: the gap is reported, and both go on.
func TestFailover(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 3, 1)
			owner := int(slot.Of([]byte("notes:a"))) * 3 / 16384
			c := open(t, cluster.URL())
			one := topic(c, event.Config{Sharded: true}, "a")
			s := event.NewStream(keywright.Binding{Client: c, Entry: &streamOf},
				event.StreamKeys{Main: "{notes:a}", Dead: "{notes:a}:dead"}, &notes, event.StreamConfig{Retry: 1000})
			var h received
			var got log
			_, err := one.Subscribe(t.Context(), event.Options{}, h.receive)
			must(t, err)
			started(t, s, "g", event.RunOptions[note]{Lease: time.Second},
				func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
			publish(t, s, 0, 1)
			must(t, one.Publish(t.Context(), note{}))
			eventually(t, "both are heard", func() bool { return len(h.messages()) == 1 && len(got.numbers()) == 1 })
			cluster.Nodes[owner].Kill()
			eventually(t, "the gap is told", func() bool { return len(h.reportedNotices()) > 0 })
			eventually(t, "the channel goes on", func() bool {
				return one.Publish(t.Context(), note{N: 1}) == nil && len(h.messages()) > 1
			})
			eventually(t, "the stream goes on", func() bool {
				_, err := s.Publish(t.Context(), note{N: 7})
				return err == nil && strings.Contains(fmt.Sprint(got.numbers()), "7")
			})
		})
	}
}

// A client that closes while Run waits writes nothing: it was asked to.
func TestClosingIsNotLogged(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var mu sync.Mutex
	var text bytes.Buffer
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{
		Logger: slog.New(slog.NewTextHandler(writing(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return text.Write(b)
		}), nil))})
	must(t, err)
	over := make(chan error)
	go func() {
		over <- journal(c, event.StreamConfig{}).Run(t.Context(), "g",
			func(context.Context, event.Stored[note]) error { return nil }, event.RunOptions[note]{})
	}()
	eventually(t, "it waits at the server", func() bool {
		return strings.Contains(fmt.Sprint(s.Do("CLIENT", "LIST")), "cmd=xreadgroup")
	})
	c.Close()
	if err := <-over; !errors.Is(err, keywright.ErrClosed) {
		t.Errorf("%v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if text.Len() > 0 {
		t.Errorf("the log:\n%s", text.String())
	}
}

// writing is a writer that calls a function.
type writing func([]byte) (int, error)

func (w writing) Write(b []byte) (int, error) { return w(b) }
