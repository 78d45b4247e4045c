package breaking

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
)

// found represents a finding that may share its cause with others.
type found struct {
	pos, was   keyspace.Pos
	entry, fix string
	order      string // of deployment; "": the rule's
	told       bool   // what is gone is retired: a note
	message    string
}

// fold collects findings by the var that caused them: a var that was narrowed is
// one finding, and not one for each of its uses.
type fold struct {
	c      *context
	causes []string // in their order; "" for each finding that stays alone
	found  map[string][]found
}

func (c *context) fold() *fold { return &fold{c: c, found: map[string][]found{}} }

// add takes a finding whose cause is a var, or "" for none.
func (f *fold) add(cause string, one found) {
	if cause == "" || f.found[cause] == nil {
		f.causes = append(f.causes, cause)
	}
	f.found[cause] = append(f.found[cause], one)
}

// report makes one finding of each cause.
func (f *fold) report() {
	alone := 0
	for _, cause := range f.causes {
		if cause == "" {
			one := f.found[""][alone]
			alone++
			f.c.ordered(cmp.Or(one.order, f.c.current.order), one.pos, one.was, one.entry, one.fix, "%s", one.message)
			if one.told {
				f.c.decided()
			}
			continue
		}
		first, others := f.found[cause][0], f.found[cause][1:]
		f.c.ordered(cmp.Or(first.order, f.c.current.order), f.c.varPos(cause), first.was, first.entry, first.fix,
			"%s: the var %s was %s and is %s%s", first.message, cause, f.c.definition(f.c.old, cause),
			f.c.definition(f.c.new, cause), also(others))
		if first.told {
			f.c.decided()
		}
	}
}

// also names the other uses of a var.
func also(others []found) string {
	var names []string
	seen := map[string]bool{}
	for _, o := range others {
		if !seen[o.entry] {
			seen[o.entry] = true
			names = append(names, o.entry)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > stored.MaxNamed:
		return fmt.Sprintf("; so it is with %s and %d more", strings.Join(names[:stored.MaxNamed], ", "),
			len(names)-stored.MaxNamed)
	}
	return "; so it is with " + strings.Join(names, ", ")
}

func (c *context) varPos(name string) keyspace.Pos {
	for _, v := range c.new.Vars {
		if v.Name == name {
			return v.Pos
		}
	}
	return keyspace.Pos{}
}

func (c *context) definition(ks *keyspace.Keyspace, name string) string {
	for _, v := range ks.Vars {
		if v.Name == name {
			return v.Type.Definition()
		}
	}
	return "not declared"
}
