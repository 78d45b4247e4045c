// Package keyspace is WHAT SHOULD BE: a declared keyspace, resolved. The model
// is data: every construct is expanded into plain key declarations, every name
// is resolved, every duration is a number. Package keyspace/load makes it from YAML
// files.
//
// It does no I/O, reads no YAML, knows no clock and no server. Whether a declaration
// is wise is not decided here but by keyspace/lint.
//
// API: may change until 1.0.
package keyspace

import (
	"time"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Keyspace represents one resolved declaration, imports included. Slices are in the
// order of the files.
type Keyspace struct {
	Package string
	Doc     string
	Owner   string // default owner

	Inside     []Glob       // the namespaces in effect: they are ours as a whole
	Siblings   []Glob       // other ones, where a type of their names distinguishes them
	Spaces     []*Namespace // each once: of the first file, and of imported files with one of their own
	Cluster    bool         // the team runs Redis Cluster: slot rules are errors
	Owns       []Glob
	Foreign    []Glob
	Vars       []Var
	TTLs       []NamedTTL
	Entries    []*Entry
	Keys       []*Key // every pattern of every entry, expanded; the matcher's order
	Channels   []*Channel
	Events     []*Event
	Shapes     []*Shape // at most one per file, for the entries of that file
	Cleanup    []Cleanup
	Pressure   []Pressure
	Janitor    []*Job // what is done again and again
	Retired    []Retired
	Migrations []*Migration
	Outputs    []Output // what `keywright gen` writes without arguments
	Files      []File   // root first; needed to show excerpts and to read ignore comments

	PressureLease *Key // nil without Pressure
}

// File represents the text of one declaration file.
type File struct {
	Name string // as given, slash-separated, relative to the fs.FS
	Text []byte
}

// Pos describes where something is in a file.
type Pos = finding.Position

// Glob represents a Redis glob of `owns`, `foreign` or `cleanup`.
type Glob struct {
	Text    string
	Pattern *pattern.Pattern
	Pos     Pos
	Sibling bool // of another namespace that a program may choose; foreign does not say so
}

// Var gives one meaning to a placeholder name, file-wide.
type Var struct {
	Name string
	Type scalar.Type // with its default
	Pos  Pos
	Used bool // some pattern, field, member or type refers to it

	Retired []Retired // words that its enum had
}

// NamedTTL represents an entry of `ttls`.
type NamedTTL struct {
	Name string
	TTL  TTL
	Pos  Pos
	Used bool
}

// Kind represents a Redis data type as TYPE reports it.
type Kind string

const (
	String Kind = "string"
	Hash   Kind = "hash"
	List   Kind = "list"
	Set    Kind = "set"
	ZSet   Kind = "zset"
	Stream Kind = "stream"
)

// Output represents one line of `gen`: a target and the folder its files go to,
// slash-separated, relative to the first file.
type Output struct {
	Target string
	Folder string
	Pos    Pos
}

// Event represents an application event and what it invalidates.
type Event struct {
	Name    string
	Doc     string
	With    []string // placeholder names the event carries
	Deletes []string // entry names
	Emits   []string // channel names
	Pos     Pos
	At      map[string]Pos
}

// Shape represents the team's naming law.
type Shape struct {
	Text  string
	Parts []ShapePart
	Pos   Pos
}

// ShapePart represents one segment of the shape: a literal or a named part, maybe
// optional; Type is the var of that name if there is one.
type ShapePart struct {
	Literal   string
	Name      string
	Type      *scalar.Type
	Separator string // what is before it, "" for the first
	Optional  bool
}

// Cleanup says which keys a clean-up may take.
type Cleanup struct {
	Match Glob
	Idle  time.Duration // not used for so long
	Older time.Duration // by the time in the key
	Keep  int           // all but so many of the newest, by the time or the number in the key
	Pos   Pos
}
