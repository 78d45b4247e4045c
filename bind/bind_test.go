package bind_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"go.uber.org/goleak"
)

// The client library's own: one waits a second after a refresh of a cluster's slots, two end with a connection.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

const declaration = `keywright: 1
package: p
owner: o
keys:
  door: {doc: d, key: "door:{house}:{room}", type: lock, ttl: 30s}
  tasks: {doc: d, key: "tasks:{team}:{priority}", type: queue, order: priority, timeout: 100ms, ttl: none}
  one: {doc: d, key: "one", type: queue, ttl: none}
  gate: {doc: d, key: "gate:{room}", type: lock, ttl: 30s, notify: "gate:{room}:open"}
  note: {doc: d, key: "{#{tenant}}:note:{id}", type: entity, ttl: 1h, fields: {kind: slug}, index: {kind: "{#{tenant}}:kind:{kind}", expires: "{#{tenant}}:ends"}}
  mail: {doc: d, key: "{#{tenant}}:mail:{box}:{id}", type: entity, ttl: 1h, fields: {kind: slug}, index: {kind: "{#{tenant}}:mails:{kind}", expires: "{#{tenant}}:mailends"}, emits: {delete: gone, expire: gone}}
  post: {doc: d, key: "post:{box}:{tenant}:{id}", type: entity, ttl: 1h, fields: {kind: slug}, index: {kind: "posts:{tenant}:{kind}", expires: "posts:{tenant}:ends"}}
  hold: {doc: d, key: "hold:{id}", type: entity, ttl: 1h, fields: {kind: slug}, index: {kind: "hold:k:{kind}", expires: "hold:ends"}}
  rows: {doc: d, key: "hold:b{row}", type: list, ttl: none}
  lines: {doc: d, key: "hold:k:lines", type: list, ttl: none}
channels:
  gone: {doc: d, channel: "{#{tenant}}:gone:{box}", durable: {maxlen: 9}, message: {id: slug, box: text, tenant: slug}}
vars: {box: text, priority: {type: high|low, default: low}, house: slug, room: slug, team: slug, tenant: slug, id: slug, row: int 0..}
`

func loaded(t *testing.T) *keyspace.Keyspace { return declared.Keyspace(t, declaration) }

func entry(t *testing.T, ks *keyspace.Keyspace, name string) *keyspace.Entry {
	t.Helper()
	for _, e := range ks.Entries {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no entry %s", name)
	return nil
}

var (
	must = expect.NoError
	open = servertest.Open
)

// TestInstances: what is on the server is found by its values, once, whichever of its keys
// are there, one of another type too, and nothing of another entry or database.
func TestInstances(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			ks, c := loaded(t), open(t, s.URL())
			door, tasks, note := entry(t, ks, "door"), entry(t, ks, "tasks"), entry(t, ks, "note")
			for _, room := range []string{"a", "b"} {
				l := bind.Lock(c, ks, door, bind.Values{"house": "h", "room": room})
				if l.Name() != "door:h:"+room {
					t.Errorf("the lock is %s", l.Name())
				}
				_, err := l.Acquire(t.Context())
				must(t, err)
			}
			s.Do("SET", "door:h", "x")
			s.Do("HSET", "door:h:c", "of", "another type")
			must(t, open(t, s.URL()+"/1").Raw().Do(t.Context(), c.Raw().B().Set().Key("door:h:z").Value("x").Build()).Error())
			for _, team := range []string{"red", "blue"} {
				q := bind.Queue(c, ks, tasks, bind.Values{"team": team})
				for _, lane := range []string{"high", ""} {
					_, err := q.Enqueue(t.Context(), queue.Task[string]{Payload: "payload", Lane: lane})
					must(t, err)
				}
			}
			for key, ttl := range map[string]string{"{x}:note:1": "kind", "{y}:note:2": "kind"} {
				s.Do("HSET", key, ttl, "k")
			}
			if high, low := s.Do("LLEN", "tasks:red:high"), s.Do("LLEN", "tasks:red:low"); high != int64(1) || low != int64(1) {
				t.Errorf("jobs: %v high, %v low; one names no lane", high, low)
			}
			if key, err := bind.Build(tasks.Keys[0].Pattern, bind.Values{"team": "red"}); err != nil || key != "tasks:red:low" {
				t.Errorf("%s, %v", key, err)
			}
			for e, want := range map[*keyspace.Entry]string{
				door:                "[map[house:h room:a] map[house:h room:b] map[house:h room:c]]",
				tasks:               "[map[team:blue] map[team:red]]",
				note:                "[map[tenant:x] map[tenant:y]]",
				entry(t, ks, "one"): "[map[]]",
			} {
				found, bounded, err := bind.Instances(t.Context(), c, e)
				if err != nil || bounded || fmt.Sprint(found) != want {
					t.Errorf("%s: %v, %v, %v", e.Name, found, bounded, err)
				}
			}
			s.Do("REPLICAOF", "127.0.0.1", "1")
			for _, name := range []string{"one", "door"} {
				if found, _, err := bind.Instances(t.Context(), c, entry(t, ks, name)); err == nil {
					t.Errorf("%s on a replica alone: %v", name, found)
				}
			}
		})
	}
}

