// Package entity is items with indexes: a hash per item, and sets and sorted sets
// of ids that are in step with it. Every write is one script that changes the
// item and all its entries, or nothing; an item that has expired is never given,
// its entries are swept within a bounded time, and its `expired` event is sent
// once, whatever dies when.
//
// Beside the indexes an entity keeps an index record of each item: the indexes it is in.
// By it an update takes the id out of its old index keys, and a sweep finds the
// entries of an item whose hash the server has already removed.
//
// It is no object mapper: no relations, no queries but those of the declared
// indexes, and no transactions over several items. Errors are those of package
// keywright; a missing item is keywright.ErrNotFound. docs/entities.md says what
// each call costs.
//
// API: may change until 1.0.
package entity

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/failure"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/paging"
	"github.com/keywright/keywright/entity/internal/writer"
	"github.com/keywright/keywright/entity/maintenance"
	"github.com/keywright/keywright/entity/message"
	"github.com/keywright/keywright/value"
)

// Spec describes what the declaration says of an entity. Generated code has one.
type Spec[I, T any] struct {
	entry *keywright.Entry // of the binding that the store was made with

	Prefix, Suffix string                     // of an item's key, around its id
	Key            func(id I) (string, error) // of an item
	Parse          func(key string) (I, bool)
	Fields         *value.Fields[T]
	Identify       func(id I, v *T)    // writes the id into a field that holds it; nil: there is none
	Pieces         func(id I) []string // the texts of the placeholders in an item's key that events carry; nil: none do
	Indexes        []Index[T]

	Expires string // the zset of expiry times; "" if items never expire
	Records string // the hash with the index record of each item
	Pending string // the zset of open intents, where items never expire (in a cluster only)
	Lease   string // the process that sweeps

	IndexTTL time.Duration // of all these keys, renewed with every write; 0: none

	Created, Version, Updated string // the fields that the server stamps, "" for none
	Seconds                   bool   // Created and Updated are in seconds

	// TTL is the lifetime by rule, 0 for the declared default; TTLFields are the
	// fields it looks at.
	TTL       func(v *T) time.Duration
	TTLFields []string

	OnCreate, OnUpdate, OnDelete, OnExpire []message.Event
}

// Index represents one index of an entity.
type Index[T any] struct {
	Name           string
	Field          string // a key per value of this field; "" for one key over all items
	Prefix, Suffix string // of its keys, around the value; all of the key is in Prefix without Field
	Score          string // a field: the index is sorted by it; "" for a set
	// Key is the key that a value is in; it fails where the value is no part of a
	// key. nil without Field.
	Key func(v *T) (string, error)
	// Legal is whether a key is one of the index, for Check, which looks at what
	// others may have written; nil: all that begin and end as they should.
	Legal func(key string) bool
}

// The types that an entity shares with what works on its keys.
type (
	// Event represents a message that goes out in the same step as a change.
	Event = message.Event
	// Part represents one field of a message, or a piece of a channel's name.
	Part = message.Part
	// Mode describes how an event is sent.
	Mode = message.Mode
	// Conflict represents a condition that does not hold; nothing was changed. It is ErrExists or ErrVersion to
	// errors.Is.
	Conflict = failure.Conflict
	// Errors describes what went wrong with some of many items, by their place in the arguments.
	Errors = failure.Errors
	// SweepOptions say how hard a sweep works.
	SweepOptions = maintenance.SweepOptions
	// Swept describes what a sweep has done.
	Swept = maintenance.Swept
	// CheckOptions say how a check works.
	CheckOptions = maintenance.CheckOptions
	// Checked describes what a check has found.
	Checked = maintenance.Checked
	// Problem represents something wrong with the entries of one item.
	Problem = maintenance.Problem
	// IndexOptions say what Indexes does.
	IndexOptions = maintenance.IndexOptions
	// IndexReport describes what Indexes has found, and done.
	IndexReport = maintenance.IndexReport
	// IndexState represents one index on the server.
	IndexState = maintenance.IndexState
	// Stats describes how an entity is doing.
	Stats = maintenance.Stats
)

// The modes.
const (
	Publish        = message.Publish        // PUBLISH
	PublishSharded = message.PublishSharded // SPUBLISH
	Append         = message.Append         // XADD to a stream
)

var (
	// ErrExists reports an item that is there already.
	ErrExists = failure.ErrExists
	// ErrVersion reports an item that was changed since it was read.
	ErrVersion = failure.ErrVersion
	// ErrForm reports an index record, or marks of the indexes, that a newer program has written. Its class is Refused,
	// and nothing was changed.
	ErrForm = indexrecord.ErrForm
	// ErrIncomplete reports a list of an index that may lack items: they were written by a program that does not know the
	// index, and `keywright entities index --apply` was not run since.
	ErrIncomplete = paging.ErrIncomplete
)

// Store represents the items of an entity. It is safe for concurrent use; make one per
// client.
type Store[I, T any] struct {
	core     *itemkeys.Keys
	writer   *writer.Writer
	lister   *paging.Lister
	typed    *Spec[I, T]
	stampers sync.Map // field → the store that stamps it
}

