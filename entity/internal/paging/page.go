// Package paging lists the items of an index, page by page: by one script, by plain commands where a page is known from
// before, or index and items one after the other where the keys are in several slots. It gives texts, not values.
package paging

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
)

// Lister lists the items of an entity.
type Lister struct {
	Core   *itemkeys.Keys
	Cache  PageCache
	marked atomic.Value // the marks of the indexes that the last list has read
}

// IndexKey represents the items of one key of an index.
type IndexKey struct {
	Index *itemkeys.Index
	Key   string
	Err   error
}

// Query represents a page of items: see Query.
type Query struct {
	Of       IndexKey
	And      []IndexKey
	From, To string
	Newest   bool
	Limit    int
	After    string
	Whole    bool
}

const (
	defaultLimit = 100
	LargestLimit = 1000
	// mostLooked says how much work one call does, in ids that it looks at: a script holds
	// up the server while it runs. A page can be short of items and have a next one.
	mostLooked = 1000
	// mostPages says how often a page that is short is filled up.
	mostPages = 8
)

// Rows returns those of a page, of one that is known from before if may be.
func (s *Lister) Rows(ctx context.Context, q Query) (l Rows, err error) {
	a := s.Core.Action("list", keywright.Reads, q.Of.Key, q.Check())
	if a.Err == nil && !s.Core.CrossSlot {
		var ok bool
		if l, ok, err = s.listCached(ctx, &a, &q); err != nil {
			return l, err
		} else if ok {
			return l, s.Refuse(&q, &l)
		}
	}
	if l, err = s.List(ctx, q, s.Core.Names); err == nil && !s.Core.CrossSlot {
		s.learn(&q, &l)
	}
	return l, err
}

// Rows represents a page as rows.
type Rows struct {
	Rows       []row
	Next       string
	Gone       int
	Incomplete bool
	said       string // of indexes, where the keys are in several slots
}

// Refuse returns the error of a page that may lack items, to a query that wants all.
func (s *Lister) Refuse(q *Query, l *Rows) error {
	if !q.Whole || !l.Incomplete {
		return nil
	}
	return &keywright.Error{Class: keywright.NotApplied, Op: "list", Entry: s.Core.Entry.Name, Err: ErrIncomplete,
		Hint: "when no process of an older version writes any more: keywright entities index --apply"}
}

// Belonging leaves the rows whose items say themselves that they are in the indexes of a
// query. An index can be wrong of an item that a program has changed which does not
// know the index, as in the middle of a deploy.
func (s *Lister) Belonging(q *Query, fields []string, rows []row) []row {
	for _, of := range append([]IndexKey{q.Of}, q.And...) {
		i := slices.Index(fields, of.Index.Field)
		if of.Index.Field == "" || i < 0 {
			continue
		}
		value, is := of.Index.Value(of.Key)
		rows = slices.DeleteFunc(rows, func(r row) bool {
			text, err := r.Texts[i].ToString()
			return err != nil || !is || text != value
		})
	}
	return rows
}

// List gives a page, as rows with the texts of some fields.
func (s *Lister) List(ctx context.Context, q Query, fields []string) (l Rows, err error) {
	a := s.Core.Action("list", keywright.Reads, q.Of.Key, q.Check())
	if a.Err != nil {
		return l, a.Err
	}
	if s.Core.CrossSlot {
		if l, err = s.listCrossSlot(ctx, &q, fields); err == nil {
			err = s.Refuse(&q, &l)
		}
		return l, err
	}
	limit := orInt(q.Limit, defaultLimit)
	for range mostPages {
		q.Limit = limit - len(l.Rows)
		some, err := s.listSome(ctx, &a, &q, fields)
		if err != nil {
			return l, err
		}
		l.Rows, l.Gone, l.Next, l.Incomplete = append(l.Rows, some.Rows...), l.Gone+some.Gone, some.Next,
			l.Incomplete || some.Incomplete
		if q.After = l.Next; l.Next == "" || len(l.Rows) == limit {
			break
		}
	}
	return l, s.Refuse(&q, &l)
}

// listSome gives as much of a page as one script does.
func (s *Lister) listSome(ctx context.Context, a *kernel.Action, q *Query, fields []string) (l Rows,
	err error) {
	keys := []string{q.Of.Key}
	for _, and := range q.And {
		keys = append(keys, and.Key)
	}
	keys = append(keys, s.Core.Spec.Records)
	score, last, _ := strings.Cut(q.After, "\x00")
	alone := "1"
	if fields != nil {
		alone = ""
	}
	args := append([]string{q.order(), Or(q.From, "-inf"), Or(q.To, "+inf"), score, last, strconv.Itoa(q.Limit),
		strconv.Itoa(mostLooked), alone, s.Core.Spec.Prefix, s.Core.Spec.Suffix}, fields...)
	all, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: *a, Script: s.Core.Scripts.List, Keys: keys, Args: args,
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return l, err
	}
	more, _ := all[0].ToString()
	if score, _ = all[1].ToString(); more != "" {
		last, _ = all[2].ToString()
		l.Next = score + "\x00" + last
	}
	count, _ := all[3].ToString()
	l.Gone, _ = strconv.Atoi(count)
	said, _ := all[4].ToString()
	l.Incomplete = s.Incomplete(q, said)
	for all = all[5:]; len(all) > 0; all = all[1+len(fields):] {
		id, err := all[0].ToString()
		if err != nil {
			return l, err
		}
		l.Rows = append(l.Rows, row{id, s.Core.Key(id), all[1 : 1+len(fields)]})
	}
	return l, nil
}

// Or returns a text, or another one for "".
func Or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orInt(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// ErrIncomplete reports a list of an index that may lack items: they were written by a
// program that does not know the index, and `keywright entities index --apply` was not
// run since.
var ErrIncomplete = errors.New("the index is not complete: it may lack items")

// Incomplete reports whether one of the indexes of a query may lack items. said is the text
// of the marks, "" where there is no item.
func (s *Lister) Incomplete(q *Query, said string) bool {
	if said == "" {
		return false
	}
	m := indexrecord.ReadMarks(said)
	for _, of := range append([]IndexKey{q.Of}, q.And...) {
		if m.Of(of.Index.Tag()) != indexrecord.StateComplete {
			return true
		}
	}
	return false
}
