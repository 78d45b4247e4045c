package value

import (
	"bytes"
	"encoding/json"
	"maps"
	"unicode/utf8"
)

// Fields writes and reads a struct as the fields of a hash or a stream entry.
// Generated code makes one per struct.
type Fields[T any] struct {
	Columns []Column[T]
	// Read is Parse without a detour over the columns, as generated code has it;
	// nil: the columns read.
	Read func(fields map[string]string) (T, error)
	open func(*T) *map[string]string // instead of columns: any fields
}

// AnyFields takes every field as text: an entry that declares none.
func AnyFields() Fields[map[string]string] {
	return Fields[map[string]string]{open: func(m *map[string]string) *map[string]string { return m }}
}

// Column represents one field.
type Column[T any] struct {
	Name     string
	Optional bool
	Sealed   bool // Text and Parse deal with the plain text; what is stored is sealed
	Text     func(v *T) (text string, present bool, err error)
	Parse    func(v *T, text string) error
}

// Required makes the column of a field that every value has.
func Required[T, F any](name string, c Codec[F], at func(*T) *F) Column[T] {
	return Column[T]{Name: name,
		Text: func(v *T) (string, bool, error) {
			text, err := c.Encode(*at(v))
			return text, true, err
		},
		Parse: func(v *T, text string) (err error) {
			*at(v), err = c.Parse(text)
			return err
		}}
}

// Optional makes the column of a field that a value may lack: a nil pointer.
func Optional[T, F any](name string, c Codec[F], at func(*T) **F) Column[T] {
	return Column[T]{Name: name, Optional: true,
		Text: func(v *T) (string, bool, error) {
			p := *at(v)
			if p == nil {
				return "", false, nil
			}
			text, err := c.Encode(*p)
			return text, true, err
		},
		Parse: func(v *T, text string) error {
			f, err := c.Parse(text)
			*at(v) = &f
			return err
		}}
}

// Append works as AppendSealed does, for a struct without sealed columns: with one that v
// has it is an error, so that no plain text is stored by mistake.
func (f *Fields[T]) Append(args []string, v *T) ([]string, error) {
	return f.AppendSealed(args, v, nil)
}

// AppendSealed appends names and values of all fields that v has to a list of
// arguments. seal is called for sealed columns only, and may be nil where there
// are none.
func (f *Fields[T]) AppendSealed(args []string, v *T, seal Seals) ([]string, error) {
	if f.open != nil {
		for name, text := range *f.open(v) {
			args = append(args, name, text)
		}
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		text, present, err := c.Text(v)
		if err == nil && present && c.Sealed {
			text, err = apply(seal, c.Name, text)
		}
		if err != nil {
			return args, In(c.Name, err)
		}
		if present {
			args = append(args, c.Name, text)
		}
	}
	return args, nil
}

// Parse works as ParseSealed does, for a struct without sealed columns: with one that is
// there it is an error.
func (f *Fields[T]) Parse(fields map[string]string) (v T, err error) {
	return f.ParseSealed(fields, nil)
}

// ParseSealed reads a struct from fields by name. Fields that are not declared
// are passed over; a required one that is missing is an error. open is called
// for sealed columns only, and may be nil where there are none. The map stays as
// it is: with sealed columns it is copied.
func (f *Fields[T]) ParseSealed(fields map[string]string, open Seals) (v T, err error) {
	if fields, err = f.opened(fields, open); err != nil {
		return v, err
	}
	if f.Read != nil {
		return f.Read(fields)
	}
	return f.parse(fields)
}

// opened gives the fields with what is sealed in plain text.
func (f *Fields[T]) opened(fields map[string]string, open Seals) (map[string]string, error) {
	if !f.HasSealed() {
		return fields, nil
	}
	fields = maps.Clone(fields)
	for i := range f.Columns {
		c := &f.Columns[i]
		text, there := fields[c.Name]
		if !c.Sealed || !there {
			continue
		}
		plain, err := apply(open, c.Name, text)
		if err != nil {
			return nil, In(c.Name, err)
		}
		fields[c.Name] = plain
	}
	return fields, nil
}

// Missing returns a required field that is not there.
func Missing(field string) error { return &Error{Field: field, Reason: "is missing"} }

func (f *Fields[T]) parse(fields map[string]string) (v T, err error) {
	if f.open != nil {
		*f.open(&v) = fields
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		text, ok := fields[c.Name]
		switch {
		case ok:
			err = c.Parse(&v, text)
		case !c.Optional:
			err = Bad("is missing")
		}
		if err != nil {
			return v, In(c.Name, err)
		}
	}
	return v, nil
}

