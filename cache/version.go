package cache

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
)

var bumpScript = keywright.NewScript("cache bump", parts.Later("bump"))

// Version represents a number that is part of keys, so that all of them can be given up
// at once without being listed. Its key needs no TTL. A key that was lost or has
// expired gets a new number, above all that it had by the server's clock, so that
// what was cached under an old one is never found again.
type Version struct {
	client *keywright.Client
	key    typed.Key
	maxAge time.Duration
}

// NewVersion returns the version under a key, as a declared counter has it.
func NewVersion(c *keywright.Client, k typed.Key) Version { return Version{c, k, 5 * time.Second} }

// Current returns the number now; the first call makes it. It is a tracked read: no
// round trip as a rule, and late by milliseconds, at most 5 s without a word. Of a
// key that is not there it is two round trips.
func (v Version) Current(ctx context.Context) (int64, error) {
	a := v.action("version", keywright.Reads)
	raw, key := v.client.Raw(), v.key.Name()
	n, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return kernel.DoCache(ctx, raw, tracking(key), v.maxAge)
	}, readInteger)
	if err == keywright.ErrNotFound {
		return v.bump("version", "now").Do(ctx)
	}
	return n, err
}

// Bump makes a new number, above all before it, and gives it: what is cached under
// the old ones is not found any more, and expires. One round trip.
func (v Version) Bump(ctx context.Context) (int64, error) { return v.LaterBump().Do(ctx) }

// LaterBump queues Bump.
func (v Version) LaterBump() keywright.Op[int64] { return v.bump("bump", "next") }

// bump: sent twice it gives up no less than once.
func (v Version) bump(name, which string) keywright.Op[int64] {
	a := v.action(name, keywright.Idempotent)
	ms, _, err := v.key.Entry().Choose(nil)
	if a.Err == nil {
		a.Err = err
	}
	return kernel.NewOp(kernel.Spec[int64]{Action: a, Script: bumpScript, Keys: []string{v.key.Name()},
		Args: []string{strconv.FormatInt(ms, 10), which}, Decode: readInteger})
}

func (v Version) action(name string, effect keywright.Effect) kernel.Action {
	return kernel.Action{Client: v.client, Name: name, Entry: v.key.Entry(), Effect: effect, Err: v.key.Err(),
		Key: v.key.Name()}
}

// readInteger reads a version: a text of digits.
func readInteger(r kernel.Reply) (int64, error) {
	text, err := r.ToString()
	if err != nil {
		return 0, formed(missing(err))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &keywright.DecodeError{Err: ErrForm}
	}
	return n, nil
}
