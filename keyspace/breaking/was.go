package breaking

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// former is what makes the keys of an old pattern known under the new declaration.
type former struct {
	was  string   // the pattern; "": none does
	vars []string // to be declared, with their types: a placeholder of it has another type now
}

// former returns the pattern itself where that does. A placeholder whose var has another type now gets a var of its
// own, of the type that it had.
func (c *context) former(old, new *keyspace.Key) former {
	types := map[string]scalar.Type{}
	for _, v := range c.new.Vars {
		types[v.Name] = v.Type
	}
	resolve := func(name string) (scalar.Type, bool) {
		t, ok := types[name]
		t.Var = name
		return t, ok
	}
	out := former{was: old.Pattern.String()}
	if knows(old, new, out.was, resolve) {
		return out
	}
	places := old.Pattern.Placeholders()
	if p, err := pattern.Parse(out.was, resolve); err == nil {
		for i, now := range p.Placeholders() {
			if now.Type.Definition() == places[i].Type.Definition() {
				continue
			}
			t := places[i].Type
			name := now.Name + "_was"
			has, taken := types[name]
			for taken && has.Definition() != t.Definition() {
				name += "_was"
				has, taken = types[name]
			}
			if !taken {
				types[name] = t
				out.vars = append(out.vars, name+": "+typeText(t))
			}
			out.was = strings.ReplaceAll(out.was, "{"+now.Name+"}", "{"+name+"}")
		}
	}
	if !knows(old, new, out.was, resolve) {
		return former{}
	}
	return out
}

// knows reports whether all keys of an old pattern, and those that are derived of them, belong to the new entry if a
// pattern is under its was.
func knows(old, new *keyspace.Key, was string, resolve pattern.Resolve) bool {
	p, err := pattern.Parse(was, resolve)
	if err != nil {
		return false
	}
	if _, ok, err := within(old.Pattern, append(patternsOf(new), p)); !ok || err != nil {
		return false
	}
	for _, k := range old.Entry.Keys {
		n := pairs.Key(new.Entry, k.Role)
		if n == nil || !goesAlong(k, n) {
			continue // it has a finding of its own, or none
		}
		q, err := new.Entry.Renamed(n, p)
		if err != nil {
			return false
		}
		if _, ok, err := within(k.Pattern, append(patternsOf(n), q)); !ok || err != nil {
			return false
		}
	}
	return true
}

var plainType = regexp.MustCompile(`^[a-z][A-Za-z0-9_.| -]*$`)

// typeText returns a type as it is written under vars.
func typeText(t scalar.Type) string {
	if text := t.Definition(); !plainType.MatchString(text) {
		return strconv.Quote(text)
	}
	return t.Definition()
}

// at returns what is to be written at an entry, and under vars.
func (f former) at(entry string) string {
	s := "was: [" + strconv.Quote(f.was) + "]" + entry
	if len(f.vars) > 0 {
		s += ", and " + strings.Join(f.vars, ", ") + " under vars"
	}
	return s
}

// orderOfFormer says how keys go whose values the new type does not have.
const orderOfFormer = "there is none without `was`. With it: code that knows both names, then drop `was` when the " +
	"old keys are gone; keywright rename leaves them, since a placeholder has another type now"

// newTypeUnderWas says why a var of another name is needed.
const newTypeUnderWas = ", since a var has its new type under was, too"

// fixOfEntries and orderOfEntries are for keys that no pattern under was makes known.
const (
	fixOfEntries = "keep the entry, with its vars, as it was until its keys are gone, and give the new pattern an entry " +
		"of its own"
	orderOfEntries = "code that uses both entries, then writers of the new one, then the old entry when its keys are gone"
)
