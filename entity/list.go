package entity

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/paging"
	"github.com/keywright/keywright/kernel"
)

// Of represents the items of one value of an index, or all items of an index over all of
// them. Generated code makes it.
type Of[T any] struct{ paging.IndexKey }

// By returns an index by its name; value is that of its key, "" for an index
// over all items.
func (s *Store[I, T]) By(name, value string) Of[T] {
	ix, err := s.core.Index(name)
	if err != nil {
		return Of[T]{paging.IndexKey{Err: err}}
	}
	return Of[T]{paging.IndexKey{Index: ix, Key: ix.KeyOf(value)}}
}

// At returns an index whose key was built, or could not be.
func (s *Store[I, T]) At(name, key string, err error) Of[T] {
	ix, unknown := s.core.Index(name)
	return Of[T]{paging.IndexKey{Index: ix, Key: key, Err: errors.Join(err, unknown)}}
}

// Like returns the items that are in an index where v is.
func (s *Store[I, T]) Like(name string, v *T) Of[T] {
	i := slices.IndexFunc(s.typed.Indexes, func(ix Index[T]) bool { return ix.Name == name })
	if i < 0 || s.typed.Indexes[i].Key == nil {
		return s.By(name, "")
	}
	key, err := s.typed.Indexes[i].Key(v)
	return s.At(name, key, err)
}

// Query represents a page of items.
type Query[T any] struct {
	Of  Of[T]
	And []Of[T] // in these indexes too

	// Of an index with scores: the lowest and the highest, as ZRANGE BYSCORE takes
	// them ("(5" is above 5); "" for no bound. From is the lowest with Newest, too; it is an
	// error if it is above To.
	From, To string
	Newest   bool // the highest score first

	Limit int // items; 0: 100, at most 1,000
	// After is the Next of the page before.
	After string
	// Whole asks for an error (ErrIncomplete) instead of a page that may lack items.
	Whole bool
}

// plain returns the query without the type of the items.
func (q *Query[T]) plain() paging.Query {
	out := paging.Query{Of: q.Of.IndexKey, From: q.From, To: q.To, Newest: q.Newest, Limit: q.Limit, After: q.After,
		Whole: q.Whole}
	for _, of := range q.And {
		out.And = append(out.And, of.IndexKey)
	}
	return out
}

// Page represents a page of items. Items that are created or deleted meanwhile may or may
// not be in it; those that are there all the time are, once.
type Page[I, T any] struct {
	Items []Item[I, T]
	Next  string // "" on the last page
	// Gone is how many ids were passed over because their items have expired and
	// are not yet swept.
	Gone int
	// Incomplete is whether items may be missing that were written by programs which do
	// not know the index, as after a deploy that has added it (ErrIncomplete).
	Incomplete bool
}

// List gives a page of the items in an index: with scores by score and then by
// id, else by id. 1 round trip per 250 items; 2 where a first page that this store has
// listed before has new items. O(log n + page).
func (s *Store[I, T]) List(ctx context.Context, q Query[T]) (Page[I, T], error) {
	asked := q.plain()
	l, err := s.lister.Rows(ctx, asked)
	if err != nil {
		return Page[I, T]{}, err
	}
	p := Page[I, T]{Items: make([]Item[I, T], 0, len(l.Rows)), Next: l.Next, Gone: l.Gone, Incomplete: l.Incomplete}
	for _, row := range s.lister.Belonging(&asked, s.core.Names, l.Rows) {
		id, err := s.named(row.Key)
		if err != nil {
			return p, err
		}
		item, err := s.item(id, row.Key, row.Texts)
		if err != nil {
			return p, err
		}
		p.Items = append(p.Items, item)
	}
	return p, nil
}

// IDs represents a page of ids: see Page.
type IDs[I any] struct {
	IDs        []I
	Next       string
	Incomplete bool
}

