package paging

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/keywright/keywright/kernel"
)

// A script that reads items costs the server twice what the plain commands cost:
// each text goes through Lua. So a store remembers which ids a page had, and asks
// the next time for the ids of the page and for the items it had then in one
// pipeline. What the index says counts: items that are new on the page are read
// in a second round trip, and items that left it are not given.

// PageCache remembers the ids of pages. It forgets all when it has grown large.
type PageCache struct {
	mu    sync.Mutex
	pages map[page][]string
	ids   int
}

// page represents the first page of a query.
type page struct {
	key, order, from, to string
	limit                int
}

// mostForeseen says how many ids are remembered.
const mostForeseen = 100_000

// Get returns the ids that a page had, nil if that is not known.
func (f *PageCache) Get(p page) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pages[p]
}

// Set remembers a page; none of it forgets it.
func (f *PageCache) Set(p page, ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids += len(ids) - len(f.pages[p])
	if len(ids) == 0 {
		delete(f.pages, p)
		return
	}
	if f.pages == nil || f.ids > mostForeseen {
		f.pages, f.ids = map[page][]string{}, len(ids)
	}
	f.pages[p] = ids
}

// largestPlain is up to where every server writes a whole score without exponent.
const largestPlain = 1 << 52

// row represents an item as a list has it.
type row struct {
	ID    string
	Texts []kernel.Value
}

// Page returns the first page of a query, as the cache names it.
func (q *Query) Page() page {
	return page{q.Of.Key, q.order(), Or(q.From, "-inf"), Or(q.To, "+inf"), orInt(q.Limit, defaultLimit)}
}

// learn remembers a page that was listed by the script.
func (s *Lister) learn(q *Query, rows []row) {
	if q.After != "" || len(q.And) > 0 {
		return
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	s.Cache.Set(q.Page(), ids)
}

// listCached lists a page that is known from before; ok is whether it is.
func (s *Lister) listCached(ctx context.Context, a *kernel.Action, q *Query) (l Rows, ok bool, err error) {
	if q.After != "" || len(q.And) > 0 {
		return l, false, nil
	}
	p := q.Page()
	had := s.Cache.Get(p)
	if len(had) == 0 {
		return l, false, nil
	}
	members, texts, said, err := s.ReadCachedPage(ctx, a, p, had)
	if err != nil || len(members) == 0 {
		return l, false, err
	}
	more := len(members) > p.limit
	ids := make([]string, min(len(members), p.limit))
	for i := range ids {
		ids[i] = members[i].Member
	}
	if texts, err = s.missing(ctx, a, ids, had, texts); err != nil {
		return l, false, err
	}
	l.Rows, l.Gone = Living(ids, texts)
	if s.Moving(q.Of, members, l.Rows) {
		s.Cache.Set(p, nil) // the script sees index and items in one moment
		return Rows{}, false, nil
	}
	if more {
		score := members[len(ids)-1].Score
		if math.Abs(score) > largestPlain || score != math.Trunc(score) {
			s.Cache.Set(p, nil) // the script knows how the server writes it
			return Rows{}, false, nil
		}
		l.Next = strconv.FormatFloat(score, 'f', -1, 64) + "\x00" + ids[len(ids)-1]
	}
	s.Cache.Set(p, ids)
	l.Incomplete = s.Incomplete(q, cmp.Or(said, "-"))
	return l, true, nil
}

// Moving reports whether an item is another one by now than its index said: it was
// changed between the reading of the two.
func (s *Lister) Moving(of IndexKey, members []kernel.ZScore, rows []row) bool {
	value, score := s.Core.Columns[of.Index.Field], s.Core.Columns[of.Index.Score]
	i := 0
	for _, r := range rows {
		if of.Index.Field != "" {
			if text, err := r.Texts[value].ToString(); err != nil || text != of.Index.Text(of.Key) {
				return true
			}
		}
		if of.Index.Score == "" {
			continue
		}
		for members[i].Member != r.ID { // rows are members, without those that are gone
			i++
		}
		if text, err := r.Texts[score].ToString(); err != nil || !number(text, members[i].Score) {
			return true
		}
	}
	return false
}

// number reports whether a text is a number.
func number(text string, n float64) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && f == n
}

