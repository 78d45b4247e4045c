package entity

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/keywrighttest"
)

// TestRepair: each damage is found, and put right if that is asked for and only
// then.
func TestRepair(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		due := time.UnixMilli(7)
		v := a("k", 5)
		v.Due = &due
		for _, id := range []string{"1", "2"} {
			_, err := notes.Create(t.Context(), id, v)
			must(t, err)
		}
		for _, tt := range []struct {
			damage []string
			found  []string
		}{
			{[]string{"ZREM", "n:idx:kind:k", "1"}, []string{"1 missing n:idx:kind:k"}},
			{[]string{"DEL", "n:idx:kind:k"}, []string{"1 missing n:idx:kind:k", "2 missing n:idx:kind:k"}},
			{[]string{"ZREM", "n:idx:due", "1"}, []string{"1 missing n:idx:due"}},
			{[]string{"ZADD", "n:idx:kind:old", "0", "1"}, []string{"1 stale n:idx:kind:old"}},
			{[]string{"ZADD", "n:idx:kind:k", "0", "nobody"}, []string{"nobody stale n:idx:kind:k"}},
			{[]string{"ZADD", "n:idx:due", "1", "nobody"}, []string{"nobody stale n:idx:due"}},
			{[]string{"ZADD", "n:idx:priority:9", "1", "2"}, []string{"2 stale n:idx:priority:9"}},
			{[]string{"ZADD", "n:idx:due", "8", "1"}, []string{"1 score n:idx:due"}},
			{[]string{"PERSIST", "n:idx:due"}, []string{"1 ttl n:idx:due", "2 ttl n:idx:due"}},
			{[]string{"PERSIST", "n:item:1"}, []string{"1 ttl "}},
			{[]string{"HSET", "n:ledger", "1", "=kind=1:x"}, []string{"1 ledger "}},
			{[]string{"HDEL", "n:ledger", "1"}, []string{"1 ledger "}},
			{[]string{"HSET", "n:ledger", "nobody", "="}, []string{"nobody ledger "}},
			{[]string{"DEL", "n:ledger"}, []string{"1 ledger ", "2 ledger "}},
			{[]string{"ZREM", "n:idx:expiry", "1"}, []string{"1 expiry "}},
			{[]string{"ZADD", "n:idx:expiry", "99999999999999", "1"}, []string{"1 expiry "}},
			{[]string{"HSET", "n:item:1", "kind", "k2"},
				[]string{"1 ledger ", "1 missing n:idx:kind:k2", "1 stale n:idx:kind:k"}},
		} {
			s.Do(tt.damage...)
			before := contents(s, "n:")
			same(t, fmt.Sprint(tt.damage), problems(t, notes, false), tt.found)
			same(t, "a check that changes nothing", contents(s, "n:"), before)
			found := problems(t, notes, true)
			if len(found) == 0 || len(found) > len(tt.found) { // one repair may mend what another found
				t.Errorf("%s: repaired %q", tt.damage, found)
			}
			if left := problems(t, notes, false); len(left) > 0 {
				t.Errorf("%s: left after the repair: %q", tt.damage, left)
			}
			for _, w := range mortal(s, "n:") {
				t.Errorf("%s: %s", tt.damage, w)
			}
		}
	})
}

// TestDueEarly: an item that is due before its hash ends is no fault of its entries: a server that was stopped in a
// script leaves it so, and a sweep that finds it alive writes down when it ends.
func TestDueEarly(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		s.Do("PEXPIRE", "n:item:1", "7200000")
		s.Do("ZADD", "n:idx:expiry", "1", "1")
		same(t, "what is wrong", problems(t, notes, false), nil)
		done, err := notes.Sweep(t.Context(), SweepOptions{})
		if must(t, err); done.Lives != 1 || done.Gone != 0 {
			t.Errorf("%+v", done)
		}
		due, _ := strconv.ParseFloat(fmt.Sprint(s.Do("ZSCORE", "n:idx:expiry", "1")), 64)
		if ends, _ := s.Do("PEXPIRETIME", "n:item:1").(int64); int64(due) < ends-1000 || int64(due) > ends+1000 {
			t.Errorf("due at %.0f, ends at %d", due, ends)
		}
		same(t, "what is wrong", problems(t, notes, false), nil)
	})
}

// problems returns what a check finds, sorted.
func problems(t *testing.T, s *Store[string, note], apply bool) (out []string) {
	t.Helper()
	_, err := s.Check(t.Context(),
		CheckOptions{Apply: apply, Rate: 1 << 30, Found: func(p Problem) { out = append(out, p.ID+" "+p.What+" "+p.Key) }})
	must(t, err)
	slices.Sort(out)
	return out
}

