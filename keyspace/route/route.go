// Package route is the grammar by which a migration says how a JSON document
// becomes keys: a Path names the places in a document ("/{guild_id}/stories/[]"),
// a Term names a value at such a place and what is done to it
// ("iso8601(.posted_at)", "slug({name})").
//
// It only reads and prints the two. It knows no document, no declaration and no
// entry: whether a term suits an entry is decided by keyspace, what a conversion
// does to a value by migrate/record.
//
// API: may change until 1.0.
package route

import "strings"

// StepKind describes what a step of a path is.
type StepKind uint8

// The kinds of steps.
const (
	Member  StepKind = iota // the member of an object with this name
	Capture                 // every member of an object; its name is captured
	Element                 // every element of an array
	Place                   // every element of an array; its place, from 0, is captured
)

// Step represents one step of a path.
type Step struct {
	Kind StepKind
	Name string // of the member, or of the capture
}

// Path names places in a JSON document, like a JSON Pointer with captures:
// "/{guild_id}/{channel_id}/stories/[]". The empty path is the whole document.
type Path struct {
	Steps []Step
}

// Captures returns the names that the path captures, in its order.
func (p Path) Captures() []string {
	var out []string
	for _, s := range p.Steps {
		if s.Kind == Capture || s.Kind == Place {
			out = append(out, s.Name)
		}
	}
	return out
}

// escape writes a member's name as a step.
var escape = strings.NewReplacer("~", "~0", "/", "~1", "{", "~2", "[", "~3")

// String returns the path as it is written.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p.Steps {
		b.WriteString("/" + s.String())
	}
	return b.String()
}

// InObject reports whether the step leads from an object to a member, and not from an array to an element.
func (s Step) InObject() bool { return s.Kind == Member || s.Kind == Capture }

// String returns the step as it is written.
func (s Step) String() string {
	switch s.Kind {
	case Capture:
		return "{" + s.Name + "}"
	case Place:
		return "{#" + s.Name + "}"
	case Element:
		return "[]"
	}
	return escape.Replace(s.Name)
}

// File represents the name of a source's files, with captures: "guilds/{guild_id}.json".
type File struct {
	Parts []FilePart
}

// FilePart is literal text or, with a Name, a capture of one or more bytes
// that are no slash.
type FilePart struct {
	Literal, Name string
}

// Captures returns the names that the file name captures, in its order.
func (f File) Captures() []string {
	var out []string
	for _, p := range f.Parts {
		if p.Name != "" {
			out = append(out, p.Name)
		}
	}
	return out
}

// String returns the name as it is written.
func (f File) String() string {
	var b strings.Builder
	for _, p := range f.Parts {
		if p.Name != "" {
			b.WriteString("{" + p.Name + "}")
			continue
		}
		b.WriteString(p.Literal)
	}
	return b.String()
}

// Term names one value: of the record (".", ".article.title"), of a capture
// ("{name}"), or what a conversion makes of one ("slug({name})").
type Term struct {
	Func string   // the conversion, "" for a bare reference
	Of   []Term   // what it converts
	Args []string // its words: "default(.attempts, 0)" has one

	Capture string   // of a reference to a capture
	Members []string // of a reference to the record: the members on the way, none for the whole record
	Whole   bool     // a reference to the record, also with members

	renames map[string]string
}

// SyntaxError represents a path, a file name or a term that cannot be read.
type SyntaxError struct {
	Text    string
	Offset  int // in bytes
	Length  int
	Message string
	Fix     string
}

func (e *SyntaxError) Error() string { return e.Message }
