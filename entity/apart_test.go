package entity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// quick windows let tests be quick. A step that overruns them on a slow machine is
// done again; it decides no test.
var quick = itemkeys.Windows{Act: 150 * time.Millisecond, Due: 300 * time.Millisecond}

// spread returns the entity with its keys in many slots.
func spread(t *testing.T, url, prefix string, edits ...func(*Spec[string, note])) *Store[string, note] {
	t.Helper()
	return spreadOn(t, open(t, url), prefix, edits...)
}

func spreadOn(t *testing.T, c *keywright.Client, prefix string,
	edits ...func(*Spec[string, note])) *Store[string, note] {
	t.Helper()
	spec := noteSpec(prefix)
	spec.Expires, spec.Records, spec.Lease = "{"+prefix+"}:expiry", "{"+prefix+"}:ledger", "{"+prefix+"}:sweep"
	for _, edit := range edits {
		edit(spec)
	}
	s := storeOf(c, spec)
	if !s.core.CrossSlot {
		t.Fatal("the entity is not apart")
	}
	must(t, s.core.Err)
	return s
}

func clusters(t *testing.T, run func(t *testing.T, c *keywrighttest.Cluster)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			run(t, keywrighttest.StartCluster(t, brand, 3, 0))
		})
	}
}

// keysLeft returns how many keys there are of an entity.
func keysLeft(c *keywrighttest.Cluster, prefix string) (n int) {
	for _, node := range c.Nodes[:c.Primaries] {
		for _, pattern := range []string{prefix + ":*", "{" + prefix + "}:*"} {
			n += len(node.Do("SCAN", "0", "MATCH", pattern, "COUNT", "1000000").([]any)[1].([]any))
		}
	}
	return n
}

// TestApart is what needs a cluster and leaves it whole.
func TestApart(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		for name, test := range map[string]func(*testing.T, *keywrighttest.Cluster){
			"life": apartLife, "expiry": apartExpiry, "model": apartModel, "scenes": apartScenes, "lost": apartLostReplies,
			"late":  apartLateCommand,
			"never": apartNever, "damage": apartDamage, "events": apartEvents, "pages": apartPages,
			"places": apartPlaces, "mutations": apartMutations, "kills": apartKills, "stopped": apartStopped,
			"trips": apartTrips,
			"skew":  apartSkew, "blind": apartBlind, "same": apartSame,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, c)
			})
		}
	})
}

func apartLife(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "life")
	ctx := t.Context()
	made, err := notes.Create(ctx, "1", a("fact", 5))
	must(t, err)
	got, err := notes.Get(ctx, "1")
	must(t, err)
	if got.Version != made.Version || got.Version < 1e15 || got.Value != made.Value || got.Value.Created.IsZero() {
		t.Errorf("made %+v, read %+v", made, got)
	}
	if _, err = notes.Create(ctx, "1", a("fact", 5)); !errors.Is(err, ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), []string{"1"})
	sound(t, notes)
	v2, err := notes.Update(ctx, "1", setKind.Set("task"), setDue.Set(time.UnixMilli(1000).UTC()))
	must(t, err)
	same(t, "by the old kind", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), nil)
	same(t, "by the new kind",
		notes.listed(t, Query[note]{Of: notes.By("kind", "task"), And: []Of[note]{notes.By("due", "")}}), []string{"1"})
	var conflict *Conflict
	if _, err = notes.UpdateIf(ctx, "1", made.Version, setText.Set("late")); !errors.Is(err, ErrVersion) ||
		!errors.As(err, &conflict) || conflict.Version != v2 {
		t.Errorf("an update of an old version: %v", err)
	}
	if _, err = notes.UpdateIf(ctx, "1", v2, setText.Set("new"), setDue.Unset()); err != nil {
		t.Error(err)
	}
	same(t, "by due", notes.listed(t, Query[note]{Of: notes.By("due", "")}), nil)
	sound(t, notes)
	item, err := notes.Modify(ctx, "1", func(n *note) error { n.Priority++; return nil })
	must(t, err)
	stale := item
	stale.Version--
	if _, err = notes.DeleteItem(ctx, stale); !errors.Is(err, ErrVersion) {
		t.Errorf("delete of an old version: %v", err)
	}
	must(t, notes.Touch(ctx, "1", keywright.ExpiresIn(2*time.Hour)))
	if changed, err := notes.Shorten(ctx, "1", time.Minute); err != nil || !changed {
		t.Errorf("shortened: %v %v", changed, err)
	}
	if changed, err := notes.Shorten(ctx, "1", time.Minute); err != nil || changed {
		t.Errorf("shortened again: %v %v", changed, err)
	}
	sound(t, notes)
	ok, err := notes.DeleteItem(ctx, item)
	if must(t, err); !ok {
		t.Error("not deleted")
	}
	if ok, err = notes.Delete(ctx, "1"); err != nil || ok {
		t.Errorf("deleted twice: %v %v", ok, err)
	}
	if _, err = notes.Update(ctx, "1", setText.Set("x")); !errors.Is(err, keywright.ErrNotFound) {
		t.Errorf("update of a deleted one: %v", err)
	}
	if n := keysLeft(c, "life"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func apartExpiry(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "expiry")
	ctx := t.Context()
	for i := range 100 {
		_, err := notes.Create(ctx, fmt.Sprint(i), a(fmt.Sprint("k", i%3), int64(1+i%10)),
			keywright.ExpiresIn(50*time.Millisecond))
		must(t, err)
	}
	_, err := notes.Create(ctx, "stays", a("k1", 5))
	must(t, err)
	eventually(t, "they expire",
		func() bool { _, err := notes.Get(ctx, "99"); return errors.Is(err, keywright.ErrNotFound) })
	same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "k1")}), []string{"stays"})
	done, err := notes.Sweep(ctx, SweepOptions{Batch: 30})
	if must(t, err); done.Gone != 100 || done.Lives != 0 {
		t.Errorf("%+v", done)
	}
	if c := sound(t, notes); c.Items != 1 || c.Entries != 4 || c.Expired != 0 {
		t.Errorf("%+v", c)
	}
	if n := keysLeft(c, "expiry"); n != 7 {
		t.Errorf("%d keys", n)
	}
}

