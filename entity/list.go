package entity

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// Of represents the items of one value of an index, or all items of an index over all of
// them. Generated code makes it.
type Of[T any] struct {
	index *Index[T]
	key   string
	err   error
}

// By returns an index by its name; value is that of its key, "" for an index
// over all items.
func (s *Store[I, T]) By(name, value string) Of[T] {
	ix, err := s.index(name)
	if err != nil {
		return Of[T]{err: err}
	}
	return Of[T]{index: ix, key: ix.keyOf(value)}
}

// At returns an index whose key was built, or could not be.
func (s *Store[I, T]) At(name, key string, err error) Of[T] {
	ix, unknown := s.index(name)
	return Of[T]{index: ix, key: key, err: errors.Join(err, unknown)}
}

// Like returns the items that are in an index where v is.
func (s *Store[I, T]) Like(name string, v *T) Of[T] {
	ix, err := s.index(name)
	if err != nil || ix.Key == nil {
		return s.By(name, "")
	}
	key, err := ix.Key(v)
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

const (
	defaultLimit = 100
	largestLimit = 1000
	// mostLooked says how much work one call does, in ids that it looks at: a script holds
	// up the server while it runs. A page can be short of items and have a next one.
	mostLooked = 1000
	// mostPages says how often a page that is short is filled up.
	mostPages = 8
)

// List gives a page of the items in an index: with scores by score and then by
// id, else by id. 1 round trip per 250 items; 2 where a first page that this store has
// listed before has new items. O(log n + page).
func (s *Store[I, T]) List(ctx context.Context, q Query[T]) (Page[I, T], error) {
	l, err := s.rows(ctx, q)
	if err != nil {
		return Page[I, T]{}, err
	}
	p := Page[I, T]{Items: make([]Item[I, T], 0, len(l.rows)), Next: l.next, Gone: l.gone, Incomplete: l.incomplete}
	for _, row := range s.belonging(&q, s.names, l.rows) {
		id, key, err := s.named(row.id)
		if err != nil {
			return p, err
		}
		item, err := s.item(id, key, row.texts)
		if err != nil {
			return p, err
		}
		p.Items = append(p.Items, item)
	}
	return p, nil
}

// rows returns those of a page, of one that is known from before if may be.
func (s *Store[I, T]) rows(ctx context.Context, q Query[T]) (l listed, err error) {
	a := s.action("list", keywright.Reads, q.Of.key, q.check())
	if a.Err == nil && !s.apart {
		var ok bool
		if l, ok, err = s.foresee(ctx, &a, &q); err != nil {
			return l, err
		} else if ok {
			return l, s.refuse(&q, &l)
		}
	}
	if l, err = s.list(ctx, q, s.names); err == nil && !s.apart {
		s.learn(&q, l.rows)
	}
	return l, err
}

// listed represents a page as rows.
type listed struct {
	rows       []row
	next       string
	gone       int
	incomplete bool
	said       string // of indexes, where the keys are in several slots
}

// refuse returns the error of a page that may lack items, to a query that wants all.
func (s *Store[I, T]) refuse(q *Query[T], l *listed) error {
	if !q.Whole || !l.incomplete {
		return nil
	}
	return &keywright.Error{Class: keywright.NotApplied, Op: "list", Entry: s.spec.entry.Name, Err: ErrIncomplete,
		Hint: "when no process of an older version writes any more: keywright entities index --apply"}
}

// belonging returns the rows whose items say themselves that they are in the indexes of a
// query. An index can be wrong of an item that a program has changed which does not
// know the index, as in the middle of a deploy.
func (s *Store[I, T]) belonging(q *Query[T], fields []string, rows []row) []row {
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		belongs := true
		for _, of := range append([]Of[T]{q.Of}, q.And...) {
			if i := slices.Index(fields, of.index.Field); of.index.Field != "" && i >= 0 {
				text, err := r.texts[i].ToString()
				belongs = belongs && err == nil && of.index.keyOf(text) == of.key
			}
		}
		if belongs {
			out = append(out, r)
		}
	}
	return out
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
	for _, of := range append([]Of[T]{q.Of}, q.And...) {
		if of.index != nil && of.index.Field != "" && !s.apart { // else the items were looked at
			fields = append(fields, of.index.Field)
		}
	}
	l, err := s.list(ctx, q, fields)
	if err != nil {
		return p, err
	}
	p.Next, p.Incomplete = l.next, l.incomplete
	for _, row := range s.belonging(&q, fields, l.rows) {
		id, _, err := s.named(row.id)
		if err != nil {
			return IDs[I]{}, err
		}
		p.IDs = append(p.IDs, id)
	}
	return p, nil
}

// named reads the id of an item from a member of an index.
func (s *Store[I, T]) named(text string) (id I, key string, err error) {
	key = s.key(text)
	id, ok := s.parsed(key)
	if !ok {
		return id, key, s.broken(key, "", errors.New("a member of an index is no id of an item"))
	}
	return id, key, nil
}