// TestEntity: the store of an entity has the items of its values and no others.
func TestEntity(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	ks, c := loaded(t), open(t, s.URL())
	note := entry(t, ks, "note")
	spec, err := bind.Spec(ks, note, bind.Values{"tenant": "x"})
	must(t, err)
	if got := fmt.Sprint(spec.Prefix, spec.Suffix, " ", spec.Expires, " ", spec.Indexes[0].Prefix, " ",
		spec.IndexTTL > time.Hour-time.Second); got != "{x}:note: {x}:ends {x}:kind: true" {
		t.Error(got)
	}
	if id, ok := spec.Parse("{x}:note:7"); !ok || id != "7" {
		t.Errorf("%q, %v", id, ok)
	}
	for _, other := range []string{"{y}:note:7", "{x}:kind:7", "{x}:note:", "{x}:note:a b"} {
		if id, ok := spec.Parse(other); ok {
			t.Errorf("%s is item %q", other, id)
		}
	}
	// What all keys share may be between the parts of an id.
	spec, err = bind.Spec(ks, entry(t, ks, "post"), bind.Values{"tenant": "x"})
	must(t, err)
	if id, ok := spec.Parse("post:a:x:7"); !ok || id != "a:x:7" {
		t.Errorf("%q, %v", id, ok)
	}
	if id, ok := spec.Parse("post:x:y:7"); ok {
		t.Errorf("an item of another store is item %q", id)
	}
	if key, err := spec.Key("a:y:7"); err == nil {
		t.Errorf("the key of an item of another store is %s", key)
	}
	// What a narrower pattern has is no item, and no key of an index.
	spec, err = bind.Spec(ks, entry(t, ks, "hold"), nil)
	must(t, err)
	for _, id := range []string{"ends", "b7"} {
		if key, err := spec.Key(id); err == nil || !strings.Contains(err.Error(), id[:1]) {
			t.Errorf("the key of %s is %s, %v", id, key, err)
		}
		if _, ok := spec.Parse("hold:" + id); ok {
			t.Errorf("hold:%s is an item", id)
		}
	}
	if _, ok := spec.Parse("hold:bx"); !ok || !spec.Indexes[0].Legal("hold:k:x") || spec.Indexes[0].Legal("hold:k:lines") {
		t.Error("hold:bx is no item, or the index has another key than its own")
	}
	store, err := bind.Entity(c, ks, note, bind.Values{"tenant": "x"})
	must(t, err)
	if there, err := store.Exists(t.Context(), "1"); err != nil || there {
		t.Errorf("%v, %v", there, err)
	}
}

