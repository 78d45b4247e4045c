package seal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"github.com/keywright/keywright/value/seal"
	"go.uber.org/goleak"
)

// rueidis waits up to a second, after Close too, before it asks a cluster for its slots again.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

// canary says what may not be found on a server.
const canary = "canary-0123456789-canary"

type person struct {
	Name  string
	Phone string
	Age   *int64
}

var (
	text    = value.Text(0)
	number  = value.Int(0, 1<<40)
	hidden  = value.Encrypt(text)
	counted = value.Encrypt(number)
	columns = value.Fields[person]{Columns: []value.Column[person]{
		value.Required("name", text, func(p *person) *string { return &p.Name }),
		value.Encrypted(value.Required("phone", text, func(p *person) *string { return &p.Phone })),
		value.Encrypted(value.Optional("age", number, func(p *person) **int64 { return &p.Age })),
	}}
	members = []value.ObjectColumn[person]{
		value.Member("name", value.Quoted, text, func(p *person) *string { return &p.Name }),
		value.EncryptedMember(value.Member("phone", value.Quoted, text, func(p *person) *string { return &p.Phone })),
		value.EncryptedMember(value.OptionalMember("age", value.Bare, number, func(p *person) **int64 { return &p.Age })),
	}
	object = value.SealedObject(members)
)

var entry = &keywright.Entry{Name: "thing", Pattern: "thing:{id}", Schema: "shop",
	TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute, Text: "1m"}}

type world struct {
	*testing.T
	s *keywrighttest.Server
	c *keywright.Client
}

func worlds(t *testing.T, run func(w world)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts() // none writes before it has looked at all its keys
			run(world{t, s, client(t, s.URL(), ring(t, "new", "old"))})
		})
	}
}

func client(t testing.TB, url string, r keywright.Sealer) *keywright.Client {
	t.Helper()
	return servertest.Open(t, url, keywright.Options{Sealer: r})
}

func (w world) key(c *keywright.Client, name string) typed.Key {
	return typed.NewKey(keywright.Binding{Client: c, Entry: entry, Key: name})
}

// stored returns everything that is on the server.
func (w world) stored() string {
	var out strings.Builder
	for _, k := range strings.Fields(strings.Trim(fmt.Sprint(w.s.Do("SCAN", "0", "COUNT", "10000")), "[]"))[1:] {
		name := strings.Trim(k, "[]")
		kind := fmt.Sprint(w.s.Do("TYPE", name))
		read := map[string][]string{"string": {"GET", name}, "hash": {"HGETALL", name}, "list": {"LRANGE", name, "0", "-1"},
			"stream": {"XRANGE", name, "-", "+"}, "zset": {"ZRANGE", name, "0", "-1"}}[kind]
		if read != nil {
			fmt.Fprintf(&out, "%s %s %s\n", kind, name, w.s.Do(read...))
		}
	}
	return out.String()
}

// check compares what was read with what was written.
func check(t testing.TB, what string, got any, err error, want any) {
	t.Helper()
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, %v; want %v", what, got, err, want)
	}
}

func (w world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestHandles: every handle gives back what it was given, alone and queued, and
// the server holds none of it.
func TestHandles(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, age := w.Context(), int64(42)
		p := person{"Ann", canary, &age}
		h := typed.NewHash(w.key(w.c, "thing:h").Binding(), &columns)
		w.ok(h.Set(p).Do(ctx))
		got, err := h.Get().Do(ctx)
		check(t, "hash", got.Phone+got.Name, err, canary+"Ann")
		check(t, "optional", *got.Age, err, 42)
		got, err = h.Cached(time.Minute).Do(ctx)
		check(t, "cached hash", got.Phone, err, canary)
		f := typed.NewField(h.Key, "phone", &hidden, false)
		w.ok(f.Set(canary + "2").Do(ctx))
		one, err := f.Get().Do(ctx)
		check(t, "field", one, err, canary+"2")
		got, err = h.Get().Do(ctx)
		check(t, "hash with the field", got.Phone, err, canary+"2")

		s := typed.NewString(w.key(w.c, "thing:s").Binding(), &hidden)
		w.ok(s.Set(canary).Do(ctx))
		one, err = s.Get().Do(ctx)
		check(t, "string", one, err, canary)
		one, err = s.Swap(canary + "3").Do(ctx)
		check(t, "swapped", one, err, canary)
		o := typed.NewString(w.key(w.c, "thing:o").Binding(), &object)
		w.ok(o.Set(p).Do(ctx))
		got, err = o.Get().Do(ctx)
		check(t, "object", got.Phone+fmt.Sprint(*got.Age), err, canary+"42")
		n := typed.NewString(w.key(w.c, "thing:n").Binding(), &counted)
		w.ok(n.Set(7).Do(ctx))
		seven, err := n.Get().Do(ctx)
		check(t, "number", seven, err, 7)

		l := typed.NewList(w.key(w.c, "thing:l").Binding(), &hidden)
		_, err = l.PushRight(canary, canary+"b").Do(ctx)
		w.ok(err)
		all, err := l.Range(0, -1).Do(ctx)
		check(t, "list", all, err, []string{canary, canary + "b"})
		if _, err := l.Remove(1, canary).Do(ctx); err == nil {
			t.Error("a sealed member is searched for by its value")
		}
		m := typed.NewMap(w.key(w.c, "thing:m").Binding(), &text, &hidden)
		w.ok(m.SetAll(map[string]string{"a": canary, "b": canary + "b"}).Do(ctx))
		every, err := m.All().Do(ctx)
		check(t, "map", every, err, map[string]string{"a": canary, "b": canary + "b"})
		one, err = m.Get("b").Do(ctx)
		check(t, "field of a map", one, err, canary+"b")
		for pair, err := range m.Each(ctx, 10) {
			check(t, "each", strings.HasPrefix(pair.Value, canary), err, true)
		}
		w.streams(p)
		w.queued(p)
		if found := w.stored(); strings.Contains(found, "canary") || !strings.Contains(found, "Ann") ||
			!strings.Contains(found, "stream") {
			t.Errorf("the server has\n%s", found)
		}
	})
}

