package keyspace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
)

// MigrationKeys says what the keys begin with that a migration keeps its epochs in.
const MigrationKeys = "keywright:migrate:"

// Migration represents one mapping under `migrations`: how the records of JSON files
// become keys, part by part.
type Migration struct {
	Name    string
	Package string // of the declaration: what is sealed is bound to it
	Doc     string
	Sources []*Source
	Parts   []*Part
	Compare []CompareRule
	Ignore  []Ignored
	Pos     Pos
}

// Ignored represents what of the documents of a source is meant to stay where it is.
type Ignored struct {
	Source *Source
	From   route.Path
	Reason string
	Pos    Pos
}

// String returns what stays, as it is written.
func (i Ignored) String() string { return i.Source.Name + ":" + i.From.String() }

// SourceFormat describes how a source's files are written.
type SourceFormat string

// The formats of a source.
const (
	JSONDocument SourceFormat = "json"  // a file is one document
	JSONLines    SourceFormat = "lines" // a file is an array of its lines
)

// Source represents a JSON file, or all files of a name with captures.
type Source struct {
	Name   string
	Doc    string
	File   route.File // relative to the folder that the program or command is given
	Format SourceFormat
	Pos    Pos
	At     map[string]Pos
}

// Part describes what moves between phases as one. Parts move in their order.
type Part struct {
	Name  string
	Doc   string
	Moves []*Move
	Gates Gates // of the part, or of the migration where the part has none
	Pos   Pos
}

// RecordKind describes what one match of a path becomes.
type RecordKind string

// The kinds of records.
const (
	StringRecord  RecordKind = "string"  // the value of a string, a cache or a counter
	FieldRecord   RecordKind = "field"   // a field of a hash with open fields
	HashRecord    RecordKind = "hash"    // a whole hash with fixed fields
	MemberRecord  RecordKind = "member"  // a member of a set
	ScoredRecord  RecordKind = "scored"  // a member of a zset or ranking, with its score
	ElementRecord RecordKind = "element" // an element of a list; the list is compared as a whole
	EntryRecord   RecordKind = "entry"   // an entry of a stream; the stream is compared as a whole
	JobRecord     RecordKind = "job"     // a job of a queue; the queue is compared as a whole
	ItemRecord    RecordKind = "item"    // an item of an entity, with its indexes
)

// Move takes every record of one path to one entry.
type Move struct {
	Name   string // part.entry, with .2, .3 … where a part moves to an entry more than once
	Source *Source
	From   route.Path
	To     *Entry
	Kind   RecordKind

	With   []Bound     // one per placeholder of the main key, in its order
	Field  *route.Term // FieldRecord: the field
	Member *route.Term // MemberRecord, ScoredRecord, ElementRecord
	Score  *route.Term // ScoredRecord
	Value  *route.Term // StringRecord, FieldRecord, JobRecord
	Fields []Bound     // HashRecord, ItemRecord, EntryRecord: in the order of the entry
	Tries  *route.Term // JobRecord: how often the job has been tried

	TTL    *TTLSource            // nil: the entry's TTL counts from the write
	Kept   map[string]*Entry     // capture → the hash among whose fields its text is, for captures that cannot be had back
	Told   map[string]route.Term // capture → the member of the record that is its text
	Except map[string][]string   // capture → texts whose records are not moved
	Pos    Pos
	At     map[string]Pos // "from", "to", "with.guild_id", "value", …
}

// Bound represents a placeholder or field and what it is taken from.
type Bound struct {
	Name string
	Term route.Term
	Pos  Pos
}

// TTLSource says when a record ends.
type TTLSource struct {
	From  *route.Term // a time from which the entry's TTL counts
	Until *route.Term // or the time at which it ends
	Over  Over
	Pos   Pos
}

// Over describes what becomes of a record whose time is over.
type Over string

// What becomes of a record that is over.
const (
	OverReject Over = "reject" // it is listed as one that cannot be moved
	OverSkip   Over = "skip"   // it is counted and left where it is
)

// Gates describes what must hold before a part goes on to the next phase. A gate that
// is not declared has the value of DefaultGates.
type Gates struct {
	Compared int64         // at least so many comparisons
	Unequal  int64         // at most so many of them unequal
	For      time.Duration // for at least so long
	Marks    int64         // at most so many records that may differ
	Backup   time.Duration // a verified backup at most so old; 0: none is needed
	Pos      Pos
}

// DefaultGates lists the gates of a migration that declares none.
var DefaultGates = Gates{Compared: 1000, For: time.Hour, Backup: 24 * time.Hour}

// CompareRule changes how a value inside the records of an entry is compared.
type CompareRule struct {
	Entry *Entry
	Field []string // the members on the way to it; "[]" is every element of an array
	As    CompareAs
	Owner string    // ignore: who answers for it
	Until time.Time // ignore: the first day on which it is compared again
	Doc   string
	Pos   Pos
}

