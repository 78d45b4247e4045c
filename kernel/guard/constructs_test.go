package guard_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/limit"
	"github.com/keywright/keywright/queue"
)

// TestConstructsMayDoTheirOwn: what a construct sends itself, beside its scripts, is not refused, and of what is refused
// the caller's place is said, and that nothing was sent.
func TestConstructsMayDoTheirOwn(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	ks := declared.Keyspace(t, `keywright: 1
owner: o
vars: {id: int 1..}
keys:
  jobs: {key: jobs, type: queue, ttl: none}
  tries: {key: "tries:{id}", type: ratelimit, rate: 3 per 1m, ttl: 1h}
`)
	g, err := guard.New(ks, guard.Options{})
	expect.NoError(t, err)
	c := servertest.Open(t, s.URL(), keywright.Options{Wrap: g.Wrap})

	tries := limit.New(keywright.Binding{Client: c, Entry: bind.Entry(ks, ks.Entries[1].Keys[0])}, limit.Sliding(3, time.Minute))
	_, err = tries.Of("tries:1", nil).Allow(t.Context())
	expect.NoError(t, err)
	expect.NoError(t, tries.Of("tries:1", nil).Reset(t.Context()))
	_, err = tries.Of("trie:1", nil).Allow(t.Context())
	class, _ := keywright.ClassOf(err)
	if v, ok := errors.AsType[*guard.Violation](err); !ok || class != keywright.Invalid ||
		!strings.Contains(v.Caller, "constructs_test.go:") {
		t.Errorf("%s: %v", class, err)
	}

	jobs := bind.Queue(c, ks, ks.Entries[0], nil)
	ctx, stop := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	worker.Go(func() {
		err := jobs.Worker(func(context.Context, *queue.Job[string]) error { stop(); return nil },
			queue.WorkerOptions{}).Run(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	_, err = jobs.Enqueue(t.Context(), queue.Task[string]{Payload: "x"})
	expect.NoError(t, err)
	worker.Wait()
	if n := s.Do("EXISTS", "{jobs}:state"); n != int64(0) {
		t.Errorf("the state that a worker leaves: %v", s.Do("HGETALL", "{jobs}:state"))
	}
}
