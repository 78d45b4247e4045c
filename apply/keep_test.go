package apply_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/selection"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/dump"
)

// kept represents a keeper in memory. then is called when a batch is on the disk.
type kept struct {
	records []archive.Record
	then    func()
	fails   error
}

func (k *kept) Keep(r *archive.Record) error {
	own := *r
	own.Key, own.Payload = append([]byte(nil), r.Key...), append([]byte(nil), r.Payload...)
	k.records = append(k.records, own)
	return nil
}

func (k *kept) Sync() error {
	if k.then != nil {
		k.then()
	}
	return k.fails
}

// What is deleted is as it was kept: a key that is written to between the two stays.
func TestKeptIsWhatIsDeleted(t *testing.T) {
	s := kt.Start(t, kt.Redis)
	clients := applytest.Open(t, s.URL())
	large := []string{"EVAL", "for i = 1, 500 do redis.call('HSET', 'app:user:1', i, i) end", "0"}
	// A set whose table has grown has its members in another order: DUMP has other bytes for the same value.
	small := []string{"EVAL", "for i = 1, 200 do redis.call('SADD', 'app:user:1', i .. 'a') end", "0"}
	grown := []string{"EVAL", `for _, verb in ipairs({'SADD', 'SREM'}) do
		for i = 1, 300 do redis.call(verb, 'app:user:1', i .. 'b') end
	end`, "0"}
	const sameValue = plan.Code("it is deleted")
	for _, c := range []struct {
		set, then []string
		want      plan.Code // "": it was gone
		guard     string
	}{
		{[]string{"SET", "app:user:1", "x"}, []string{"SET", "app:user:1", "y"}, plan.Changed,
			"redis.sha1hex(string.sub(call('DUMP', KEYS[1]), 1, -11)) ~= digest"},
		{[]string{"SET", "app:user:1", "x"}, []string{"PEXPIRE", "app:user:1", "100000"}, plan.Changed,
			"string.format('%.0f', math.max(call('PEXPIRETIME', KEYS[1]), 0)) ~= ends"},
		{[]string{"SET", "app:user:1", "x", "PX", "100000"}, []string{"PERSIST", "app:user:1"}, plan.Changed,
			"string.format('%.0f', math.max(call('PEXPIRETIME', KEYS[1]), 0)) ~= ends"},
		{[]string{"SET", "app:user:1", "x"}, []string{"DEL", "app:user:1"}, "", ""},
		{large, []string{"HSET", "app:user:1", "7", "other"}, plan.Changed, ""},
		{small, grown, sameValue, ""},
		{large, []string{"PEXPIRE", "app:user:1", "100000"}, plan.Changed, ""},
		{large, []string{"DEL", "app:user:1"}, "", ""},
	} {
		run := func() *apply.KeysReport {
			s.Do("FLUSHALL")
			s.Do(c.set...)
			k := &kept{then: func() { s.Do(c.then...) }}
			return change(t, s.URL(), clients, "delete", selection.Request{Entries: []string{"user"}},
				apply.KeysOptions{Keep: k, Live: applytest.Live(t, s.URL(), 16<<10)})
		}
		if r := run(); c.want == sameValue {
			if r.Changed != 1 {
				t.Errorf("%.40q %.40q: %+v %v", c.set, c.then, r.KeyCounts, why(r))
			}
		} else if r.Changed != 0 || c.want != "" && why(r)[c.want] != 1 || c.want == "" && r.Gone != 1 {
			t.Errorf("%.40q %q: %+v %v", c.set, c.then, r.KeyCounts, why(r))
		}
		if c.guard == "" {
			continue
		}
		restore, ok := apply.Mutate(c.guard, "false")
		if !ok {
			t.Fatalf("the script has no %q", c.guard)
		}
		if r := run(); r.Changed != 1 {
			t.Errorf("%q: %q is not needed: %+v", c.then, c.guard, r.KeyCounts)
		}
		restore()
	}
}

// What cannot be kept is not deleted.
func TestWhatIsNotKeptStays(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	s.Do("SET", "app:user:1", "x")
	rule, err := ruleOf("delete", selection.Request{Entries: []string{"user"}})
	must(t, err)
	full := fmt.Errorf("no space left on device")
	o := apply.KeysOptions{Keep: &kept{fails: full}, Live: applytest.Live(t, s.URL(), 0)}
	r, err := apply.Keys(t.Context(), applytest.Open(t, s.URL()), scanOf(s.URL()), rule, o)
	if err == nil || r.KeyCounts != (journal.KeyCounts{}) || s.Do("EXISTS", "app:user:1") != int64(1) {
		t.Errorf("%v, %+v", err, r.KeyCounts)
	}
}

