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
// each text goes through Lua. So a store remembers which items a page had, and asks
// the next time for the ids of the page and for the items it had then in one
// pipeline. What the index says counts: items that are new on the page are read
// in a second round trip, and items that left it are not given.

// PageCache remembers the items of pages. It forgets all when it has grown large.
type PageCache struct {
	mu    sync.Mutex
	pages map[page]KnownPage
	items int
}

// KnownPage represents a page as it was.
type KnownPage struct {
	Keys []string // of its items
	More bool     // there was a next page
}

// page represents the first page of a query.
type page struct {
	key, order, from, to string
	limit                int
}

// mostForeseen says how many items are remembered.
const mostForeseen = 100_000

// Get returns what a page had; no key if that is not known.
func (f *PageCache) Get(p page) KnownPage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pages[p]
}

// Set remembers a page; one without items is forgotten.
func (f *PageCache) Set(p page, has KnownPage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items += len(has.Keys) - len(f.pages[p].Keys)
	if len(has.Keys) == 0 {
		delete(f.pages, p)
		return
	}
	if f.pages == nil || f.items > mostForeseen {
		f.pages, f.items = map[page]KnownPage{}, len(has.Keys)
	}
	f.pages[p] = has
}

// largestPlain is up to where every server writes a whole score without exponent.
const largestPlain = 1 << 52

// row represents an item as a list has it.
type row struct {
	ID, Key string
	Texts   []kernel.Value
}

// Page returns the first page of a query, as the cache names it.
func (q *Query) Page() page {
	return page{q.Of.Key, q.order(), Or(q.From, "-inf"), Or(q.To, "+inf"), orInt(q.Limit, defaultLimit)}
}

// learn remembers a page that was listed by the script.
func (s *Lister) learn(q *Query, l *Rows) {
	if q.After != "" || len(q.And) > 0 {
		return
	}
	has := KnownPage{Keys: make([]string, len(l.Rows)), More: l.Next != ""}
	for i := range l.Rows {
		has.Keys[i] = l.Rows[i].Key
	}
	s.Cache.Set(q.Page(), has)
}

// listCached lists a page that is known from before; ok is whether it is.
func (s *Lister) listCached(ctx context.Context, a *kernel.Action, q *Query) (l Rows, ok bool, err error) {
	if q.After != "" || len(q.And) > 0 {
		return l, false, nil
	}
	p := q.Page()
	had := s.Cache.Get(p)
	if len(had.Keys) == 0 {
		return l, false, nil
	}
	scored := q.Of.Index.Score != "" || had.More
	members, texts, said, err := s.ReadCachedPage(ctx, a, p, had, scored)
	if err != nil || len(members) == 0 {
		return l, false, err
	}
	has := KnownPage{More: len(members) > p.limit}
	members = members[:min(len(members), p.limit)]
	if has.More {
		if l.Next, ok = next(members[len(members)-1]); !ok || !scored {
			s.Cache.Set(p, KnownPage{}) // the script knows how the server writes the score
			return Rows{}, false, nil
		}
	}
	if has.Keys, texts, err = s.missing(ctx, a, members, had.Keys, texts); err != nil {
		return l, false, err
	}
	l.Rows, l.Gone = s.Living(has.Keys, texts)
	if s.Moving(q.Of, members, l.Rows) {
		s.Cache.Set(p, KnownPage{}) // the script sees index and items in one moment
		return Rows{}, false, nil
	}
	if has.More != had.More || &has.Keys[0] != &had.Keys[0] {
		s.Cache.Set(p, has)
	}
	l.Incomplete = s.Incomplete(q, cmp.Or(said, "-"))
	return l, true, nil
}

// next returns where the page after a member begins, if every server writes its score like that.
func next(last kernel.ZScore) (string, bool) {
	if math.Abs(last.Score) > largestPlain || last.Score != math.Trunc(last.Score) {
		return "", false
	}
	return strconv.FormatFloat(last.Score, 'f', -1, 64) + "\x00" + last.Member, true
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
		if text, err := r.Texts[score].ToString(); err != nil || !isNumber(text, members[i].Score) {
			return true
		}
	}
	return false
}

// isNumber reports whether a text is a number.
func isNumber(text string, n float64) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && f == n
}

