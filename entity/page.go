package entity

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// lister lists the items of an entity.
type lister struct {
	core   *core
	seen   foresight
	marked atomic.Value // what the ledger said of the indexes last, to a list
}

// indexKey represents the items of one key of an index.
type indexKey struct {
	index *index
	key   string
	err   error
}

// query represents a page of items: see Query.
type query struct {
	Of       indexKey
	And      []indexKey
	From, To string
	Newest   bool
	Limit    int
	After    string
	Whole    bool
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

// rows returns those of a page, of one that is known from before if may be.
func (s *lister) rows(ctx context.Context, q query) (l listed, err error) {
	a := s.core.action("list", keywright.Reads, q.Of.key, q.check())
	if a.Err == nil && !s.core.apart {
		var ok bool
		if l, ok, err = s.foresee(ctx, &a, &q); err != nil {
			return l, err
		} else if ok {
			return l, s.refuse(&q, &l)
		}
	}
	if l, err = s.list(ctx, q, s.core.names); err == nil && !s.core.apart {
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
func (s *lister) refuse(q *query, l *listed) error {
	if !q.Whole || !l.incomplete {
		return nil
	}
	return &keywright.Error{Class: keywright.NotApplied, Op: "list", Entry: s.core.entry.Name, Err: ErrIncomplete,
		Hint: "when no process of an older version writes any more: keywright entities index --apply"}
}

// belonging returns the rows whose items say themselves that they are in the indexes of a
// query. An index can be wrong of an item that a program has changed which does not
// know the index, as in the middle of a deploy.
func (s *lister) belonging(q *query, fields []string, rows []row) []row {
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		belongs := true
		for _, of := range append([]indexKey{q.Of}, q.And...) {
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

func (s *lister) list(ctx context.Context, q query, fields []string) (l listed, err error) {
	a := s.core.action("list", keywright.Reads, q.Of.key, q.check())
	if a.Err != nil {
		return l, a.Err
	}
	if s.core.apart {
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
func (s *lister) listSome(ctx context.Context, a *kernel.Action, q *query, fields []string) (l listed,
	err error) {
	keys := []string{q.Of.key}
	for _, and := range q.And {
		keys = append(keys, and.key)
	}
	keys = append(keys, s.core.spec.Ledger)
	score, last, _ := strings.Cut(q.After, "\x00")
	alone := "1"
	if fields != nil {
		alone = ""
	}
	args := append([]string{q.order(), or(q.From, "-inf"), or(q.To, "+inf"), score, last, strconv.Itoa(q.Limit),
		strconv.Itoa(mostLooked), alone, s.core.spec.Prefix, s.core.spec.Suffix}, fields...)
	all, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: *a, Script: s.core.scripts.list, Keys: keys, Args: args,
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

// ErrIncomplete reports a list of an index that may lack items: they were written by a
// program that does not know the index, and `keywright entities index --apply` was not
// run since.
var ErrIncomplete = errors.New("the index is not complete: it may lack items")

// incomplete reports whether one of the indexes of a query may lack items. said is what the
// ledger says, "" where there is no item.
func (s *lister) incomplete(q *query, said string) bool {
	if said == "" {
		return false
	}
	m := readMarks(said)
	for _, of := range append([]indexKey{q.Of}, q.And...) {
		if m.of(of.index.tag()) != complete {
			return true
		}
	}
	return false
}
