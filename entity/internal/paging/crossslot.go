package paging

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
)

// candidate represents an id that an index gives.
type candidate struct {
	id, score string
	row       []kernel.Value // the id, and the texts of its fields
	missing   bool           // from an index that it must be in too
}

// listing represents a page in the making.
type listing struct {
	store  *Lister
	q      *Query
	fields []string // that the caller wants
	reads  []string // and those that decide where an item is
	rows   []row
	gone   int
}

// listCrossSlot returns list where the keys are in several slots: the index gives ids, the
// other indexes say which of them they have, and the items of those are read. An id
// whose item is gone, or says that it is not in these indexes, is passed over, and
// the page filled up. 2 round trips, 3 with other indexes, more where ids are passed
// over.
func (s *Lister) listCrossSlot(ctx context.Context, q *Query, fields []string) (out Rows, err error) {
	for range mostMarked {
		before, _ := s.marked.Load().(string)
		if out, err = s.listBetween(ctx, q, fields); err != nil || out.said == before {
			return out, err
		}
		if s.marked.Store(out.said); out.Incomplete {
			return out, nil
		}
	} // it changes all the time
	out.Incomplete = true
	return out, nil
}

// mostMarked says how often a page is read again because the marks of the indexes have
// changed since they were read last: an index that is complete by now need not have been
// complete when the page was read.
const mostMarked = 4

func (s *Lister) listBetween(ctx context.Context, q *Query, fields []string) (out Rows, err error) {
	l := &listing{store: s, q: q, fields: fields, reads: fields}
	if fields == nil {
		l.reads = s.Core.IndexColumns()
	}
	limit, next := orInt(q.Limit, defaultLimit), q.After
	for looked := 0; len(l.rows) < limit && looked < mostLooked; {
		wanted := limit - len(l.rows)
		if len(q.And) > 0 {
			wanted = max(wanted, defaultLimit)
		}
		page, after, err := l.ids(ctx, next, wanted, &out)
		if err == nil {
			err = l.Check(ctx, page)
		}
		if err != nil {
			return out, err
		}
		looked += len(page)
		if next = l.take(page, after, limit); next == "" {
			break
		}
	}
	out.Rows, out.Next, out.Gone = l.rows, next, l.gone
	return out, nil
}

// ids gives ids of the index, and where the next ones begin.
func (l *listing) ids(ctx context.Context, after string, wanted int, out *Rows) (page []*candidate, next string,
	err error) {
	score, last, _ := strings.Cut(after, "\x00")
	s, q := l.store, l.q
	var b keywright.Batch
	said := keywright.Queue(&b, s.Core.SaidOfIndexes())
	ids := keywright.Queue(&b, kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: s.Core.Action("list", keywright.Reads, q.Of.Key, nil), Script: s.Core.Scripts.List, Keys: []string{q.Of.Key},
		Args: []string{q.order(), Or(q.From, "-inf"), Or(q.To, "+inf"), score, last, strconv.Itoa(wanted),
			strconv.Itoa(mostLooked), "2", "", ""},
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}))
	if err = b.Run(ctx); err != nil {
		return nil, "", err
	}
	all, _ := ids.Result()
	if says, _ := said.Result(); after == q.After {
		out.said, out.Incomplete = says, s.Incomplete(q, says)
	}
	if more, _ := all[0].ToString(); more != "" {
		score, _ = all[1].ToString()
		last, _ = all[2].ToString()
		next = score + "\x00" + last
	}
	for i := 5; i+1 < len(all); i += 2 {
		c := &candidate{row: []kernel.Value{all[i]}}
		c.id, _ = all[i].ToString()
		c.score, _ = all[i+1].ToString()
		page = append(page, c)
	}
	return page, next, nil
}

// Check reads what decides whether candidates are in the page.
func (l *listing) Check(ctx context.Context, page []*candidate) error {
	if err := l.elsewhere(ctx, page); err != nil {
		return err
	}
	page = slices.DeleteFunc(slices.Clone(page), func(c *candidate) bool { return c.missing })
	for len(page) > 0 {
		n := min(len(page), itemkeys.MostAtOnce)
		ops := make([]keywright.Op[bool], n)
		for i, c := range page[:n] {
			ops[i] = l.fetch(c)
		}
		if err := kernel.DoAll(ctx, ops...); err != nil {
			return err
		}
		page = page[n:]
	}
	return nil
}

// fetch reads the item of a candidate.
func (l *listing) fetch(c *candidate) keywright.Op[bool] {
	key := l.store.Core.Key(c.id)
	return kernel.NewOp(kernel.Spec[bool]{
		Action: l.store.Core.Action("list", keywright.Reads, key, nil),
		Build:  func(b kernel.Builder) kernel.Command { return b.Hmget().Key(key).Field(l.reads...).Build() },
		Decode: func(r kernel.Reply) (bool, error) {
			all, err := r.ToArray()
			if reply, ok := kernel.IsServerError(err); ok && strings.HasPrefix(reply.Error(), "WRONGTYPE") {
				return false, nil // it is no item
			}
			c.row = append(c.row[:1:1], all...)
			return err == nil, err
		},
	})
}

// elsewhere asks the other indexes which candidates they have.
func (l *listing) elsewhere(ctx context.Context, page []*candidate) error {
	ops := make([]keywright.Op[bool], len(l.q.And))
	ids := make([]string, len(page))
	for i, c := range page {
		ids[i] = c.id
	}
	for i, and := range l.q.And {
		ops[i] = kernel.NewOp(kernel.Spec[bool]{
			Action: l.store.Core.Action("list", keywright.Reads, and.Key, nil),
			Build: func(b kernel.Builder) kernel.Command {
				return b.Zmscore().Key(and.Key).Member(ids...).Build()
			},
			Decode: func(r kernel.Reply) (bool, error) {
				all, err := r.ToArray()
				for i := range all {
					page[i].missing = page[i].missing || all[i].IsNil()
				}
				return err == nil, err
			},
		})
	}
	if len(page) == 0 {
		return nil
	}
	return kernel.DoAll(ctx, ops...)
}

// take takes candidates into the page until it is full, and gives where the next one
// begins.
func (l *listing) take(page []*candidate, after string, limit int) (next string) {
	for i, c := range page {
		if len(l.rows) == limit {
			return page[i-1].score + "\x00" + page[i-1].id
		}
		if l.belongs(c) {
			if l.fields == nil {
				c.row = c.row[:1]
			}
			l.rows = append(l.rows, row{c.id, l.store.Core.Key(c.id), c.row[1:]})
		}
	}
	return after
}

// belongs reports whether the item is there and says itself that it is in all of the
// indexes.
func (l *listing) belongs(c *candidate) bool {
	if c.missing {
		return false
	}
	all := c.row[1:]
	if !slices.ContainsFunc(all, func(m kernel.Value) bool { return !m.IsNil() }) {
		l.gone++
		return false
	}
	in := crossslot.StateOf(l.store.Core, time.Time{}, 0, l.reads, all).In
	for _, of := range append([]IndexKey{l.q.Of}, l.q.And...) {
		if _, is := in[of.Key]; !is {
			return false
		}
	}
	return true
}
