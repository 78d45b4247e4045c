package event

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// StreamConfig is what the declaration says of a durable channel.
type StreamConfig struct {
	MaxLen int64         // messages kept at least; trimmed approximately when one is published; 0: no bound
	Age    time.Duration // kept so long, and the key with them; 0: for ever
	Retry  int           // deliveries before a message is a dead letter; 0: 5
	Plain  bool          // the entry has the data alone, without the time
}

// StreamKeys are the keys of a durable channel, in one cluster slot.
type StreamKeys struct {
	Main string // the channel's name
	Dead string // dead letters
}

// Stream is one durable channel. Delivery is at least once: a message comes
// again when its consumer died before it was acknowledged, or the
// acknowledgement was lost. It is a value.
type Stream[M any] struct {
	client *keywright.Client
	entry  *keywright.Entry
	codec  *value.Codec[M]
	config StreamConfig
	keys   StreamKeys
	err    error
}

// NewStream makes a Stream. It is for generated code; see New.
func NewStream[M any](c *keywright.Client, e *keywright.Entry, codec *value.Codec[M], config StreamConfig, keys StreamKeys, err error) Stream[M] {
	config.Retry = cmp.Or(config.Retry, 5)
	return Stream[M]{c, e, codec, config, keys, err}
}

// Stored is a message of a stream. Its Time is that of its publication.
type Stored[M any] struct {
	Message[M]
	ID         string
	Deliveries int64 // this one counted; 0 where it was read without a group
}

// DeadLetter is a message that was given up.
type DeadLetter[M any] struct {
	Stored[M]        // ID is that of the dead letter, Deliveries how often it was tried
	Original  string // the ID it had
	Group     string
	Reason    string // the handler's error
}

//go:embed append.lua
var appendText string

//go:embed group.lua
var groupText string

//go:embed claim.lua
var claimText string

//go:embed pulse.lua
var pulseText string

//go:embed settle.lua
var settleText string

//go:embed leave.lua
var leaveText string

// The scripts are variables so that a test can take a guard out.
var (
	appendScript = keywright.NewScript("event append", appendText)
	groupScript  = keywright.NewScript("event group", groupText)
	claimScript  = keywright.NewScript("event claim", claimText)
	pulseScript  = keywright.NewScript("event pulse", pulseText)
	settleScript = keywright.NewScript("event settle", settleText)
	leaveScript  = keywright.NewScript("event leave", leaveText)
)

// deadLetters are kept at least.
const deadLetters = 10_000

// script is an operation on the stream by a script.
func script[T any](op string, client *keywright.Client, e *keywright.Entry, effect keywright.Effect, s *keywright.Script, err error, keys, args []string, decode func(rueidis.RedisResult) (T, error)) keywright.Op[T] {
	if err != nil {
		err = invalid(err)
	}
	return keywright.NewOp(keywright.Spec[T]{
		Action: keywright.Action{Client: client, Name: op, Entry: e, Effect: effect, Err: err, Key: keys[0]},
		Script: s, Keys: keys, Args: args, Decode: decode,
	})
}

func number(r rueidis.RedisResult) (int64, error) { return r.AsInt64() }

func list(r rueidis.RedisResult) ([]rueidis.RedisMessage, error) { return r.ToArray() }

// Publish appends m and trims by the policy, in one step: one round trip. The
// result is its id. It is sent once: after an error of class UnknownOutcome it
// may be there, and publishing again may store it twice.
func (s Stream[M]) Publish(ctx context.Context, m M) (id string, err error) {
	return s.LaterPublish(m).Do(ctx)
}

// LaterPublish is Publish to be queued in a Batch or a transaction.
func (s Stream[M]) LaterPublish(m M) keywright.Op[string] {
	data, err := bound(s.client, s.entry, s.codec, s.keys.Main).Encode(m)
	plain := "0"
	if s.config.Plain {
		plain = "1"
	}
	args := []string{data, strconv.FormatInt(s.config.MaxLen, 10), ms(s.config.Age), plain}
	return script("publish", s.client, s.entry, keywright.Writes, appendScript, cmp.Or(s.err, err), []string{s.keys.Main}, args, func(r rueidis.RedisResult) (string, error) { return r.ToString() })
}

