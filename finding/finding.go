// Package finding is what keywright says when something is wrong: one value
// with a stable code, a position, a sentence and a way out. Loader, linter and
// audit make findings; the printers of this package show them as text with a
// source excerpt, JSON, SARIF or GitHub annotations; ignores and baselines
// silence them.
//
// It is not an error type for failed operations (a server that cannot be
// reached is an error, not a finding), and it knows nothing about keyspaces.
//
// API: may change until 1.0.
package finding

// Severity says what a finding does to the exit code: an Error or Warning
// fails a run (see --fail-on), a Note never does.
type Severity uint8

const (
	Note Severity = iota
	Warning
	Error
)

// Position is a place in a declaration. Line and Column count from 1; Column
// and EndColumn count characters (runes), not bytes, so that a caret stands
// right under CJK text too. The zero Position means "no place in a file".
type Position struct {
	File      string
	Line      int
	Column    int
	EndColumn int // exclusive; 0 when only the start is known
}

// Related points from a finding to a second place that explains it, for
// example the other pattern of an overlap.
type Related struct {
	Pos     Position
	Message string
}

// Finding is one thing that is wrong, or worth knowing.
type Finding struct {
	Code     string // "KW204", a literal, never computed
	Severity Severity
	Pos      Position
	Entry    string // name of the declared entry, "" when there is none
	Message  string // one sentence, what and why, no trailing period
	Fix      string // what to do about it; "" when the rule's general fix says it all
	Related  []Related
	Count    int64    // audit: how many live keys; 0 elsewhere
	Examples [][]byte // audit: a few of those keys, raw bytes
}

// Rule is the row a code has in the rule table.
type Rule struct {
	Code     string
	Name     string // kebab-case, "overlapping-patterns"
	Severity Severity
	Summary  string // one line for `keywright rules`
	Explain  string // the text of `keywright explain KW204`: why, example, source
	Fix      string // general way out
}
