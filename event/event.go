// Package event announces what happens, on the channels that a declaration
// names, with typed messages.
//
// A Topic is a channel of pub/sub: at most once. A listener that is not connected at that moment misses the message;
// Gap and Dropped report what may have been missed. A Stream is a durable channel: at least once. Messages are kept,
// consumer groups acknowledge them, those of a dead consumer are claimed by others, and what fails too often becomes
// a dead letter. An Exchange is requests and answers over channels.
//
// Every message travels in an envelope with the server's time. It is no queue of
// jobs with priorities and delays (package queue), and no log of record: a
// channel without durable keeps nothing at all.
//
// API: may change until 1.0.
package event

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Message describes what was received on a channel.
type Message[M any] struct {
	Channel string
	Time    time.Time // of the server, to the millisecond; zero without an envelope
	Data    M
}

// Config describes how the messages of a channel travel.
type Config struct {
	Plain   bool // the data is the whole message: no envelope
	Sharded bool // SPUBLISH and SSUBSCRIBE; Redis 7.0
}

// Topic represents one channel of pub/sub. It is a value: make as many as there are
// channels.
type Topic[M any] struct {
	client *keywright.Client
	entry  *keywright.Entry
	codec  *value.Codec[M]
	config Config
	name   string
	err    error
}

// New makes a Topic. It is for generated code: the key of b is the channel's name.
func New[M any](b keywright.Binding, codec *value.Codec[M], config Config) Topic[M] {
	return Topic[M]{b.Client, b.Entry, codec, config, b.Key, b.Invalid("")}
}

// Channel returns the channel's name.
func (t Topic[M]) Channel() string { return t.name }

// In a cluster one node carries all messages of a channel, so they stay in order.
var publishScript = kernel.NewKeylessScript("event publish", parts.Later("publish"))

// Publish announces m: one round trip. It is sent once; an error of class
// UnknownOutcome says that it may have arrived.
func (t Topic[M]) Publish(ctx context.Context, m M) error {
	_, err := t.LaterPublish(m).Do(ctx)
	return err
}

// LaterPublish queues Publish in a Batch or a transaction. Its result is
// how many have received it; in a cluster only those of one node are counted.
func (t Topic[M]) LaterPublish(m M) keywright.Op[int64] {
	if err := t.usable(); err != nil {
		return t.publish("", err, "")
	}
	data, err := bound(t.client, t.entry, t.codec, t.name).Encode(m)
	return t.publish(data, err, "")
}

// usable returns why nothing can be done with the topic.
func (t Topic[M]) usable() error {
	if t.err == nil && (t.client == nil || t.entry == nil || t.codec == nil) {
		return errUnmade
	}
	return t.err
}

// bound returns the codec of the messages of a channel: what of them is sealed is
// bound to its name.
func bound[M any](c *keywright.Client, e *keywright.Entry, codec *value.Codec[M], name string) *value.Codec[M] {
	if !codec.Sealed() {
		return codec
	}
	return codec.Bind("",
		func(field, text string) (string, error) { return c.Seal(e, name, field, text) },
		func(field, text string) (string, error) { return c.Unseal(e, name, field, text) })
}

// publish adds members to the envelope: the database, since a channel is shared by
// all of them, and what more there is, as the id of a request.
func (t Topic[M]) publish(data string, err error, more string) keywright.Op[int64] {
	if unusable := t.usable(); unusable != nil {
		err = unusable
	}
	if err != nil {
		err = invalid(err)
	}
	s := kernel.Spec[int64]{
		Action: kernel.Action{Client: t.client, Name: "publish", Entry: t.entry, Effect: keywright.Writes, Err: err},
		Decode: func(r kernel.Reply) (int64, error) { return r.AsInt64() },
	}
	switch {
	case t.config.Plain && t.config.Sharded:
		s.Build = func(b kernel.Builder) kernel.Command {
			return b.Spublish().Channel(t.name).Message(data).Build()
		}
	case t.config.Plain:
		s.Build = func(b kernel.Builder) kernel.Command {
			return b.Arbitrary("PUBLISH").Keys(t.name).Args(data).Build() // as a key: to one node
		}
	default:
		if db := t.database(); db >= 0 {
			more = `,"db":` + strconv.Itoa(db) + more
		}
		s.Script, s.Args = publishScript, []string{t.name, data, more}
		if t.config.Sharded {
			s.Keys = []string{t.name} // it finds the node of the slot
		}
	}
	return kernel.NewOp(s)
}

// database returns that of the client, -1 if it is not known.
func (t Topic[M]) database() int {
	if t.client == nil {
		return -1
	}
	return t.client.Database()
}

// errElsewhere reports a message of another database of the server.
var errElsewhere = errors.New("the message is of another database")

// invalid returns an error of what was given; one of sealing is that already.
func invalid(err error) error {
	if _, ok := keywright.ClassOf(err); ok {
		return err
	}
	return &keywright.Error{Class: keywright.Invalid, Err: err}
}

// envelope represents a message as it travels. The last three are of an Exchange.
type envelope struct {
	Form      json.RawMessage `json:"form"` // none: 1
	DB        *int            `json:"db"`   // none: any
	Timestamp int64           `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
	ID        string          `json:"id"`
	ReplyTo   string          `json:"replyTo"`
	Error     *string         `json:"error"`
}

// open takes a message out of its envelope.
func (t Topic[M]) open(channel, text string) (m Message[M], env envelope, err error) {
	m.Channel = channel
	if t.config.Plain {
		env.Data = json.RawMessage(text)
	} else if err = json.Unmarshal([]byte(text), &env); err == nil && env.Timestamp > 0 {
		m.Time = time.UnixMilli(env.Timestamp)
	}
	if db := t.database(); err == nil && env.DB != nil && db >= 0 && *env.DB != db {
		return m, env, errElsewhere
	}
	if is := strings.Trim(string(env.Form), `"`); err == nil && is != "" && is != form {
		return m, env, &NewerForm{t.entry.Name, is}
	}
	if err == nil && env.Error == nil {
		m.Data, err = bound(t.client, t.entry, t.codec, channel).Parse(string(env.Data))
	}
	if _, sealed := keywright.ClassOf(err); err != nil && !sealed {
		err = &keywright.DecodeError{Entry: t.entry.Name, Key: channel, Err: value.Bad("is no message as declared")}
	}
	return m, env, err
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

//go:embed *.lua
var files embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(files)
