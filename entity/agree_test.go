package entity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Agree compares everything with the model.
func (w *world) Agree() {
	w.Helper()
	items := w.items()
	for _, kind := range someKinds {
		w.listed(Query[note]{Of: w.direct.By("kind", kind)}, items, func(v note) (bool, int64) { return v.Kind == kind, 0 })
	}
	for _, in := range someContexts {
		w.listed(Query[note]{Of: w.direct.By("context", in)}, items, func(v note) (bool, int64) { return v.Context == in, 0 })
		for p := range int64(3) {
			w.listed(Query[note]{Of: w.direct.By("priority+created", fmt.Sprint(1+p)),
				And: []Of[note]{w.direct.By("context", in), w.direct.By("due", "")}}, items,
				func(v note) (bool, int64) {
					return v.Context == in && v.Priority == 1+p && v.Due != nil, v.Created.UnixMilli()
				})
			w.listed(Query[note]{Of: w.direct.By("context", in),
				And: []Of[note]{w.direct.By("priority+created", fmt.Sprint(1+p))}}, items,
				func(v note) (bool, int64) { return v.Context == in && v.Priority == 1+p, 0 })
		}
	}
	for p := range int64(3) {
		w.listed(Query[note]{Of: w.direct.By("priority+created", fmt.Sprint(1+p)), Newest: p > 0}, items,
			func(v note) (bool, int64) { return v.Priority == 1+p, v.Created.UnixMilli() })
	}
	w.listed(Query[note]{Of: w.direct.By("updated", ""), Newest: true}, items, func(v note) (bool, int64) {
		return true,
			v.Updated.UnixMilli()
	})
	for _, r := range [][2]string{{"", ""}, {"2", "3"}, {"(2", ""}, {"", "(3"}, {"(1", "(4"}, {"5", "9"}} {
		for _, newest := range []bool{false, true} {
			w.listed(Query[note]{Of: w.direct.By("due", ""), From: r[0], To: r[1], Newest: newest}, items,
				func(v note) (bool, int64) {
					return v.Due != nil && within(v.Due.UnixMilli(), r[0], r[1]), ms(v.Due)
				})
		}
	}
	w.sound(len(items))
}

