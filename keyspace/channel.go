package keyspace

import (
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
)

// Channel describes what is announced: a pattern and the message on it. It is a
// channel of pub/sub, or with Durable a stream, whose key is the channel's name.
type Channel struct {
	Name    string
	Doc     string
	Pattern *pattern.Pattern
	Message []Field // inside the envelope; nil: nothing is said about it
	Owner   string
	Readers []string
	Derived bool

	Namespace *Namespace // nil: its name is fixed

	Plain   bool      // envelope: plain: the fields are the whole JSON message
	Sharded bool      // SPUBLISH and SSUBSCRIBE, Redis 7.0
	Durable *Durable  // nil: pub/sub, at most once
	Request bool      // a message is a request, and answered on ReplyTo
	Reply   []Field   // of a request: the fields of the answer
	ReplyTo *Channel  // of a request: also in Keyspace.Channels
	Answers *Channel  // the request that is answered here; nil for other channels
	Retired []Retired // fields that its messages or answers had
	Caller  string    // of a reply channel: the placeholder for who asks; "": all callers listen to one channel

	Pos Pos
	At  map[string]Pos // position of each property's value by name
}

// Durable describes what a durable channel keeps. Its keys are those of Entry, which is
// in Keyspace.Entries like any other: Keys[0] is the stream, named like the
// channel, and Dead its dead letters, in the same cluster slot.
type Durable struct {
	Entry  *Entry
	MaxLen int64         // entries kept at least, trimmed approximately; 0: as many as there are
	Age    time.Duration // entries older than that are trimmed, and the key lives so long after the last one; 0: for ever
	Groups []string      // consumer groups
	Retry  int           // deliveries before a message is a dead letter; 0: not written

	Timeout time.Duration // how long a handler may work on a message in one go; 0: without end

	Dead *Key
}

// Key returns the stream of a durable channel, nil for the others.
func (c *Channel) Key() *Key {
	if c.Durable == nil || c.Durable.Entry == nil || len(c.Durable.Entry.Keys) == 0 {
		return nil
	}
	return c.Durable.Entry.Keys[0]
}

// Seals reports whether a field of its messages or answers is encrypted.
func (c *Channel) Seals() bool {
	return slices.ContainsFunc(slices.Concat(c.Message, c.Reply), func(f Field) bool { return f.Type.Encrypted })
}

// Form says how messages travel: publisher and subscriber must agree on it.
func (c *Channel) Form() string {
	form := "pub/sub"
	switch {
	case c.Durable != nil:
		form = "a stream"
	case c.Sharded:
		form = "sharded pub/sub"
	}
	if c.Plain {
		form += ", without an envelope"
	}
	if c.Request {
		form += ", as requests"
	}
	return form
}

// PubSub returns the channels that are no streams.
func (ks *Keyspace) PubSub() []*Channel {
	return slices.DeleteFunc(slices.Clone(ks.Channels), func(c *Channel) bool { return c.Durable != nil })
}

// Channel finds a channel by its name, nil if there is none.
func (ks *Keyspace) Channel(name string) *Channel {
	for _, c := range ks.Channels {
		if c.Name == name {
			return c
		}
	}
	return nil
}
