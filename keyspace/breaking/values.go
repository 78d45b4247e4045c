package breaking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

func (c *context) typeChanged() {
	c.keys(func(old, new *keyspace.Key) {
		switch {
		case old.Kind != new.Kind:
			c.report(at(new.Entry, "type"), at(old.Entry, "type"), new.Name, "", "%s was a %s and is a %s", new.Name, old.Kind,
				new.Kind)
		case old.Role == "" && old.Entry.Construct.Stored() != new.Entry.Construct.Stored():
			c.report(at(new.Entry, "type"), at(old.Entry, "type"), new.Name, "",
				"%s was of type %s and is of type %s, which keeps other keys beside it", new.Name, old.Entry.Type, new.Entry.Type)
		}
	})
}

// slot represents one place where a type is: "value", "member", "field name" …
type slot struct {
	name     string
	old, new *scalar.Type
	property string       // where it is written
	was, is  keyspace.Pos // of a field
}

// places returns where the slot was written and is.
func (s slot) places(old, new *keyspace.Key) (was, is keyspace.Pos) {
	if s.is.File != "" {
		return s.was, s.is
	}
	return s.at(old), s.at(new)
}

// at returns where the slot is written in an entry, the place of the key where that is not
// known: of keys that a construct adds.
func (s slot) at(k *keyspace.Key) keyspace.Pos {
	if pos, ok := k.Entry.At[s.property]; ok && k.Role == "" {
		return pos
	}
	return k.Pos
}

// slots returns the places of a key that hold one type each.
func slots(old, new *keyspace.Key) []slot {
	var none keyspace.Pos
	return []slot{
		{"the value", old.Value, new.Value, "value", none, none}, {"a member", old.Member, new.Member, "member", none, none},
		{"a score", old.Score, new.Score, "score", none, none},
		{"the name of a field", old.Field, new.Field, "field", none, none},
		{"the value of a field", old.Item, new.Item, "value", none, none},
	}
}

// fieldPairs returns the fields that both keys have, in a hash, a stream or a JSON
// object.
func fieldPairs(old, new []keyspace.Field) []slot {
	var out []slot
	for _, f := range old {
		if i := fieldIndex(new, f.Name); i >= 0 {
			out = append(out, slot{name: "the field " + f.Name, old: &f.Type, new: &new[i].Type, was: f.Pos, is: new[i].Pos})
		}
	}
	return out
}

func fieldIndex(fields []keyspace.Field, name string) int {
	return slices.IndexFunc(fields, func(f keyspace.Field) bool { return f.Name == name })
}

// both gives the lists of fields of a pair of keys: of a hash or stream, of a JSON
// object, and of a queue's payload.
func both(old, new *keyspace.Key) [][2][]keyspace.Field {
	lists := [][2][]keyspace.Field{{old.Fields, new.Fields}, {old.JSON, new.JSON}}
	if old.Role == "" {
		lists = append(lists, [2][]keyspace.Field{old.Entry.Shape, new.Entry.Shape})
	}
	return lists
}

// places returns all places of a pair of keys where a type is written.
func places(old, new *keyspace.Key) []slot {
	list := slots(old, new)
	for i := range list {
		// a score that is not declared is a number all the same
		if s := &list[i]; s.property == "score" && (s.old == nil) != (s.new == nil) {
			s.old, s.new = cmp.Or(s.old, anyNumber), cmp.Or(s.new, anyNumber)
		}
	}
	for _, lists := range both(old, new) {
		list = append(list, fieldPairs(lists[0], lists[1])...)
	}
	return list
}

var anyNumber = &scalar.Type{Kind: scalar.Float}

func (c *context) valueNarrowed() {
	causes := c.fold()
	c.keys(func(old, new *keyspace.Key) {
		if old.Kind != new.Kind {
			return
		}
		c.shapeGiven(old, new)
		for _, s := range places(old, new) {
			if reason := narrowed(s.old, s.new); reason != "" {
				was, is := s.places(old, new)
				way, words := s.way(), c.wordsGone(s.old, s.new)
				causes.add(s.changedVar(), found{pos: is, was: was, entry: new.Name, fix: way.fix, order: way.order,
					told: words != "", message: fmt.Sprintf("%s of %s was %s and is %s: %s", s.name, new.Name, text(s.old),
						text(s.new), cmp.Or(words, reason))})
			}
		}
	})
	causes.report()
}

// changedVar returns the var that both types come from, "" if they do not.
func (s slot) changedVar() string {
	if s.old == nil || s.new == nil || s.old.Var != s.new.Var || s.old.Encrypted != s.new.Encrypted {
		return ""
	}
	return s.old.Var
}

func text(t *scalar.Type) string {
	if t == nil {
		return "not checked"
	}
	return t.Definition()
}

