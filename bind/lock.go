package bind

import (
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/lock"
)

// Lock returns the lock of an entry with these values. What cannot be built fails when it is
// used.
func Lock(c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry, v Values) lock.Lock {
	var k lock.Keys
	var o lock.Options
	err := fill(parts.Of(e), v, &k, &o)
	return lock.New(keywright.Binding{Client: c, Entry: Entry(ks, e.Keys[0]), Err: err}, k, &o)
}
