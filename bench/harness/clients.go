package harness

import (
	"context"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/live"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// Clients represents one client of each library that is compared, connected to one server: with no retries, and with a
// pool of go-redis for 128 goroutines.
type Clients struct {
	Client  *keywright.Client
	Raw     rueidis.Client
	GoRedis *redis.Client
}

// Connect starts a server and connects to it, until the parts have run; timeout 0 is what the libraries have by
// default.
func (p *Program) Connect(ctx context.Context, server string, timeout time.Duration) (s *live.Server, c Clients,
	err error) {
	if s, err = p.Start(ctx, server); err != nil {
		return s, c, err
	}
	c.Raw, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableRetry: true,
		ConnWriteTimeout: timeout})
	if err != nil {
		return s, c, err
	}
	p.Cleanup(c.Raw.Close)
	if c.Client, err = keywright.Open(ctx, s.URL(), keywright.Options{Timeout: timeout}); err != nil {
		return s, c, err
	}
	p.Cleanup(c.Client.Close)
	c.GoRedis = redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: 128, MaxRetries: -1})
	p.Cleanup(func() { c.GoRedis.Close() })
	return s, c, nil
}
