package bind

import (
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/lock"
)

// Lock is the lock of an entry with these values. What cannot be built fails when it is
// used.
func Lock(c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry, v Values) lock.Lock {
	var k lock.Keys
	b := builder{e: e, v: v}
	b.roles(map[string]*string{"": &k.Main, "fence": &k.Fence, "waiters": &k.Waiters, "shared": &k.Shared})
	k.Channel = b.pattern(e.Notify.Pattern, v)
	return lock.New(c, Entry(ks, e.Keys[0]), k, b.err(), &lock.Options{})
}
