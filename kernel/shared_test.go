package kernel_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// TestOneQuestionOfManyFails: a key of a wrong type is an error for the caller that
// asked for it, and the others of the same call have their answers.
func TestOneQuestionOfManyFails(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	shared := kernel.NewShared(c, "add", `local out = {}
for i = 1, tonumber(ARGV[1]) do out[i] = redis.pcall('INCR', KEYS[i]) end
return out`)
	ask := func(ctx context.Context, key string) (int64, error) {
		return kernel.DoShared(ctx,
			&kernel.Action{Client: c, Name: "add", Entry: &countEntry, Effect: keywright.Idempotent, Key: key}, shared,
			[]string{key}, nil, func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() })
	}
	s.Do("SADD", "hits:bad", "x")
	var wg sync.WaitGroup
	var refused atomic.Int64
	for i := range 200 {
		wg.Go(func() {
			key := fmt.Sprint("hits:", i)
			if i%10 == 0 {
				key = "hits:bad"
			}
			n, err := ask(t.Context(), key)
			if key == "hits:bad" {
				class(t, err, keywright.Refused)
				refused.Add(1)
			} else if err != nil || n != 1 {
				t.Errorf("%s: %d %v", key, n, err)
			}
		})
	}
	wg.Wait()
	if refused.Load() != 20 {
		t.Errorf("%d of 20 were refused", refused.Load())
	}
}

// TestCallersThatLeaveASharedCall: of what waits for a server that is frozen nothing
// is kept, and nothing of it is sent later.
func TestCallersThatLeaveASharedCall(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL(), keywright.Options{})
	shared := kernel.NewShared(c, "add", `local out = {}
for i = 1, tonumber(ARGV[1]) do out[i] = redis.call('INCR', KEYS[i]) end
return out`)
	ask := func(ctx context.Context) error {
		_, err := kernel.DoShared(ctx,
			&kernel.Action{Client: c, Name: "add", Entry: &countEntry, Effect: keywright.Writes, Key: "hits:1"}, shared,
			[]string{"hits:1"}, nil, func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() })
		return err
	}
	must(t, ask(t.Context()))
	s.Stop()
	var wg sync.WaitGroup
	var asking, never, unknown atomic.Int64
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 3000 {
		wg.Go(func() {
			asking.Add(1)
			err := ask(ctx)
			switch class, _ := keywright.ClassOf(err); class {
			case keywright.NotApplied:
				never.Add(1)
			case keywright.UnknownOutcome:
				unknown.Add(1)
			}
		})
	}
	until(t, "3,000 callers ask", func() bool { return asking.Load() == 3000 })
	leave()
	within(t, "3,000 callers that leave", wg.Wait)
	s.Continue()
	must(t, ask(t.Context()))
	sum, err := strconv.ParseInt(fmt.Sprint(s.Do("GET", "hits:1")), 10, 64)
	if must(t, err); never.Load()+unknown.Load() != 3000 || never.Load() < 2800 || sum > 2+unknown.Load() {
		t.Errorf("%d were told that they were not sent, %d do not know; the sum is %d", never.Load(), unknown.Load(), sum)
	}
}
