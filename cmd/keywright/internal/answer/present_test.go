package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
)

const crowdText = `keywright: 1
package: p
vars: {lane: high|low}
owner: o
keys:
  tasks: {key: "jobs:{name}:{lane}", type: queue, order: lane, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
`

// crowd returns a reader of an entry with such values, and the entry.
func crowd(t *testing.T, s *keywrighttest.Server, text, of string, values ...bind.Values) (*Reader, *keyspace.Entry) {
	t.Helper()
	ks := declared.Keyspace(t, text)
	e, _ := ks.Lookup(of)
	return &Reader{Client: servertest.Open(t, s.URL()), Keyspace: ks,
		Instances: func(context.Context, *keyspace.Entry) ([]bind.Values, bool, error) { return values, false, nil }}, e
}

// TestQueuesReadTogether: queues that have no jobs are read together, and what is said of each is what it says itself:
// paused, with workers that live and that are dead, with jobs in any state, or with a key of a wrong type.
func TestQueuesReadTogether(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b keywrighttest.Brand) {
		s := keywrighttest.Start(t, b)
		var all []bind.Values
		for _, name := range []string{"none", "paused", "workers", "waiting", "delayed", "dead", "leased", "wrong", "odd"} {
			all = append(all, bind.Values{"name": name})
		}
		r, e := crowd(t, s, crowdText, "tasks", all...)
		key := func(name, role string) string {
			k, err := bind.Build(e.Key(role).Pattern, bind.Values{"name": name, "lane": "high"})
			expect.NoError(t, err)
			return k
		}
		s.Do("HSET", key("paused", "state"), "paused", "1")
		s.Do("HSET", key("workers", "state"), "rate", "1")
		s.Do("ZADD", key("workers", "workers"), "9e12", "alive", "1", "gone")
		s.Do("RPUSH", key("waiting", ""), "j")
		s.Do("ZADD", key("delayed", "delayed"), "9e12", "j")
		s.Do("ZADD", key("dead", "dead"), "1", "j")
		s.Do("ZADD", key("leased", "leases"), "9e12", "j")
		s.Do("SET", key("wrong", "dead"), "x")
		s.Do("SET", key("odd", "workers"), "x")
		got, err := r.Queues(t.Context(), []*keyspace.Entry{e}, 0)
		expect.NoError(t, err)
		if len(got.Queues) != 7 || len(got.Unread) != 2 {
			t.Fatalf("%+v", got)
		}
		for _, one := range got.Queues {
			name := strings.TrimPrefix(string(*one.Queue), "name=")
			alone, err := readQueue(t.Context(), bind.Queue(r.Client, r.Keyspace, e, bind.Values{"name": name}), 0)
			expect.NoError(t, err)
			alone.Entry, alone.Queue = one.Entry, one.Queue
			if a, b := fmt.Sprintf("%+v", alone), fmt.Sprintf("%+v", one); a != b {
				t.Errorf("%s: alone it is\n%s, and together\n%s", name, a, b)
			}
		}
	})
}

// TestLocksReadTogether: locks that one process holds are read together, and what is said of each is what it says
// itself; so it is with locks that are shared, waited for, without a fence, or of a wrong type.
func TestLocksReadTogether(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	var all []bind.Values
	names := []string{"none", "held", "forever", "shared", "waited", "bare", "wrong", "fence"}
	for _, name := range names {
		all = append(all, bind.Values{"n": name})
	}
	r, e := crowd(t, s, crowdText, "hold", all...)
	key := func(name, role string) string {
		k, err := bind.Build(e.Key(role).Pattern, bind.Values{"n": name})
		expect.NoError(t, err)
		return k
	}
	for _, name := range names[1:5] {
		s.Do("SET", key(name, ""), "host/"+name, "EX", "3000")
		s.Do("SET", key(name, "fence"), "1700000000000000")
	}
	s.Do("PERSIST", key("forever", ""))
	s.Do("ZADD", key("shared", "shared"), "9e12", "a", "1", "b")
	s.Do("ZADD", key("waited", "waiters"), "9e12", "a")
	s.Do("SET", key("bare", ""), "token", "EX", "3000")
	s.Do("HSET", key("wrong", ""), "a", "1")
	s.Do("SET", key("fence", ""), "token")
	s.Do("SET", key("fence", "fence"), "x")
	got, err := r.Locks(t.Context(), []*keyspace.Entry{e})
	expect.NoError(t, err)
	if len(got.Locks) != 5 || len(got.Unread) != 2 || got.Untimed != 0 {
		t.Fatalf("%+v", got)
	}
	for _, one := range got.Locks {
		name := strings.TrimPrefix(string(one.Key), "lock:")
		h, err := bind.Lock(r.Client, r.Keyspace, e, bind.Values{"n": name}).Holder(t.Context())
		expect.NoError(t, err)
		if string(*one.Holder) != h.Owner || string(*one.Token) != h.Token || one.Fence != h.Fence ||
			one.Waiting != h.Waiting || one.Sharing != h.Sharing || one.Left-h.Left.Seconds() > 1 ||
			h.Left.Seconds()-one.Left > 1 || h.Since.Seconds()-one.Since > 60 || one.Since > h.Since.Seconds() {
			t.Errorf("%s: alone it is %+v, and together %+v", name, h, one)
		}
	}
}

// TestPresent: which of many sets of keys have one is found with few commands where few or all have.
func TestPresent(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for name, c := range map[string]struct{ all, some, most int }{
		"none": {2000, 0, 8}, "few": {2000, 3, 100}, "all": {2000, 2000, 8}, "many": {1000, 500, 1010},
	} {
		var sets [][]string
		var want []bool
		for i := range c.all {
			sets = append(sets, []string{fmt.Sprintf("%s%d:a", name, i), fmt.Sprintf("%s%d:b", name, i)})
			want = append(want, c.some > 0 && i%(c.all/c.some) == 0 && i/(c.all/c.some) < c.some)
			if want[i] {
				s.Do("MSET", sets[i][0], "1", sets[i][1], "1")
			}
		}
		sent := 0
		r := &Reader{Client: servertest.Open(t, s.URL()),
			Pace: func(_ context.Context, n int) error { sent += n; return nil }}
		got, err := r.present(t.Context(), sets)
		expect.NoError(t, err)
		if !slices.Equal(got, want) || sent > c.most {
			t.Errorf("%s: %d commands", name, sent)
		}
	}
}

// TestPresentInACluster: there a command names keys of one slot, and keys of one set that are in several are reported
// to be there.
func TestPresentInACluster(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	r := &Reader{Client: servertest.Open(t, c.URL())}
	raw := r.Client.Raw()
	expect.NoError(t, raw.Do(t.Context(), raw.B().Set().Key("{b}:x").Value("1").Build()).Error())
	got, err := r.present(t.Context(), [][]string{{"{a}:x", "{a}:y"}, {"{b}:x", "{b}:y"}, {"a", "b", "c"}, {"{b}:z"}})
	expect.NoError(t, err)
	if want := []bool{false, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