// apartNever: items that never expire have a zset of open intents alone.
func apartNever(t *testing.T, c *keywrighttest.Cluster) {
	a_, b := spread(t, c.URL(), "never", forever), spread(t, c.URL(), "never", forever)
	b.core.Windows = itemkeys.Windows{Act: itemkeys.UsualWindows.Act, Due: quick.Due}
	a_.core.Windows = b.core.Windows // what it does is not late on a busy machine
	for i, step := range []string{"written", "indexed", "opened"} {
		a_.core.Hook = nil
		at(a_, step, dies)
		if _, err := a_.Create(t.Context(), fmt.Sprint(i), a("x", 1)); !errors.Is(err, errDied) {
			t.Error(err)
		}
	}
	_, err := b.Create(t.Context(), "whole", a("x", 1))
	must(t, err)
	later(t, b, quick.Due)
	if done, err := b.Sweep(t.Context(), SweepOptions{Batch: 2}); err != nil || done.Lives != 2 || done.Gone != 1 {
		t.Errorf("%+v %v", done, err)
	}
	if checked := sound(t, b); checked.Items != 3 || checked.Expired != 0 {
		t.Errorf("%+v", checked)
	}
	same(t, "by kind", b.listed(t, Query[note]{Of: b.By("kind", "x")}), []string{"0", "1", "whole"})
	for item, err := range b.All(t.Context()) {
		must(t, err)
		_, err = b.Delete(t.Context(), item.ID)
		must(t, err)
	}
	if n := keysLeft(c, "never"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// apartDamage: a check finds what a person has changed by hand, and puts it right.
func apartDamage(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "damage")
	ctx, raw := t.Context(), notes.core.Client.Raw()
	due := time.UnixMilli(5).UTC()
	for i := range 6 {
		n := a("x", 1)
		n.Due = &due
		_, err := notes.Create(ctx, fmt.Sprint(i), n)
		must(t, err)
	}
	for _, words := range [][]string{
		{"ZREM", "damage:idx:kind:x", "0"}, {"ZADD", "damage:idx:kind:y", "0", "1"}, {"ZADD", "damage:idx:due", "9", "2"},
		{"HDEL", "{damage}:ledger", "3"}, {"ZREM", "{damage}:expiry", "4"}, {"UNLINK", "damage:item:5"},
		{"ZADD", "damage:idx:kind:z", "0", "nobody"}, {"PERSIST", "damage:idx:context:c1"},
	} {
		must(t, raw.Do(ctx, raw.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error())
	}
	found := map[string]int{}
	checked, err := notes.Check(ctx, CheckOptions{Apply: true, Found: func(p Problem) { found[p.What]++ }})
	must(t, err)
	if found["missing"] != 1 || found["stale"] != 2+5 || found["score"] != 1 || found["ledger"] != 2 ||
		found["expiry"] != 1 || found["ttl"] == 0 {
		t.Errorf("%v in %+v", found, checked)
	}
	if checked := sound(t, notes); checked.Items != 5 || checked.Expired != 0 {
		t.Errorf("%+v", checked)
	}
}

// apartEvents: each change is announced in its step, on a channel that reaches
// each listener at any server.
func apartEvents(t *testing.T, c *keywrighttest.Cluster) {
	event := func(channel string) []Event {
		return []Event{{Mode: Publish, Channel: "events:" + channel, Plain: true, Data: []Part{{Name: "id"}}}}
	}
	notes := spread(t, c.URL(), "events", func(spec *Spec[string, note]) {
		spec.OnCreate, spec.OnUpdate, spec.OnDelete, spec.OnExpire = event("created"), event("updated"), event("deleted"),
			event("expired")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan string, 100)
	var listeners sync.WaitGroup
	defer listeners.Wait()
	defer cancel()
	// At every server: what one of them tells the others may be lost while they
	// get to know each other.
	for _, node := range open(t, c.URL()).Raw().Nodes() {
		listening := make(chan struct{})
		listeners.Go(func() {
			_ = node.Dedicated(func(conn rueidis.DedicatedClient) error {
				gone := conn.SetPubSubHooks(rueidis.PubSubHooks{
					OnSubscription: func(s rueidis.PubSubSubscription) {
						if s.Kind == "psubscribe" {
							close(listening)
						}
					},
					OnMessage: func(m rueidis.PubSubMessage) { heard <- m.Channel + " " + m.Message },
				})
				conn.Do(ctx, conn.B().Psubscribe().Pattern("events:*").Build())
				select {
				case <-gone:
				case <-ctx.Done():
				}
				return nil
			})
		})
		<-listening
	}
	for _, id := range []string{"1", "2"} {
		_, err := notes.Create(ctx, id, a("x", 1))
		must(t, err)
	}
	_, err := notes.Update(ctx, "1", setKind.Set("y"))
	must(t, err)
	_, err = notes.Delete(ctx, "1")
	must(t, err)
	_, err = notes.Shorten(ctx, "2", time.Millisecond)
	must(t, err)
	eventually(t, "it is swept",
		func() bool { done, err := notes.Sweep(ctx, SweepOptions{}); return err == nil && done.Gone == 1 })
	all := map[string]bool{}
	for end := time.After(expect.Patience); len(all) < 5; {
		select {
		case message := <-heard:
			all[message] = true
		case <-end:
			t.Fatalf("heard only %v", all)
		}
	}
	got := slices.Sorted(maps.Keys(all))
	same(t, "events", got, []string{`events:created {"id":"1"}`, `events:created {"id":"2"}`, `events:deleted {"id":"1"}`,
		`events:expired {"id":"2"}`, `events:updated {"id":"1"}`})
}

// apartPages: pages of a set and of scores, up and down, with ids of items that are
// gone between.
func apartPages(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "pages")
	ctx, raw := t.Context(), notes.core.Client.Raw()
	var want []string
	for i := range 30 {
		n := a("x", int64(1+i%2))
		due := time.UnixMilli(int64(100 + i/3)).UTC()
		n.Due = &due
		id := fmt.Sprintf("%02d", i)
		_, err := notes.Create(ctx, id, n)
		must(t, err)
		if i%5 == 0 {
			must(t, raw.Do(ctx, raw.B().Unlink().Key("pages:item:"+id).Build()).Error())
		} else {
			want = append(want, id)
		}
	}
	pages := func(q Query[note]) (got []string) {
		for page, err := notes.IDs(ctx, q); ; page, err = notes.IDs(ctx, q) {
			ids, next := page.IDs, page.Next
			must(t, err)
			if len(ids) > q.Limit || len(ids) < q.Limit && next != "" {
				t.Errorf("%d ids on a page of %d, then %q", len(ids), q.Limit, next)
			}
			if got = append(got, ids...); next == "" {
				return got
			}
			q.After = next
		}
	}
	odd := slices.DeleteFunc(slices.Clone(want), func(id string) bool { return (id[1]-'0')%2 == 0 })
	for _, limit := range []int{1, 4, 7, 100} {
		same(t, "of a set", pages(Query[note]{Of: notes.By("kind", "x"), Limit: limit}), want)
		same(t, "of scores", pages(Query[note]{Of: notes.By("due", ""), From: "100", Limit: limit}), want)
		down := pages(Query[note]{Of: notes.By("due", ""), Newest: true, Limit: limit})
		slices.Reverse(down)
		same(t, "of scores, downwards", down, want)
		and := []Of[note]{notes.By("priority+created", "2")}
		same(t, "of a set and another index", pages(Query[note]{Of: notes.By("kind", "x"), And: and, Limit: limit}), odd)
		same(t, "of scores and another index", pages(Query[note]{Of: notes.By("due", ""), And: and, Limit: limit}), odd)
	}
}

// apartPlaces: what a store finds out of where its keys lie.
func apartPlaces(t *testing.T, c *keywrighttest.Cluster) {
	client := open(t, c.URL())
	gone := []Event{{Mode: Append, Channel: "{elsewhere}"}}
	for name, test := range map[string]struct {
		prefix string
		edit   func(*Spec[string, note])
		apart  bool
		fails  bool
	}{
		"one tag":                        {"{n}", nil, false, false},
		"one tag, a stream elsewhere":    {"{n}", func(s *Spec[string, note]) { s.OnExpire = nil }, false, false},
		"no tag":                         {"n", nil, true, false},
		"a stream of expiries elsewhere": {"n", func(s *Spec[string, note]) { s.OnExpire = gone }, true, true},
		"a stream of expiries with the index records": {"n",
			func(s *Spec[string, note]) {
				s.OnExpire = []Event{{Mode: Append, Channel: "{n}:gone"}}
			}, true, false},
		"a stream of creations": {"n",
			func(s *Spec[string, note]) {
				s.OnCreate = []Event{{Mode: Append, Channel: "{n}:made"}}
			}, true, true},
		"a sharded channel of updates": {"n",
			func(s *Spec[string, note]) {
				s.OnUpdate = []Event{{Mode: PublishSharded, Channel: "n"}}
			}, true, true},
		"the index records away from the expiry times": {"n", func(s *Spec[string, note]) { s.Records = "{m}:ledger" }, true, true},
		"the lease away from the index records":        {"n", func(s *Spec[string, note]) { s.Lease = "{m}:lease" }, true, true},
		"an index of its own slot": {"{n}", func(s *Spec[string, note]) { s.Indexes[3].Prefix = "n:due" }, true,
			false},
		"items in one slot, a stream with them": {"{i}",
			func(s *Spec[string, note]) {
				s.OnCreate = []Event{{Mode: Append, Channel: "{i}:made"}}
			}, true, false},
		"items in one slot, a stream of expires": {"{i}",
			func(s *Spec[string, note]) {
				s.OnExpire = []Event{{Mode: Append, Channel: "{i}:gone"}}
			}, true, true},
	} {
		spec := noteSpec(test.prefix)
		spec.Expires, spec.Records, spec.Lease = "{n}:expiry", "{n}:ledger", "{n}:sweep"
		if test.edit != nil {
			test.edit(spec)
		}
		s := storeOf(client, spec)
		if s.core.CrossSlot != test.apart || (s.core.Err != nil) != test.fails {
			t.Errorf("%s: apart %v, error %v", name, s.core.CrossSlot, s.core.Err)
		}
		if _, err := s.Create(t.Context(), "1", a("x", 1)); (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Delete(t.Context(), "1"); (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestApartFull: on servers that take no more memory, items are deleted and
// shortened, and what has expired is swept.
func TestApartFull(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	notes := spread(t, c.URL(), "n")
	ctx := t.Context()
	for i := range 10 {
		_, err := notes.Create(ctx, fmt.Sprint(i), a("x", 1))
		must(t, err)
	}
	for _, node := range c.Nodes {
		node.Do("CONFIG", "SET", "maxmemory", "1")
	}
	if _, err := notes.Create(ctx, "more", a("x", 1)); err == nil {
		t.Error("a full server takes an item")
	}
	for i := range 9 {
		var err error
		if i < 5 {
			_, err = notes.Delete(ctx, fmt.Sprint(i))
		} else {
			_, err = notes.Shorten(ctx, fmt.Sprint(i), time.Millisecond)
		}
		must(t, err)
	}
	eventually(t, "all are swept", func() bool {
		_, err := notes.Sweep(ctx, SweepOptions{})
		must(t, err)
		st, err := notes.Stats(ctx)
		must(t, err)
		return st.Items == 1
	})
	if checked := sound(t, notes); checked.Items != 1 || checked.Entries != 4 {
		t.Errorf("%+v", checked)
	}
}