// Under a writer nothing is lost: what the server confirmed to the writer is in what was kept, or on the
// server.
func TestKeptUnderWriters(t *testing.T) {
	t.Parallel()
	const keys = 20
	s := kt.Start(t, kt.Redis)
	clients := applytest.Open(t, s.URL())
	c, err := clients(0)
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var told [keys]int
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			n := i % keys
			if err := c.Raw().Do(t.Context(),
				c.Raw().B().Append().Key(fmt.Sprint("app:user:", n)).Value(fmt.Sprint(told[n], ",")).Build()).Error(); err != nil {
				t.Error(err)
				return
			}
			told[n]++
		}
	})
	k, changed, refused := &kept{}, int64(0), int64(0)
	least := gate.Count(t, "KEYWRIGHT_ROUNDS", 5, 30)
	for rounds := 0; rounds < 1000 && (rounds < least || changed == 0 || refused == 0); rounds++ {
		r := change(t, s.URL(), clients, "delete", selection.Request{Entries: []string{"user"}},
			apply.KeysOptions{Keep: k, Live: applytest.Live(t, s.URL(), 1<<20)})
		changed, refused = changed+r.Changed, refused+why(r)[plan.Changed]
	}
	stop()
	writer.Wait()
	seen := map[string]bool{}
	note := func(key, text string) {
		for _, n := range strings.Split(text, ",") {
			seen[key+" "+n] = true
		}
	}
	for _, r := range k.records {
		must(t, dump.Elements(r.Payload, r.RDB, 0, func(elements [][]byte, _ bool) error {
			note(string(r.Key), string(elements[0]))
			return nil
		}))
	}
	for n := range keys {
		key := fmt.Sprint("app:user:", n)
		if text, there := s.Do("GET", key).(string); there {
			note(key, text)
		}
		for i := range told[n] {
			if !seen[fmt.Sprint(key, " ", i)] {
				t.Fatalf("what was written to %s as number %d of %d is lost", key, i, told[n])
			}
		}
	}
	t.Logf("%d deleted, %d left alone", changed, refused)
}

// keptKeyspace has what is deleted with other keys.
const keptKeyspace = `keywright: 1
keys:
  page: {key: "app:page:{id}", type: cache, ttl: 10m}
  note: {key: "app:note:{id}", type: entity, ttl: none, fields: {kind: slug}, index: {kind: "app:notes:{kind}"}}
`

// Large cached values and items, too, are deleted only if they are as they were kept, with what
// goes with them.
func TestKeptWithOthers(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	clients, ks := applytest.Open(t, s.URL()), keyspaceOf(keptKeyspace)
	client, err := clients(0)
	must(t, err)
	notes, err := bind.Entity(client, ks, ks.Entries[1], nil)
	must(t, err)
	large := strings.Repeat("x", 9000)
	for _, c := range []struct{ set, then []string }{
		{[]string{"SET", "app:page:1", large}, []string{"SETRANGE", "app:page:1", "7", "y"}},
		{[]string{"HSET", "app:note:1", "kind", "a"}, []string{"HSET", "app:note:1", "kind", "b"}},
		{[]string{"HSET", "app:note:1", "kind", "a", "more", large}, []string{"HSET", "app:note:1", "other", "b"}},
	} {
		for _, written := range []bool{true, false} {
			s.Do("FLUSHALL")
			s.Do(c.set...)
			s.Do("SET", "{app:page:1}:fill", "token")
			rule, err := plan.NewDelete(ks, selection.Request{Entries: []string{"page", "note"}}, false)
			must(t, err)
			k := &kept{then: func() {
				if written {
					s.Do(c.then...)
				}
			}}
			r, err := apply.Keys(t.Context(), clients, scanOf(s.URL()), rule,
				apply.KeysOptions{Keep: k, Live: applytest.Live(t, s.URL(), 4096),
					Item: func(ctx context.Context, _ int, i apply.Item) (bool, error) {
						return notes.Texts().DeleteSame(ctx, string(i.Key), i.Sums)
					}})
			must(t, err)
			if there := s.Do("EXISTS", c.set[1]) == int64(1); there != written || written != (why(&r)[plan.Changed] == 1) {
				t.Errorf("%.40q, %q (%v): %+v %v, it is there: %v", c.set, c.then, written, r.KeyCounts, why(&r), there)
			}
		}
	}
}

// TestALargeItemIsNotKept: an item whose texts are too many for the script that compares them is not deleted.
func TestALargeItemIsNotKept(t *testing.T) {
	t.Parallel()
	s, ks := kt.Start(t, kt.Redis), keyspaceOf(keptKeyspace)
	s.Do("HSET", "app:note:1", "kind", "a", "more", strings.Repeat("x", 600<<10))
	rule, err := plan.NewDelete(ks, selection.Request{Entries: []string{"note"}}, false)
	must(t, err)
	r, err := apply.Keys(t.Context(), applytest.Open(t, s.URL()), scanOf(s.URL()), rule,
		apply.KeysOptions{Keep: &kept{}, Live: applytest.Live(t, s.URL(), 4096),
			Item: func(context.Context, int, apply.Item) (bool, error) { return true, nil }})
	if err != nil || r.Changed != 0 || why(&r)[plan.NotKept] != 1 {
		t.Errorf("%v: %+v %v", err, r.KeyCounts, why(&r))
	}
}

// A key that was kept and then left alone is not tried again where SCAN yields it twice: what
// was kept of it first would be restored.
func TestKeptOnce(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	s.Do("SET", "app:user:1", "x")
	rule, err := ruleOf("delete", selection.Request{Entries: []string{"user"}})
	must(t, err)
	k := &kept{then: func() { s.Do("APPEND", "app:user:1", "y") }}
	scan := scanOf(s.URL())
	twice := func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		_, err := scan(ctx, each)
		must(t, err)
		for i := range 300 { // the first batch is sent
			must(t, each([]source.Key{{Name: fmt.Append(nil, "app:user:x", i), Kind: source.String}}))
		}
		k.then = nil
		return scan(ctx, each)
	}
	r, err := apply.Keys(t.Context(), applytest.Open(t, s.URL()), twice, rule,
		apply.KeysOptions{Keep: k, Live: applytest.Live(t, s.URL(), 4096)})
	if err != nil || why(&r)[plan.Changed] != 2 || s.Do("GET", "app:user:1") != "xy" || len(k.records) != 1 {
		t.Errorf("%v, %+v %v, %v, %d records", err, r.KeyCounts, why(&r), s.Do("GET", "app:user:1"), len(k.records))
	}
}
