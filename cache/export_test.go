package cache

import (
	"context"
	"strings"

	"github.com/keywright/keywright"
)

// Renew is a refresh in the foreground by who has seen so much of the TTL.
func (i Item[V]) Renew(ctx context.Context, load Loader[V], seen int64) bool {
	return i.renew(ctx, load, seen)
}

// Mutate replaces a piece of a script in caches that are made until restore is
// called; ok is false if it is not there exactly once.
func Mutate(file, old, new string) (restore func(), ok bool) {
	text := map[string]string{"claim.lua": claimText, "fill.lua": fillText, "lease.lua": leaseText, "remember.lua": rememberText, "tag_drop.lua": tagDropText}
	if strings.Count(text[file], old) != 1 {
		return nil, false
	}
	text[file] = strings.Replace(text[file], old, new, 1)
	was := standard
	standard.claim = keywright.NewScript("mutant", text["remember.lua"]+text["claim.lua"])
	standard.fill = keywright.NewScript("mutant", text["remember.lua"]+text["fill.lua"])
	standard.lease = keywright.NewScript("mutant", text["lease.lua"])
	standard.tagDrop = keywright.NewScript("mutant", text["tag_drop.lua"])
	return func() { standard = was }, true
}