func (w world) streams(p person) {
	ctx := w.Context()
	s := typed.NewStream(w.key(w.c, "thing:x").Binding(), &columns, 100)
	_, err := s.Add(p).Do(ctx)
	w.ok(err)
	g := typed.NewGroup(s, "g")
	w.ok(g.Ensure().Do(ctx))
	read, err := g.Read(ctx, "me", 10, 0)
	check(w, "group", len(read) == 1 && read[0].Value.Phone == canary, err, true)
	last, err := s.Last(1).Do(ctx)
	check(w, "stream", len(last) == 1 && last[0].Value.Phone == canary, err, true)
}

// queued: batches, transactions, caches, jobs.
func (w world) queued(p person) {
	ctx := w.Context()
	h := typed.NewHash(w.key(w.c, "thing:h2").Binding(), &columns)
	var b keywright.Batch
	keywright.Queue(&b, h.Set(p))
	later := keywright.Queue(&b, h.Get())
	w.ok(b.Run(ctx))
	got, err := later.Result()
	check(w, "batch", got.Phone, err, canary)
	w.ok(w.c.Transact(ctx, func(tx *keywright.Tx) error {
		got, err := keywright.Watch(tx, h.Get())
		check(w, "transaction", got.Phone, err, canary)
		keywright.Queue(tx, h.Set(got))
		return err
	}))
	for n, o := range []cache.Options{{}, {Local: time.Minute}, {Fresh: 30 * time.Second}, {Copies: 10}} {
		c := cache.New(keywright.Binding{Client: w.c, Entry: entry}, &hidden, o)
		name := fmt.Sprint("thing:c", n)
		i := c.Key(name, nil)
		v, err := i.GetOrLoad(ctx, func(context.Context) (string, error) { return canary, nil })
		check(w, "loaded", v, err, canary)
		other := cache.New(keywright.Binding{Client: w.c, Entry: entry}, &hidden, o).Key(name, nil)
		v, err = other.Get(ctx)
		expect.Eventually(w, "the value is stored", func() bool { // a caller that waits for a load has it before the server
			v, err = other.Get(ctx)
			return err != keywright.ErrNotFound
		})
		check(w, "from the cache", v, err, canary)
		w.ok(i.Set(ctx, canary+"c"))
		if v, err = i.Get(ctx); o.Local == 0 { // a copy in the process is invalidated a little later
			check(w, "set in the cache", v, err, canary+"c")
		}
	}
	q := queue.Open(w.c, "jobs", object, queue.Options{})
	_, err = q.Enqueue(ctx, queue.Task[person]{Payload: p})
	w.ok(err)
	_, err = q.EnqueueAll(ctx, []queue.Task[person]{{Payload: p}, {Payload: p, ID: "mine"}})
	w.ok(err)
	done := make(chan string, 10)
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- q.Worker(func(_ context.Context, j *queue.Job[person]) error { done <- j.Payload.Phone; return nil },
			queue.WorkerOptions{}).Run(run)
	}()
	for range 3 {
		select {
		case phone := <-done:
			check(w, "job", phone, nil, canary)
		case <-time.After(expect.Patience):
			w.Fatal("no job comes")
		}
	}
	stop()
	<-ended
	_, err = q.Enqueue(ctx, queue.Task[person]{Payload: p})
	w.ok(err)
}

