package entity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// description describes the keys of an entity, without the Go types of its ids and values: ids are the texts in the
// keys. Spec says what the fields are that both have.
type description struct {
	Prefix, Suffix string                    // of an item's key, around its id
	IsItem         func(key string) bool     // whether a key that begins and ends so is one of an item
	Pieces         func(key string) []string // the placeholders of an item's key that events carry; nil: none do
	Columns        []column                  // all fields
	Indexes        []index

	Expires, Ledger, Pending, Lease string

	IndexTTL time.Duration

	Created, Version, Updated string
	Seconds                   bool

	TTLFields []string
	// Rule is the lifetime by rule of an item with these fields, if they tell it; nil: there is no rule.
	Rule func(texts map[string]text) (ttl time.Duration, known bool)

	OnCreate, OnUpdate, OnDelete, OnExpire []Event
}

// column represents a field of an item.
type column struct {
	Name     string
	Optional bool // an item may lack it
}

// index represents one index of an entity: see Index.
type index struct {
	Name           string
	Field          string
	Prefix, Suffix string
	Score          string
	Legal          func(key string) bool
}

// core represents the keys of an entity on a server, as far as their Go types do not matter. It is safe for
// concurrent use.
type core struct {
	client *keywright.Client
	entry  *keywright.Entry
	spec   *description
	err    error

	scripts  *scripts
	columns  map[string]int // field → column
	names    []string       // of all columns
	stamped  map[string]bool
	keeps    string // IndexTTL in ms
	database string // a member of envelopes
	apart    bool   // its keys are in several slots of a cluster
	renewed  *memo
	tags     []string     // of the indexes, as records have them
	lines    string       // what the ledger says of them if all are complete
	token    atomic.Value // of what this process has agreed to

	windows windows                     // of intents, if it is apart
	hook    func(step, id string) error // of tests: between the steps; an error is a process that dies there
}

// newCore returns the keys that are described. The entry of b is that of an item.
func newCore(b keywright.Binding, d *description) *core {
	s := &core{client: b.Client, entry: b.Entry, spec: d, err: b.Invalid(""), columns: map[string]int{}, stamped: map[string]bool{},
		renewed: newMemo(d.IndexTTL / 4)}
	for i, col := range d.Columns {
		s.columns[col.Name] = i
		s.names = append(s.names, col.Name)
	}
	for _, name := range []string{d.Created, d.Version, d.Updated} {
		s.stamped[name] = name != ""
	}
	s.database = inDatabase(b.Client)
	s.tag()
	s.keeps = fmt.Sprint(d.IndexTTL.Milliseconds())
	s.scripts = kernel.Part(b.Client, newScripts)
	if err := s.streams(); err != nil && s.err == nil {
		s.err = err
	}
	s.place()
	return s
}

// text represents a field as it is stored, if it is there.
type text struct {
	text  string
	there bool
}

// id returns the id of a key: what is between prefix and suffix.
func (s *core) id(key string) string {
	return key[len(s.spec.Prefix) : len(key)-len(s.spec.Suffix)]
}

// key returns the key of an item.
func (s *core) key(id string) string { return s.spec.Prefix + id + s.spec.Suffix }

// action begins an operation.
func (s *core) action(name string, effect keywright.Effect, key string, err error) kernel.Action {
	if err == nil {
		err = s.err
	}
	if err != nil {
		err = s.invalid(name, err)
	}
	return kernel.Action{Client: s.client, Name: name, Entry: s.entry, Effect: effect, Err: err, Key: key}
}

// invalid returns an error that was found before anything was sent.
func (s *core) invalid(op string, err error) error {
	out := keywright.Error{Class: keywright.Invalid, Err: err}
	if known, ok := err.(*keywright.Error); ok {
		out = *known
	}
	out.Op, out.Entry = op, s.entry.Name
	return &out
}

// keyOf returns the key of an index for a value.
func (ix *index) keyOf(text string) string { return ix.Prefix + text + ix.Suffix }

// text returns the value of a key of an index.
func (ix *index) text(key string) string { return key[len(ix.Prefix) : len(key)-len(ix.Suffix)] }

func (s *core) index(name string) (*index, error) {
	i := slices.IndexFunc(s.spec.Indexes, func(ix index) bool { return ix.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no index %q", cmp.Or(s.entry.Name, "the entity"), name)
	}
	return &s.spec.Indexes[i], nil
}

// has reports whether a key is one of an index.
func (ix *index) has(key string) bool {
	if ix.Field == "" {
		return key == ix.Prefix
	}
	return len(key) > len(ix.Prefix)+len(ix.Suffix) && strings.HasPrefix(key, ix.Prefix) &&
		strings.HasSuffix(key, ix.Suffix)
}

// legal reports whether a key is one of the index as it is declared: a value that
// was written by hand may be no part of one.
func (ix *index) legal(key string) bool { return ix.Legal == nil || ix.Legal(key) }
