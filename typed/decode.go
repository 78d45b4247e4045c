package typed

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// The decoders of replies. A nil reply is ErrNotFound where one thing was asked
// for.

func nothing(r rueidis.RedisResult) (struct{}, error) { return struct{}{}, missing(r.Error()) }

// found is a reply of 0 or 1 to an operation on a key that should be there.
func found(r rueidis.RedisResult) (struct{}, error) {
	n, err := r.AsInt64()
	if err == nil && n == 0 {
		err = keywright.ErrNotFound
	}
	return struct{}{}, missing(err)
}

func asInt(r rueidis.RedisResult) (int64, error) {
	n, err := r.AsInt64()
	return n, missing(err)
}

func asBool(r rueidis.RedisResult) (bool, error) {
	n, err := r.AsInt64()
	return n > 0, missing(err)
}

// done is whether a conditional write was carried out: nil says it was not.
func done(r rueidis.RedisResult) (bool, error) {
	err := r.Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, err
}

func missing(err error) error {
	if err != nil && rueidis.IsRedisNil(err) {
		return keywright.ErrNotFound
	}
	return err
}

// one decodes a single value.
func one[T any](c *value.Codec[T]) func(rueidis.RedisResult) (T, error) {
	return func(r rueidis.RedisResult) (v T, err error) {
		text, err := r.ToString()
		if err != nil {
			return v, missing(err)
		}
		return decoded(c, text)
	}
}

// many decodes a list of values. One that does not decode fails the whole: a
// part is not reported as all.
func many[T any](c *value.Codec[T]) func(rueidis.RedisResult) ([]T, error) {
	return func(r rueidis.RedisResult) ([]T, error) {
		texts, err := r.AsStrSlice()
		if rueidis.IsRedisNil(err) {
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
func fields[T any](k Key, f *value.Fields[T]) func(rueidis.RedisResult) (T, error) {
	return func(r rueidis.RedisResult) (v T, err error) {
		texts, err := r.AsStrMap()
		if err != nil {
			return v, missing(err)
		}
		if len(texts) == 0 {
			return v, keywright.ErrNotFound
		}
		if v, err = f.ParseSealed(texts, k.opens); err != nil {
			return v, decodeError(err)
		}
		return v, nil
	}
}

// pairs decodes an open hash. A field that does not decode hides no other: the
// good ones are given together with the error.
func pairs[F comparable, V any](k Key, f *value.Codec[F], c *value.Codec[V]) func(rueidis.RedisResult) (map[F]V, error) {
	return func(r rueidis.RedisResult) (map[F]V, error) {
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

// undecoded is the error of fields that do not decode; it names the first.
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