// Position is a place in a stream.
type Position string

// The ends of a stream.
const (
	Begin Position = "-"
	End   Position = "+"
)

// At is the place of the first message published at t or later.
func At(t time.Time) Position { return Position(strconv.FormatInt(t.UnixMilli(), 10)) }

// Behind is the place behind a message.
func Behind(id string) Position { return Position("(" + id) }

// Read gives messages between two places, at most limit, oldest first, whether
// acknowledged or not: one round trip, O(limit). One that is not as declared ends
// it with a *keywright.DecodeError beside those before it.
func (s Stream[M]) Read(ctx context.Context, from, to Position, limit int) ([]Stored[M], error) {
	entries, err := s.entries(ctx, s.keys.Main, from, to, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Stored[M], 0, len(entries))
	for _, e := range entries {
		m, err := s.stored(e.ID, e.FieldValues)
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (s Stream[M]) entries(ctx context.Context, key string, from, to Position, limit int) ([]rueidis.XRangeEntry, error) {
	err := s.err
	if err == nil && limit < 1 {
		err = errors.New("the limit is below 1")
	}
	if err != nil {
		err = &keywright.Error{Class: keywright.Invalid, Err: err}
	}
	return keywright.NewOp(keywright.Spec[[]rueidis.XRangeEntry]{
		Action: keywright.Action{Client: s.client, Name: "read", Entry: s.entry, Err: err, Key: key},
		Build: func(b rueidis.Builder) rueidis.Completed {
			return b.Xrange().Key(key).Start(string(from)).End(string(to)).Count(int64(limit)).Build()
		},
		Decode: func(r rueidis.RedisResult) ([]rueidis.XRangeEntry, error) { return r.AsXRange() },
	}).Do(ctx)
}

// All gives all messages from a place on, a hundred per round trip, until there
// are no more. An error beside a zero message ends it.
func (s Stream[M]) All(ctx context.Context, from Position) iter.Seq2[Stored[M], error] {
	return func(yield func(Stored[M], error) bool) {
		for {
			page, err := s.Read(ctx, from, End, 100)
			for _, m := range page {
				from = Behind(m.ID)
				if !yield(m, nil) {
					return
				}
			}
			if err != nil {
				yield(Stored[M]{}, err)
			}
			if err != nil || len(page) < 100 {
				return
			}
		}
	}
}

func (s Stream[M]) stored(id string, fields map[string]string) (Stored[M], error) {
	m := Stored[M]{ID: id}
	m.Channel = s.keys.Main
	before, _, _ := strings.Cut(id, "-")
	at, err := strconv.ParseInt(cmp.Or(fields["timestamp"], before), 10, 64)
	if err == nil {
		m.Time = time.UnixMilli(at)
		m.Data, err = bound(s.client, s.entry, s.codec, s.keys.Main).Parse(fields["data"])
	}
	if _, sealed := keywright.ClassOf(err); sealed {
		return m, err
	} else if err != nil {
		return m, &keywright.DecodeError{Entry: s.entry.Name, Key: s.keys.Main, Field: "data", Err: value.Bad("of message " + id + " is not as declared")}
	}
	return m, nil
}

// Dead gives dead letters, oldest first, as Read does.
func (s Stream[M]) Dead(ctx context.Context, from Position, limit int) ([]DeadLetter[M], error) {
	entries, err := s.entries(ctx, s.keys.Dead, from, End, limit)
	if err != nil {
		return nil, err
	}
	out := make([]DeadLetter[M], 0, len(entries))
	for _, e := range entries {
		m, _ := s.stored(e.ID, e.FieldValues) // that it does not decode may be why it is here
		d := DeadLetter[M]{Stored: m, Original: e.FieldValues["id"], Group: e.FieldValues["group"], Reason: e.FieldValues["reason"]}
		d.Deliveries, _ = strconv.ParseInt(e.FieldValues["deliveries"], 10, 64)
		out = append(out, d)
	}
	return out, nil
}
