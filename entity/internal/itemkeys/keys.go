// Package itemkeys is the keys of an entity on a server: what is declared of them without the Go types of ids and
// values, the events of their changes, the index records, and how a script of the entity is run.
//
// It decides nothing: it neither writes an item (package writer), nor lists (paging), nor puts anything right
// (upkeep).
package itemkeys

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/entity/message"
	"github.com/keywright/keywright/kernel"
)

// Description describes the keys of an entity, without the Go types of its ids and values: ids are the texts in the
// keys. Spec says what the fields are that both have.
type Description struct {
	Prefix, Suffix string                    // of an item's key, around its id
	IsItem         func(key string) bool     // whether a key that begins and ends so is one of an item
	Pieces         func(key string) []string // the placeholders of an item's key that events carry; nil: none do
	Columns        []Column                  // all fields
	Indexes        []Index

	Expires, Records, Pending, Lease string

	IndexTTL time.Duration

	Created, Version, Updated string
	Seconds                   bool

	TTLFields []string
	// Rule is the lifetime by rule of an item with these fields, if they tell it; nil: there is no rule.
	Rule func(texts map[string]StoredText) (ttl time.Duration, known bool)

	OnCreate, OnUpdate, OnDelete, OnExpire []message.Event
}

// Column represents a field of an item.
type Column struct {
	Name     string
	Optional bool // an item may lack it
}

// Index represents one index of an entity: see Index.
type Index struct {
	Name           string
	Field          string
	Prefix, Suffix string
	Score          string
	Legal          func(key string) bool
}

// Keys represents the keys of an entity on a server, as far as their Go types do not matter. It is safe for
// concurrent use.
type Keys struct {
	Client *keywright.Client
	Entry  *keywright.Entry
	Spec   *Description
	Err    error

	Scripts   *scripts.Scripts
	Columns   map[string]int // field → column
	Names     []string       // of all columns
	Stamped   map[string]bool
	Keeps     string // IndexTTL in ms
	Database  string // a member of envelopes
	CrossSlot bool   // its keys are in several slots of a cluster
	Renewed   *renewedKeys
	Tags      []string     // of the indexes, as records have them
	lines     string       // the lines of their marks if all are complete
	agreed    atomic.Value // what writes say of the marks: see AgreedText

	Windows Windows                     // of intents, if it is in several slots
	Hook    func(step, id string) error // of tests: between the steps; an error is a process that dies there
}

// New returns the keys that are described. The entry of b is that of an item.
func New(b keywright.Binding, d *Description) *Keys {
	s := &Keys{Client: b.Client, Entry: b.Entry, Spec: d, Err: b.Invalid(""), Columns: map[string]int{},
		Stamped: map[string]bool{},
		Renewed: NewRenewedKeys(d.IndexTTL / 4)}
	for i, col := range d.Columns {
		s.Columns[col.Name] = i
		s.Names = append(s.Names, col.Name)
	}
	for _, name := range []string{d.Created, d.Version, d.Updated} {
		s.Stamped[name] = name != ""
	}
	s.Database = inDatabase(b.Client)
	s.Tag()
	s.Keeps = fmt.Sprint(d.IndexTTL.Milliseconds())
	s.Scripts = kernel.Part(b.Client, scripts.New)
	if err := s.streams(); err != nil && s.Err == nil {
		s.Err = err
	}
	s.place()
	return s
}

// StoredText represents a field as it is stored, if it is there.
type StoredText struct {
	Text  string
	There bool
}

// ID returns the id of a key: what is between prefix and suffix.
func (s *Keys) ID(key string) string {
	return key[len(s.Spec.Prefix) : len(key)-len(s.Spec.Suffix)]
}

// Key returns the key of an item.
func (s *Keys) Key(id string) string { return s.Spec.Prefix + id + s.Spec.Suffix }

// Action begins an operation.
func (s *Keys) Action(name string, effect keywright.Effect, key string, err error) kernel.Action {
	if err == nil {
		err = s.Err
	}
	if err != nil {
		err = s.Invalid(name, err)
	}
	return kernel.Action{Client: s.Client, Name: name, Entry: s.Entry, Effect: effect, Err: err, Key: key}
}

// Invalid returns an error that was found before anything was sent.
func (s *Keys) Invalid(op string, err error) error {
	out := keywright.Error{Class: keywright.Invalid, Err: err}
	if known, ok := err.(*keywright.Error); ok {
		out = *known
	}
	out.Op, out.Entry = op, s.Entry.Name
	return &out
}

// KeyOf returns the key of an index for a value.
func (ix *Index) KeyOf(text string) string { return ix.Prefix + text + ix.Suffix }

// Value returns the value of a key, if it is one of the index.
func (ix *Index) Value(key string) (string, bool) {
	text, before := strings.CutPrefix(key, ix.Prefix)
	text, after := strings.CutSuffix(text, ix.Suffix)
	return text, before && after
}

// Text returns the value of a key of an index.
func (ix *Index) Text(key string) string { return key[len(ix.Prefix) : len(key)-len(ix.Suffix)] }

// Index returns an index by its name.
func (s *Keys) Index(name string) (*Index, error) {
	i := slices.IndexFunc(s.Spec.Indexes, func(ix Index) bool { return ix.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no index %q", cmp.Or(s.Entry.Name, "the entity"), name)
	}
	return &s.Spec.Indexes[i], nil
}

// Has reports whether a key is one of an index.
func (ix *Index) Has(key string) bool {
	if ix.Field == "" {
		return key == ix.Prefix
	}
	return len(key) > len(ix.Prefix)+len(ix.Suffix) && strings.HasPrefix(key, ix.Prefix) &&
		strings.HasSuffix(key, ix.Suffix)
}

// Declares reports whether a key is one of the index as it is declared: a value that
// was written by hand may be no part of one.
func (ix *Index) Declares(key string) bool { return ix.Legal == nil || ix.Legal(key) }