// TestJobsForAKeyToCome: a job that this process cannot open yet is neither lost
// nor dead; it runs when the ring has been read again.
func TestJobsForAKeyToCome(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		var rings atomic.Pointer[[]byte]
		set := func(text []byte) { rings.Store(&text) }
		set(servertest.RingText("old"))
		late, err := seal.Open(w.Context(), func(context.Context) ([]byte, error) { return *rings.Load(), nil })
		w.ok(err)
		o := queue.Options{Retry: 1000, Backoff: time.Millisecond}
		id, err := queue.Open(w.c, "jobs", hidden, o).Enqueue(w.Context(), queue.Task[string]{Payload: canary})
		w.ok(err)
		q := queue.Open(client(t, w.s.URL(), late), "jobs", hidden, o)
		ctx, stop := context.WithCancel(w.Context())
		ran, ended := make(chan string, 1), make(chan error, 1)
		go func() {
			ended <- q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.Payload; return nil },
				queue.WorkerOptions{}).Run(ctx)
		}()
		expect.Eventually(t, "the job is tried twice", func() bool {
			state, err := q.State(ctx, id)
			w.ok(err)
			return state.Attempt >= 2
		})
		set(servertest.RingText("new", "old"))
		w.ok(late.Reload(ctx))
		select {
		case got := <-ran:
			check(t, "job", got, nil, canary)
		case <-time.After(expect.Patience):
			t.Error("the job does not run")
		}
		stop()
		<-ended
	})
}

// TestWithoutARing: nothing is written, and nothing is taken for plain text.
func TestWithoutARing(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx, bare := w.Context(), client(t, w.s.URL(), nil)
		h, s, l := typed.NewHash(w.key(bare, "thing:h").Binding(), &columns),
			typed.NewString(w.key(bare, "thing:s").Binding(), &hidden),
			typed.NewList(w.key(bare, "thing:l").Binding(), &hidden)
		_, pushed := l.PushRight(canary).Do(ctx)
		_, queued := queue.Open(bare, "jobs", hidden, queue.Options{}).Enqueue(ctx, queue.Task[string]{Payload: canary})
		_, added := typed.NewStream(w.key(bare, "thing:x").Binding(), &columns, 0).Add(person{Phone: canary}).Do(ctx)
		mapped := typed.NewMap(w.key(bare, "thing:m").Binding(), &text,
			&hidden).SetAll(map[string]string{"a": canary}).Do(ctx)
		for what, err := range map[string]error{"hash": h.Set(person{Phone: canary}).Do(ctx), "string": s.Set(canary).Do(ctx),
			"list": pushed, "job": queued, "stream": added, "map": mapped,
			"field": typed.NewField(h.Key, "phone", &hidden, true).Set(canary).Do(ctx),
			"cache": cache.New(keywright.Binding{Client: bare, Entry: entry}, &hidden, cache.Options{}).Key("thing:c",
				nil).Set(ctx, canary)} {
			class, ours := keywright.ClassOf(err)
			if !ours || class != keywright.Invalid || !strings.Contains(err.Error(), "Sealer") ||
				strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", what, err)
			}
		}
		// Where a member would be searched for, nothing is sealed and nothing written.
		if _, err := typed.NewSet(w.key(w.c, "thing:set").Binding(), &hidden).Add(canary).Do(ctx); err == nil ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("set: %v", err)
		}
		if n := w.s.Do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys were written: %s", n, w.stored())
		}
		w.ok(typed.NewString(w.key(w.c, "thing:s").Binding(), &hidden).Set(canary).Do(ctx))
		if v, err := s.Get().Do(ctx); err == nil || v != "" {
			t.Errorf("%q, %v", v, err)
		}
	})
}

// TestMovedByHand: what is copied to another key or field, or was never sealed,
// does not come out of any handle.
func TestMovedByHand(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx := w.Context()
		one, two := typed.NewHash(w.key(w.c, "thing:1").Binding(), &columns),
			typed.NewHash(w.key(w.c, "thing:2").Binding(), &columns)
		w.ok(one.Set(person{"Ann", canary, nil}).Do(ctx))
		w.s.Do("COPY", "thing:1", "thing:2")
		moved := func(what string, err error, why error) {
			t.Helper()
			bad, ours := errors.AsType[*keywright.DecodeError](err)
			if !ours || !errors.Is(err, why) || bad.Entry != "thing" || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := two.Get().Do(ctx)
		moved("another key", err, seal.ErrForged)
		w.s.Do("HSET", "thing:1", "age", fmt.Sprint(w.s.Do("HGET", "thing:1", "phone")))
		_, err = one.Get().Do(ctx)
		moved("another field", err, seal.ErrForged)
		w.s.Do("HSET", "thing:2", "phone", canary)
		_, err = two.Get().Do(ctx)
		moved("plain text", err, seal.ErrNotSealed)
		_, err = typed.NewField(two.Key, "phone", &hidden, false).Get().Do(ctx)
		moved("a field", err, seal.ErrNotSealed)
		other := *entry
		other.Schema = "else"
		_, err = typed.NewHash(keywright.Binding{Client: w.c, Entry: &other, Key: "thing:1"}, &columns).Get().Do(ctx)
		moved("another declaration", err, seal.ErrForged)
		w.ok(one.Set(person{"Ann", canary, nil}).Do(ctx))
		_, err = typed.NewHash(w.key(client(t, w.s.URL(), ring(t, "old")), "thing:1").Binding(), &columns).Get().Do(ctx)
		moved("a process without the key", err, seal.ErrUnknownKey)
	})
}
