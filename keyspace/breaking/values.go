package breaking

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
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

func (c *context) valueNarrowed() {
	causes := c.fold()
	c.keys(func(old, new *keyspace.Key) {
		if old.Kind != new.Kind {
			return
		}
		c.shapeGiven(old, new)
		for _, s := range stored.Places(old, new) {
			if reason := stored.Narrowed(s.Old, s.New); reason != "" {
				was, is := s.Places(old, new)
				way, words := wayTo(s), c.wordsGone(s.Old, s.New)
				causes.add(s.ChangedVar(), found{pos: is, was: was, entry: new.Name, fix: way.fix, order: way.order,
					told: words != "", message: fmt.Sprintf("%s of %s was %s and is %s: %s", s.Name, new.Name, stored.Text(s.Old),
						stored.Text(s.New), cmp.Or(words, reason))})
			}
		}
	})
	causes.report()
}

func (c *context) fieldRemoved() {
	c.keys(func(old, new *keyspace.Key) {
		for _, lists := range stored.Both(old, new) {
			if len(lists[1]) == 0 && !slices.ContainsFunc(lists[0], func(f keyspace.Field) bool {
				return keyspace.FindRetired(new.Entry.Retired, "", f.Name) != nil
			}) {
				c.fieldsGone(old, new, lists[0])
				continue
			}
			for _, f := range lists[0] {
				if stored.FieldIndex(lists[1], f.Name) < 0 {
					c.fieldGone(new.Pos, f, new.Entry.Retired, new.Name, "the field %s of %s is gone", f.Name, new.Name)
				}
			}
		}
	})
}

// fieldsGone: no field is declared any more. Nothing that is stored is refused; but
// deployed readers expect the fields. Of another type KW611 says it, of a value KW619.
func (c *context) fieldsGone(old, new *keyspace.Key, fields []keyspace.Field) {
	if len(fields) == 0 || old.Kind != new.Kind ||
		slices.EqualFunc(fields, old.JSON, stored.SameField) && new.Value != nil {
		return
	}
	c.report(new.Pos, fields[0].Pos, new.Name, "", "%s has no declared fields any more; it had %s", new.Name,
		stored.FieldNames(fields))
}

func (c *context) fieldRequired() {
	c.keys(func(old, new *keyspace.Key) {
		if old.Kind != new.Kind {
			return
		}
		for _, lists := range stored.Both(old, new) {
			c.required(new.Name, lists[0], lists[1])
		}
	})
}

