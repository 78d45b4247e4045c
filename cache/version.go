package cache

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/typed"
	"github.com/redis/rueidis"
)

//go:embed bump.lua
var bumpText string

var bumpScript = keywright.NewScript("cache bump", bumpText)

// Version is a number that is part of keys, so that all of them can be left behind
// at once without being listed. Give its key no TTL, or one that is no shorter
// than that of the values: a version that expired begins at 0 again.
type Version struct {
	client *keywright.Client
	key    typed.Key
	maxAge time.Duration
}

// NewVersion is the version under a key, as a declared counter has it.
func NewVersion(c *keywright.Client, k typed.Key) Version { return Version{c, k, 5 * time.Second} }

// Current is the number now, 0 before the first Bump. It is a tracked read: no
// round trip as a rule, and late by milliseconds, at most 5 s without a word.
func (v Version) Current(ctx context.Context) (int64, error) {
	a := v.action("version", keywright.Reads)
	raw, key := v.client.Raw(), v.key.Name()
	n, err := keywright.Run(ctx, &a, func(ctx context.Context) rueidis.RedisResult {
		return raw.DoCache(ctx, raw.B().Get().Key(key).Cache(), v.maxAge)
	}, number)
	if err == keywright.ErrNotFound {
		return 0, nil
	}
	return n, err
}

// Bump makes a new number, above all before it, and gives it: what is cached under
// the old ones is not found any more, and expires. One round trip.
func (v Version) Bump(ctx context.Context) (int64, error) { return v.LaterBump().Do(ctx) }

// LaterBump is Bump to be queued.
func (v Version) LaterBump() keywright.Op[int64] {
	a := v.action("bump", keywright.Idempotent) // twice leaves behind no less than once
	ms, _, err := v.key.Entry().Choose(nil)
	if a.Err == nil {
		a.Err = err
	}
	return keywright.NewOp(keywright.Spec[int64]{Action: a, Script: bumpScript, Keys: []string{v.key.Name()}, Args: []string{strconv.FormatInt(ms, 10)}, Decode: rueidis.RedisResult.AsInt64})
}

func (v Version) action(name string, effect keywright.Effect) keywright.Action {
	return keywright.Action{Client: v.client, Name: name, Entry: v.key.Entry(), Effect: effect, Err: v.key.Err(), Key: v.key.Name()}
}

func number(r rueidis.RedisResult) (int64, error) {
	n, err := r.AsInt64()
	return n, missing(err)
}
