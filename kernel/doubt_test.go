package kernel_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// TestDoubt: what the last attempt says does not hide that an earlier one may have
// been applied, and nothing is sent for a caller who is gone.
func TestDoubt(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Attempts: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lost, unsent := rueidis.NewErrorResult(io.EOF),
		rueidis.NewErrorResult(&net.OpError{Op: "dial", Err: errors.New("refused")})
	run := func(ctx context.Context, effect keywright.Effect, replies ...rueidis.RedisResult) (class keywright.Class,
		sent int) {
		_, err := kernel.Run(ctx, &kernel.Action{Client: c, Name: "try", Effect: effect},
			func(context.Context) rueidis.RedisResult {
				sent++
				return replies[sent-1]
			}, func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() })
		class, _ = keywright.ClassOf(err)
		return class, sent
	}
	ended := rueidis.NewErrorResult(context.DeadlineExceeded)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		effect  keywright.Effect
		replies []rueidis.RedisResult
		class   keywright.Class
	}{
		{"the reply was lost, then there is no connection", t.Context(), keywright.Idempotent,
			[]rueidis.RedisResult{lost, unsent, unsent}, keywright.UnknownOutcome},
		{"never sent", t.Context(), keywright.Idempotent, []rueidis.RedisResult{unsent, unsent, unsent},
			keywright.NotApplied},
		{"a read", t.Context(), keywright.Reads, []rueidis.RedisResult{lost, unsent, unsent}, keywright.Retryable},
		{"a write is not repeated", t.Context(), keywright.Writes, []rueidis.RedisResult{unsent, lost},
			keywright.UnknownOutcome},
		{"somebody else's deadline, twice", t.Context(), keywright.Idempotent, []rueidis.RedisResult{ended, ended},
			keywright.UnknownOutcome},
		{"somebody else's deadline, in a write", t.Context(), keywright.Writes, []rueidis.RedisResult{ended},
			keywright.UnknownOutcome},
		{"the caller is gone", gone, keywright.Writes, nil, keywright.NotApplied},
	} {
		if class, sent := run(c.ctx, c.effect, c.replies...); class != c.class || sent != len(c.replies) {
			t.Errorf("%s: %v after %d attempts, want %v after %d", c.name, class, sent, c.class, len(c.replies))
		}
	}
}

// TestCloseEndsRepeating: what waits for its next attempt is not repeated when the
// client is closed.
func TestCloseEndsRepeating(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Attempts: 1000, Backoff: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	sent, ended := make(chan struct{}, 1000), make(chan error, 1)
	go func() {
		_, err := kernel.Run(context.Background(), &kernel.Action{Client: c, Name: "try"},
			func(context.Context) rueidis.RedisResult {
				sent <- struct{}{}
				return rueidis.NewErrorResult(io.EOF)
			}, func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() })
		ended <- err
	}()
	<-sent
	c.Close()
	if err := <-ended; err == nil || len(sent) > 1 {
		t.Errorf("%d attempts after it was closed, %v", len(sent), err)
	}
}
