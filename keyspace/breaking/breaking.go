// Package breaking says what a change of a declaration does to what is there
// already: keys on the server, values in them, promises to readers, and code
// that was generated. It compares two keyspaces, by rules that are rows of a
// table. What differs without a judgement is listed by package diff.
//
// Whether old keys and old values still belong is decided exactly, on the
// languages of patterns and types, and a finding shows a key that does not. It
// looks at no server: that the keys exist is assumed.
//
// API: may change until 1.0.
package breaking

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/finding"
)

// Category describes what a change breaks.
type Category string

// The categories.
const (
	Key    Category = "KEY"    // keys on the server belong to no entry any more
	Value  Category = "VALUE"  // what is stored cannot be read, or not by everybody
	Policy Category = "POLICY" // a promise about lifetime, access or upkeep changes
	API    Category = "API"    // generated code that others call changes
)

// Categories returns all of them, in the order of the codes.
func Categories() []Category { return []Category{Key, Value, Policy, API} }

// rule represents a row of the table.
type rule struct {
	finding.Rule
	category Category
	order    string // of deployment that is safe, or that there is none
	check    func(*context)
}

// context describes what the checks share.
type context struct {
	old, new *keyspace.Keyspace
	pairs    []pairs.Pair
	declared *declared                    // made when asked for
	channels map[string]*keyspace.Channel // of new, by name; made when asked for
	fell     *[]fallen                    // made when asked for
	names    map[string]bool              // of all that new has; made when asked for
	retiring *retiredPatterns             // of new; made when asked for
	current  rule
	out      []finding.Finding
}

// Run compares two keyspaces that loaded without errors. Positions are those of
// the new one; what is gone is reported at the first line of its first file that is
// no comment, with the old place. What is gone and retired is a note, at its line under
// retired. The findings are sorted.
func Run(old, new *keyspace.Keyspace, categories ...Category) []finding.Finding {
	c := &context{old: old, new: new, pairs: pairs.Match(old, new)}
	for _, r := range rules {
		if len(categories) > 0 && !slices.Contains(categories, r.category) {
			continue
		}
		c.current = r
		r.check(c)
	}
	finding.Sort(c.out)
	return c.out
}

// Rules returns the rows without their checks.
func Rules() []finding.Rule {
	out := make([]finding.Rule, len(rules))
	for i, r := range rules {
		out[i] = r.Rule
		out[i].Explain += " Order of deployment: " + r.order + "."
	}
	return out
}

// CategoryOf returns the category of a code, "" for any other code.
func CategoryOf(code string) Category {
	for _, r := range rules {
		if r.Code == code {
			return r.category
		}
	}
	return ""
}

// report adds a finding of the current rule. was is where the old thing was.
func (c *context) report(pos, was keyspace.Pos, entry, fix, format string, args ...any) {
	if pos.File == "" {
		pos = c.start()
	}
	f := finding.Finding{Order: c.current.order, Code: c.current.Code, Severity: c.current.Severity, Pos: pos,
		Entry: entry, Fix: fix, Message: fmt.Sprintf(format, args...)}
	c.out = append(c.out, f)
	c.note(was)
}

// ordered is report of a change whose order of deployment is its own.
func (c *context) ordered(order string, pos, was keyspace.Pos, entry, fix, format string, args ...any) {
	c.report(pos, was, entry, fix, format, args...)
	c.out[len(c.out)-1].Order = order
}

// note adds to the last finding where the old thing was.
func (c *context) note(was keyspace.Pos) {
	if f := &c.out[len(c.out)-1]; was.File != "" {
		f.Message += fmt.Sprintf(" (before: %s:%d)", was.File, was.Line)
	}
}

// start returns where to report what is gone: at a line that a comment can be above.
func (c *context) start() keyspace.Pos {
	pos := keyspace.Pos{Line: 1, Column: 1}
	if len(c.new.Files) == 0 {
		return pos
	}
	pos.File = c.new.Files[0].Name
	for line := range bytes.Lines(c.new.Files[0].Text) {
		text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(text) > 0 && text[0] != '#' && text[0] != '%' && !bytes.HasPrefix(text, []byte("---")) {
			return pos
		}
		pos.Line++
	}
	return keyspace.Pos{File: pos.File, Line: 1, Column: 1}
}

// keys calls a check for each key that both have.
func (c *context) keys(check func(old, new *keyspace.Key)) {
	for _, p := range c.pairs {
		if p.New == nil {
			continue
		}
		for _, k := range p.Old.Keys {
			if n := pairs.Key(p.New, k.Role); n != nil {
				check(k, n)
			}
		}
	}
}

// at returns where a property of an entry is, else the entry.
func at(e *keyspace.Entry, property string) keyspace.Pos {
	if pos, ok := e.At[property]; ok {
		return pos
	}
	return e.Pos
}
