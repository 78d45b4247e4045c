package typed

import (
	"context"
	"iter"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// Map represents a hash with open fields: field names of type F, values of type V.
type Map[F comparable, V any] struct {
	Removable
	field *value.Codec[F]
	codec *value.Codec[V]
}

// NewMap makes a handle; generated code calls it.
func NewMap[F comparable, V any](b keywright.Binding, f *value.Codec[F], v *value.Codec[V]) Map[F, V] {
	return Map[F, V]{Removable{NewKey(b)}, f, v}
}

// Get reads one field; ErrNotFound without it.
func (m Map[F, V]) Get(field F) keywright.Op[V] {
	name, err := encode(m.field, field)
	return failing(read(m.Key, "get field", one(at(m.Key, name, m.codec)), "HGET", name), err)
}

// Has reports whether the field is there.
func (m Map[F, V]) Has(field F) keywright.Op[bool] {
	name, err := encode(m.field, field)
	return failing(read(m.Key, "has field", asBool, "HEXISTS", name), err)
}

// All reads every field; of a large hash use Each. If some fields do not decode it
// gives the others and an error that names one of them.
func (m Map[F, V]) All() keywright.Op[map[F]V] {
	return read(m.Key, "all", pairs(m.Key, m.field, m.codec), "HGETALL")
}

// Len returns how many fields there are.
func (m Map[F, V]) Len() keywright.Op[int64] { return read(m.Key, "len", asInt, "HLEN") }

// Set writes one field, and reports whether it is new.
func (m Map[F, V]) Set(field F, v V, options ...keywright.WriteOption) keywright.Op[bool] {
	args, err := m.args(map[F]V{field: v})
	return change(m.Key, "set field", asBool,
		writing{command: "HSET", args: args, mode: add, options: options, err: err})
}

// SetIfAbsent writes a field that is not there, and reports whether it did.
func (m Map[F, V]) SetIfAbsent(field F, v V, options ...keywright.WriteOption) keywright.Op[bool] {
	args, err := m.args(map[F]V{field: v})
	return change(m.Key, "set field if absent", asBool,
		writing{command: "HSETNX", args: args, mode: add, options: options, err: err})
}

// SetAll writes some fields and leaves the others.
func (m Map[F, V]) SetAll(values map[F]V, options ...keywright.WriteOption) keywright.Act {
	args, err := m.args(values)
	op := change(m.Key, "set fields", nothing,
		writing{command: "HSET", args: args, width: 2, mode: add, options: options, err: err})
	return act(OrNothing(len(args), m.Key, op))
}

// Replace writes these fields and no others stay, in one step.
func (m Map[F, V]) Replace(values map[F]V, options ...keywright.WriteOption) keywright.Act {
	args, err := m.args(values)
	return act(change(m.Key, "replace", nothing,
		writing{command: "HSET", args: args, width: 2, mode: replace, options: options, err: err}))
}

// Remove removes fields and gives how many were there.
func (m Map[F, V]) Remove(fields ...F) keywright.Op[int64] {
	names, err := encodeAll(m.field, fields)
	return OrNothing(len(names), m.Key,
		failing(plain(m.Key, "remove fields", keywright.Idempotent, asInt, "HDEL", names...), err))
}

func (m Map[F, V]) args(values map[F]V) ([]string, error) {
	args := make([]string, 0, 2*len(values))
	for f, v := range values {
		name, err := encode(m.field, f)
		if err != nil {
			return nil, err
		}
		text, err := encode(at(m.Key, name, m.codec), v)
		if err != nil {
			return nil, err
		}
		args = append(args, name, text)
	}
	return args, nil
}

// Each walks over the fields in portions of about batch, a round trip each
// (HSCAN). Fields that are there all the time come at least once, maybe twice.
// It ends with the first error.
func (m Map[F, V]) Each(ctx context.Context, batch int) iter.Seq2[Pair[F, V], error] {
	return scan(ctx, m.Key, "HSCAN", 2, batch, func(texts []string) (p Pair[F, V], err error) {
		if p.Field, err = decoded(m.field, texts[0]); err == nil {
			p.Value, err = decoded(at(m.Key, texts[0], m.codec), texts[1])
		}
		return p, err
	})
}

// Pair represents a field and its value.
type Pair[F, V any] struct {
	Field F
	Value V
}

// CountMap represents a Map of whole numbers.
type CountMap[F comparable] struct{ Map[F, int64] }

// NewCountMap makes a handle; generated code calls it.
func NewCountMap[F comparable](b keywright.Binding, f *value.Codec[F], v *value.Codec[int64]) CountMap[F] {
	return CountMap[F]{NewMap(b, f, v)}
}

// Add adds n to a field, 0 if it is not there, and gives the sum.
func (m CountMap[F]) Add(field F, n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	name, err := encode(m.field, field)
	return change(m.Key, "add to field", asInt,
		writing{command: "HINCRBY", args: []string{name, strconv.FormatInt(n, 10)}, mode: add, options: options, err: err})
}
