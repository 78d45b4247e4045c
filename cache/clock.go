package cache

import (
	"sync"
	"sync/atomic"
	"time"
)

// clock represents the time in steps: reading it costs a fraction of asking the system,
// which would be half of a hit in a tier. It is still, without a timer, while
// none reads it.
type clock struct {
	began time.Time
	step  time.Duration
	now   atomic.Int64 // ns since it began, at most a step after; 0: it is still
	used  atomic.Bool  // since the last step
	mu    sync.Mutex
}

func newClock(step time.Duration) *clock { return &clock{began: time.Now(), step: step} }

// exact returns the time, in ns since the clock began.
func (c *clock) exact() int64 { return int64(time.Since(c.began)) + 1 }

// read returns the time at most a step ago.
func (c *clock) read() int64 {
	now := c.now.Load()
	if now == 0 {
		return c.wind()
	}
	if !c.used.Load() {
		c.used.Store(true)
	}
	return now
}

func (c *clock) wind() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.exact()
	if c.now.Swap(now) == 0 {
		c.used.Store(true)
		time.AfterFunc(c.step, c.tick)
	}
	return now
}

func (c *clock) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used.Swap(false) {
		c.now.Store(0)
		return
	}
	c.now.Store(c.exact())
	time.AfterFunc(c.step, c.tick)
}