// IDs works as List does, without the items.
func (s *Store[I, T]) IDs(ctx context.Context, q Query[T]) (p IDs[I], err error) {
	var fields []string
	asked := q.plain()
	for _, of := range append([]paging.IndexKey{asked.Of}, asked.And...) {
		if of.Index != nil && of.Index.Field != "" && !s.core.CrossSlot { // else the items were looked at
			fields = append(fields, of.Index.Field)
		}
	}
	l, err := s.lister.List(ctx, asked, fields)
	if err != nil {
		return p, err
	}
	p.Next, p.Incomplete = l.Next, l.Incomplete
	for _, row := range s.lister.Belonging(&asked, fields, l.Rows) {
		id, err := s.named(row.Key)
		if err != nil {
			return IDs[I]{}, err
		}
		p.IDs = append(p.IDs, id)
	}
	return p, nil
}

// named reads the id of an item from its key, as a member of an index has it.
func (s *Store[I, T]) named(key string) (id I, err error) {
	id, ok := s.parsed(key)
	if !ok {
		return id, s.broken(key, "", errors.New("a member of an index is no id of an item"))
	}
	return id, nil
}

// Each gives all items of a query, page by page. It ends with the first error; after
// the items of an index that is not complete that is ErrIncomplete.
func (s *Store[I, T]) Each(ctx context.Context, q Query[T]) iter.Seq2[Item[I, T], error] {
	return func(yield func(Item[I, T], error) bool) {
		lacks := paging.Rows{}
		for {
			page, err := s.List(ctx, q)
			if err != nil {
				yield(Item[I, T]{}, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			lacks.Incomplete = lacks.Incomplete || page.Incomplete
			if q.After = page.Next; q.After == "" {
				if asked := (paging.Query{Whole: true}); lacks.Incomplete {
					yield(Item[I, T]{}, s.lister.Refuse(&asked, &lacks))
				}
				return
			}
		}
	}
}

// Count returns how many living items are in an index, those with scores between from
// and to ("" for no bound). It is exact unless more than 1,000 items have expired
// and are not yet swept, when it is too high, or the index is not complete. 1 round trip; O(log n), and 1 per
// item that has expired. Where the keys are in several slots it is never exact
// (docs/entities-cluster.md).
func (s *Store[I, T]) Count(ctx context.Context, of Of[T], from, to string) (n int64, exact bool, err error) {
	q := paging.Query{Of: of.IndexKey, From: from, To: to}
	a := s.core.Action("count", keywright.Reads, of.Key, q.Check())
	if a.Err != nil {
		return 0, false, a.Err
	}
	keys := []string{of.Key}
	if !s.core.CrossSlot {
		if keys = append(keys, s.core.Spec.Records); s.core.Spec.Expires != "" {
			keys = append(keys, s.core.Spec.Expires)
		}
	}
	reply, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: a, Script: s.core.Scripts.Count, Keys: keys, Args: []string{paging.Or(from, "-inf"), paging.Or(to, "+inf"),
			"1000"},
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return 0, false, err
	}
	n, err = reply[0].AsInt64()
	whole, _ := reply[1].ToString()
	said, _ := reply[2].ToString()
	return n, whole == "1" && !s.core.CrossSlot && !s.lister.Incomplete(&q, said), err
}

// All gives all items, in no order, page by page: those that are there from
// beginning to end at least once. 2 round trips per 100 items.
func (s *Store[I, T]) All(ctx context.Context) iter.Seq2[Item[I, T], error] {
	return func(yield func(Item[I, T], error) bool) {
		for ids, err := range s.registered(ctx) {
			var items []Item[I, T]
			if err == nil {
				items, err = s.GetMany(ctx, ids...)
			}
			if err != nil {
				yield(Item[I, T]{}, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// registered gives the ids that have an index record, page by page.
func (s *Store[I, T]) registered(ctx context.Context) iter.Seq2[[]I, error] {
	return func(yield func([]I, error) bool) {
		for ids, err := range s.core.ScanRecords(ctx) {
			out := make([]I, 0, len(ids))
			for _, r := range ids {
				if id, ok := s.parsed(s.core.Key(r.ID)); ok {
					out = append(out, id)
				}
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}