// TestCheckWhileWriting: an item that changes while it is looked at is no fault,
// and one that has expired neither.
func TestCheckWhileWriting(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for name, meanwhile := range map[string]func() error{
			"changed":         func() error { _, err := notes.Update(t.Context(), "1", setKind.Set("else")); return err },
			"deleted":         func() error { _, err := notes.Delete(t.Context(), "1"); return err },
			"expired":         func() error { expire(t, s, notes, "1"); return nil },
			"changed by hand": func() error { s.Do("HSET", "n:item:1", "kind", "else"); return nil },
			"deleted by hand": func() error { s.Do("DEL", "n:item:1"); return nil },
			"elsewhere meanwhile, and there again": func() error {
				s.Do("HSET", notes.core.Spec.Records, "1", string(indexrecord.Encode(indexrecord.Place{Index: "kind", Prefix: "n:idx:kind:",
					Value: "other"})))
				return nil
			},
		} {
			_, err := notes.Put(t.Context(), "1", a("k", 5))
			must(t, err)
			texts, there, err := upkeep.IndexedTexts(t.Context(), notes.core, "1")
			must(t, err)
			had, _ := s.Do("HGET", notes.core.Spec.Records, "1").(string)
			must(t, meanwhile())
			entries, record := notes.core.ShouldBe(texts, there)
			before := contents(s, "n:")
			keys, args := upkeep.Comparison(notes.core, "1", texts, there, had, record, entries, true)
			reply, err := notes.core.Run(t.Context(), "check", notes.core.Scripts.Repair, keywright.Idempotent, keys, args...)
			must(t, err)
			same(t, name, reply, []string{"changed"})
			same(t, name, contents(s, "n:"), before)
		}
		_, err := notes.Put(t.Context(), "1", a("k", 5))
		must(t, err)
		expire(t, s, notes, "1")
		same(t, "an expired one", problems(t, notes, true), nil)
		if c := sound(t, notes); c.Expired != 1 || c.Items != 0 {
			t.Errorf("%+v", c)
		}
		// One that was not there when it was looked at, and now is.
		texts, _, err := upkeep.IndexedTexts(t.Context(), notes.core, "2")
		must(t, err)
		_, err = notes.Create(t.Context(), "2", a("k", 5))
		must(t, err)
		keys, args := upkeep.Comparison(notes.core, "2", texts, false, "", "", nil, true)
		reply, err := notes.core.Run(t.Context(), "check", notes.core.Scripts.Repair, keywright.Idempotent, keys, args...)
		must(t, err)
		same(t, "made", reply, []string{"changed"})
		sound(t, notes)
		tasks := storeOf(notes.core.Client, taskSpec(false)) // one that is in no index
		fields, _, err := upkeep.IndexedTexts(t.Context(), tasks.core, "1")
		must(t, err)
		_, err = tasks.Create(t.Context(), "1", task{Level: 1})
		must(t, err)
		keys, args = upkeep.Comparison(tasks.core, "1", fields, false, "", "", nil, true)
		reply, err = tasks.core.Run(t.Context(), "check", tasks.core.Scripts.Repair, keywright.Idempotent, keys, args...)
		must(t, err)
		same(t, "made, in no index", reply, []string{"changed"})
		record := s.Do("HGET", tasks.core.Spec.Records, "1").(string)
		s.Do("DEL", tasks.core.Key("1"))
		keys, args = upkeep.Comparison(tasks.core, "1", fields, true, record, record, nil, true)
		reply, err = tasks.core.Run(t.Context(), "check", tasks.core.Scripts.Repair, keywright.Idempotent, keys, args...)
		must(t, err)
		same(t, "deleted, in no index", reply, []string{"changed"})
	})
}

// TestStamps: the time of creation stays through all writes.
func TestStamps(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		made, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		clock := func() int64 {
			now := s.Do("TIME").([]any)
			sec, _ := strconv.ParseInt(fmt.Sprint(now[0]), 10, 64)
			us, _ := strconv.ParseInt(fmt.Sprint(now[1]), 10, 64)
			return sec*1000 + us/1000
		}
		for i, write := range []func() error{
			func() error { _, err := notes.Put(t.Context(), "1", a("k", 5)); return err },
			func() error { _, err := notes.Replace(t.Context(), "1", a("k2", 5)); return err },
			func() error { _, err := notes.Update(t.Context(), "1", setText.Set("x")); return err },
		} {
			began := clock()
			eventually(t, "the clock moves", func() bool { return clock() > began })
			must(t, write())
			got, err := notes.Get(t.Context(), "1")
			must(t, err)
			if !got.Value.Created.Equal(made.Value.Created) || got.Value.Updated.UnixMilli() <= began {
				t.Errorf("write %d: created %v, updated %v, was made %v", i, got.Value.Created, got.Value.Updated,
					made.Value.Created)
			}
			sound(t, notes)
		}
	})
}

// TestOneFails: of writes that travel together one that fails touches no other.
func TestOneFails(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		s.Do("SET", "n:idx:kind:bad", "in the way")
		texts := notes.runAsOneScript(t, creating(t, notes, "1", a("k", 5)), creating(t, notes, "2", a("bad", 5)),
			creating(t, notes, "3", a("k", 5)))
		if len(texts) != 3 || texts[0] == "" || texts[1] != "" || texts[2] == "" {
			t.Errorf("%q", texts)
		}
		s.Do("DEL", "n:idx:kind:bad")
		same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "k")}), []string{"1", "3"})
		sound(t, notes)
	})
}
