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
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Schema represents a JSON Schema, or a part of one.
type Schema map[string]any

// Comments finds the comment of a type, or of one of its fields.
type Comments func(of reflect.Type, field string) string

// shaped represents a type that is marshalled as another one.
type shaped interface{ JSONShape() any }

// Of returns the schema of a type.
func Of(t reflect.Type, comments Comments) (Schema, error) {
	b := &builder{comments: comments, defs: Schema{}, named: map[string]reflect.Type{}}
	out := b.object(t)
	if len(b.defs) > 0 {
		out["$defs"] = b.defs
	}
	return out, errors.Join(b.failed...)
}

// builder collects the types that are met on the way.
type builder struct {
	comments Comments
	defs     Schema
	named    map[string]reflect.Type
	failed   []error // types that cannot be described
}

// fail notes what cannot be described.
func (b *builder) fail(format string, args ...any) Schema {
	b.failed = append(b.failed, fmt.Errorf(format, args...))
	return Schema{}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// of returns the schema of a value of type t inside another.
func (b *builder) of(t reflect.Type) Schema {
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

// define puts a named type under $defs, and refers to it.
func (b *builder) define(t, form reflect.Type) Schema {
	name := defName(t.Name())
	if known := b.named[name]; known == nil {
		b.named[name] = t
		def := b.object(form)
		if text := b.comments(t, ""); text != "" {
			def["description"] = text
		}
		b.defs[name] = def
	} else if known != t {
		return b.fail("%s and %s have one name", t, known)
	}
	return Schema{"$ref": "#/$defs/" + name}
}

// defName returns the name of a Go type as the schemas have it: JSONKey is key.
func defName(name string) string {
	name = strings.TrimPrefix(name, "JSON")
	return string(unicode.ToLower(rune(name[0]))) + name[1:]
}

// object returns the schema of a struct.
func (b *builder) object(t reflect.Type) Schema {
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

func (b *builder) fields(t reflect.Type, always bool, properties Schema, required *[]string) {
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

func (b *builder) property(t reflect.Type, f reflect.StructField, inner reflect.Type) Schema {
	s := b.of(inner)
	if words := f.Tag.Get("enum"); words != "" {
		s["enum"] = strings.Split(words, ",")
	}
	if text := b.comments(t, f.Name); text != "" {
		s["description"] = text
	}
	return s
}
