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

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Severity says what a finding does to the exit code: an Error or Warning
// fails a run (see --fail-on), a Note never does.
type Severity uint8

const (
	Note Severity = iota
	Warning
	Error
)

// Position represents a place in a declaration. Line and Column count from 1; Column
// and EndColumn count characters (runes), not bytes, so that a caret is
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

// Finding represents one thing that is wrong, or worth knowing.
type Finding struct {
	Code     string // "KW204", a literal, never computed
	Severity Severity
	Pos      Position
	Entry    string // name of the declared entry, "" when there is none
	Message  string // one sentence, what and why, no trailing period
	Fix      string // what to do about it; "" when the rule's general fix says it all
	Order    string // breaking: the order of deployment that is safe, or that there is none; "" elsewhere
	Related  []Related
	Count    int64     // audit: how many live keys; 0 elsewhere
	Examples []Example // audit: a few of those keys
	Parts    []Part    // audit: the groups that the keys are in, which a baseline accepts one by one; none elsewhere
}

// Part represents a group of the keys that a finding is about.
type Part struct {
	Name    string // the pattern that the keys have
	Count   int64
	Example Example
}

// Example represents a live key, and the database it is in.
type Example struct {
	DB  int
	Key []byte
}

// Rule represents the row a code has in the rule table.
type Rule struct {
	Code     string
	Name     string // kebab-case, "overlapping-patterns"
	Severity Severity
	Summary  string // one line for `keywright rules`
	Explain  string // the text of `keywright explain KW204`: why, example, source
	Fix      string // general way out
}

// String returns the word for the severity in every output.
func (s Severity) String() string {
	return [...]string{"note", "warning", "error"}[min(s, Error)]
}

// Counts describes how many findings there are of each severity.
type Counts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Count counts findings by severity.
func Count(findings []Finding) Counts {
	var c Counts
	for _, f := range findings {
		switch f.Severity {
		case Error:
			c.Errors++
		case Warning:
			c.Warnings++
		default:
			c.Notes++
		}
	}
	return c
}

// Failing reports whether a run with these findings fails when findings of at
// least the given severity do.
func (c Counts) Failing(from Severity) bool {
	return c.Errors > 0 || from <= Warning && c.Warnings > 0 || from <= Note && c.Notes > 0
}

// Sort orders findings by file, place and code.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

// Rank orders findings by what matters: severity, then how many keys they are about,
// then as Sort does.
func Rank(findings []Finding) {
	Sort(findings)
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Count, a.Count))
	})
}

// Fingerprint identifies a finding across runs: it stays the same when lines
// move, and changes when the entry or the sentence does.
func Fingerprint(f Finding) string { return fingerprint(f, f.Message) }

func fingerprint(f Finding, what string) string {
	sum := sha256.Sum256([]byte(f.Code + "\x00" + f.Pos.File + "\x00" + f.Entry + "\x00" + what))
	return hex.EncodeToString(sum[:12])
}
