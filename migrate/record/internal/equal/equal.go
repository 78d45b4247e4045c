// Package equal compares two stored values by the rules of a migration: texts, numbers and times by what they mean, JSON
// member by member. It says where they differ, and shows no value. It knows no record and no key.
package equal

import (
	"bytes"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// How two values differ in one place.
const (
	Missing = "missing" // the first has it, the second has not
	Extra   = "extra"   // the second has it, the first has not
	Type    = "type"    // a number and a text, null and an object
	Value   = "value"
	Order   = "order" // the same elements in another order
)

// Comparison compares by rules.
type Comparison struct {
	Rules  []keyspace.CompareRule
	Check  func(text []byte) (raw []byte, err error) // reads a JSON text
	Differ func(path, kind string)                   // is called for each difference
}

// PathOf writes the place of a value inside a record.
func PathOf(path []string) string {
	var b bytes.Buffer
	for _, p := range path {
		if p != "[]" {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// As returns how the value at a path is compared, "" for as it is.
func (c *Comparison) As(path []string) keyspace.CompareAs {
	for _, r := range c.Rules {
		if slices.Equal(r.Field, path) {
			return r.As
		}
	}
	return ""
}

// Stored compares two stored values of a type.
func (c *Comparison) Stored(typ scalar.Type, path []string, a, b string) {
	if a == b || c.As(path) == keyspace.CompareIgnore {
		return
	}
	if typ.Kind == scalar.JSON {
		x, err1 := c.Check([]byte(a))
		y, err2 := c.Check([]byte(b))
		if err1 == nil && err2 == nil {
			c.json(path, x, y)
			return
		}
	}
	if !datum.SameStored(typ.Kind, a, b) &&
		(c.As(path) != keyspace.CompareInstant ||
			!datum.SameInstant(datum.Datum{Kind: datum.Text, Text: a}, datum.Datum{Kind: datum.Text, Text: b})) {
		c.Differ(PathOf(path), Value)
	}
}

// json compares two values that have been checked.
func (c *Comparison) json(path []string, a, b []byte) {
	how := c.As(path)
	if how == keyspace.CompareIgnore || bytes.Equal(a, b) ||
		how == keyspace.CompareInstant && datum.SameInstant(datum.Of(a), datum.Of(b)) {
		return
	}
	x, y := datum.Of(a), datum.Of(b)
	switch {
	case x.Kind != y.Kind || x.Kind == datum.Compound && a[0] != b[0]:
		c.Differ(PathOf(path), Type)
	case x.Kind == datum.Compound && a[0] == '{':
		c.objects(path, a, b)
	case x.Kind == datum.Compound:
		c.arrays(path, how, a, b)
	case x.Text != y.Text && (x.Kind != datum.Number || !datum.SameNumber(x.Text, y.Text)):
		c.Differ(PathOf(path), Value)
	}
}

func (c *Comparison) objects(path []string, a, b []byte) {
	second := map[string][]byte{}
	var order []string
	jsontext.EachMember(b, func(key, value []byte) {
		name := jsontext.TextOf(key)
		second[name], order = value, append(order, name)
	})
	jsontext.EachMember(a, func(key, value []byte) {
		name := jsontext.TextOf(key)
		inner := append(slices.Clone(path), name)
		other, there := second[name]
		if delete(second, name); there {
			c.json(inner, value, other)
		} else if c.As(inner) != keyspace.CompareIgnore {
			c.Differ(PathOf(inner), Missing)
		}
	})
	for _, name := range order {
		inner := append(slices.Clone(path), name)
		if _, left := second[name]; left && c.As(inner) != keyspace.CompareIgnore {
			c.Differ(PathOf(inner), Extra)
		}
	}
}

func (c *Comparison) arrays(path []string, how keyspace.CompareAs, a, b []byte) {
	first, second := jsontext.Elements(a), jsontext.Elements(b)
	if how == keyspace.CompareSet || len(first) == len(second) {
		sorted := jsontext.CanonicalSet(first, how == keyspace.CompareSet)
		other := jsontext.CanonicalSet(second, how == keyspace.CompareSet)
		if slices.EqualFunc(sorted, other, bytes.Equal) {
			if how != keyspace.CompareSet && !slices.EqualFunc(first, second, jsontext.SameCanonical) {
				c.Differ(PathOf(path), Order)
			}
			return
		}
	}
	inner := append(slices.Clone(path), "[]")
	if how == keyspace.CompareSet {
		c.Differ(PathOf(inner), Value)
		return
	}
	for i := range max(len(first), len(second)) {
		switch {
		case i >= len(second):
			c.Differ(PathOf(inner), Missing)
		case i >= len(first):
			c.Differ(PathOf(inner), Extra)
		default:
			c.json(inner, first[i], second[i])
		}
	}
}
