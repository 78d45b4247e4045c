package bind

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/queue"
)

// Bound represents a part of a handle with values: one key, a key for each word, or all keys with
// one beginning and one end.
type Bound struct {
	parts.Part
	Names          []string // nil: a family
	Prefix, Suffix string   // of a family
	values         Values
}

// Has reports whether a key is the part, or one of its keys.
func (b *Bound) Has(key string) bool {
	if b.Form != parts.Family {
		return slices.Contains(b.Names, key)
	}
	if len(key) < len(b.Prefix)+len(b.Suffix) || !strings.HasPrefix(key, b.Prefix) || !strings.HasSuffix(key, b.Suffix) {
		return false
	}
	found, ok := Read(b.Pattern, key, b.Own...)
	for name, value := range found { // what all keys share may be between what they do not
		if want, shared := b.values[name]; shared && value != want {
			return false
		}
	}
	return ok
}

// Parts builds all parts of an entry's handle: the keys by role. What the handle fills in
// by itself, as the date of a ranking, must be in the values where the part is one key.
func Parts(e *keyspace.Entry, v Values) ([]Bound, error) {
	all := parts.Of(e).All()
	out := make([]Bound, len(all))
	var errs []error
	for i, p := range all {
		b, err := bindPart(p, v)
		out[i], errs = b, append(errs, err)
	}
	return out, errors.Join(errs...)
}

func bindPart(p parts.Part, v Values) (b Bound, err error) {
	b = Bound{Part: p, values: v}
	switch p.Form {
	case parts.Whole:
		b.Names = make([]string, 1)
		b.Names[0], err = Build(p.Pattern, v)
	case parts.Each:
		b.Names = make([]string, len(p.Words))
		for i, word := range p.Words {
			var failed error
			b.Names[i], failed = Build(p.Pattern, v.With(p.Own[0], word))
			err = cmp.Or(err, failed)
		}
	case parts.Family:
		b.Prefix, b.Suffix, err = around(p, v)
	}
	return b, err
}

// around returns what a family has before and after what the handle fills in.
func around(p parts.Part, v Values) (prefix, suffix string, err error) {
	for _, place := range p.Pattern.Placeholders() {
		if _, there := v[place.Name]; !there && !slices.Contains(p.Own, place.Name) {
			err = cmp.Or(err, error(errors.New(p.Key.Name+" needs a value for "+place.Name)))
		}
	}
	text := func(elems []pattern.Element) string {
		var b strings.Builder
		for _, e := range elems {
			if e.Placeholder < 0 {
				b.WriteString(e.Literal)
			} else {
				b.WriteString(v[p.Pattern.Placeholders()[e.Placeholder].Name])
			}
		}
		return b.String()
	}
	elems := p.Pattern.Elements()
	first, last := p.Pattern.Span(p.Own...)
	if first < 0 {
		return text(elems), "", err
	}
	return text(elems[:first]), text(elems[last+1:]), err
}

// fill puts the parts of a handle into the fields of its keys that have their names, and
// its options into those of its options.
func fill(h parts.Handle, v Values, keys, options any) error {
	var errs []error
	to := reflect.ValueOf(keys).Elem()
	for _, p := range h.Parts {
		b, err := bindPart(p, v)
		errs = append(errs, err, put(to.FieldByName(p.Name), &b))
	}
	into := reflect.ValueOf(options).Elem()
	for _, o := range h.Options {
		if field, v := into.FieldByName(o.Name), reflect.ValueOf(o.Value); field.IsValid() && v.CanConvert(field.Type()) {
			field.Set(v.Convert(field.Type()))
		} else {
			errs = append(errs, errors.New("the handle has no option "+o.Name))
		}
	}
	return errors.Join(errs...)
}

// put puts a part into a field, by the type of the field.
func put(field reflect.Value, b *Bound) error {
	if !field.IsValid() {
		return errors.New(b.Name + " is no key of the handle")
	}
	switch to := field.Addr().Interface().(type) {
	case *string:
		if len(b.Names) != 1 {
			return fmt.Errorf("%s is %d keys, and its field is for one", b.Name, len(b.Names))
		}
		*to = b.Names[0]
	case *queue.Name:
		*to = queue.Name{Before: b.Prefix, After: b.Suffix}
	case *[]queue.Lane:
		for i, name := range b.Names {
			lane := queue.Lane{Key: name}
			if b.Form == parts.Each {
				lane.Name = b.Words[i]
			}
			*to = append(*to, lane)
		}
	default:
		return fmt.Errorf("%s: a field of type %s", b.Name, field.Type())
	}
	return nil
}
