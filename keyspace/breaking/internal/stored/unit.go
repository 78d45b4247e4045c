package stored

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// unit represents a placeholder whose digits mean another time than before.
type unit struct {
	name    string
	was, is scalar.Kind
}

func (u *unit) String() string {
	return fmt.Sprintf("a {%s} that was %s and is %s (the digits look alike and mean another time)", u.name, u.was, u.is)
}

// UnitChanged finds a placeholder of old that has another unit in every pattern of new
// that has the same literals: one pattern contains the other, and yet the two name
// different keys. It is nil where one of new keeps all units, or none is alike.
func UnitChanged(old *pattern.Pattern, new []*pattern.Pattern) (changed *unit) {
	for _, p := range new {
		if !sameLiterals(old, p) {
			continue
		}
		u := unitBetween(old, p)
		if u == nil {
			return nil
		}
		if changed == nil {
			changed = u
		}
	}
	return changed
}

// unitBetween compares the units of two patterns with the same literals.
func unitBetween(old, new *pattern.Pattern) *unit {
	for i, before := range old.Placeholders() {
		after := new.Placeholders()[i]
		if Differ(before.Type.Kind, after.Type.Kind, scalar.UnixS, scalar.UnixMS) {
			return &unit{before.Name, before.Type.Kind, after.Type.Kind}
		}
	}
	return nil
}

// sameLiterals reports whether two patterns differ in their placeholders only.
func sameLiterals(a, b *pattern.Pattern) bool {
	x, y := a.Elements(), b.Elements()
	if len(x) != len(y) || len(a.Placeholders()) != len(b.Placeholders()) {
		return false
	}
	for i := range x {
		if x[i].Literal != y[i].Literal || (x[i].Placeholder < 0) != (y[i].Placeholder < 0) {
			return false
		}
	}
	return true
}
