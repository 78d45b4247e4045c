package counter

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// Uniques counts different members in at most 12 KiB, to within about 0.81 %
// (the standard error of a HyperLogLog of 16384 registers).
type Uniques[M any] struct {
	typed.Removable
	client *keywright.Client
	codec  *value.Codec[M]
}

// NewUniques makes a handle.
func NewUniques[M any](b keywright.Binding, m *value.Codec[M]) Uniques[M] {
	return Uniques[M]{typed.Removable{Key: typed.NewKey(b)}, b.Client, m}
}

// MaxAdded says how many members one Add takes.
const MaxAdded = 1000

var mergeScript = keywright.NewScript("uniques merge", parts.Later("merge"))

// Add counts members, and reports whether the count may have changed. It is sent
// again when its reply was lost, and then may say that nothing has. One round
// trip.
func (u Uniques[M]) Add(ctx context.Context, members ...M) (changed bool, err error) {
	return u.LaterAdd(members).Do(ctx)
}

// LaterAdd queues Add.
func (u Uniques[M]) LaterAdd(members []M, options ...keywright.WriteOption) keywright.Op[bool] {
	var err error
	if len(members) > MaxAdded {
		err = fmt.Errorf("%d members; at most %d are counted at once", len(members), MaxAdded)
	}
	texts := make([]string, 0, len(members))
	for _, m := range members {
		text, bad := u.codec.Encode(m)
		err, texts = firstOf(err, bad), append(texts, text)
	}
	op := typed.NewWrite(u.Key, "count unique", keywright.Idempotent, kernel.Reply.AsBool, "PFADD", texts,
		options...)
	return typed.OrNothing(len(members), u.Key, op.Failing(invalid(u.Entry(), err)))
}

// Count is about how many different members there are, in these and in others
// together, each member once. One round trip. More than 64 keys, which would hold
// the server up, and keys in different slots of a cluster are read (12 KiB each, a
// round trip per server and 32 keys) and added up here, with the same result.
func (u Uniques[M]) Count(ctx context.Context, others ...Uniques[M]) (int64, error) {
	keys, err := u.names(others)
	action := kernel.Action{Client: u.client, Name: "count", Entry: u.Entry(), Effect: keywright.Reads, Key: u.Name(),
		Err: invalid(u.Entry(), err)}
	if err == nil && (len(keys) > mergedAtOnce || u.client.CrossSlot(keys...)) {
		return u.countHere(ctx, keys)
	}
	return kernel.NewOp(kernel.Spec[int64]{Action: action, Decode: kernel.Reply.AsInt64,
		Build: func(b kernel.Builder) kernel.Command { return b.Pfcount().Key(keys...).Build() },
	}).Do(ctx)
}

func (u Uniques[M]) countHere(ctx context.Context, keys []string) (int64, error) {
	var all registers
	for part := range slices.Chunk(keys, 32) {
		texts, err := getAll(ctx, u.client, u.Entry(), part,
			func(b kernel.Builder, key string) kernel.Command { return b.Get().Key(key).Build() })
		if err != nil {
			return 0, err
		}
		for i, text := range texts {
			if err := all.add(text); err != nil {
				return 0, &keywright.DecodeError{Entry: u.Entry().Name, Key: part[i], Err: err}
			}
		}
	}
	return all.count(), nil
}

// mergedAtOnce says how many HyperLogLogs the server adds up in one step: about 3 ms.
const mergedAtOnce = 64

// Merge counts what sources have counted into these as well, with the declared
// TTL in the same step, and gives the new count. In a cluster all keys must
// share a slot. It is sent again when its reply was lost. One round trip per 64
// sources; after an error a part may be counted, and a repetition counts the rest.
func (u Uniques[M]) Merge(ctx context.Context, sources ...Uniques[M]) (count int64, err error) {
	keys, err := u.names(sources)
	if err != nil {
		return 0, invalid(u.Entry(), err)
	}
	if len(sources) == 0 {
		return u.Count(ctx)
	}
	for part := range slices.Chunk(keys[1:], mergedAtOnce) {
		if count, err = u.merge(ctx, append([]string{u.Name()}, part...)); err != nil {
			return 0, err
		}
	}
	return count, nil
}

func (u Uniques[M]) merge(ctx context.Context, keys []string) (int64, error) {
	ms, asked, bad := u.Entry().Choose(nil)
	return kernel.NewOp(kernel.Spec[int64]{
		Action: kernel.Action{Client: u.client, Name: "merge", Entry: u.Entry(), Effect: keywright.Idempotent, Key: u.Name(),
			Err: invalid(u.Entry(), bad)},
		Script: mergeScript, Keys: keys, Args: []string{strconv.FormatInt(ms, 10), typed.Rule(u.Entry(), asked)},
		Decode: kernel.Reply.AsInt64,
	}).Do(ctx)
}

func (u Uniques[M]) names(others []Uniques[M]) ([]string, error) {
	keys, err := []string{u.Name()}, u.Err()
	for _, o := range others {
		keys, err = append(keys, o.Name()), firstOf(err, o.Err())
	}
	if len(keys) > MaxKeys {
		err = firstOf(err, fmt.Errorf("%d keys; at most %d are counted together", len(keys), MaxKeys))
	}
	return keys, err
}

// MaxKeys says how many keys are counted together at most.
const MaxKeys = 1000

// getAll reads a text of each key, in one pipeline; "" for one that is not
// there.
func getAll(ctx context.Context, c *keywright.Client, e *keywright.Entry, keys []string,
	build func(kernel.Builder, string) kernel.Command) ([]string, error) {
	var b keywright.Batch
	pending, ops := make([]*keywright.Pending[string], len(keys)), make([]keywright.Op[string], len(keys))
	for i, key := range keys {
		ops[i] = kernel.NewOp(kernel.Spec[string]{
			Action: kernel.Action{Client: c, Name: "read", Entry: e, Effect: keywright.Reads, Key: key},
			Build:  func(b kernel.Builder) kernel.Command { return build(b, key) }, Decode: text,
		})
		pending[i] = keywright.Queue(&b, ops[i])
	}
	_ = b.Run(ctx) // each says itself how it went
	out := make([]string, len(keys))
	for i, p := range pending {
		t, err := p.Result()
		if class, failed := keywright.ClassOf(err); failed && class != keywright.Invalid && class != keywright.Refused {
			t, err = ops[i].Do(ctx) // with retries
		}
		if err != nil {
			return nil, err
		}
		out[i] = t
	}
	return out, nil
}

func text(r kernel.Reply) (string, error) {
	t, err := r.ToString()
	if kernel.IsNil(err) {
		return "", nil
	}
	return t, err
}
