package typed

import (
	"errors"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// HashReader represents a hash with fixed fields that is only read: one of a construct
// that keeps it in step with other keys.
type HashReader[T any] struct {
	Key
	fields *value.Fields[T]
}

// NewHashReader makes a handle; generated code calls it.
func NewHashReader[T any](b keywright.Binding, f *value.Fields[T]) HashReader[T] {
	return HashReader[T]{NewKey(b), f}
}

// Get reads all fields. A hash that is not there is ErrNotFound.
func (h HashReader[T]) Get() keywright.Op[T] {
	if h.entry.TTL.Sliding {
		return read(h.Key, "get", fields(h.Key, h.fields), "HGETALL")
	}
	o := kernel.Spec[T]{Action: h.action("get", keywright.Reads), Brief: kernel.Brief{Build: getAll, Key: h.key}}
	if h.fields.HasSealed() {
		o.Decode = fields(h.Key, h.fields)
	} else {
		o.Reader = (*row[T])(h.fields)
	}
	return kernel.NewOp(o)
}

func getAll(b kernel.Builder, c kernel.Brief) kernel.Command {
	return b.Hgetall().Key(c.Key).Build()
}

// Cached works as Get does, through client-side caching; see String.Cached.
func (h HashReader[T]) Cached(maxAge time.Duration) keywright.Op[T] {
	return cached(h.Key, "get cached", maxAge, fields(h.Key, h.fields),
		func(b kernel.Builder) kernel.Cacheable { return b.Hgetall().Key(h.key).Cache() })
}

// Hash represents a hash with fixed fields.
type Hash[T any] struct {
	Removable
	fields *value.Fields[T]
}

// NewHash makes a handle; generated code calls it.
func NewHash[T any](b keywright.Binding, f *value.Fields[T]) Hash[T] {
	return Hash[T]{Removable{NewKey(b)}, f}
}

// Get reads all fields. A hash that is not there is ErrNotFound. On an entry
// that slides it renews the TTL, as String.Get does.
func (h Hash[T]) Get() keywright.Op[T] { return HashReader[T]{h.Key, h.fields}.Get() }

// Cached works as Get does, through client-side caching; see String.Cached.
func (h Hash[T]) Cached(maxAge time.Duration) keywright.Op[T] {
	return HashReader[T]{h.Key, h.fields}.Cached(maxAge)
}

// Set writes the whole hash: fields that v lacks are gone afterwards, and the
// TTL begins again.
func (h Hash[T]) Set(v T, options ...keywright.WriteOption) keywright.Act {
	args, err := h.fields.AppendSealed(nil, &v, h.seals)
	if err == nil && len(args) == 0 {
		err = errors.New("no field is set, and a hash without fields does not exist")
	}
	return act(change(h.Key, "set", nothing,
		writing{command: "HSET", args: args, width: 2, mode: replace, options: options, err: invalid(err)}))
}

// FieldReader represents one field of a hash that is only read.
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
func (f FieldReader[F]) Get() keywright.Op[F] {
	return read(f.key, "get "+f.name, in(f.name, one(f.codec)), "HGET", f.name)
}

// in names the field in an error of decoding.
func in[T any](field string, decode func(kernel.Reply) (T, error)) func(kernel.Reply) (T, error) {
	return func(r kernel.Reply) (T, error) {
		v, err := decode(r)
		if e, ok := errors.AsType[*keywright.DecodeError](err); ok {
			e.Field = field
		}
		return v, err
	}
}

// Field represents one field of a hash.
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
func (f Field[F]) Set(v F, options ...keywright.WriteOption) keywright.Act {
	text, err := encode(f.codec, v)
	if err != nil {
		err = inField(f.name, err)
	}
	return act(change(f.key, "set "+f.name, nothing,
		writing{command: "HSET", args: []string{f.name, text}, mode: f.mode(), options: options, err: err}))
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

// OptionalField represents a field that a hash may lack.
type OptionalField[F any] struct{ Field[F] }

// Remove removes the field, and reports whether it was there.
func (f OptionalField[F]) Remove() keywright.Op[bool] {
	return plain(f.key, "remove "+f.name, keywright.Idempotent, asBool, "HDEL", f.name)
}

// addTo adds to a field that is a whole number, in one step with the TTL.
func addTo(f Field[int64], n int64, options []keywright.WriteOption) keywright.Op[int64] {
	return change(f.key, "add to "+f.name, asInt,
		writing{command: "HINCRBY", heads: []string{f.name}, args: []string{strconv.FormatInt(n, 10)}, mode: f.mode(),
			options: options})
}

// IntField represents a field with a whole number.
type IntField struct{ Field[int64] }

// Add adds n, which may be negative, and gives the sum.
func (f IntField) Add(n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	return addTo(f.Field, n, options)
}

// OptionalIntField represents a whole number that a hash may lack; Add begins at 0.
type OptionalIntField struct{ OptionalField[int64] }

// Add adds n, which may be negative, and gives the sum.
func (f OptionalIntField) Add(n int64, options ...keywright.WriteOption) keywright.Op[int64] {
	return addTo(f.Field, n, options)
}
