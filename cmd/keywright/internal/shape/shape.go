// Package shape writes the JSON Schema of what Go types are as JSON: from their
// fields and struct tags, so that a schema cannot drift from what is printed, and
// with the comments of the fields as descriptions.
//
// It knows what this project's outputs need and nothing else: no interfaces, no
// recursion. A type with a MarshalJSON of its own tells its form by JSONShape.
package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Schema represents a JSON Schema, or a part of one.
type Schema = map[string]any

// Comments finds the comment of a type, or of one of its fields.
type Comments func(of reflect.Type, field string) string

// shaped represents a type that is marshalled as another one.
type shaped interface{ JSONShape() any }

// Of returns the schema of a type.
func Of(t reflect.Type, comments Comments) (Schema, error) {
	s := NewSet(comments)
	out := s.object(t)
	defs, err := s.Definitions()
	if len(defs) > 0 {
		out["$defs"] = defs
	}
	return out, err
}

// Set builds the schemas of several types, which share the definitions of the types in them. Each definition has the
// name of its Go type; where two types have one name, also that of their packages.
type Set struct {
	comments Comments
	defs     map[reflect.Type]Schema
	refs     map[reflect.Type][]Schema // those that name a definition; Definitions completes them
	failed   []error                   // types that cannot be described
}

// NewSet returns an empty set, which takes descriptions from comments.
func NewSet(comments Comments) *Set {
	return &Set{comments: comments, defs: map[reflect.Type]Schema{}, refs: map[reflect.Type][]Schema{}}
}

// Add defines a type and those in it, and returns what refers to it; the reference is complete after Definitions.
func (b *Set) Add(t reflect.Type) Schema { return b.define(t, t) }

// Definitions returns all types that were met, by name, and completes the references to them: "#/$defs/name".
func (b *Set) Definitions() (Schema, error) {
	same := map[string]int{}
	for t := range b.defs {
		same[defName(t.Name())]++
	}
	out := Schema{}
	for t, def := range b.defs {
		name := defName(t.Name())
		if same[name] > 1 {
			name = path.Base(t.PkgPath()) + strings.TrimPrefix(t.Name(), "JSON")
		}
		if out[name] != nil {
			b.fail("%s: a second type has the name %s", t, name)
		}
		out[name] = def
		for _, ref := range b.refs[t] {
			ref["$ref"] = "#/$defs/" + name
		}
	}
	return out, errors.Join(b.failed...)
}

// fail notes what cannot be described.
func (b *Set) fail(format string, args ...any) Schema {
	b.failed = append(b.failed, fmt.Errorf(format, args...))
	return Schema{}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// of returns the schema of a value of type t inside another.
func (b *Set) of(t reflect.Type) Schema {
	if t.Kind() == reflect.Pointer {
		return Schema{"anyOf": []any{b.of(t.Elem()), Schema{"type": "null"}}}
	}
	if t == reflect.TypeFor[time.Time]() {
		return Schema{"type": "string", "format": "date-time"}
	}
	if s, ok := reflect.Zero(t).Interface().(shaped); ok {
		return b.define(t, reflect.TypeOf(s.JSONShape()))
	}
	if t.Implements(marshaler) {
		return b.fail("%s has a MarshalJSON and no JSONShape", t)
	}
	switch t.Kind() {
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return Schema{"type": "integer"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Schema{"type": "string", "contentEncoding": "base64"}
		}
		return Schema{"type": "array", "items": b.of(t.Elem())}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": b.of(t.Elem())}
	case reflect.Struct:
		return b.define(t, t)
	}
	return b.fail("%s has no JSON Schema", t)
}

// define puts a named type among the definitions, and refers to it.
func (b *Set) define(t, form reflect.Type) Schema {
	if _, known := b.defs[t]; !known {
		b.defs[t] = nil // a type in itself ends here
		def := b.object(form)
		if text := b.comments(t, ""); text != "" {
			def["description"] = text
		}
		b.defs[t] = def
	}
	ref := Schema{}
	b.refs[t] = append(b.refs[t], ref)
	return ref
}

// defName returns the name of a Go type as the schemas have it: JSONKey is key, and ACLUsers aclUsers.
func defName(name string) string {
	name = strings.TrimPrefix(name, "JSON")
	n := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsUpper(r) })
	switch {
	case n < 0:
		n = len(name)
	case n > 1:
		n-- // the last capital begins the next word
	}
	return strings.ToLower(name[:n]) + name[n:]
}

// object returns the schema of a struct.
func (b *Set) object(t reflect.Type) Schema {
	properties, required := Schema{}, []string{}
	b.fields(t, true, properties, &required)
	out := Schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	if text := b.comments(t, ""); text != "" {
		out["description"] = text
	}
	return out
}

func (b *Set) fields(t reflect.Type, always bool, properties Schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if f.Anonymous && name == "" { // its fields are part of the object
			there := always
			if inner.Kind() == reflect.Pointer {
				inner, there = inner.Elem(), false
			}
			b.fields(inner, there, properties, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			b.fail("%s.%s has no name in JSON", t, f.Name)
		}
		maybe := options == "omitempty"
		if maybe && inner.Kind() == reflect.Pointer {
			inner = inner.Elem() // it is left out where it is null
		}
		properties[name] = b.property(t, f, inner)
		if always && !maybe {
			*required = append(*required, name)
		}
	}
}

func (b *Set) property(t reflect.Type, f reflect.StructField, inner reflect.Type) Schema {
	s := b.of(inner)
	if words := f.Tag.Get("enum"); words != "" {
		s["enum"] = strings.Split(words, ",")
	}
	if text := b.comments(t, f.Name); text != "" {
		s["description"] = text
	}
	return s
}
