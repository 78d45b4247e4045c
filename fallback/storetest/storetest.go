// Package storetest shows a fallback.Store to be right: what is stored, what is
// refused, what is bounded, and that nothing is half done. It is for the tests of
// implementations, and knows no testing framework: *testing.T is a TB. It does not
// show what a store survives; that is the implementation's to promise and to test.
//
// API: may change until 1.0.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/keywright/keywright/fallback"
)

// TB describes what Run needs of a test.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run tests the stores that open makes, each of them empty, with these limits.
func Run(t TB, open func(fallback.Limits) (fallback.Store, error)) {
	t.Helper()
	for _, c := range []struct {
		name   string
		limits fallback.Limits
		test   func(*check)
	}{
		{"records", fallback.Limits{}, records},
		{"the newest copy stays", fallback.Limits{}, newest},
		{"room for copies", fallback.Limits{Entries: 10}, room},
		{"bytes of copies", fallback.Limits{Bytes: 4000}, weight},
		{"log", fallback.Limits{}, log},
		{"entries of the log", fallback.Limits{LogEntries: 3}, full},
		{"bytes of the log", fallback.Limits{LogBytes: 1000}, heavy},
		{"nothing is half refused", fallback.Limits{}, refused},
		{"conflicts", fallback.Limits{Conflicts: 3}, conflicts},
		{"as a plain map would", fallback.Limits{Entries: 5, LogEntries: 20}, random},
	} {
		s, err := open(c.limits)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		c.test(&check{TB: t, name: c.name, s: s, ctx: context.Background()})
	}
}

// check represents one test.
type check struct {
	TB
	name string
	s    fallback.Store
	ctx  context.Context
}

func (c *check) same(what string, got, want any) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Errorf("%s: %s: %v, want %v", c.name, what, got, want)
	}
}

func (c *check) ok(err error) {
	c.Helper()
	if err != nil {
		c.Errorf("%s: %v", c.name, err)
	}
}

func (c *check) get(id string) (fallback.Record, bool) {
	c.Helper()
	r, known, err := c.s.Get(c.ctx, id)
	c.ok(err)
	return r, known
}

func (c *check) stats() fallback.Stats {
	c.Helper()
	s, err := c.s.Stats(c.ctx)
	c.ok(err)
	return s
}

// start is before everything.
var start = time.Unix(1_700_000_000, 0)

// at returns a copy of an item as it was so many seconds from the start.
func at(id string, version int64, second int) fallback.Copy {
	t := start.Add(time.Duration(second) * time.Second)
	return fallback.Copy{ID: id, Began: t,
		Record: fallback.Record{Fields: fallback.Fields{"v": fmt.Sprint(version), "bytes": "\x00\xff"}, Version: version,
			AsOf: t.Add(100 * time.Millisecond)}}
}

// append returns a write that says what it was based on.
func (c *check) append(id, text string) (fallback.Entry, error) {
	return c.s.Append(c.ctx, id, func(now fallback.Record, _ bool) (fallback.Entry, fallback.Record, error) {
		e := fallback.Entry{ID: id,
			Change: fallback.Change{Kind: fallback.Update, Fields: fallback.Fields{"v": text}, Drop: []string{"gone"}},
			Base:   now.Shown(), At: start}
		now.Fields = maps.Clone(now.Fields)
		if now.Fields == nil {
			now.Fields = fallback.Fields{}
		}
		now.Fields["v"] = text
		now.Pending++
		return e, now, nil
	})
}

func (c *check) next(after uint64, n int) []fallback.Entry {
	c.Helper()
	list, err := c.s.Next(c.ctx, after, n)
	c.ok(err)
	return list
}

func records(c *check) {
	_, known := c.get("a")
	c.same("an empty store", known, false)
	full := at("a", 7, 1)
	full.Expires = start.Add(time.Hour)
	empty := fallback.Copy{ID: "", Began: start, Record: fallback.Record{Version: 1, AsOf: start}}
	c.ok(c.s.Put(c.ctx, full, empty, at("b\x00:\xff", 1, 1)))
	r, known := c.get("a")
	c.same("known", known, true)
	c.same("fields", r.Fields, full.Fields)
	c.same("version", r.Version, int64(7))
	c.same("times", r.Expires.Equal(full.Expires) && r.AsOf.Equal(full.AsOf), true)
	_, known = c.get("b\x00:\xff")
	c.same("an id of any bytes", known, true)
	_, known = c.get("")
	c.same("an empty id", known, true)
	c.ok(c.s.Forget(c.ctx, "a"))
	_, known = c.get("a")
	c.same("forgotten", known, false)
	c.same("copies", c.stats().Copies, 2)
}