// MarshalObject writes a struct as a JSON object, its fields in the order they
// are declared in. Generated MarshalJSON methods call it. A sealed member is an
// error: what is stored goes through the codec of SealedObject.
func MarshalObject[T any](columns []ObjectColumn[T], v *T) ([]byte, error) {
	return marshalObject(columns, v, nil)
}

func marshalObject[T any](columns []ObjectColumn[T], v *T, seal Seals) ([]byte, error) {
	out := []byte{'{'}
	for _, c := range columns {
		text, present, err := c.marshal(v)
		if err == nil && present && c.sealed {
			text, err = SealMember(c.name, text, seal)
		}
		if err != nil {
			return nil, In(c.name, err)
		}
		if !present {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, err := Marshal(c.name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), text...)
	}
	return append(out, '}'), nil
}

// UnmarshalObject reads a JSON object into a struct. null counts as absent, and
// what is not declared is passed over.
func UnmarshalObject[T any](columns []ObjectColumn[T], text []byte, v *T) error {
	return unmarshalObject(columns, text, v, nil)
}

func unmarshalObject[T any](columns []ObjectColumn[T], text []byte, v *T, open Seals) error {
	var raw map[string]json.RawMessage
	if !utf8.Valid(text) {
		return Bad(notUTF8)
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return jsonError(err)
	}
	for _, c := range columns {
		field, ok := raw[c.name]
		if !ok || string(field) == "null" {
			if !c.optional {
				return &Error{Field: c.name, Reason: "is missing"}
			}
			continue
		}
		var err error
		if c.sealed {
			field, err = OpenMember(c.name, field, open)
		}
		if err != nil {
			return In(c.name, err)
		}
		if err := c.unmarshal(v, field); err != nil {
			return In(c.name, jsonError(err))
		}
	}
	return nil
}

// ObjectColumn represents one field of a JSON object.
type ObjectColumn[T any] struct {
	name      string
	optional  bool
	sealed    bool
	marshal   func(v *T) (text []byte, present bool, err error)
	unmarshal func(v *T, text []byte) error
}

// Member returns a required field of a JSON object, OptionalMember one that may be
// absent. What is a number or a bool in the declaration is one in JSON, all else
// a JSON string, and json is put in as it is.
func Member[T, F any](name string, form Form, c Codec[F], at func(*T) *F) ObjectColumn[T] {
	return ObjectColumn[T]{name: name,
		marshal: func(v *T) ([]byte, bool, error) {
			text, err := form.write(c.Append(nil, *at(v)))
			return text, true, err
		},
		unmarshal: func(v *T, text []byte) (err error) {
			inner, err := form.read(text)
			if err == nil {
				*at(v), err = c.Parse(inner)
			}
			return err
		}}
}

// OptionalMember works as Member does, for a pointer that may be nil.
func OptionalMember[T, F any](name string, form Form, c Codec[F], at func(*T) **F) ObjectColumn[T] {
	return ObjectColumn[T]{name: name, optional: true,
		marshal: func(v *T) ([]byte, bool, error) {
			p := *at(v)
			if p == nil {
				return nil, false, nil
			}
			text, err := form.write(c.Append(nil, *p))
			return text, true, err
		},
		unmarshal: func(v *T, text []byte) error {
			inner, err := form.read(text)
			if err != nil {
				return err
			}
			f, err := c.Parse(inner)
			*at(v) = &f
			return err
		}}
}

// Form describes how a scalar is in a JSON object.
type Form uint8

// The forms.
const (
	Quoted Form = iota // as a JSON string
	Bare               // as a number, true or false
	Inline             // as the JSON it is
)

// infinite says how the texts of infinite numbers end; NaN has none.
var infinite = []byte("inf")

func (f Form) write(text []byte, err error) ([]byte, error) {
	if f == Bare && bytes.HasSuffix(text, infinite) {
		return nil, Bad("is infinite, which no number of JSON is")
	}
	if err != nil || f != Quoted {
		return text, err
	}
	if !utf8.Valid(text) {
		return nil, Bad(notUTF8)
	}
	return Marshal(string(text))
}

func (f Form) read(text []byte) (string, error) {
	if f == Inline {
		return string(text), nil
	}
	if f == Bare {
		if len(text) == 0 || text[0] == '"' || text[0] == '{' || text[0] == '[' {
			return "", Bad("is a JSON text, object or list where a number or bool is declared")
		}
		return string(text), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return s, err
}
