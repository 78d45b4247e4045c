package typed

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// HashReader is a hash with fixed fields that is only read: one of a construct
// that keeps it in step with other keys.
type HashReader[T any] struct {
	Key
	fields *value.Fields[T]
}

// NewHashReader makes a handle; generated code calls it.
func NewHashReader[T any](k Key, f *value.Fields[T]) HashReader[T] { return HashReader[T]{k, f} }

// Get reads all fields. A hash that is not there is ErrNotFound.
func (h HashReader[T]) Get(ctx context.Context) (T, error) {
	if h.entry.TTL.Sliding {
		return h.LaterGet().Do(ctx)
	}
	a, raw, key := h.action("get", keywright.Reads), h.client.Raw(), h.key
	return keywright.Run(ctx, &a, func(ctx context.Context) rueidis.RedisResult {
		return raw.Do(ctx, raw.B().Hgetall().Key(key).Build())
	}, fields(h.Key, h.fields))
}

// LaterGet is Get to be queued.
func (h HashReader[T]) LaterGet() keywright.Op[T] { return getAll(h.Key, h.fields) }

// getAll reads all fields of a hash.
func getAll[T any](k Key, f *value.Fields[T]) keywright.Op[T] {
	if k.entry.TTL.Sliding {
		return read(k, "get", fields(k, f), "HGETALL")
	}
	o := spec(k, "get", keywright.Reads, fields(k, f))
	name := k.key
	o.Build = func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(name).Build() }
	return keywright.NewOp(o)
}

// Cached is Get through client-side caching; see String.Cached.
func (h HashReader[T]) Cached(ctx context.Context, maxAge time.Duration) (T, error) {
	return cached(ctx, h.Key, "get cached", maxAge, fields(h.Key, h.fields), func(b rueidis.Builder) rueidis.Cacheable { return b.Hgetall().Key(h.key).Cache() })
}

// Hash is a hash with fixed fields.
type Hash[T any] struct {
	Removable
	fields *value.Fields[T]
}

// NewHash makes a handle; generated code calls it.
func NewHash[T any](k Key, f *value.Fields[T]) Hash[T] { return Hash[T]{Removable{k}, f} }

// Later is the operations to queue in a Batch or a transaction.
func (h Hash[T]) Later() HashOps[T] { return HashOps[T]{h} }

// Get reads all fields. A hash that is not there is ErrNotFound. On an entry
// that slides it renews the TTL, as String.Get does.
func (h Hash[T]) Get(ctx context.Context) (T, error) { return HashReader[T]{h.Key, h.fields}.Get(ctx) }

// Cached is Get through client-side caching; see String.Cached.
func (h Hash[T]) Cached(ctx context.Context, maxAge time.Duration) (T, error) {
	return HashReader[T]{h.Key, h.fields}.Cached(ctx, maxAge)
}

// Set writes the whole hash: fields that v lacks are gone afterwards, and the
// TTL begins again.
func (h Hash[T]) Set(ctx context.Context, v T, options ...keywright.WriteOption) error {
	_, err := h.Later().Set(v, options...).Do(ctx)
	return err
}

// HashOps are the operations of a Hash, to be queued.
type HashOps[T any] struct{ h Hash[T] }

// Get is Hash.Get.
func (o HashOps[T]) Get() keywright.Op[T] {
	return getAll(o.h.Key, o.h.fields)
}

// Set is Hash.Set.
func (o HashOps[T]) Set(v T, options ...keywright.WriteOption) keywright.Op[struct{}] {
	args, err := o.h.fields.AppendSealed(nil, &v, o.h.seals)
	if err == nil && len(args) == 0 {
		err = errors.New("no field is set, and a hash without fields does not exist")
	}
	return change(o.h.Key, "set", nothing, writing{command: "HSET", args: args, width: 2, mode: replace, options: options, err: invalid(err)})
}

// FieldReader is one field of a hash that is only read.
type FieldReader[F any] struct {
	key   Key
	name  string
	codec *value.Codec[F]
}