// TestEventsHaveThePartsOfTheKey: what is announced of an item, and where, has each
// placeholder of its key, whether the item was deleted or has expired.
func TestEventsHaveThePartsOfTheKey(t *testing.T) {
	t.Parallel()
	ks, ctx := loaded(t), t.Context()
	for _, brand := range []keywrighttest.Brand{keywrighttest.Redis, keywrighttest.Valkey} {
		s := keywrighttest.Start(t, brand)
		c := open(t, s.URL())
		mail := entry(t, ks, "mail")
		spec, err := bind.Spec(ks, mail, bind.Values{"tenant": "x"})
		must(t, err)
		spec.OnDelete, err = bind.Events(ks, mail, "delete")
		must(t, err)
		store := entity.New(keywright.Binding{Client: c, Entry: bind.Entry(ks, mail.Keys[0])}, spec)
		for _, id := range []string{"in box:1", "in box:2"} {
			s.Do("HSET", "{x}:mail:"+id, "kind", "k", "n", "1")
			s.Do("HSET", spec.Records, id, string(indexrecord.Encode()))
			s.Do("ZADD", "{x}:mailends", "1", id)
		}
		there, err := store.Delete(ctx, "in box:1")
		must(t, err)
		s.Do("DEL", "{x}:mail:in box:2")
		swept, err := store.Sweep(ctx, entity.SweepOptions{})
		must(t, err)
		if !there || swept.Gone != 1 {
			t.Errorf("deleted: %v; swept: %+v", there, swept)
		}
		if got := fmt.Sprint(s.Do("XRANGE", "{x}:gone:in box", "-", "+")); strings.Count(got, `"id":"`) != 2 ||
			!strings.Contains(got, `{"id":"1","box":"in box","tenant":"x"}`) ||
			!strings.Contains(got, `{"id":"2","box":"in box","tenant":"x"}`) {
			t.Errorf("announced: %s", got)
		}
	}
}

// TestMissing: values that are missing, or do not fit, fail when the handle is used, and
// write nothing.
func TestMissing(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	ks, c := loaded(t), open(t, s.URL())
	for name, v := range map[string]bind.Values{"missing": {"house": "h"}, "misfit": {"house": "h", "room": "a:b"},
		"none": nil} {
		_, err := bind.Lock(c, ks, entry(t, ks, "door"), v).Acquire(t.Context())
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := bind.Queue(c, ks, entry(t, ks, "tasks"), nil).Enqueue(t.Context(),
		queue.Task[string]{Payload: "x", Lane: "high"}); err == nil {
		t.Error("a queue without its team takes a job")
	}
	if n := s.Do("DBSIZE"); n != int64(0) {
		t.Errorf("%v keys were written", n)
	}
	one, two := bind.Values{"a": "1", "b": "2"}, bind.Values{"a": "1\x00b=2"}
	if one.ID() == two.ID() || one.With("c", "3").ID() == one.ID() ||
		bind.Values(nil).With("a", "1").ID() != (bind.Values{"a": "1"}).ID() {
		t.Error("two sets of values have one ID, or one has two")
	}
}

// TestOptions: a handle has the options of its declaration, as generated code sets them: a
// lock with a declared channel announces there that it was broken, though none waits.
func TestOptions(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	ks, c := loaded(t), open(t, s.URL())
	l := bind.Lock(c, ks, entry(t, ks, "gate"), bind.Values{"room": "a"})
	_, err := l.Acquire(t.Context())
	must(t, err)
	h, err := l.Holder(t.Context())
	must(t, err)
	stop := s.Monitor()
	broken, err := l.Break(t.Context(), h.Token)
	sent := strings.Join(stop(), "\n")
	if err != nil || !broken || !strings.Contains(strings.ToLower(sent), `"publish" "gate:a:open"`) {
		t.Errorf("%v, %v; sent:\n%s", broken, err, sent)
	}
	q := bind.Queue(c, ks, entry(t, ks, "tasks"), bind.Values{"team": "red"})
	_, err = q.Enqueue(t.Context(), queue.Task[string]{Payload: "p", Lane: "high"})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_ = q.Worker(func(ctx context.Context, job *queue.Job[string]) error {
		if left := time.Until(job.Deadline()); left < 5*time.Second {
			t.Errorf("the lease of a job ends in %v", left)
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), queue.ErrTimeout) {
			t.Errorf("its context ends with %v", context.Cause(ctx))
		}
		cancel()
		return nil
	}, queue.WorkerOptions{}).Run(ctx)
}
