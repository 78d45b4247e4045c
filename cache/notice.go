package cache

import (
	"context"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
)

// Every call for a value is one hit, one miss, one stale value or an error; every
// run of a loader is one load, also that of a refresh in the background.

// notice tells hooks what happened, if there are any.
func (c *Cache[V]) notice(ctx context.Context, kind notice.Kind, took time.Duration, err error) {
	if c.heeded {
		c.client.Notice(ctx, keywright.Notice{Kind: kind, Entry: c.entry.Name, Elapsed: took, Err: err})
	}
}

// got tells how a read ended that loads nothing.
func (c *Cache[V]) got(ctx context.Context, err error) {
	if !c.heeded {
		return
	}
	switch err {
	case nil:
		c.notice(ctx, notice.CacheHit, 0, nil)
	case keywright.ErrNotFound:
		c.notice(ctx, notice.CacheMiss, 0, nil)
	}
}

// read tells how a read ended whose value may be an old one.
func (c *Cache[V]) read(ctx context.Context, r reading[V]) {
	if c.heeded && r.err == nil && (r.due || r.old != nil) {
		c.notice(ctx, notice.CacheStale, 0, r.old)
		return
	}
	c.got(ctx, r.err)
}

// ran tells that a loader has run. That there is nothing is no error.
func (c *Cache[V]) ran(ctx context.Context, took time.Duration, err error) {
	if err == keywright.ErrNotFound {
		err = nil
	}
	c.notice(ctx, notice.CacheLoad, took, err)
}