// NewFieldReader makes a handle; generated code calls it.
func NewFieldReader[F any](k Key, name string, c *value.Codec[F]) FieldReader[F] {
	return FieldReader[F]{k, name, at(k, name, c)}
}

// Get reads the field. A field or hash that is not there is ErrNotFound.
func (f FieldReader[F]) Get(ctx context.Context) (F, error) { return f.LaterGet().Do(ctx) }

// LaterGet is Get to be queued.
func (f FieldReader[F]) LaterGet() keywright.Op[F] {
	return read(f.key, "get "+f.name, in(f.name, one(f.codec)), "HGET", f.name)
}

// in names the field in an error of decoding.
func in[T any](field string, decode func(rueidis.RedisResult) (T, error)) func(rueidis.RedisResult) (T, error) {
	return func(r rueidis.RedisResult) (T, error) {
		v, err := decode(r)
		if e, ok := errors.AsType[*keywright.DecodeError](err); ok {
			e.Field = field
		}
		return v, err
	}
}

// Field is one field of a hash.
type Field[F any] struct {
	FieldReader[F]
	partial bool // the hash may be made by this field alone
}

// NewField makes a handle; generated code calls it. partial is whether a hash
// may consist of this field alone: no other field of it is required.
func NewField[F any](k Key, name string, c *value.Codec[F], partial bool) Field[F] {
	return Field[F]{NewFieldReader(k, name, c), partial}
}

// Set writes the field. A hash that has other required fields must be there
// already: else it is ErrNotFound and nothing is written.
func (f Field[F]) Set(ctx context.Context, v F, options ...keywright.WriteOption) error {
	_, err := f.LaterSet(v, options...).Do(ctx)
	return err
}

// LaterSet is Set to be queued.
func (f Field[F]) LaterSet(v F, options ...keywright.WriteOption) keywright.Op[struct{}] {
	text, err := encode(f.codec, v)
	if err != nil {
		err = inField(f.name, err)
	}
	return change(f.key, "set "+f.name, nothing, writing{command: "HSET", args: []string{f.name, text}, mode: f.mode(), options: options, err: err})
}

// inField names the field in an error of encoding.
func inField(name string, err error) error {
	if e, ok := errors.AsType[*value.Error](err); ok {
		return invalid(value.In(name, e))
	}
	return err
}

func (f Field[F]) mode() mode {
	if f.partial {
		return add
	}
	return existing
}

// OptionalField is a field that a hash may lack.
type OptionalField[F any] struct{ Field[F] }

// Remove removes the field, and reports whether it was there.
func (f OptionalField[F]) Remove(ctx context.Context) (bool, error) { return f.LaterRemove().Do(ctx) }

// LaterRemove is Remove to be queued.
func (f OptionalField[F]) LaterRemove() keywright.Op[bool] {
	return plain(f.key, "remove "+f.name, keywright.Idempotent, asBool, "HDEL", f.name)
}

// addTo adds to a field that is a whole number, in one step with the TTL.
func addTo(f Field[int64], n int64, options []keywright.WriteOption) keywright.Op[int64] {
	return change(f.key, "add to "+f.name, asInt, writing{command: "HINCRBY", heads: []string{f.name}, args: []string{strconv.FormatInt(n, 10)}, mode: f.mode(), options: options})
}

// IntField is a field with a whole number.
type IntField struct{ Field[int64] }

// Add adds n, which may be negative, and gives the sum.
func (f IntField) Add(ctx context.Context, n int64, options ...keywright.WriteOption) (int64, error) {
	return f.LaterAdd(n, options...).Do(ctx)
}

// LaterAdd is Add to be queued.
func (f IntField) LaterAdd(n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	return addTo(f.Field, n, options)
}

// OptionalIntField is a whole number that a hash may lack; Add begins at 0.
type OptionalIntField struct{ OptionalField[int64] }

// Add adds n, which may be negative, and gives the sum.
func (f OptionalIntField) Add(ctx context.Context, n int64, options ...keywright.WriteOption) (int64, error) {
	return f.LaterAdd(n, options...).Do(ctx)
}

// LaterAdd is Add to be queued.
func (f OptionalIntField) LaterAdd(n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	return addTo(f.Field, n, options)
}
