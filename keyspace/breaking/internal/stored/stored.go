// Package stored compares what a key held with what it holds: the types of its value, members and fields, their units,
// and the shape of JSON. It says whether what was written for one type is read by another one; what that breaks is
// decided by package breaking.
package stored

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Slot represents one place where a type is: "value", "member", "field name" …
type Slot struct {
	Name     string
	Old, New *scalar.Type
	property string       // where it is written
	Was, Is  keyspace.Pos // of a field
}

// Places returns where the slot was written and is.
func (s Slot) Places(old, new *keyspace.Key) (was, is keyspace.Pos) {
	if s.Is.File != "" {
		return s.Was, s.Is
	}
	return s.at(old), s.at(new)
}

// at returns where the slot is written in an entry, the place of the key where that is not
// known: of keys that a construct adds.
func (s Slot) at(k *keyspace.Key) keyspace.Pos {
	if pos, ok := k.Entry.At[s.property]; ok && k.Role == "" {
		return pos
	}
	return k.Pos
}

// Slots returns the places of a key that hold one type each.
func Slots(old, new *keyspace.Key) []Slot {
	var none keyspace.Pos
	return []Slot{
		{"the value", old.Value, new.Value, "value", none, none}, {"a member", old.Member, new.Member, "member", none, none},
		{"a score", old.Score, new.Score, "score", none, none},
		{"the name of a field", old.Field, new.Field, "field", none, none},
		{"the value of a field", old.Item, new.Item, "value", none, none},
	}
}

// FieldPairs returns the fields that both keys have, in a hash, a stream or a JSON
// object.
func FieldPairs(old, new []keyspace.Field) []Slot {
	var out []Slot
	for _, f := range old {
		if i := FieldIndex(new, f.Name); i >= 0 {
			out = append(out, Slot{Name: "the field " + f.Name, Old: &f.Type, New: &new[i].Type, Was: f.Pos, Is: new[i].Pos})
		}
	}
	return out
}

// FieldIndex returns the place of a field by its name, -1 if it is not there.
func FieldIndex(fields []keyspace.Field, name string) int {
	return slices.IndexFunc(fields, func(f keyspace.Field) bool { return f.Name == name })
}

// Both gives the lists of fields of a pair of keys: of a hash or stream, of a JSON
// object, and of a queue's payload.
func Both(old, new *keyspace.Key) [][2][]keyspace.Field {
	lists := [][2][]keyspace.Field{{old.Fields, new.Fields}, {old.JSON, new.JSON}}
	if old.Role == "" {
		lists = append(lists, [2][]keyspace.Field{old.Entry.Shape, new.Entry.Shape})
	}
	return lists
}

// Places returns all places of a pair of keys where a type is written.
func Places(old, new *keyspace.Key) []Slot {
	list := Slots(old, new)
	for i := range list {
		// a score that is not declared is a number all the same
		if s := &list[i]; s.property == "score" && (s.Old == nil) != (s.New == nil) {
			s.Old, s.New = cmp.Or(s.Old, anyNumber), cmp.Or(s.New, anyNumber)
		}
	}
	for _, lists := range Both(old, new) {
		list = append(list, FieldPairs(lists[0], lists[1])...)
	}
	return list
}

var anyNumber = &scalar.Type{Kind: scalar.Float}

// ChangedVar returns the var that both types come from, "" if they do not.
func (s Slot) ChangedVar() string {
	if s.Old == nil || s.New == nil || s.Old.Var != s.New.Var || s.Old.Encrypted != s.New.Encrypted {
		return ""
	}
	return s.Old.Var
}

// Text returns a type for a message.
func Text(t *scalar.Type) string {
	if t == nil {
		return "not checked"
	}
	return t.Definition()
}

// Narrowed says why values of the old type do not all fit the new one, "" if
// they do.
func Narrowed(old, new *scalar.Type) string {
	switch {
	case new == nil && (old == nil || !old.Encrypted):
		return ""
	case new == nil:
		new = &scalar.Type{Kind: scalar.Bytes}
	case old == nil:
		old = &scalar.Type{Kind: scalar.Bytes}
	}
	if old.Encrypted != new.Encrypted {
		return "what is stored is sealed in the one and not in the other"
	}
	return narrowedKind(opened(*old), opened(*new))
}

// opened returns the type of what is sealed: it is parsed when it has been opened.
func opened(t scalar.Type) scalar.Type {
	t.Encrypted = false
	return t
}

// open lists the kinds whose stored values are no regular language.
var open = []scalar.Kind{scalar.Text, scalar.Bytes, scalar.JSON, scalar.Float}