func (c *context) required(name string, old, new []keyspace.Field) {
	for _, f := range new {
		i := stored.FieldIndex(old, f.Name)
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
		if p.New == nil || p.Old.Construct != keyspace.Entity || p.New.Construct != keyspace.Entity {
			continue
		}
		for _, ix := range p.New.Index {
			switch i := slices.IndexFunc(p.Old.Index, func(o keyspace.Index) bool { return o.Name == ix.Name }); {
			case ix.Field == "" && ix.Score == "expires": // the expiry times, which every entity has
			case i < 0:
				c.ordered(indexAdded, ix.Pos, keyspace.Pos{}, p.New.Name,
					"keywright entities index "+p.New.Name+" --apply adds those that are there",
					"the index %s of %s holds only items that are written from now on", ix.Name, p.New.Name)
			case p.Old.Index[i].Key.Pattern.String() != ix.Key.Pattern.String():
				c.ordered(indexMoved, ix.Pos, p.Old.Index[i].Pos, p.New.Name,
					"keywright entities index "+p.New.Name+" --apply, then --remove "+ix.Name+" --apply",
					"the index %s of %s begins empty under its new keys; those it had (%s) stay on the server", ix.Name, p.New.Name,
					p.Old.Index[i].Key.Pattern)
			}
		}
		for _, ix := range p.Old.Index {
			if !slices.ContainsFunc(p.New.Index, func(n keyspace.Index) bool { return n.Name == ix.Name }) {
				c.ordered(indexRemoved, p.New.Pos, ix.Pos, p.New.Name,
					"keywright entities index "+p.New.Name+" --remove "+ix.Name+" --apply",
					"the index %s of %s is gone; its keys (%s) stay on the server", ix.Name, p.New.Name, ix.Key.Pattern)
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
			stored.FieldNames(after))
		return
	case len(after) == 0 && len(before) > 0 && old.Form() == new.Form():
		c.report(new.Pos, before[0].Pos, new.Name,
			"declare the new channel beside the old one, and publish to both for a while",
			"%s have no declared fields any more; deployed subscribers expect %s", what, stored.FieldNames(before))
		return
	}
	for _, f := range before {
		if stored.FieldIndex(after, f.Name) < 0 && len(after) > 0 {
			c.fieldGone(new.Pos, f, new.Retired, new.Name, "%s have no field %s any more", what, f.Name)
		}
	}
	for _, s := range stored.FieldPairs(before, after) {
		reason := stored.Narrowed(s.Old, s.New)
		if reason == "" {
			reason = stored.Unreadable(s.New, s.Old)
		}
		if words := c.wordsGone(s.Old, s.New); reason != "" {
			causes.add(s.ChangedVar(), found{pos: s.Is, was: s.Was, entry: new.Name, told: words != "",
				message: fmt.Sprintf("%s of %s was %s and is %s: %s", s.Name, what, stored.Text(s.Old), stored.Text(s.New),
					cmp.Or(words, reason))})
		}
		if s.Loosened() {
			c.ordered(readersOfBoth, s.Is, s.Was, new.Name, "deploy the subscribers first",
				"%s of %s was required and is optional: deployed subscribers refuse what lacks it", s.Name, what)
		}
	}
	if len(before) > 0 {
		c.required(new.Name, before, after)
	}
}

func (c *context) goTypeChanged() {
	c.keys(func(old, new *keyspace.Key) {
		if old.Kind != new.Kind {
			return
		}
		for _, s := range stored.Places(old, new) {
			if a, b := stored.GoType(s.Old), stored.GoType(s.New); a != b && stored.Narrowed(s.Old, s.New) == "" {
				was, is := s.Places(old, new)
				c.report(is, was, new.Name, "", "%s of %s was %s and is %s in generated code", s.Name, new.Name, a, b)
			}
		}
		if before, after := stored.Shapes(old, new); (len(before) == 0) != (len(after) == 0) && stored.IsJSON(old) &&
			stored.IsJSON(new) {
			c.report(new.Pos, old.Pos, new.Name, "", "the value of %s was %s and is %s in generated code", new.Name,
				stored.ShapeWord(before), stored.ShapeWord(after))
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

// shapeGiven: values that were any JSON are an object now, and a new reader refuses others.
func (c *context) shapeGiven(old, new *keyspace.Key) {
	before, after := stored.Shapes(old, new)
	// the latter is a finding of its own
	if len(before) > 0 || len(after) == 0 || !stored.IsJSON(old) && stored.Narrowed(old.Value, new.Value) != "" {
		return
	}
	was := stored.ShapeWord(before)
	if !stored.IsJSON(old) {
		was = stored.Text(old.Value)
	}
	c.report(at(new.Entry, "value"), at(old.Entry, "value"), new.Name, "",
		"the value of %s was %s and is %s: new readers refuse stored values of another shape; deployed readers take "+
			"the new ones", new.Name, was, stored.ShapeWord(after))
}

// shapeDropped: values that were an object may be any JSON now, and a deployed reader
// refuses others.
func (c *context) shapeDropped(old, new *keyspace.Key) {
	before, after := stored.Shapes(old, new)
	if old.Kind != new.Kind || len(before) == 0 || len(after) > 0 || !stored.IsJSON(new) {
		return
	}
	c.report(at(new.Entry, "value"), at(old.Entry, "value"), new.Name, "",
		"the value of %s was %s and is any JSON: deployed readers refuse new values of another shape; new readers take the "+
			"stored ones", new.Name, stored.ShapeWord(before))
}
