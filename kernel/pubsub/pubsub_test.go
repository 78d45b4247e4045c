package pubsub_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/pubsub"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

var errClosed = errors.New("closed")

// dial connects as the kernel does: the client library retries nothing.
func dial(t *testing.T, s *keywrighttest.Server) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableRetry: true,
		ForceSingleClient: true})
	expect.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// hooks counts the channels that were taken away.
func hooks(refused *atomic.Int64) *pubsub.Hooks {
	return &pubsub.Hooks{
		Delay:   func(int) time.Duration { return 5 * time.Millisecond },
		Denies:  func(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOPERM") },
		Refused: func(context.Context, error) { refused.Add(1) },
		Closed:  errClosed,
	}
}

// TestTopics: what is published comes to the listeners of its channel, of a pattern that matches and of a sharded
// channel, each on its own topic, until they stop.
func TestTopics(t *testing.T) {
	servertest.Brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		e := pubsub.New(dial(t, s), hooks(new(atomic.Int64)), false)
		defer e.Close()
		shards := pubsub.NewShards(dial(t, s), hooks(new(atomic.Int64)))
		defer shards.Close()
		var channel, pattern, shard atomic.Int64
		count := func(n *atomic.Int64) *pubsub.Listener { return &pubsub.Listener{Message: func(string) { n.Add(1) }} }
		stop, err := e.Add(t.Context(), pubsub.Topic{Way: pubsub.OfChannel, Name: "news"}, count(&channel))
		expect.NoError(t, err)
		expect.NoError(t, expect.Err(e.Add(t.Context(), pubsub.Topic{Way: pubsub.OfPattern, Name: "n*"}, count(&pattern))))
		expect.NoError(t, expect.Err(shards.Of(7).Add(t.Context(), pubsub.Topic{Way: pubsub.OfShard, Name: "news"},
			count(&shard))))
		s.Do("PUBLISH", "news", "1")
		s.Do("SPUBLISH", "news", "2")
		expect.Eventually(t, "each has heard one message", func() bool {
			return channel.Load() == 1 && pattern.Load() == 1 && shard.Load() == 1
		})
		stop()
		expect.Eventually(t, "the channel is unsubscribed", func() bool {
			return len(s.Do("PUBSUB", "CHANNELS", "news").([]any)) == 0
		})
		s.Do("PUBLISH", "news", "3")
		expect.Eventually(t, "the pattern is heard still", func() bool { return pattern.Load() == 2 })
		if n := channel.Load(); n != 1 {
			t.Errorf("after its end a listener heard %d messages", n)
		}
	})
}

// TestGap: a connection that breaks is made again, and its listeners are notified that messages may be missed.
func TestGap(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	e := pubsub.New(dial(t, s), hooks(new(atomic.Int64)), false)
	defer e.Close()
	var gaps, heard atomic.Int64
	_, err := e.Add(t.Context(), pubsub.Topic{Name: "news"}, &pubsub.Listener{Gap: func() { gaps.Add(1) },
		Message: func(string) { heard.Add(1) }})
	expect.NoError(t, err)
	if n := gaps.Load(); n != 0 {
		t.Errorf("the first subscription tells of %d gaps", n)
	}
	s.Do("CLIENT", "KILL", "TYPE", "pubsub")
	expect.Eventually(t, "the gap is told", func() bool { return gaps.Load() == 1 })
	s.Do("PUBLISH", "news", "1")
	expect.Eventually(t, "it hears again", func() bool { return heard.Load() == 1 })
}

// TestDenied: a channel that the login may not subscribe to fails alone. One that is taken away is reported once.
func TestDenied(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("ACL", "SETUSER", "default", "resetchannels", "&open:*")
	var refused, lost atomic.Int64
	e := pubsub.New(dial(t, s), hooks(&refused), false)
	defer e.Close()
	listener := &pubsub.Listener{Message: func(string) {}, Lost: func(error) { lost.Add(1) }}
	expect.NoError(t, expect.Err(e.Add(t.Context(), pubsub.Topic{Name: "open:a"}, listener)))
	_, err := e.Add(t.Context(), pubsub.Topic{Name: "closed"}, listener)
	if denied := (*pubsub.Denied)(nil); !errors.As(err, &denied) || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("a closed channel: %v", err)
	}
	expect.NoError(t, expect.Err(e.Add(t.Context(), pubsub.Topic{Name: "open:b"}, listener)))
	if refused.Load() != 0 || lost.Load() != 0 {
		t.Error("a channel that was never heard counts as lost")
	}
	s.Do("ACL", "SETUSER", "default", "resetchannels", "&open:b")
	expect.Eventually(t, "the loss is told", func() bool { return refused.Load() == 1 && lost.Load() == 1 })
}

// TestClosed: an engine that is closed takes no subscription, and its end ends those that wait for an answer.
func TestClosed(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	raw := dial(t, s)
	shards := pubsub.NewShards(raw, hooks(new(atomic.Int64)))
	before := shards.Of(1)
	expect.NoError(t, expect.Err(before.Add(t.Context(), pubsub.Topic{Way: pubsub.OfShard, Name: "a"},
		&pubsub.Listener{Message: func(string) {}})))
	shards.Close()
	for name, e := range map[string]*pubsub.Engine{"one that was there": before, "a later one": shards.Of(2)} {
		_, err := e.Add(t.Context(), pubsub.Topic{Way: pubsub.OfShard, Name: "b"}, &pubsub.Listener{})
		if !errors.Is(err, errClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e := pubsub.New(raw, hooks(new(atomic.Int64)), false)
	defer e.Close()
	if _, err := e.Add(ended, pubsub.Topic{Name: "a"}, &pubsub.Listener{Message: func(string) {}}); err != nil &&
		!errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has left: %v", err)
	}
}

// TestAClosedEngineSaysSo: a subscription to a client that is closed tells that, also where the caller's context has
// ended with the client.
func TestAClosedEngineSaysSo(t *testing.T) {
	t.Parallel()
	raw := dial(t, keywrighttest.Start(t, keywrighttest.Valkey))
	add := func(ctx context.Context, e *pubsub.Engine) error {
		return expect.Err(e.Add(ctx, pubsub.Topic{Way: pubsub.OfChannel, Name: "news"}, &pubsub.Listener{Message: func(string) {}}))
	}
	closed, open := pubsub.New(raw, hooks(new(atomic.Int64)), false), pubsub.New(raw, hooks(new(atomic.Int64)), false)
	closed.Close()
	defer open.Close()
	ended, end := context.WithCancelCause(t.Context())
	end(nil)
	withClient, end := context.WithCancelCause(t.Context())
	end(errClosed)
	for range 100 { // of two reasons that hold at once, the one that is reported is always the same
		for what, err := range map[string]error{"closed": add(t.Context(), closed), "closed, ended": add(ended, closed),
			"ended with the client": add(withClient, open)} {
			if !errors.Is(err, errClosed) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	silent, c := keywrighttest.Start(t, keywrighttest.Valkey), new(atomic.Int64)
	waiting := pubsub.New(dial(t, silent), hooks(c), false)
	silent.Stop()
	defer silent.Continue()
	if err := add(ended, waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has given up: %v", err)
	}
}
