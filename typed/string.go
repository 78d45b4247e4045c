package typed

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// String is a key with one value.
type String[V any] struct {
	Removable
	codec *value.Codec[V]
}

// NewString makes a handle; generated code calls it.
func NewString[V any](k Key, c *value.Codec[V]) String[V] {
	return String[V]{Removable{k}, at(k, "", c)}
}

// Later is the operations to queue in a Batch or a transaction.
func (s String[V]) Later() StringOps[V] { return StringOps[V]{s} }

// Get reads the value. On an entry that slides it renews the TTL: the key lives
// for at least the declared default from now on, and never for less than it would
// have.
func (s String[V]) Get(ctx context.Context) (V, error) {
	if s.entry.TTL.Sliding {
		return s.Later().Get().Do(ctx)
	}
	return s.Peek(ctx)
}

// Peek reads the value and leaves the TTL as it is.
func (s String[V]) Peek(ctx context.Context) (V, error) {
	a, raw, key := s.action("get", keywright.Reads), s.client.Raw(), s.key
	return keywright.Run(ctx, &a, func(ctx context.Context) rueidis.RedisResult {
		return raw.Do(ctx, raw.B().Get().Key(key).Build())
	}, one(s.codec))
}

// Cached reads the value from this process's memory if it is there for at most
// maxAge; the server tells when it changes (client-side caching, RESP3). While
// the connection lives a change is seen within milliseconds; when packets are
// dropped without a word, within about 1.2 times Options.Timeout, or maxAge.
// No round trip on a hit. It never renews a TTL.
func (s String[V]) Cached(ctx context.Context, maxAge time.Duration) (V, error) {
	return cached(ctx, s.Key, "get cached", maxAge, one(s.codec), func(b rueidis.Builder) rueidis.Cacheable { return b.Get().Key(s.key).Cache() })
}

// Set writes the value with its TTL.
func (s String[V]) Set(ctx context.Context, v V, options ...keywright.WriteOption) error {
	if s.entry.TTL.Policy != keywright.Expires {
		_, err := s.Later().Set(v, options...).Do(ctx)
		return err
	}
	a, raw, key := s.action("set", keywright.Writes), s.client.Raw(), s.key
	text, bad := encode(s.codec, v)
	ms, _, err := s.entry.Choose(options)
	a.Err = firstOf(a.Err, bad, err)
	_, err = keywright.Run(ctx, &a, func(ctx context.Context) rueidis.RedisResult {
		return raw.Do(ctx, setFor(raw.B(), key, text, ms))
	}, nothing)
	return err
}

// SetIfAbsent writes only if the key is not there, and reports whether it did.
func (s String[V]) SetIfAbsent(ctx context.Context, v V, options ...keywright.WriteOption) (bool, error) {
	return s.Later().SetIfAbsent(v, options...).Do(ctx)
}

// SetIfPresent writes only if the key is there, and reports whether it did.
func (s String[V]) SetIfPresent(ctx context.Context, v V, options ...keywright.WriteOption) (bool, error) {
	return s.Later().SetIfPresent(v, options...).Do(ctx)
}

// Swap writes the value and gives the one before; without one it is ErrNotFound,
// and v is written nevertheless.
func (s String[V]) Swap(ctx context.Context, v V, options ...keywright.WriteOption) (V, error) {
	return s.Later().Swap(v, options...).Do(ctx)
}

// Take reads the value and deletes the key (GETDEL).
func (s String[V]) Take(ctx context.Context) (V, error) { return s.Later().Take().Do(ctx) }

// StringOps are the operations of a String, to be queued.
type StringOps[V any] struct{ s String[V] }

// Get is String.Get.
func (o StringOps[V]) Get() keywright.Op[V] {
	s := o.s
	if !s.entry.TTL.Sliding {
		return o.Peek()
	}
	if t := s.entry.TTL; t.Max > t.Default || t.Jitter > 0 { // a key may live for longer, and keeps its life
		return read(s.Key, "get", one(s.codec), "GET")
	}
	op := spec(s.Key, "get", keywright.Idempotent, one(s.codec))
	ms, _, err := s.entry.Choose(nil)
	op.Err = firstOf(op.Err, err)
	op.Build = arbitrary("GETEX", s.key, "PX", strconv.FormatInt(ms, 10))
	op.Peek = arbitrary("GET", s.key)
	return keywright.NewOp(op)
}

