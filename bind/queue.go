package bind

import (
	"errors"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// Queue returns the queue of an entry with these values. Its payloads are texts. What cannot be
// built fails when it is used.
func Queue(c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry, v Values) queue.Queue[string] {
	var k queue.Keys
	var o queue.Options
	err := fill(parts.Of(e), v, &k, &o)
	job := e.Key("job").Pattern
	k.Default = parts.DefaultLane(e)
	k.ID = func(id string) error {
		if _, ok := job.Match([]byte(k.Job.Of(id))); !ok {
			return errors.New("is no id of " + e.Name)
		}
		return nil
	}
	codec := value.Text(0)
	return queue.New(keywright.Binding{Client: c, Entry: Entry(ks, e.Keys[0]), Err: err}, k, &codec, &o)
}