// CompareAs describes how a value is compared.
type CompareAs string

// The ways to compare.
const (
	CompareSet     CompareAs = "set"     // an array whose order does not count
	CompareInstant CompareAs = "instant" // two texts or numbers of one time are equal
	CompareIgnore  CompareAs = "ignore"  // not at all, until a day
)

// ID returns the name of the migration where its keys are: with the namespace before it where a
// program has chosen another one than the declared one, so that each has phases of its own.
func (m *Migration) ID() string {
	for _, p := range m.Parts {
		for _, mv := range p.Moves {
			if n := mv.To.Namespace; n != nil && n.Name != n.Default {
				return n.Name + "." + m.Name
			}
		}
	}
	return m.Name
}

// moving returns the keys that the migrations keep their epochs in, and those of the janitor.
func (ks *Keyspace) moving() (out []Glob) {
	if len(ks.Janitor) > 0 {
		if p, err := pattern.Glob(JanitorKeys + "*"); err == nil {
			out = append(out, Glob{Text: JanitorKeys + "*", Pattern: p, Pos: ks.Janitor[0].Pos})
		}
	}
	for _, m := range ks.Migrations {
		for _, text := range []string{MigrationKeys + m.ID(), MigrationKeys + m.ID() + ":*"} {
			if p, err := pattern.Glob(text); err == nil {
				out = append(out, Glob{Text: text, Pattern: p, Pos: m.Pos})
			}
		}
	}
	return out
}

// Migration returns the migration of that name, nil if there is none.
func (ks *Keyspace) Migration(name string) *Migration {
	for _, m := range ks.Migrations {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Part returns the part of that name, nil if there is none.
func (m *Migration) Part(name string) *Part {
	for _, p := range m.Parts {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Captures returns the names that the file and the path of a move capture.
func (mv *Move) Captures() []string {
	return append(mv.Source.File.Captures(), mv.From.Captures()...)
}

// String returns where a move takes from and what to, as in "state:/a/{id} to item".
func (mv *Move) String() string {
	return fmt.Sprintf("%s:%s to %s", mv.Source.Name, mv.From, mv.To.Name)
}

// Types returns the types of what a move stores, by the name of the property: "field",
// "member", "score", "value" and "tries". One that is nil is left open by the
// declaration.
func (mv *Move) Types() map[string]*scalar.Type {
	main := mv.To.Keys[0]
	types := map[string]*scalar.Type{"field": main.Field, "member": main.Member,
		"score": cmp.Or(main.Score, &scalar.Type{Kind: scalar.Float}), "value": main.Value, "tries": {Kind: scalar.Int}}
	if mv.Kind == FieldRecord {
		types["value"] = main.Item
	}
	for _, k := range mv.To.Keys {
		if mv.Kind == JobRecord && k.Role == "job" {
			types["value"] = k.Value
		}
	}
	return types
}

// MoveFact represents one thing that decides which record a move makes.
type MoveFact struct {
	Name, Value string
	Pos         Pos
}

// Facts returns what decides which record a move makes, in the order of the documents.
func (mv *Move) Facts() (out []MoveFact) {
	add := func(name, value string, pos Pos) {
		if value != "" {
			out = append(out, MoveFact{name, value, pos})
		}
	}
	text := func(t *route.Term) string {
		if t == nil {
			return ""
		}
		return t.String()
	}
	add("the file", mv.Source.File.String(), mv.Source.Pos)
	add("the format of the file", string(mv.Source.Format), mv.Source.Pos)
	add("from", mv.From.String()+".", mv.At["from"])
	add("to", mv.To.Name, mv.At["to"])
	for _, b := range mv.With {
		add("{"+b.Name+"}", b.Term.String(), b.Pos)
	}
	add("field", text(mv.Field), mv.At["field"])
	add("member", text(mv.Member), mv.At["member"])
	add("score", text(mv.Score), mv.At["score"])
	add("value", text(mv.Value), mv.At["value"])
	for _, b := range mv.Fields {
		add("the field "+b.Name, b.Term.String(), b.Pos)
	}
	add("tries", text(mv.Tries), mv.At["tries"])
	if mv.TTL != nil {
		add("ttl from", text(mv.TTL.From), mv.TTL.Pos)
		add("ttl until", text(mv.TTL.Until), mv.TTL.Pos)
		add("what is over", string(mv.TTL.Over), mv.TTL.Pos)
	}
	for _, name := range slices.Sorted(maps.Keys(mv.Kept)) {
		add("what keeps {"+name+"}", mv.Kept[name].Name, mv.At["kept."+name])
	}
	for _, name := range mv.Captures() {
		if t, ok := mv.Told[name]; ok {
			add("what tells {"+name+"}", t.String(), mv.At["kept."+name])
		}
		add("what is left out by {"+name+"}", strings.Join(mv.Except[name], ", "), mv.At["except."+name])
	}
	return out
}