// Peek is String.Peek.
func (o StringOps[V]) Peek() keywright.Op[V] {
	op := spec(o.s.Key, "get", keywright.Reads, one(o.s.codec))
	key := o.s.key
	op.Build = func(b rueidis.Builder) rueidis.Completed { return b.Get().Key(key).Build() }
	return keywright.NewOp(op)
}

// Set is String.Set.
func (o StringOps[V]) Set(v V, options ...keywright.WriteOption) keywright.Op[struct{}] {
	return set(o.s, "set", v, nothing, nil, options)
}

// SetIfAbsent is String.SetIfAbsent.
func (o StringOps[V]) SetIfAbsent(v V, options ...keywright.WriteOption) keywright.Op[bool] {
	return set(o.s, "set if absent", v, done, []string{"NX"}, options)
}

// SetIfPresent is String.SetIfPresent.
func (o StringOps[V]) SetIfPresent(v V, options ...keywright.WriteOption) keywright.Op[bool] {
	return set(o.s, "set if present", v, done, []string{"XX"}, options)
}

// Swap is String.Swap.
func (o StringOps[V]) Swap(v V, options ...keywright.WriteOption) keywright.Op[V] {
	return set(o.s, "swap", v, one(o.s.codec), []string{"GET"}, options)
}

// Take is String.Take.
func (o StringOps[V]) Take() keywright.Op[V] {
	return plain(o.s.Key, "take", keywright.Writes, one(o.s.codec), "GETDEL")
}

// setFor is SET with a TTL; whole seconds are shorter to write.
func setFor(b rueidis.Builder, key, text string, ms int64) rueidis.Completed {
	if ms%1000 == 0 {
		return b.Set().Key(key).Value(text).ExSeconds(ms / 1000).Build()
	}
	return b.Set().Key(key).Value(text).PxMilliseconds(ms).Build()
}

// set is SET with the declared TTL. Without one to write, an undecided entry
// keeps what TTL its key has.
func set[V, T any](s String[V], name string, v V, decode func(rueidis.RedisResult) (T, error), condition []string, options []keywright.WriteOption) keywright.Op[T] {
	op := spec(s.Key, name, keywright.Writes, decode)
	text, err := encode(s.codec, v)
	ms, _, bad := s.entry.Choose(options)
	op.Err = firstOf(op.Err, err, bad)
	key, keep := s.key, s.entry.TTL.Policy == keywright.Undecided
	op.Build = func(b rueidis.Builder) rueidis.Completed {
		switch {
		case len(condition) == 0 && ms > 0:
			return setFor(b, key, text, ms)
		case ms > 0:
			return b.Arbitrary("SET").Keys(key).Args(text, "PX", strconv.FormatInt(ms, 10)).Args(condition...).Build()
		case keep:
			return b.Arbitrary("SET").Keys(key).Args(text, "KEEPTTL").Args(condition...).Build()
		}
		return b.Arbitrary("SET").Keys(key).Args(text).Args(condition...).Build()
	}
	return keywright.NewOp(op)
}

// Counter is a key with a whole number that is counted up and down.
type Counter struct{ String[int64] }

// NewCounter makes a handle; generated code calls it.
func NewCounter(k Key, c *value.Codec[int64]) Counter { return Counter{NewString(k, c)} }

// Later is the operations to queue in a Batch or a transaction.
func (c Counter) Later() CounterOps { return CounterOps{c.String.Later()} }

// Add adds n, which may be negative, to the number, 0 if the key is not there,
// and gives the sum. The first one gives the key its TTL, in the same step.
func (c Counter) Add(ctx context.Context, n int64, options ...keywright.WriteOption) (int64, error) {
	return c.Later().Add(n, options...).Do(ctx)
}

// CounterOps are the operations of a Counter, to be queued.
type CounterOps struct{ StringOps[int64] }

// Add is Counter.Add.
func (o CounterOps) Add(n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	return change(o.s.Key, "add", asInt, writing{command: "INCRBY", args: []string{strconv.FormatInt(n, 10)}, mode: add, options: options})
}

// cached is a read through client-side caching.
func cached[T any](ctx context.Context, k Key, name string, maxAge time.Duration, decode func(rueidis.RedisResult) (T, error), build func(rueidis.Builder) rueidis.Cacheable) (T, error) {
	op := spec(k, name, keywright.Reads, decode)
	op.Cache, op.MaxAge = build, maxAge
	return keywright.NewOp(op).Do(ctx)
}