// New makes a store. Generated code calls it. The entry of b is that of an item.
func New[I, T any](b keywright.Binding, from *Spec[I, T]) *Store[I, T] {
	own := *from
	own.entry, own.Key = b.Entry, from.keyOfItem
	s := &Store[I, T]{typed: &own}
	s.core = itemkeys.New(b, s.description())
	s.writer, s.lister = writer.New(s.core), &paging.Lister{Core: s.core}
	return s
}

// keyOfItem returns the key of an item. It refuses one that the entity has for something else.
func (from *Spec[I, T]) keyOfItem(id I) (string, error) {
	key, err := from.Key(id)
	other := key == from.Expires || key == from.Records || key == from.Pending || key == from.Lease ||
		slices.ContainsFunc(from.Indexes, func(ix Index[T]) bool { return ix.Field == "" && key == ix.Prefix })
	if err == nil && other {
		return "", fmt.Errorf("the key of the item would be %s, which the entity has for something else", key)
	}
	return key, err
}

// description returns what of the Spec does not depend on the types of ids and values.
func (s *Store[I, T]) description() *itemkeys.Description {
	from := s.typed
	d := &itemkeys.Description{Prefix: from.Prefix, Suffix: from.Suffix, IsItem: s.isItem, Expires: from.Expires,
		Records: from.Records, Pending: from.Pending, Lease: from.Lease, IndexTTL: from.IndexTTL, Created: from.Created,
		Version: from.Version, Updated: from.Updated, Seconds: from.Seconds, TTLFields: from.TTLFields,
		OnCreate: from.OnCreate, OnUpdate: from.OnUpdate, OnDelete: from.OnDelete, OnExpire: from.OnExpire}
	for _, col := range from.Fields.Columns {
		d.Columns = append(d.Columns, itemkeys.Column{Name: col.Name, Optional: col.Optional})
	}
	for i := range from.Indexes {
		ix := &from.Indexes[i]
		d.Indexes = append(d.Indexes, itemkeys.Index{Name: ix.Name, Field: ix.Field, Prefix: ix.Prefix, Suffix: ix.Suffix,
			Score: ix.Score, Legal: ix.Legal})
	}
	if from.Pieces != nil {
		d.Pieces = s.keyPieces
	}
	if from.TTL != nil {
		d.Rule = s.rule
	}
	return d
}

// isItem reports whether a key is one of an item.
func (s *Store[I, T]) isItem(key string) bool { _, ok := s.parsed(key); return ok }

// keyPieces returns the texts of placeholders of an item's key, as its events carry them.
func (s *Store[I, T]) keyPieces(key string) []string {
	id, ok := s.parsed(key)
	if !ok {
		return nil
	}
	return s.typed.Pieces(id)
}

// rule returns the lifetime by rule of an item with these fields, if they tell it.
func (s *Store[I, T]) rule(texts map[string]itemkeys.StoredText) (ttl time.Duration, known bool) {
	var v T
	for _, name := range s.typed.TTLFields {
		t, col := texts[name], &s.typed.Fields.Columns[s.core.Columns[name]]
		if !(t.There && col.Parse(&v, t.Text) == nil || !t.There && col.Optional) {
			return 0, false
		}
	}
	return s.typed.TTL(&v), true
}

// Item represents one item as it was read or written.
type Item[I, T any] struct {
	ID      I
	Value   T
	Version int64 // 0 if the declaration has no version

	texts  []itemkeys.StoredText // as they were read, by column
	record string                // its index record after the write that gave it
}

// Change represents a new value of one field.
type Change[T any] struct {
	field string
	set   func(*T)
	unset bool
}

// Field makes changes of a field. Generated code has one per field.
type Field[T, F any] struct {
	Name string
	At   func(*T) *F
}

// Set returns the change to v.
func (f Field[T, F]) Set(v F) Change[T] {
	return Change[T]{field: f.Name, set: func(t *T) { *f.At(t) = v }}
}

// OptionalField makes changes of a field that an item may lack.
type OptionalField[T, F any] struct {
	Name string
	At   func(*T) **F
}

// Set returns the change to v.
func (f OptionalField[T, F]) Set(v F) Change[T] {
	return Change[T]{field: f.Name, set: func(t *T) { *f.At(t) = &v }}
}

// Unset takes the field away.
func (f OptionalField[T, F]) Unset() Change[T] { return Change[T]{field: f.Name, unset: true} }

// parsed reads the id of a key. One that does not begin and end as the items of
// this store is none, and none of which the id has another key: Parse may look at the
// shape of a key alone, and not at what all keys of a store share.
func (s *Store[I, T]) parsed(key string) (id I, ok bool) {
	if len(key) < len(s.core.Spec.Prefix)+len(s.core.Spec.Suffix) || !strings.HasPrefix(key, s.core.Spec.Prefix) ||
		!strings.HasSuffix(key, s.core.Spec.Suffix) {
		return id, false
	}
	if id, ok = s.typed.Parse(key); ok {
		again, err := s.typed.Key(id)
		ok = err == nil && again == key
	}
	return id, ok
}

// KeyOf returns the key of an item by the text of its id, as Problem has it.
func (s *Store[I, T]) KeyOf(id string) string { return s.core.Key(id) }
