package typed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// The decoders of replies. A nil reply is ErrNotFound where one thing was asked
// for.

func nothing(r kernel.Reply) (struct{}, error) { return struct{}{}, missing(r.Error()) }

// found returns a reply of 0 or 1 to an operation on a key that should be there.
func found(r kernel.Reply) (struct{}, error) {
	n, err := r.AsInt64()
	if err == nil && n == 0 {
		err = keywright.ErrNotFound
	}
	return struct{}{}, missing(err)
}

func asInt(r kernel.Reply) (int64, error) {
	n, err := r.AsInt64()
	return n, missing(err)
}

func asBool(r kernel.Reply) (bool, error) {
	n, err := r.AsInt64()
	return n > 0, missing(err)
}

// done reports whether a conditional write was carried out: nil says it was not.
func done(r kernel.Reply) (bool, error) {
	err := r.Error()
	if kernel.IsNil(err) {
		return false, nil
	}
	return err == nil, err
}

func missing(err error) error {
	if err != nil && kernel.IsNil(err) {
		return keywright.ErrNotFound
	}
	return err
}

// asTTL reads a reply of PTTL.
func asTTL(r kernel.Reply) (time.Duration, error) {
	ms, err := r.AsInt64()
	switch {
	case err == nil && ms == -2:
		return 0, keywright.ErrNotFound
	case err == nil && ms < 0:
		return Never, nil
	}
	return time.Duration(ms) * time.Millisecond, missing(err)
}

// single reads one value. It is a codec, so that an operation of it costs no allocation.
type single[T any] value.Codec[T]

// Reply implements kernel.Reader.
func (s *single[T]) Reply(r kernel.Reply) (v T, err error) {
	text, err := r.ToString()
	if err != nil {
		return v, missing(err)
	}
	return decoded((*value.Codec[T])(s), text)
}

// one decodes a single value.
func one[T any](c *value.Codec[T]) func(kernel.Reply) (T, error) { return (*single[T])(c).Reply }

// row reads a whole hash of which nothing is sealed; it is its fields.
type row[T any] value.Fields[T]

// Reply implements kernel.Reader. An empty reply is a hash that is not there.
func (f *row[T]) Reply(r kernel.Reply) (T, error) { return hash((*value.Fields[T])(f), nil, r) }

// many decodes a list of values. One that does not decode fails the whole: a
// part is not reported as all.
func many[T any](c *value.Codec[T]) func(kernel.Reply) ([]T, error) {
	return func(r kernel.Reply) ([]T, error) {
		texts, err := r.AsStrSlice()
		if kernel.IsNil(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out := make([]T, len(texts))
		for i, text := range texts {
			if out[i], err = decoded(c, text); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// fields decodes a whole hash; an empty reply is a hash that is not there.
func fields[T any](k Key, f *value.Fields[T]) func(kernel.Reply) (T, error) {
	return func(r kernel.Reply) (T, error) { return hash(f, k.opens, r) }
}

func hash[T any](f *value.Fields[T], open value.Seals, r kernel.Reply) (v T, err error) {
	texts, err := r.AsStrMap()
	if err != nil {
		return v, missing(err)
	}
	if len(texts) == 0 {
		return v, keywright.ErrNotFound
	}
	if v, err = f.ParseSealed(texts, open); err != nil {
		return v, decodeError(err)
	}
	return v, nil
}

// pairs decodes an open hash. A field that does not decode hides no other: the
// good ones are given together with the error.
func pairs[F comparable, V any](k Key, f *value.Codec[F],
	c *value.Codec[V]) func(kernel.Reply) (map[F]V, error) {
	return func(r kernel.Reply) (map[F]V, error) {
		texts, err := r.AsStrMap()
		if err != nil {
			return nil, missing(err)
		}
		out, bad := make(map[F]V, len(texts)), map[string]error{}
		for name, text := range texts {
			field, err := decoded(f, name)
			if err == nil {
				var v V
				if v, err = decoded(at(k, name, c), text); err == nil {
					out[field] = v
					continue
				}
			}
			if _, one := err.(*keywright.DecodeError); !one {
				return nil, err // of opening what is sealed
			}
			bad[name] = err
		}
		return out, undecoded(bad)
	}
}

// undecoded returns the error of fields that do not decode; it names the first.
func undecoded(bad map[string]error) error {
	if len(bad) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(bad)))
	why := errors.Unwrap(bad[first])
	if more := len(bad) - 1; more > 0 {
		why = fmt.Errorf("%w; nor do %d other fields", why, more)
	}
	return &keywright.DecodeError{Field: first, Partial: true, Err: why}
}
