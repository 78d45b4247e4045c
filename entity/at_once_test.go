package entity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// made represents an item that is to be made.
type made struct {
	id string
	v  note
}

// atOnceIn makes items with one call of the script, and gives its answers: the
// version of a new one, else what was said.
func atOnceIn(t *testing.T, s *keywrighttest.Server, notes *Store[string, note], items ...made) (out []string) {
	t.Helper()
	keys, args := slices.Clone(notes.writer.Putter.Always), []string{strconv.Itoa(len(items))}
	for _, i := range items {
		c := &itemkeys.Call{ID: i.id, Condition: itemkeys.Absent}
		in, err := notes.fill(notes.core.Key(i.id), &i.v, c, nil)
		must(t, err)
		c.Record = notes.core.RecordOf(in, "", true)
		c.Expected = c.Record
		k, a, _ := notes.writer.PutKeys(c)
		keys, args = append(keys, k...), append(args, a...)
	}
	command := append([]string{"EVAL", scripts.Parts.Fill("put", notes.writer.PutText(notes.writer.Putter)),
		strconv.Itoa(len(keys))}, keys...)
	for _, reply := range s.Do(append(command, args...)...).([]any) {
		switch r := reply.(type) {
		case []any:
			out = append(out, fmt.Sprint(r[0]))
		case error:
			out = append(out, "error")
		default:
			out = append(out, "made")
		}
	}
	return out
}

// TestAMoveThereAndBack: an index that the last item left and another one enters in the same script has a TTL again.
func TestAMoveThereAndBack(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for id, kind := range map[string]string{"1": "k", "2": "other"} {
			_, err := notes.Create(t.Context(), id, a(kind, 5))
			must(t, err)
		}
		keys, args, had := slices.Clone(notes.writer.Putter.Always), []string{"3"}, s.Do("HGET", "n:ledger", "1").(string)
		for _, to := range []struct{ id, kind, condition string }{{"1", "k", itemkeys.Whatever}, {"1", "other",
			itemkeys.Whatever},
			{"3", "k", itemkeys.Absent}} {
			c, v := &itemkeys.Call{ID: to.id, Condition: to.condition}, a(to.kind, 5)
			in, err := notes.fill(notes.core.Key(to.id), &v, c, nil)
			must(t, err)
			c.Record = notes.core.RecordOf(in, "", true)
			if c.Condition == itemkeys.Whatever {
				c.Expected, c.Drops, c.Found = had, notes.core.LeftEntries(had, in), true
			}
			k, more, renews := notes.writer.PutKeys(c)
			if renews != nil {
				t.Fatal("the TTL of the indexes is renewed in any case: the test shows nothing")
			}
			keys, args = append(keys, k...), append(args, more...)
		}
		command := append([]string{"EVAL", scripts.Parts.Fill("put", notes.writer.PutText(notes.writer.Putter)),
			strconv.Itoa(len(keys))}, keys...)
		for _, reply := range s.Do(append(command, args...)...).([]any) {
			if err, failed := reply.(error); failed {
				t.Error(err)
			}
		}
		if ttl := s.Do("PTTL", "n:idx:kind:k").(int64); ttl <= 0 {
			t.Errorf("PTTL %d of the index", ttl)
		}
		sound(t, notes)
	})
}

// TestAtOnce: many items that are made by one call of the script are what they
// would be one by one, also where one of them cannot be made.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	due := time.UnixMilli(1_700_000_000_000)
	late := note{Kind: "k", Context: "c2", Priority: 7, Text: "later", Due: &due}
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := noteSpec("n")
		spec.OnCreate = []Event{{Mode: Publish, Channel: "n.made", Plain: true,
			Data: []Part{{Name: "id", Form: value.Quoted}}}}
		notes := storeOf(open(t, s.URL()), spec)
		after := func() {}
		for name, now := range map[string]struct {
			before  func()
			items   []made
			answers string
			there   []string // afterwards
		}{
			"all are new": {nil, []made{{"1", a("k", 5)}, {"2", late}, {"3", a("other", 5)}}, "made made made",
				[]string{"1", "2", "3"}},
			"one is there": {func() {
				_, err := notes.Create(t.Context(), "2", a("first", 1))
				must(t, err)
			}, []made{{"1", a("k", 5)}, {"2", late}}, "made present", []string{"1", "2"}},
			"one is there, and has no index record": {func() {
				_, err := notes.Create(t.Context(), "2", a("first", 1))
				must(t, err)
				record := s.Do("HGET", "n:ledger", "2").(string)
				s.Do("HDEL", "n:ledger", "2")
				after = func() { s.Do("HSET", "n:ledger", "2", record) }
			}, []made{{"1", a("k", 5)}, {"2", late}}, "made present", []string{"1", "2"}},
			"one twice": {nil, []made{{"1", a("k", 5)}, {"1", late}, {"2", late}}, "made present made", []string{"1", "2"}},
			"one has expired": {func() {
				_, err := notes.Create(t.Context(), "2", a("first", 1))
				must(t, err)
				expire(t, s, notes, "2")
			}, []made{{"1", a("k", 5)}, {"2", late}}, "made record", []string{"1"}},
			"an index is in the way": {func() { s.Do("SET", "n:idx:kind:k", "in the way") },
				[]made{{"1", a("other", 5)}, {"2", late}, {"3", a("third", 5)}}, "made error made", []string{"1", "3"}},
			"the key of the index records is in the way": {func() { s.Do("SET", "n:ledger", "in the way") }, []made{{"1", a("k", 5)}, {"2", late}},
				"error error", nil},
		} {
			s.Do("FLUSHALL")
			notes.core.Renewed = itemkeys.NewRenewedKeys(notes.core.Renewed.Every)
			if now.before != nil {
				now.before()
			}
			heard := collectPublished(t, open(t, s.URL()), "n.*")
			if answers := strings.Join(atOnceIn(t, s, notes, now.items...), " "); answers != now.answers {
				t.Errorf("%s: %s, not %s", name, answers, now.answers)
			}
			var told []string
			for i, answer := range strings.Fields(now.answers) {
				if answer == "made" {
					told = append(told, fmt.Sprintf(`n.made {"id":%q}`, now.items[i].id))
				}
			}
			same(t, name+": told", heard(), told)
			after()
			after = func() {}
			s.Do("EVAL", "for i = 1, 2 do if redis.call('TYPE', KEYS[i]).ok == 'string' then redis.call('DEL', KEYS[i]) end end",
				"2", "n:idx:kind:k", "n:ledger")
			if got := sound(t, notes); got.Items != len(now.there) {
				t.Errorf("%s: %d items, not %s", name, got.Items, now.there)
			}
			for _, id := range now.there {
				_, err := notes.Get(t.Context(), id)
				must(t, err)
			}
			for _, key := range keysOf(s, "n:") {
				if ttl := s.Do("PTTL", key).(int64); ttl < 0 {
					t.Errorf("%s: %s has no TTL", name, key)
				}
			}
		}
	})
}