// newest: whatever the order in which copies arrive, the newest stays.
func newest(c *check) {
	gone := func(version int64, second int) fallback.Copy {
		x := at("x", version, second)
		x.Gone, x.Fields = true, nil
		return x
	}
	for i, row := range []struct {
		first, second fallback.Copy
		stays         int // which of them
	}{
		{at("x", 1, 1), at("x", 2, 2), 2},
		{at("x", 1, 2), at("x", 2, 1), 2},
		{at("x", 2, 1), at("x", 1, 1), 1},
		{at("x", 2, 1), at("x", 1, 2), 2}, // read later for certain: the server lost writes
		{at("x", 2, 2), gone(0, 1), 1},    // a read has missed it, and it came then
		{at("x", 2, 1), gone(0, 2), 2},
		{at("x", 2, 2), gone(2, 1), 2}, // this version was deleted, also if it was read meanwhile
		{gone(2, 2), at("x", 2, 1), 1},
		{gone(2, 2), at("x", 3, 1), 2},
		{gone(2, 1), at("x", 2, 2), 2},
	} {
		id := fmt.Sprint(i)
		// that an unknown item is gone is not worth a record
		for _, copy := range []fallback.Copy{at(id, 1, 0), row.first, row.second} {
			copy.ID = id
			c.ok(c.s.Put(c.ctx, copy))
		}
		want := []fallback.Copy{row.first, row.second}[row.stays-1]
		r, _ := c.get(id)
		c.same(fmt.Sprintf("row %d", i), fmt.Sprint(r.Version, r.Gone, r.AsOf.UnixNano()),
			fmt.Sprint(want.Version, want.Gone, want.AsOf.UnixNano()))
	}
	c.ok(c.s.Put(c.ctx, fallback.Copy{ID: "unknown", Record: fallback.Record{Gone: true}, Began: start}))
	_, known := c.get("unknown")
	c.same("a copy of nothing", known, false)
}

func room(c *check) {
	_, err := c.append("0", "waits")
	c.ok(err)
	for n := range 30 {
		c.ok(c.s.Put(c.ctx, at(fmt.Sprint(n), 1, n)))
	}
	s := c.stats()
	c.same("copies", s.Copies, 10)
	c.same("evicted", s.Evicted, uint64(20))
	for _, n := range []int{0, 29, 21} {
		_, known := c.get(fmt.Sprint(n))
		c.same(fmt.Sprintf("%d is there", n), known, true)
	}
}

func weight(c *check) {
	for n := range 100 {
		c.ok(c.s.Put(c.ctx, at(fmt.Sprint(n), 1, n)))
	}
	if s := c.stats(); s.CopyBytes > 4000 || s.Copies < 10 || s.Copies == 100 {
		c.Errorf("%s: %+v", c.name, s)
	}
}

func log(c *check) {
	c.ok(c.s.Put(c.ctx, at("a", 5, 1), at("ab", 8, 1)))
	first, err := c.append("a", "one")
	c.ok(err)
	second, err := c.append("ab", "two")
	c.ok(err)
	third, err := c.append("a", "three")
	c.ok(err)
	c.same("numbers grow", first.Seq < second.Seq && second.Seq < third.Seq, true)
	c.same("based on", []int64{first.Base, second.Base, third.Base}, []int64{5, 8, 6})
	list := c.next(0, 2)
	c.same("so many", len(list), 2)
	c.same("drop", list[0].Drop, []string{"gone"})
	c.same("above", c.next(second.Seq, 10)[0].Change.Fields["v"], "three")
	c.ok(c.s.Put(c.ctx, at("a", 9, 9)))
	r, _ := c.get("a")
	c.same("a copy beside writes that wait", r.Version, int64(5))
	c.ok(c.s.Forget(c.ctx, "a"))
	c.ok(c.s.Done(c.ctx, first, 6, start))
	c.ok(c.s.Done(c.ctx, first, 99, start)) // a repeat
	r, _ = c.get("a")
	c.same("after the first", fmt.Sprintf("%d %d %s", r.Version, r.Pending, r.Fields["v"]), "6 1 three")
	s := c.stats()
	c.same("pending", s.Pending, 2)
	c.same("oldest", s.Oldest.Equal(start), true)
	c.ok(c.s.Done(c.ctx, third, 7, start.Add(time.Minute)))
	r, _ = c.get("a")
	c.same("after both", fmt.Sprint(r.Version, r.Pending, r.AsOf.Equal(start.Add(time.Minute))), "7 0 true")
	c.ok(c.s.Done(c.ctx, second, 0, start))
	r, _ = c.get("ab")
	c.same("not there any more", r.Gone, true)
	s = c.stats()
	c.same("nothing waits", fmt.Sprint(s.Pending, s.PendingBytes, s.Oldest.IsZero()), "0 0 true")
	c.same("nothing is next", len(c.next(0, 10)), 0)
	again, err := c.append("a", "again")
	c.ok(err)
	c.same("a number is not used again", again.Seq > third.Seq, true)
}

func full(c *check) {
	for n := range 3 {
		_, err := c.append("a", fmt.Sprint(n))
		c.ok(err)
	}
	before := c.stats()
	_, err := c.append("b", "too many")
	c.same("full", errors.Is(err, fallback.ErrFull), true)
	_, known := c.get("b")
	c.same("nothing of it", known, false)
	c.same("stats", c.stats(), before)
	c.ok(c.s.Done(c.ctx, c.next(0, 1)[0], 1, start))
	_, err = c.append("b", "fits now")
	c.ok(err)
}

