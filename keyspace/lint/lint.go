// Package lint says what is legal but unwise, or cannot work, in a declared
// keyspace: rules as rows of a table, each with a stable code, over the resolved
// model. It needs no server.
//
// It does not read files (package keyspace does, with findings of its own) and
// does not look at live keys (package audit does).
//
// API: may change until 1.0.
package lint

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
)

// rule represents a row of the table: what the code says, and its check.
type rule struct {
	finding.Rule
	check func(*context)
}

// context describes what the checks share. Checks report through it.
type context struct {
	*keyspace.Keyspace
	items     []match.Item
	targets   []keyspace.Target
	conflicts []match.Conflict
	ours      *owning // made when asked for
	current   finding.Rule
	out       []finding.Finding
}

// report adds a finding of the current rule.
func (c *context) report(pos keyspace.Pos, entry, fix, format string, args ...any) *finding.Finding {
	c.out = append(c.out, finding.Finding{Code: c.current.Code, Severity: c.current.Severity, Pos: pos, Entry: entry,
		Fix: fix, Message: fmt.Sprintf(format, args...)})
	return &c.out[len(c.out)-1]
}

// Run checks a keyspace that loaded without errors. The findings are sorted.
func Run(ks *keyspace.Keyspace) []finding.Finding {
	c := &context{Keyspace: ks}
	c.items, c.targets = ks.Items()
	var err error
	if _, c.conflicts, err = match.Compile(c.items); err != nil {
		c.tooComplex(err)
	}
	for _, r := range rules {
		c.current = r.Rule
		r.check(c)
	}
	finding.Sort(c.out)
	return c.out
}

// tooComplex reports, at the first of them, the patterns that cannot be compared.
func (c *context) tooComplex(err error) {
	c.current = rules[0].Rule
	var pos keyspace.Pos
	var entry string
	if complex := (*match.ComplexError)(nil); errors.As(err, &complex) && len(complex.Items) > 0 {
		pos, entry = c.place(complex.Items[0])
	}
	c.report(pos, entry, "begin patterns with different words, and use fewer wildcards",
		"the patterns are too complex to be compared: %v", err)
}

// place returns where an item is declared, and the entry that it is of.
func (c *context) place(item int) (pos keyspace.Pos, entry string) {
	switch t := c.targets[item]; {
	case t.Key != nil:
		return t.Key.Pos, t.Key.Entry.Name
	case t.Legacy != nil:
		return t.Legacy.At["was"], t.Legacy.Name
	case t.Foreign != nil:
		return t.Foreign.Pos, ""
	case t.Owned != nil:
		return t.Owned.Pos, ""
	}
	return pos, ""
}

// Rules returns the rows without their checks.
func Rules() []finding.Rule {
	out := make([]finding.Rule, len(rules))
	for i, r := range rules {
		out[i] = r.Rule
	}
	return out
}
