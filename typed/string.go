package typed

import (
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// String represents a key with one value.
type String[V any] struct {
	Removable
	codec *value.Codec[V]
}

// NewString makes a handle; generated code calls it.
func NewString[V any](b keywright.Binding, c *value.Codec[V]) String[V] {
	k := NewKey(b)
	return String[V]{Removable{k}, at(k, "", c)}
}

// Get reads the value. On an entry that slides it renews the TTL: the key lives
// for at least the declared default from now on, and never for less than it would
// have.
func (s String[V]) Get() keywright.Op[V] {
	t := &s.entry.TTL
	switch {
	case !t.Sliding:
		return s.Peek()
	case t.Max > t.Default || t.Jitter > 0: // a key may live for longer, and keeps its life
		return read(s.Key, "get", one(s.codec), "GET")
	}
	op := spec(s.Key, "get", keywright.Idempotent, one(s.codec))
	ms, _, err := s.entry.Choose(nil)
	op.Err = firstOf(op.Err, err)
	op.Build = arbitrary("GETEX", s.key, "PX", strconv.FormatInt(ms, 10))
	op.Peek = arbitrary("GET", s.key)
	return kernel.NewOp(op)
}

// Peek reads the value and leaves the TTL as it is.
func (s String[V]) Peek() keywright.Op[V] {
	return kernel.NewOp(kernel.Spec[V]{Action: s.action("get", keywright.Reads),
		Brief: kernel.Brief{Build: getOne, Key: s.key}, Reader: (*single[V])(s.codec)})
}

func getOne(b kernel.Builder, c kernel.Brief) kernel.Command { return b.Get().Key(c.Key).Build() }

// Cached reads the value from this process's memory if it is there for at most
// maxAge; the server tells when it changes (client-side caching, RESP3). While
// the connection lives a change is seen within milliseconds; when packets are
// dropped without a word, within about 1.2 times Options.Timeout, or maxAge.
// No round trip on a hit. It never renews a TTL. In a Batch or a transaction it
// is a read like any other.
func (s String[V]) Cached(maxAge time.Duration) keywright.Op[V] {
	return cached(s.Key, "get cached", maxAge, one(s.codec),
		func(b kernel.Builder) kernel.Cacheable { return b.Get().Key(s.key).Cache() })
}

// Set writes the value with its TTL. Without one to write, an undecided entry keeps
// what TTL its key has.
func (s String[V]) Set(v V, options ...keywright.WriteOption) keywright.Act {
	op := kernel.Spec[struct{}]{Action: s.action("set", keywright.Writes), Decode: nothing}
	text, bad := encode(s.codec, v)
	ms, _, err := s.entry.Choose(options)
	op.Err = firstOf(op.Err, bad, err)
	op.Brief = kernel.Brief{Build: setOne, Key: s.key, Text: text, MS: ms}
	if ms == 0 && s.entry.TTL.Policy == keywright.Undecided {
		op.Brief.Build = setKeeping
	}
	return kernel.NewAct(op)
}

// setOne is SET with a TTL, if there is one; whole seconds are shorter to write.
func setOne(b kernel.Builder, c kernel.Brief) kernel.Command {
	switch {
	case c.MS == 0:
		return b.Set().Key(c.Key).Value(c.Text).Build()
	case c.MS%1000 == 0:
		return b.Set().Key(c.Key).Value(c.Text).ExSeconds(c.MS / 1000).Build()
	}
	return b.Set().Key(c.Key).Value(c.Text).PxMilliseconds(c.MS).Build()
}

func setKeeping(b kernel.Builder, c kernel.Brief) kernel.Command {
	return b.Set().Key(c.Key).Value(c.Text).Keepttl().Build()
}

// SetIfAbsent writes only if the key is not there, and reports whether it did.
func (s String[V]) SetIfAbsent(v V, options ...keywright.WriteOption) keywright.Op[bool] {
	return set(s, "set if absent", v, done, "NX", options)
}

// SetIfPresent writes only if the key is there, and reports whether it did.
func (s String[V]) SetIfPresent(v V, options ...keywright.WriteOption) keywright.Op[bool] {
	return set(s, "set if present", v, done, "XX", options)
}

// Swap writes the value and gives the one before; without one it is ErrNotFound,
// and v is written nevertheless.
func (s String[V]) Swap(v V, options ...keywright.WriteOption) keywright.Op[V] {
	return set(s, "swap", v, one(s.codec), "GET", options)
}

// Take reads the value and deletes the key (GETDEL).
func (s String[V]) Take() keywright.Op[V] {
	return plain(s.Key, "take", keywright.Writes, one(s.codec), "GETDEL")
}

// set is SET with the declared TTL and a condition, as Set is without one.
func set[V, T any](s String[V], name string, v V, decode func(kernel.Reply) (T, error), condition string,
	options []keywright.WriteOption) keywright.Op[T] {
	text, err := encode(s.codec, v)
	ms, _, bad := s.entry.Choose(options)
	args := []string{text, condition}
	switch {
	case ms > 0:
		args = []string{text, "PX", strconv.FormatInt(ms, 10), condition}
	case s.entry.TTL.Policy == keywright.Undecided:
		args = []string{text, "KEEPTTL", condition}
	}
	return plain(s.Key, name, keywright.Writes, decode, "SET", args...).Failing(firstOf(err, bad))
}

// Counter represents a key with a whole number that is counted up and down.
type Counter struct{ String[int64] }

// NewCounter makes a handle; generated code calls it.
func NewCounter(b keywright.Binding, c *value.Codec[int64]) Counter { return Counter{NewString(b, c)} }

// Add adds n, which may be negative, to the number, 0 if the key is not there,
// and gives the sum. The first one gives the key its TTL, in the same step.
func (c Counter) Add(n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	return change(c.Key, "add", asInt,
		writing{command: "INCRBY", args: []string{strconv.FormatInt(n, 10)}, mode: add, options: options})
}

// cached returns a read through client-side caching.
func cached[T any](k Key, name string, maxAge time.Duration, decode func(kernel.Reply) (T, error),
	build func(kernel.Builder) kernel.Cacheable) keywright.Op[T] {
	op := spec(k, name, keywright.Reads, decode)
	op.Cache, op.MaxAge = build, maxAge
	return kernel.NewOp(op)
}