func ms(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func within(n int64, from, to string) bool {
	var low, high int64 = 0, 1 << 60
	_, _ = fmt.Sscan(strings.TrimPrefix(from, "("), &low)
	_, _ = fmt.Sscan(strings.TrimPrefix(to, "("), &high)
	return n >= low && n <= high && (n > low || !strings.HasPrefix(from, "(")) && (n < high || !strings.HasPrefix(to, "("))
}

// items reads all items and compares them.
func (w *world) items() map[string]note {
	w.Helper()
	items, err := w.direct.GetMany(w.ctx, someIDs...)
	if err != nil || len(items) != len(w.live) {
		w.Fatalf("%d items, model %d, %v", len(items), len(w.live), err)
	}
	out := map[string]note{}
	for _, item := range items {
		m, there := w.live[item.ID]
		if !there || item.Version != m.version || !m.same(item.Value) {
			w.Fatalf("%q: %+v, model %+v %v", item.ID, item, m, there)
		}
		if !m.created.IsZero() && !m.created.Equal(item.Value.Created) || item.Value.Updated.Before(item.Value.Created) {
			w.Fatalf("%q: created %v, updated %v, was created %v", item.ID, item.Value.Created, item.Value.Updated, m.created)
		}
		m.created = item.Value.Created
		w.live[item.ID] = m
		out[item.ID] = item.Value
	}
	return out
}

// listed compares a list, page by page, and a count, with the items that fit.
func (w *world) listed(q Query[note], items map[string]note, fits func(note) (bool, int64)) {
	w.Helper()
	var want, got []string
	for id, v := range items {
		if ok, _ := fits(v); ok {
			want = append(want, id)
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		_, x := fits(items[a])
		_, y := fits(items[b])
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	if q.Newest {
		slices.Reverse(want)
	}
	for q.Limit = 1 + w.below(4); ; {
		q.Whole = true
		page, err := w.direct.List(w.ctx, q)
		if err != nil || len(page.Items) > q.Limit {
			w.Fatalf("list %s: %d items, %v", q.Of.Key, len(page.Items), err)
		}
		for _, item := range page.Items {
			got = append(got, item.ID)
			if v := items[item.ID]; !(mirror{v: v}).same(item.Value) {
				w.Fatalf("list %s: %+v, but it is %+v", q.Of.Key, item, v)
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		w.Fatalf("list %s from %q to %q: %q, model %q", q.Of.Key, q.From, q.To, got, want)
	}
	if len(q.And) > 0 {
		return
	}
	if n, exact, err := w.direct.Count(w.ctx, q.Of, q.From, q.To); err != nil || !exact || n != int64(len(want)) {
		w.Fatalf("count %s from %q to %q: %d (exact %v) %v, model %d", q.Of.Key, q.From, q.To, n, exact, err, len(want))
	}
}

// sound is everything that a check and the bare keys say.
func (w *world) sound(items int) {
	w.Helper()
	got := map[string]bool{}
	for item, err := range w.direct.All(w.ctx) {
		if err != nil {
			w.Fatalf("all: %v", err)
		}
		got[item.ID] = true
	}
	if len(got) != items {
		w.Fatalf("all: %d items, model %d", len(got), items)
	}
	c, err := w.direct.Check(w.ctx, CheckOptions{Rate: 1 << 30, Found: func(p Problem) { w.Fatalf("%+v", p) }})
	if err != nil || c.Items != items || c.Expired != len(w.dead) {
		w.Fatalf("check: %+v %v, model %d and %d dead", c, err, items, len(w.dead))
	}
	if st, err := w.direct.Stats(w.ctx); err != nil || st.Items != int64(items+len(w.dead)) {
		w.Fatalf("%+v, %v; model %d and %d dead", st, err, items, len(w.dead))
	}
	for _, wrong := range mortal(w.server, w.prefix+":") {
		w.Fatalf("%s", wrong)
	}
}

// modelMessage writes a message as the model does.
func modelMessage(text string) (id, line string, err error) {
	var data struct {
		ID, Kind                           string
		Version                            int64
		Created, Updated, Deleted, Expired *int64
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&data); err != nil {
		return "", "", fmt.Errorf("%s: %w", text, err)
	}
	for what, p := range map[string]*int64{"created": data.Created, "updated": data.Updated, "deleted": data.Deleted,
		"expired": data.Expired} {
		if p != nil {
			return data.ID, happened(what, data.ID, mirror{v: note{Kind: data.Kind, Priority: *p}, version: data.Version}), nil
		}
	}
	return "", "", fmt.Errorf("%s is no event", text)
}

// announced compares the stream with the model, and with what was published.
func (w *world) announcing(heard []string) {
	w.Helper()
	if !w.tells {
		clear(w.log)
		return
	}
	got := map[string][]string{}
	var all []string
	for _, e := range readLog(w.server, w.prefix+":log") {
		id, line, err := modelMessage(e.raw)
		if err != nil || e.timestamp == "" {
			w.Fatalf("%v at %q", err, e.timestamp)
		}
		got[id] = append(got[id], line)
		all = append(all, w.prefix+".events "+e.raw)
	}
	for _, id := range someIDs {
		if !slices.Equal(got[id], w.log[id]) {
			w.Fatalf("events of %q:\n%s\nmodel:\n%s", id, strings.Join(got[id], "\n"), strings.Join(w.log[id], "\n"))
		}
	}
	if heard != nil && !slices.Equal(heard, all) {
		w.Fatalf("published:\n%s\nappended:\n%s", strings.Join(heard, "\n"), strings.Join(all, "\n"))
	}
	w.server.Do("DEL", w.prefix+":log")
	clear(w.log)
}

// cleanUp deletes everything: nothing is left.
func (w *world) cleanUp() {
	w.Helper()
	w.Sweep()
	for _, id := range w.ids(func(note) bool { return true }) {
		if ok, err := w.direct.Delete(w.ctx, id); err != nil || !ok {
			w.Fatalf("delete %q: %v %v", id, ok, err)
		}
		delete(w.live, id)
	}
	w.server.Do("DEL", w.prefix+":log")
	clear(w.log)
	if left := keysOf(w.server, w.prefix+":"); len(left) > 0 {
		w.Fatalf("left: %s", left)
	}
}

// walk goes through a list while items change: those that nothing happens to and
// that are in it are given once.
func (w *world) walk() {
	w.Helper()
	if w.walking {
		return
	}
	w.walking = true
	defer func() { w.walking = false }()
	clear(w.touched)
	in, p := pick(w, someContexts), int64(1+w.below(3))
	queries := []Query[note]{{Of: w.notes.By("context", in)},
		{Of: w.notes.By("priority+created", fmt.Sprint(p)), Newest: w.below(2) == 0},
		{Of: w.notes.By("due", ""), Newest: w.below(2) == 0}, {Of: w.notes.By("updated", ""), Newest: true}}
	k := w.below(len(queries))
	q := queries[k]
	before := w.ids(func(v note) bool {
		return []bool{v.Context == in, v.Priority == p, v.Due != nil, true}[k]
	})
	seen := map[string]int{}
	for q.Limit = 1 + w.below(3); ; {
		page, err := w.notes.List(w.ctx, q)
		if err != nil {
			if w.faulty {
				return
			}
			w.Fatalf("list: %v", err)
		}
		for _, item := range page.Items {
			seen[item.ID]++
		}
		if q.After = page.Next; q.After == "" {
			break
		}
		for range w.below(4) {
			w.Step()
		}
	}
	for _, id := range before {
		if !w.touched[id] && seen[id] != 1 {
			w.Fatalf("walk through %s: %q was given %d times", q.Of.Key, id, seen[id])
		}
	}
}