// ReadCachedPage asks for the ids of a page with their scores, and for the items it had.
// The scores come with the ids: one that is asked for after them may be another. The
// marks of the index are asked for first: an item that the page lacks was missing from
// the index before.
func (s *Lister) ReadCachedPage(ctx context.Context, a *kernel.Action, p page, had []string) (members []kernel.ZScore,
	texts []kernel.Reply, said string, err error) {
	raw := s.Core.Client.Raw()
	members, err = kernel.Run(ctx, a, func(ctx context.Context) kernel.Reply {
		all := append(make([]kernel.Command, 0, 2+len(had)), raw.B().Hget().Key(s.Core.Spec.Records).Field("").Build(),
			p.Index(raw.B()))
		results := raw.DoMulti(ctx, s.items(all, had)...)
		texts = results[2:]
		said, _ = results[0].ToString()
		return cut(results[1:])
	}, func(r kernel.Reply) ([]kernel.ZScore, error) { return r.AsZScores() })
	return members, texts, said, err
}

// items adds the commands that read items.
func (s *Lister) items(all []kernel.Command, ids []string) []kernel.Command {
	for _, id := range ids {
		all = append(all, s.Core.Client.Raw().B().Hmget().Key(s.Core.Key(id)).Field(s.Core.Names...).Build())
	}
	return all
}

// Index reads the ids of a page, and one more if there are more.
func (p page) Index(b kernel.Builder) kernel.Command {
	n := int64(p.limit) + 1
	switch {
	case p.order == "down" && p.from == "-inf" && p.to == "+inf":
		return b.Zrange().Key(p.key).Min("0").Max(strconv.FormatInt(n-1, 10)).Rev().Withscores().Build()
	case p.order == "down":
		return b.Zrange().Key(p.key).Min(p.to).Max(p.from).Byscore().Rev().Limit(0, n).Withscores().Build()
	case p.from == "-inf" && p.to == "+inf":
		return b.Zrange().Key(p.key).Min("0").Max(strconv.FormatInt(n-1, 10)).Withscores().Build()
	}
	return b.Zrange().Key(p.key).Min(p.from).Max(p.to).Byscore().Limit(0, n).Withscores().Build()
}

// cut returns the first of some results, or that one which never came: an item is gone
// only where the server says so.
func cut(results []kernel.Reply) kernel.Reply {
	for _, r := range results {
		if r.NonRedisError() != nil {
			return r
		}
	}
	return results[0]
}

// missing puts the items of a page in its order, and reads those that it had not
// before.
func (s *Lister) missing(ctx context.Context, a *kernel.Action, ids, had []string,
	texts []kernel.Reply) ([]kernel.Reply, error) {
	if slices.Equal(ids, had) {
		return texts, nil
	}
	at := make(map[string]int, len(had))
	for i, id := range had {
		at[id] = i
	}
	out, lack, places := make([]kernel.Reply, len(ids)), []string(nil), []int(nil)
	for i, id := range ids {
		if j, known := at[id]; known {
			out[i] = texts[j]
		} else {
			lack, places = append(lack, id), append(places, i)
		}
	}
	if len(lack) == 0 {
		return out, nil
	}
	raw := s.Core.Client.Raw()
	_, err := kernel.Run(ctx, a, func(ctx context.Context) kernel.Reply {
		results := raw.DoMulti(ctx, s.items(nil, lack)...)
		for i, place := range places {
			out[place] = results[i]
		}
		return cut(results)
	}, func(r kernel.Reply) (struct{}, error) { return struct{}{}, r.NonRedisError() })
	return out, err
}

// Living returns the items that are there; a key of another type is none.
func Living(ids []string, texts []kernel.Reply) (rows []row, gone int) {
	rows = make([]row, 0, len(ids))
	for i, id := range ids {
		all, err := texts[i].ToArray()
		if err != nil || !slices.ContainsFunc(all, func(m kernel.Value) bool { return !m.IsNil() }) {
			gone++
			continue
		}
		rows = append(rows, row{id, all})
	}
	return rows, gone
}