func heavy(c *check) {
	_, err := c.append("a", string(make([]byte, 2000)))
	c.same("full", errors.Is(err, fallback.ErrFull), true)
	c.same("log", len(c.next(0, 10)), 0)
	_, err = c.append("a", "fits")
	c.ok(err)
}

func refused(c *check) {
	c.ok(c.s.Put(c.ctx, at("a", 5, 1)))
	before := c.stats()
	no := errors.New("no")
	_, err := c.s.Append(c.ctx, "a", func(now fallback.Record, known bool) (fallback.Entry, fallback.Record, error) {
		c.same("known", known, true)
		return fallback.Entry{ID: "a"}, fallback.Record{Version: 99, Pending: 1}, no
	})
	c.same("the error of decide", errors.Is(err, no), true)
	r, _ := c.get("a")
	c.same("version", r.Version, int64(5))
	c.same("stats", c.stats(), before)
}

func conflicts(c *check) {
	for n := range 3 {
		_, err := c.append("a", fmt.Sprint(n))
		c.ok(err)
		_, err = c.append("b", fmt.Sprint(n))
		c.ok(err)
	}
	found := at("a", 50, 5).Record
	out, err := c.s.Reject(c.ctx, "a", found)
	c.ok(err)
	c.same("conflicts", len(out), 3)
	slices.Sort(out[0].Fields)
	c.same("names", out[0].Fields, []string{"gone", "v"})
	c.same("versions", []int64{out[0].Base, out[1].Base, out[0].Found}, []int64{0, 1, 50})
	r, _ := c.get("a")
	c.same("the newer", fmt.Sprint(r.Version, r.Pending), "50 0")
	c.same("of others", len(c.next(0, 10)), 3)
	_, err = c.s.Reject(c.ctx, "b", found)
	c.ok(err)
	kept, err := c.s.Conflicts(c.ctx)
	c.ok(err)
	c.same("the latest are kept", len(kept) == 3 && kept[0].ID == "b" && kept[0].Seq < kept[1].Seq, true)
	c.same("count", c.stats().Conflicts, 3)
	c.ok(c.s.Settled(c.ctx, kept[1].Seq))
	kept, err = c.s.Conflicts(c.ctx)
	c.ok(err)
	c.same("settled", len(kept), 1)
}

// random: any sequence of calls leaves what Memory has after the same. Of Memory
// itself that shows nothing; the other checks do.
func random(c *check) {
	seed := uint64(time.Now().UnixNano())
	r, m := rand.New(rand.NewPCG(seed, 0)),
		&check{TB: c.TB, name: "model", s: fallback.NewMemory(fallback.Limits{Entries: 5, LogEntries: 20}), ctx: c.ctx}
	for step := range 1000 {
		id := fmt.Sprint(r.IntN(8))
		kind, version, n := r.IntN(12), r.Int64N(9)+1, r.IntN(3)
		a, b := c.step(kind, id, version, step, n), m.step(kind, id, version, step, n)
		if got, want := c.all(), m.all(); a != b || got != want {
			c.Errorf("%s: seed %d, step %d, kind %d: %s %s, the model %s %s", c.name, seed, step, kind, a, got, b, want)
			return
		}
	}
}

func (c *check) step(kind int, id string, version int64, second, n int) string {
	switch kind {
	case 0, 1, 2:
		return fmt.Sprint(c.s.Put(c.ctx, at(id, version, second)))
	case 3, 4, 5, 6:
		e, err := c.append(id, fmt.Sprint(second))
		return fmt.Sprint(e.Seq, errors.Is(err, fallback.ErrFull))
	case 7:
		_, err := c.s.Reject(c.ctx, id, at(id, version, second).Record)
		return fmt.Sprint(err)
	case 8:
		return fmt.Sprint(c.s.Forget(c.ctx, id))
	}
	list := c.next(0, n+1)
	if len(list) == 0 {
		return ""
	}
	e := list[len(list)-1]
	return fmt.Sprint(e.Seq, c.s.Done(c.ctx, e, version, start.Add(time.Duration(second)*time.Second)))
}

// all returns everything that a store shows, as text.
func (c *check) all() string {
	s := c.stats()
	s.Oldest, s.Evicted = start, 0
	kept, err := c.s.Conflicts(c.ctx)
	text := fmt.Sprintln(s, len(kept), err)
	for n := range 8 {
		r, known := c.get(fmt.Sprint(n))
		text += fmt.Sprintln(n, known, r.Fields, r.Version, r.AsOf.UnixNano(), r.Gone, r.Pending)
	}
	for _, e := range c.next(0, 100) {
		text += fmt.Sprintln(e.Seq, e.ID, e.Change.Fields, e.Base)
	}
	return text
}