func narrowedKind(old, new scalar.Type) string {
	switch {
	case Differ(old.Kind, new.Kind, scalar.UnixS, scalar.UnixMS):
		return "the number is the same and means another time: the unit is part of the meaning"
	case new.Kind == scalar.Bytes, new.Kind == scalar.Text && new.Max == 0:
		return ""
	case new.Kind == scalar.Text:
		return tooLong(old, new)
	case new.Kind == scalar.JSON && old.Kind == scalar.JSON:
		if old.File != new.File && new.File != "" {
			return "whether the values fit the other schema file cannot be seen here"
		}
		return ""
	case new.Kind == scalar.JSON:
		if slices.Contains([]scalar.Kind{scalar.Int, scalar.Bool, scalar.UnixS, scalar.UnixMS}, old.Kind) {
			return ""
		}
		return "not every value is JSON"
	case new.Kind == scalar.Float:
		if slices.Contains([]scalar.Kind{scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS}, old.Kind) {
			return ""
		}
		return "not every value is a number"
	case old.Kind == scalar.Float && slices.Contains(parsed, new.Kind):
		return "the value 0.5 does not fit"
	case slices.Contains(open, old.Kind):
		return "values of " + old.Kind.String() + " may be anything"
	}
	return witness(old, new)
}

// Differ reports whether two kinds are the two given ones.
func Differ(a, b, one, other scalar.Kind) bool {
	return a == one && b == other || a == other && b == one
}

func tooLong(old, new scalar.Type) string {
	switch {
	case old.Kind == scalar.Text && old.Max > 0 && old.Max <= new.Max:
		return ""
	case slices.Contains(open, old.Kind):
		return "a value may be longer than that"
	}
	return witness(old, new)
}

// witness finds a value of old that new refuses.
func witness(old, new scalar.Type) string {
	a, err1 := old.Value()
	b, err2 := new.Value()
	if b == nil && err2 == nil { // text max N
		b, err2 = scalar.Type{Kind: scalar.Text, Max: min(new.Max, scalar.MaxKeyBytes), Rest: true}.Key()
	}
	if err1 != nil || err2 != nil || a == nil || b == nil {
		return "whether the values fit cannot be decided"
	}
	if value, found := automaton.Outside(a.DFA, b.DFA); found {
		return "the value " + finding.Key(value) + " does not fit"
	}
	return ""
}

// SameField reports whether two fields have one name.
func SameField(a, b keyspace.Field) bool { return a.Name == b.Name }

// MaxNamed bounds the names in one sentence.
const MaxNamed = 10

// FieldNames returns the names of fields in a sentence, the first of very many.
func FieldNames(fields []keyspace.Field) string {
	var names []string
	for _, f := range fields[:min(len(fields), MaxNamed)] {
		names = append(names, f.Name)
	}
	out := strings.Join(names, ", ")
	if more := len(fields) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// GoType returns the type that generated code has for a type, "text" for none.
func GoType(t *scalar.Type) string {
	if t == nil {
		return "text"
	}
	name := map[scalar.Kind]string{scalar.Int: "int", scalar.Float: "float", scalar.Bool: "bool", scalar.Bytes: "bytes",
		scalar.JSON: "json",
		scalar.Date: "time", scalar.Timestamp: "time", scalar.UnixS: "time", scalar.UnixMS: "time"}[t.Kind]
	switch {
	case t.Encrypted:
		plain := opened(*t)
		return "sealed " + GoType(&plain)
	case t.Kind == scalar.Enum:
		name = "enum " + t.Var
	case name == "":
		name = "text"
	}
	if t.Optional {
		name += " optional"
	}
	return strings.TrimSpace(name)
}

// parsed lists the kinds that a reader parses; the others it takes as they are.
var parsed = []scalar.Kind{scalar.Int, scalar.Float, scalar.Bool, scalar.JSON, scalar.Date, scalar.Timestamp,
	scalar.UnixS, scalar.UnixMS}

// Unreadable says why a reader of the old type refuses some value of the new one,
// "" if it takes all. Readers parse, and check no bounds.
func Unreadable(new, old *scalar.Type) string {
	if new == nil {
		new = &scalar.Type{Kind: scalar.Bytes}
	}
	if !slices.Contains(parsed, old.Kind) || old.Encrypted != new.Encrypted {
		return ""
	}
	return narrowedKind(opened(*new), scalar.Type{Kind: old.Kind, Layout: old.Layout})
}

// Loosened reports whether a field was required and is optional.
func (s Slot) Loosened() bool {
	return s.Old != nil && s.New != nil && !s.Old.Optional && s.New.Optional
}