// ReadCachedPage asks for the ids of a page, with their scores if asked for, and for the items it had.
// The scores come with the ids: one that is asked for after them may be another. The
// marks of the index are asked for first: an item that the page lacks was missing from
// the index before.
func (s *Lister) ReadCachedPage(ctx context.Context, a *kernel.Action, p page, had KnownPage,
	scored bool) (members []kernel.ZScore, texts []kernel.Reply, said string, err error) {
	raw, decode := s.Core.Client.Raw(), unscored
	if scored {
		decode = func(r kernel.Reply) ([]kernel.ZScore, error) { return r.AsZScores() }
	}
	members, err = kernel.Run(ctx, a, func(ctx context.Context) kernel.Reply {
		all := append(make([]kernel.Command, 0, 2+len(had.Keys)),
			raw.B().Hget().Key(s.Core.Spec.Records).Field("").Build(), p.Index(raw.B(), scored))
		results := raw.DoMulti(ctx, s.items(all, had.Keys)...)
		texts = results[2:]
		said, _ = results[0].ToString()
		return onlyFirst(results[1:])
	}, decode)
	return members, texts, said, err
}

// unscored reads members without their scores.
func unscored(r kernel.Reply) ([]kernel.ZScore, error) {
	all, err := r.ToArray()
	members := make([]kernel.ZScore, len(all))
	for i := range all {
		if members[i].Member, err = all[i].ToString(); err != nil {
			break
		}
	}
	return members, err
}

// items adds the commands that read items.
func (s *Lister) items(all []kernel.Command, keys []string) []kernel.Command {
	for _, key := range keys {
		all = append(all, s.Core.Client.Raw().B().Hmget().Key(key).Field(s.Core.Names...).Build())
	}
	return all
}

// Index reads the ids of a page, and one more if there are more. Only an index with scores has bounds or an order.
func (p page) Index(b kernel.Builder, scored bool) kernel.Command {
	n := int64(p.limit) + 1
	switch {
	case p.order == "down" && p.from == "-inf" && p.to == "+inf":
		return b.Zrange().Key(p.key).Min("0").Max(strconv.FormatInt(n-1, 10)).Rev().Withscores().Build()
	case p.order == "down":
		return b.Zrange().Key(p.key).Min(p.to).Max(p.from).Byscore().Rev().Limit(0, n).Withscores().Build()
	case p.from != "-inf" || p.to != "+inf":
		return b.Zrange().Key(p.key).Min(p.from).Max(p.to).Byscore().Limit(0, n).Withscores().Build()
	}
	all := b.Zrange().Key(p.key).Min("0").Max(strconv.FormatInt(n-1, 10))
	if scored {
		return all.Withscores().Build()
	}
	return all.Build()
}

// onlyFirst returns the first of some results, or that one which never came: an item is gone
// only where the server says so.
func onlyFirst(results []kernel.Reply) kernel.Reply {
	for _, r := range results {
		if r.NonRedisError() != nil {
			return r
		}
	}
	return results[0]
}

// missing puts the items of a page in the order of its members, and reads those that it had not
// before. The keys are those it had if they are the same.
func (s *Lister) missing(ctx context.Context, a *kernel.Action, members []kernel.ZScore, had []string,
	texts []kernel.Reply) (keys []string, _ []kernel.Reply, err error) {
	if slices.EqualFunc(members, had, func(m kernel.ZScore, key string) bool { return m.Member == s.Core.ID(key) }) {
		return had, texts, nil
	}
	at := make(map[string]int, len(had))
	for i, key := range had {
		at[s.Core.ID(key)] = i
	}
	out, lack, places := make([]kernel.Reply, len(members)), []string(nil), []int(nil)
	keys = make([]string, len(members))
	for i, m := range members {
		if j, known := at[m.Member]; known {
			keys[i], out[i] = had[j], texts[j]
		} else {
			keys[i] = s.Core.Key(m.Member)
			lack, places = append(lack, keys[i]), append(places, i)
		}
	}
	if len(lack) == 0 {
		return keys, out, nil
	}
	raw := s.Core.Client.Raw()
	_, err = kernel.Run(ctx, a, func(ctx context.Context) kernel.Reply {
		results := raw.DoMulti(ctx, s.items(nil, lack)...)
		for i, place := range places {
			out[place] = results[i]
		}
		return onlyFirst(results)
	}, func(r kernel.Reply) (struct{}, error) { return struct{}{}, r.NonRedisError() })
	return keys, out, err
}

// Living returns the items that are there; a key of another type is none.
func (s *Lister) Living(keys []string, texts []kernel.Reply) (rows []row, gone int) {
	rows = make([]row, 0, len(keys))
	for i, key := range keys {
		all, err := texts[i].ToArray()
		if err != nil || !slices.ContainsFunc(all, func(m kernel.Value) bool { return !m.IsNil() }) {
			gone++
			continue
		}
		rows = append(rows, row{s.Core.ID(key), key, all})
	}
	return rows, gone
}
