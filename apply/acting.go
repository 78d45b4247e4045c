package apply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
)

// ActingKey is the key that says which process changes keys on a server. It has a TTL.
const ActingKey = "keywright:acting"

// actingFor is how long a killed process keeps others from acting.
const actingFor = 15 * time.Second

const (
	actText = `local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`
	freeText = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
return 1`
)

// ErrActing is returned where another process changes keys on the server.
var ErrActing = errors.New("another process changes keys on this server")

// Acting is the right to change keys on a server: one process has it at a time.
type Acting struct {
	client *keywright.Client
	token  string
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu    sync.Mutex
	until time.Time // by the local clock, from before the question
	lost  error
}

// Act takes the right to change keys, and keeps it until End. It is an error, which
// wraps ErrActing, if another process has it.
func Act(ctx context.Context, c *keywright.Client) (*Acting, error) {
	host, _ := os.Hostname()
	a := &Acting{client: c, token: fmt.Sprintf("%s %d %s", host, os.Getpid(), rand.Text())}
	if err := a.take(ctx); err != nil {
		return nil, err
	}
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.ended.Go(func() { a.keep(ctx) })
	return a, nil
}

func (a *Acting) take(ctx context.Context) error {
	asked := time.Now()
	raw := a.client.Raw()
	held, err := raw.Do(ctx, raw.B().Eval().Script(actText).Numkeys(1).Key(ActingKey).Arg(a.token, strconv.FormatInt(actingFor.Milliseconds(), 10)).Build()).ToString()
	if err != nil {
		return err
	}
	if held != a.token {
		owner, _, _ := strings.Cut(held, " ")
		return fmt.Errorf("%w (a process on %s)", ErrActing, owner)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = asked.Add(actingFor)
	return nil
}

// keep renews the right.
func (a *Acting) keep(ctx context.Context) {
	tick := time.NewTicker(actingFor / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		bounded, cancel := context.WithTimeout(ctx, actingFor/5)
		err := a.take(bounded)
		cancel()
		if errors.Is(err, ErrActing) {
			a.mu.Lock()
			a.lost = err
			a.mu.Unlock()
			return
		}
	}
}

// Still is an error if another process may act by now.
func (a *Acting) Still() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost == nil && time.Now().After(a.until.Add(-actingFor/10)) {
		return fmt.Errorf("%w: the server did not answer in time", ErrActing)
	}
	return a.lost
}

// End gives the right back. If that fails it ends by itself.
func (a *Acting) End() {
	a.stop()
	a.ended.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	raw := a.client.Raw()
	_ = raw.Do(ctx, raw.B().Eval().Script(freeText).Numkeys(1).Key(ActingKey).Arg(a.token).Build()).Error()
}