// narrowed says why values of the old type do not all fit the new one, "" if
// they do.
func narrowed(old, new *scalar.Type) string {
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
	case differ(old.Kind, new.Kind, scalar.UnixS, scalar.UnixMS):
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

// differ reports whether two kinds are the two given ones.
func differ(a, b, one, other scalar.Kind) bool {
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

func (c *context) fieldRemoved() {
	c.keys(func(old, new *keyspace.Key) {
		for _, lists := range both(old, new) {
			if len(lists[1]) == 0 && !slices.ContainsFunc(lists[0], func(f keyspace.Field) bool {
				return keyspace.FindRetired(new.Entry.Retired, "", f.Name) != nil
			}) {
				c.fieldsGone(old, new, lists[0])
				continue
			}
			for _, f := range lists[0] {
				if fieldIndex(lists[1], f.Name) < 0 {
					c.fieldGone(new.Pos, f, new.Entry.Retired, new.Name, "the field %s of %s is gone", f.Name, new.Name)
				}
			}
		}
	})
}

// fieldsGone: no field is declared any more. Nothing that is stored is refused; but
// deployed readers expect the fields. Of another type KW611 says it, of a value KW619.
func (c *context) fieldsGone(old, new *keyspace.Key, fields []keyspace.Field) {
	if len(fields) == 0 || old.Kind != new.Kind || slices.EqualFunc(fields, old.JSON, sameField) && new.Value != nil {
		return
	}
	c.report(new.Pos, fields[0].Pos, new.Name, "", "%s has no declared fields any more; it had %s", new.Name,
		fieldNames(fields))
}

func sameField(a, b keyspace.Field) bool { return a.Name == b.Name }

// fieldNames returns the names of fields in a sentence, the first of very many.
func fieldNames(fields []keyspace.Field) string {
	var names []string
	for _, f := range fields[:min(len(fields), maxNamed)] {
		names = append(names, f.Name)
	}
	out := strings.Join(names, ", ")
	if more := len(fields) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func (c *context) fieldRequired() {
	c.keys(func(old, new *keyspace.Key) {
		if old.Kind != new.Kind {
			return
		}
		for _, lists := range both(old, new) {
			c.required(new.Name, lists[0], lists[1])
		}
	})
}

func (c *context) required(name string, old, new []keyspace.Field) {
	for _, f := range new {
		i := fieldIndex(old, f.Name)
		if f.Type.Optional || i >= 0 && !old[i].Type.Optional {
			continue
		}
		was := "is new"
		if i >= 0 {
			was = "was optional"
		}
		c.report(f.Pos, keyspace.Pos{}, name, "write "+f.Name+": "+f.Type.String()+" optional",
			"the field %s of %s %s and is required", f.Name, name, was)
	}
}

// The orders of deployment of indexes: `keywright entities index` does the rest.
const (
	indexAdded = "deploy all processes with the index (its lists say that items may be missing), then `keywright " +
		"entities index --apply` when no process of the older version writes any more, then the code that relies on its lists"
	indexRemoved = "deploy all readers without its lists, then all writers without the index, then `keywright entities " +
		"index --remove` with its name and `--apply`"
	indexMoved = "deploy all processes with the new keys (its lists say that items may be missing), then `keywright " +
		"entities index --apply` when no process of the older version writes any more, then `--remove` with its name and " +
		"`--apply` for the old keys"
)

func (c *context) indexChanged() {
	for _, p := range c.pairs {
		if p.new == nil || p.old.Construct != keyspace.Entity || p.new.Construct != keyspace.Entity {
			continue
		}
		for _, ix := range p.new.Index {
			switch i := slices.IndexFunc(p.old.Index, func(o keyspace.Index) bool { return o.Name == ix.Name }); {
			case ix.Field == "" && ix.Score == "expires": // the expiry times, which every entity has
			case i < 0:
				c.ordered(indexAdded, ix.Pos, keyspace.Pos{}, p.new.Name,
					"keywright entities index "+p.new.Name+" --apply adds those that are there",
					"the index %s of %s holds only items that are written from now on", ix.Name, p.new.Name)
			case p.old.Index[i].Key.Pattern.String() != ix.Key.Pattern.String():
				c.ordered(indexMoved, ix.Pos, p.old.Index[i].Pos, p.new.Name,
					"keywright entities index "+p.new.Name+" --apply, then --remove "+ix.Name+" --apply",
					"the index %s of %s begins empty under its new keys; those it had (%s) stay on the server", ix.Name, p.new.Name,
					p.old.Index[i].Key.Pattern)
			}
		}
		for _, ix := range p.old.Index {
			if !slices.ContainsFunc(p.new.Index, func(n keyspace.Index) bool { return n.Name == ix.Name }) {
				c.ordered(indexRemoved, p.new.Pos, ix.Pos, p.new.Name,
					"keywright entities index "+p.new.Name+" --remove "+ix.Name+" --apply",
					"the index %s of %s is gone; its keys (%s) stay on the server", ix.Name, p.new.Name, ix.Key.Pattern)
			}
		}
	}
}

func (c *context) messageChanged() {
	causes := c.fold()
	for _, old := range c.old.Channels {
		new := c.channel(old.Name)
		if new == nil {
			continue
		}
		if old.Form() != new.Form() {
			c.report(new.Pos, old.Pos, new.Name, "declare the new channel beside the old one, and publish to both for a while",
				"messages of %s travelled as %s and travel as %s", new.Name, old.Form(), new.Form())
		}
		c.messageFields(causes, "messages of "+new.Name, old, new, old.Message, new.Message)
		c.messageFields(causes, "answers to "+new.Name, old, new, old.Reply, new.Reply)
	}
	causes.report()
}

// messageFields compares the fields of messages, or of answers.
func (c *context) messageFields(causes *fold, what string, old, new *keyspace.Channel, before, after []keyspace.Field) {
	switch {
	case len(before) == 0 && len(after) > 0 && old.Form() == new.Form():
		c.report(new.Pos, old.Pos, new.Name, "declare the new channel beside the old one, and publish to both for a while",
			"%s had no declared fields and have %s: subscribers do not understand what deployed code sends", what,
			fieldNames(after))
		return
	case len(after) == 0 && len(before) > 0 && old.Form() == new.Form():
		c.report(new.Pos, before[0].Pos, new.Name,
			"declare the new channel beside the old one, and publish to both for a while",
			"%s have no declared fields any more; deployed subscribers expect %s", what, fieldNames(before))
		return
	}
	for _, f := range before {
		if fieldIndex(after, f.Name) < 0 && len(after) > 0 {
			c.fieldGone(new.Pos, f, new.Retired, new.Name, "%s have no field %s any more", what, f.Name)
		}
	}
	for _, s := range fieldPairs(before, after) {
		reason := narrowed(s.old, s.new)
		if reason == "" {
			reason = unreadable(s.new, s.old)
		}
		if words := c.wordsGone(s.old, s.new); reason != "" {
			causes.add(s.changedVar(), found{pos: s.is, was: s.was, entry: new.Name, told: words != "",
				message: fmt.Sprintf("%s of %s was %s and is %s: %s", s.name, what, text(s.old), text(s.new),
					cmp.Or(words, reason))})
		}
		if s.loosened() {
			c.ordered(readersOfBoth, s.is, s.was, new.Name, "deploy the subscribers first",
				"%s of %s was required and is optional: deployed subscribers refuse what lacks it", s.name, what)
		}
	}
	if len(before) > 0 {
		c.required(new.Name, before, after)
	}
}

// goTypes are the kinds by the type that generated code has for them.
func goType(t *scalar.Type) string {
	if t == nil {
		return "text"
	}
	name := map[scalar.Kind]string{scalar.Int: "int", scalar.Float: "float", scalar.Bool: "bool", scalar.Bytes: "bytes",
		scalar.JSON: "json",
		scalar.Date: "time", scalar.Timestamp: "time", scalar.UnixS: "time", scalar.UnixMS: "time"}[t.Kind]
	switch {
	case t.Encrypted:
		plain := opened(*t)
		return "sealed " + goType(&plain)
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

func (c *context) goTypeChanged() {
	c.keys(func(old, new *keyspace.Key) {
		if old.Kind != new.Kind {
			return
		}
		for _, s := range places(old, new) {
			if a, b := goType(s.old), goType(s.new); a != b && narrowed(s.old, s.new) == "" {
				was, is := s.places(old, new)
				c.report(is, was, new.Name, "", "%s of %s was %s and is %s in generated code", s.name, new.Name, a, b)
			}
		}
		if before, after := shapes(old, new); (len(before) == 0) != (len(after) == 0) && isJSON(old) && isJSON(new) {
			c.report(new.Pos, old.Pos, new.Name, "", "the value of %s was %s and is %s in generated code", new.Name,
				shapeWord(before), shapeWord(after))
		}
	})
}

// sealedUnreadable: other keys and fields are gone under rules of their own.
func (c *context) sealedUnreadable() {
	if c.old.Package == c.new.Package {
		return
	}
	for _, e := range c.old.Entries {
		if e.HoldsSealed() {
			c.report(keyspace.Pos{}, e.Pos, e.Name, "", "%s holds sealed texts, which are bound to the package %s; it is %s now",
				e.Name, orNobody(c.old.Package), orNobody(c.new.Package))
		}
	}
}