func (s *Store[I, T]) list(ctx context.Context, q Query[T], fields []string) (l listed, err error) {
	a := s.action("list", keywright.Reads, q.Of.key, q.check())
	if a.Err != nil {
		return l, a.Err
	}
	if s.apart {
		if l, err = s.listApart(ctx, &q, fields); err == nil {
			err = s.refuse(&q, &l)
		}
		return l, err
	}
	limit := orInt(q.Limit, defaultLimit)
	for range mostPages {
		q.Limit = limit - len(l.rows)
		some, err := s.listSome(ctx, &a, &q, fields)
		if err != nil {
			return l, err
		}
		l.rows, l.gone, l.next, l.incomplete = append(l.rows, some.rows...), l.gone+some.gone, some.next,
			l.incomplete || some.incomplete
		if q.After = l.next; l.next == "" || len(l.rows) == limit {
			break
		}
	}
	return l, s.refuse(&q, &l)
}

// listSome gives as much of a page as one script does.
func (s *Store[I, T]) listSome(ctx context.Context, a *kernel.Action, q *Query[T], fields []string) (l listed,
	err error) {
	keys := []string{q.Of.key}
	for _, and := range q.And {
		keys = append(keys, and.key)
	}
	keys = append(keys, s.spec.Ledger)
	score, last, _ := strings.Cut(q.After, "\x00")
	alone := "1"
	if fields != nil {
		alone = ""
	}
	args := append([]string{q.order(), or(q.From, "-inf"), or(q.To, "+inf"), score, last, strconv.Itoa(q.Limit),
		strconv.Itoa(mostLooked), alone, s.spec.Prefix, s.spec.Suffix}, fields...)
	all, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: *a, Script: s.scripts.list, Keys: keys, Args: args,
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return l, err
	}
	more, _ := all[0].ToString()
	if score, _ = all[1].ToString(); more != "" {
		last, _ = all[2].ToString()
		l.next = score + "\x00" + last
	}
	count, _ := all[3].ToString()
	l.gone, _ = strconv.Atoi(count)
	said, _ := all[4].ToString()
	l.incomplete = s.incomplete(q, said)
	for all = all[5:]; len(all) > 0; all = all[1+len(fields):] {
		id, err := all[0].ToString()
		if err != nil {
			return l, err
		}
		l.rows = append(l.rows, row{id, all[1 : 1+len(fields)]})
	}
	return l, nil
}

func or(text, otherwise string) string {
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

// Each gives all items of a query, page by page. It ends with the first error; after
// the items of an index that is not complete that is ErrIncomplete.
func (s *Store[I, T]) Each(ctx context.Context, q Query[T]) iter.Seq2[Item[I, T], error] {
	return func(yield func(Item[I, T], error) bool) {
		lacks := listed{}
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
			lacks.incomplete = lacks.incomplete || page.Incomplete
			if q.After = page.Next; q.After == "" {
				if q.Whole = true; lacks.incomplete {
					yield(Item[I, T]{}, s.refuse(&q, &lacks))
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
	q := Query[T]{Of: of, From: from, To: to}
	a := s.action("count", keywright.Reads, of.key, q.check())
	if a.Err != nil {
		return 0, false, a.Err
	}
	keys := []string{of.key}
	if !s.apart {
		if keys = append(keys, s.spec.Ledger); s.spec.Expires != "" {
			keys = append(keys, s.spec.Expires)
		}
	}
	reply, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: a, Script: s.scripts.count, Keys: keys, Args: []string{or(from, "-inf"), or(to, "+inf"), "1000"},
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return 0, false, err
	}
	n, err = reply[0].AsInt64()
	whole, _ := reply[1].ToString()
	said, _ := reply[2].ToString()
	return n, whole == "1" && !s.apart && !s.incomplete(&q, said), err
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

// registered gives the ids in the ledger, page by page.
func (s *Store[I, T]) registered(ctx context.Context) iter.Seq2[[]I, error] {
	return func(yield func([]I, error) bool) {
		for ids, err := range s.ledger(ctx) {
			out := make([]I, 0, len(ids))
			for _, r := range ids {
				if id, ok := s.parsed(s.key(r.id)); ok {
					out = append(out, id)
				}
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// registration represents an id and its record.
type registration struct{ id, record string }

// ledger reads the ledger, page by page (HSCAN: each at least once).
func (s *Store[I, T]) ledger(ctx context.Context) iter.Seq2[[]registration, error] {
	raw := s.client.Raw()
	return func(yield func([]registration, error) bool) {
		for cursor := uint64(0); ; {
			a := s.action("scan ledger", keywright.Reads, s.spec.Ledger, nil)
			page, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
				return raw.Do(ctx, raw.B().Hscan().Key(s.spec.Ledger).Cursor(cursor).Count(defaultLimit).Build())
			}, func(r kernel.Reply) (kernel.ScanEntry, error) { return r.AsScanEntry() })
			var out []registration
			for i := 0; i+1 < len(page.Elements); i += 2 {
				if page.Elements[i] == "" { // what is said of the indexes
					continue
				}
				out = append(out, registration{page.Elements[i], page.Elements[i+1]})
			}
			if !yield(out, err) || err != nil || page.Cursor == 0 {
				return
			}
			cursor = page.Cursor
		}
	}
}
