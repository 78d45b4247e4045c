package typed

import (
	"context"
	"iter"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// Map is a hash with open fields: field names of type F, values of type V.
type Map[F comparable, V any] struct {
	Removable
	field *value.Codec[F]
	codec *value.Codec[V]
}

// NewMap makes a handle; generated code calls it.
func NewMap[F comparable, V any](k Key, f *value.Codec[F], v *value.Codec[V]) Map[F, V] {
	return Map[F, V]{Removable{k}, f, v}
}

// Later is the operations to queue in a Batch or a transaction.
func (m Map[F, V]) Later() MapOps[F, V] { return MapOps[F, V]{m} }

// Get reads one field; ErrNotFound without it.
func (m Map[F, V]) Get(ctx context.Context, field F) (V, error) { return m.Later().Get(field).Do(ctx) }

// Has reports whether the field is there.
func (m Map[F, V]) Has(ctx context.Context, field F) (bool, error) {
	return m.Later().Has(field).Do(ctx)
}

// All reads every field; of a large hash use Each. If some fields do not decode it
// gives the others and an error that names one of them.
func (m Map[F, V]) All(ctx context.Context) (map[F]V, error) { return m.Later().All().Do(ctx) }

// Len is how many fields there are.
func (m Map[F, V]) Len(ctx context.Context) (int64, error) { return m.Later().Len().Do(ctx) }

// Set writes one field, and reports whether it is new.
func (m Map[F, V]) Set(ctx context.Context, field F, v V, options ...keywright.WriteOption) (bool, error) {
	return m.Later().Set(field, v, options...).Do(ctx)
}

// SetIfAbsent writes a field that is not there, and reports whether it did.
func (m Map[F, V]) SetIfAbsent(ctx context.Context, field F, v V, options ...keywright.WriteOption) (bool, error) {
	return m.Later().SetIfAbsent(field, v, options...).Do(ctx)
}

// SetAll writes some fields and leaves the others.
func (m Map[F, V]) SetAll(ctx context.Context, values map[F]V, options ...keywright.WriteOption) error {
	_, err := m.Later().SetAll(values, options...).Do(ctx)
	return err
}

// Replace writes these fields and no others stay, in one step.
func (m Map[F, V]) Replace(ctx context.Context, values map[F]V, options ...keywright.WriteOption) error {
	_, err := m.Later().Replace(values, options...).Do(ctx)
	return err
}

// Remove removes fields and gives how many were there.
func (m Map[F, V]) Remove(ctx context.Context, fields ...F) (int64, error) {
	return m.Later().Remove(fields...).Do(ctx)
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

// Pair is a field and its value.
type Pair[F, V any] struct {
	Field F
	Value V
}

// MapOps are the operations of a Map, to be queued.
type MapOps[F comparable, V any] struct{ m Map[F, V] }

// Get is Map.Get.
func (o MapOps[F, V]) Get(field F) keywright.Op[V] {
	name, err := encode(o.m.field, field)
	return failing(read(o.m.Key, "get field", one(at(o.m.Key, name, o.m.codec)), "HGET", name), err)
}

// Has is Map.Has.
func (o MapOps[F, V]) Has(field F) keywright.Op[bool] {
	name, err := encode(o.m.field, field)
	return failing(read(o.m.Key, "has field", asBool, "HEXISTS", name), err)
}

// All is Map.All.
func (o MapOps[F, V]) All() keywright.Op[map[F]V] {
	return read(o.m.Key, "all", pairs(o.m.Key, o.m.field, o.m.codec), "HGETALL")
}

// Len is Map.Len.
func (o MapOps[F, V]) Len() keywright.Op[int64] { return read(o.m.Key, "len", asInt, "HLEN") }

// Set is Map.Set.
func (o MapOps[F, V]) Set(field F, v V, options ...keywright.WriteOption) keywright.Op[bool] {
	args, err := o.args(map[F]V{field: v})
	return change(o.m.Key, "set field", asBool, writing{command: "HSET", args: args, mode: add, options: options, err: err})
}

// SetIfAbsent is Map.SetIfAbsent.
func (o MapOps[F, V]) SetIfAbsent(field F, v V, options ...keywright.WriteOption) keywright.Op[bool] {
	args, err := o.args(map[F]V{field: v})
	return change(o.m.Key, "set field if absent", asBool, writing{command: "HSETNX", args: args, mode: add, options: options, err: err})
}

// SetAll is Map.SetAll.
func (o MapOps[F, V]) SetAll(values map[F]V, options ...keywright.WriteOption) keywright.Op[int64] {
	args, err := o.args(values)
	op := change(o.m.Key, "set fields", asInt, writing{command: "HSET", args: args, width: 2, mode: add, options: options, err: err})
	return OrNothing(len(args), o.m.Key, op)
}

// Replace is Map.Replace.
func (o MapOps[F, V]) Replace(values map[F]V, options ...keywright.WriteOption) keywright.Op[int64] {
	args, err := o.args(values)
	return change(o.m.Key, "replace", asInt, writing{command: "HSET", args: args, width: 2, mode: replace, options: options, err: err})
}

// Remove is Map.Remove.
func (o MapOps[F, V]) Remove(fields ...F) keywright.Op[int64] {
	names, err := encodeAll(o.m.field, fields)
	return OrNothing(len(names), o.m.Key, failing(plain(o.m.Key, "remove fields", keywright.Idempotent, asInt, "HDEL", names...), err))
}

func (o MapOps[F, V]) args(values map[F]V) ([]string, error) {
	args := make([]string, 0, 2*len(values))
	for f, v := range values {
		name, err := encode(o.m.field, f)
		if err != nil {
			return nil, err
		}
		text, err := encode(at(o.m.Key, name, o.m.codec), v)
		if err != nil {
			return nil, err
		}
		args = append(args, name, text)
	}
	return args, nil
}

// CountMap is a Map of whole numbers.
type CountMap[F comparable] struct{ Map[F, int64] }

// Add adds n to a field, 0 if it is not there, and gives the sum.
func (m CountMap[F]) Add(ctx context.Context, field F, n int64, options ...keywright.WriteOption) (int64, error) {
	return m.LaterAdd(field, n, options...).Do(ctx)
}

// LaterAdd is Add to be queued.
func (m CountMap[F]) LaterAdd(field F, n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	name, err := encode(m.field, field)
	return change(m.Key, "add to field", asInt, writing{command: "HINCRBY", args: []string{name, strconv.FormatInt(n, 10)}, mode: add, options: options, err: err})
}
