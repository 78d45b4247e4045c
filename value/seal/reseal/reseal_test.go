package reseal_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

// rueidis waits up to a second, after Close too, before it asks a cluster for its slots again.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

const declaration = `keywright: 1
package: shop
owner: o
keys:
  text: {key: "t:{id}", type: string, value: text encrypted, ttl: 1h, was: ["old:{id}"]}
  object: {key: "o:{id}", type: string, value: {name: text, phone: text encrypted, mail: text encrypted optional}, ttl: 1h}
  fixed: {key: "h:{id}", type: hash, fields: {name: text, phone: text encrypted, mail: text encrypted optional}, ttl: 1h}
  open: {key: "m:{id}", type: hash, value: text encrypted, ttl: 1h}
  line: {key: "l:{id}", type: list, member: text encrypted, ttl: 1h}
  log: {key: "x:{id}", type: stream, fields: {who: text, what: text encrypted}, ttl: 1h}
  jobs: {key: jobs, type: queue, value: {to: text encrypted}, ttl: none}
  plain: {key: "p:{id}", type: string, ttl: 1h}
  number: {key: "n:{id}", type: string, value: int 1..20 encrypted, ttl: any}
  dates: {key: "d:{id}", type: hash, fields: {at: unix_ms encrypted, on: date encrypted}, ttl: any}
  mixed: {key: "j:{id}", type: string, value: {n: int encrypted, ok: bool encrypted, on: date encrypted, free: json encrypted}, ttl: any}
`

var ring = servertest.Ring

type world struct {
	testing.TB
	do     func(args ...string) any
	url    string
	client *keywright.Client
	ks     *keyspace.Keyspace
}

// worlds runs on both servers alone, and on a cluster.
func worlds(t *testing.T, run func(w *world)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts() // none writes before it has looked at all its keys
			run(newWorld(t, s.URL()))
		})
	}
	if t.Name() != "TestRotation" { // a cluster takes seconds to start
		return
	}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
		run(newWorld(t, c.URL()))
	})
}

func newWorld(t testing.TB, url string) *world {
	t.Helper()
	c := servertest.Open(t, url)
	w := &world{TB: t, url: url, client: c, ks: declared.Keyspace(t, declaration)}
	w.do = func(args ...string) any {
		raw := c.Raw()
		reply, err := raw.Do(t.Context(), raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).ToAny()
		if err != nil {
			return nil
		}
		return reply
	}
	return w
}

func (w *world) walk(r *seal.Ring) *reseal.Walk {
	w.Helper()
	config, err := connect.New(connect.Options{URL: w.url, Getenv: func(string) string { return "" }})
	if err != nil {
		w.Fatal(err)
	}
	return &reseal.Walk{Keyspace: w.ks, Client: w.client, Ring: r,
		Source: server.New(config, server.Options{Role: server.Primary})}
}

func (w *world) sealed(r *seal.Ring, key, field, plain string) string {
	w.Helper()
	text, err := r.Seal(keywright.Place{Schema: "shop", Key: key, Field: field}, plain)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

func base(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// fill writes two of everything, sealed with the ring's active key, and a long
// list and hash.
func (w *world) fill(r *seal.Ring) (texts int64) {
	for _, id := range []string{"1", "2"} {
		for _, key := range []string{"t:" + id, "old:" + id} {
			w.do("SET", key, w.sealed(r, key, "", "secret"), "PX", "500000")
		}
		o, h, x, l, m := "o:"+id, "h:"+id, "x:"+id, "l:"+id, "m:"+id
		w.do("SET", o, fmt.Sprintf(`{ "else" : [1, {"phone":"x"}],"phone":%q,  "name":"Ann<&>", "mail" : %q }`,
			base(w.sealed(r, o, "phone", `"secret"`)), base(w.sealed(r, o, "mail", `"secret"`))), "PX", "500000")
		w.do("HSET", h, "name", "Ann", "phone", w.sealed(r, h, "phone", "secret"), "mail", w.sealed(r, h, "mail", "secret"))
		w.do("XADD", x, "*", "who", "Ann", "what", w.sealed(r, x, "what", "secret"))
		for n := range 250 {
			field := fmt.Sprint("f", n)
			w.do("RPUSH", l, w.sealed(r, l, "", field))
			w.do("HSET", m, field, w.sealed(r, m, field, field))
		}
		job := "{jobs}:job:" + id
		w.do("SET", job, "q1 1763774000000 main 0 - -\n"+fmt.Sprintf(`{"to":%q}`, base(w.sealed(r, job, "payload.to", `"secret"`))))
		for _, key := range []string{h, x, l, m} {
			w.do("PEXPIRE", key, "500000")
		}
		texts += 2 + 2 + 2 + 1 + 250 + 250 + 1
		w.do("SET", "p:"+id, "secret")
	}
	return texts
}

func (w *world) status(r *seal.Ring) *reseal.Report {
	w.Helper()
	got, err := w.walk(r).Status(w.Context())
	if err != nil || len(got.Incomplete) > 0 {
		w.Fatal(err, got.Incomplete)
	}
	return got
}

func (w *world) equal(what string, got, want any) {
	w.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestRotation: what is counted, what is sealed again, that nothing else changes,
// and when a key may go.
func TestRotation(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		old, both, last := ring(t, "old"), ring(t, "new", "old"), ring(t, "new")
		texts := w.fill(old)
		before := w.status(old)
		w.equal("texts", before.Total().Keys, map[string]int64{"old": texts})
		w.equal("old key removable", len(before.Unused()), 0)
		w.equal("under other keys", w.status(both).Total().Keys, map[string]int64{"old": texts})
		w.equal("not to be opened", func() int64 { s := w.status(last).Total(); return s.Closed() }(), texts)

		r, err := w.walk(both).Rotate(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.equal("sealed again", r.Resealed, texts-2)
		w.equal("counted at last", r.Total().Keys, map[string]int64{"new": texts - 2, "old": 2})
		w.equal("entries of streams", r.Total().Fixed, 2)
		w.equal("old key removable with entries under it", len(r.Unused()), 0)
		w.do("DEL", "x:1")
		w.do("DEL", "x:2")
		w.equal("old key removable", w.status(both).Unused(), []string{"old"})
		end := w.status(last).Total()
		w.equal("opened without the old key", end.Keys, map[string]int64{"new": texts - 2})
		w.equal("not opened without the old key", end.Closed(), 0)

		for _, key := range []string{"t:1", "old:1", "o:1", "h:1", "l:1", "m:1"} {
			if ms, _ := w.do("PTTL", key).(int64); ms < 300_000 || ms > 500_000 {
				t.Errorf("%s has a TTL of %d ms", key, ms)
			}
		}
		if job, _ := w.do("GET", "{jobs}:job:1").(string); !strings.HasPrefix(job, "q1 1763774000000 main 0 - -\n{") {
			t.Errorf("a job has become %q", job)
		}
		object, _ := w.do("GET", "o:1").(string)
		if !strings.HasPrefix(object, `{ "else" : [1, {"phone":"x"}],"phone":"`) ||
			!strings.Contains(object, `",  "name":"Ann<&>", "mail" : "`) || !strings.HasSuffix(object, `" }`) {
			t.Errorf("the rest of the object is %s", object)
		}
		w.equal("what is not declared", w.do("GET", "p:1"), "secret")
		w.equal("what is not sealed", w.do("HGET", "h:1", "name"), "Ann")
		again, err := w.walk(both).Rotate(w.Context())
		w.equal("a second time", fmt.Sprint(again.Resealed, err), "0 <nil>")
	})
}

// TestWhatDoesNotOpen is counted by why, and stays as it is.
func TestWhatDoesNotOpen(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		both, other := ring(t, "new", "old"), ring(t, "lost")
		moved := w.sealed(ring(t, "old"), "h:1", "phone", "x")
		w.do("HSET", "h:1", "phone", moved, "mail", "plain@example.com")
		w.do("HSET", "h:2", "phone", moved, "mail", w.sealed(other, "h:2", "mail", "x"))
		w.do("SET", "o:1", `{"name":"x","phone":"plain","mail":null}`)
		w.do("SET", "o:2", `no JSON`)
		w.do("SET", "o:3", `{"name":"x","phone":12}`)
		w.do("HSET", "t:1", "of", "another type")
		for i := range 30 {
			w.do("SET", fmt.Sprint("t:x", i), w.sealed(ring(t, fmt.Sprint("gone", i)), fmt.Sprint("t:x", i), "", "x"))
		}
		for range 2 {
			r, err := w.walk(both).Rotate(w.Context())
			sum := r.Total()
			w.equal("opens", sum.Keys, map[string]int64{"new": 1})
			w.equal("forged", sum.Forged, map[string]int64{"old": 1})
			w.equal("unknown ids", fmt.Sprint(len(sum.Unknown), sum.Unknown["lost"], sum.Unknown["others"], err),
				"22 1 10 <nil>")
			w.equal("not sealed", sum.NotSealed, 1+1+2+1)
			w.equal("removable", len(r.Unused()), 0)
		}
		w.equal("what does not open", w.do("HGET", "h:2", "phone"), moved)
		w.equal("what is plain", w.do("HGET", "h:1", "mail"), "plain@example.com")
	})
}

// interrupted returns a client with which someone writes a key just before it is
// changed, or a command sent, for the first time.
func (w *world) interrupted(writes map[string]func()) *keywright.Client {
	w.Helper()
	c, err := keywright.Open(w.Context(), w.url,
		keywright.Options{Wrap: func(inner rueidis.Client) rueidis.Client { return &writer{Client: inner, writes: writes} }})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	return c
}

type writer struct {
	rueidis.Client
	mu     sync.Mutex
	writes map[string]func()
}

func (c *writer) before(commands ...rueidis.Completed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, command := range commands {
		words := command.Commands()
		name := strings.Join(words, " ")
		if strings.HasPrefix(name, "EVAL") {
			name = words[3]
		}
		if write := c.writes[name]; write != nil {
			delete(c.writes, name)
			write()
		}
	}
}

func (c *writer) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	c.before(command)
	return c.Client.Do(ctx, command)
}

func (c *writer) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	c.before(commands...)
	return c.Client.DoMulti(ctx, commands...)
}

// open returns what a stored text says, if it is under the new key.
func (w *world) open(key, field string, stored any) string {
	text, _ := stored.(string)
	plain, err := ring(w, "new").Open(keywright.Place{Schema: "shop", Key: key, Field: field}, text)
	if err != nil {
		return "it is not under the new key"
	}
	return plain
}

// TestLiveWriters: what is written between the reading of a text and its
// replacement stays, with its TTL, and elements of lists are found where they are
// by then.
func TestLiveWriters(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) { liveWriters(w, w.TB) })
}

func liveWriters(w *world, t testing.TB) {
	old, both := ring(t, "old"), ring(t, "new", "old")
	w.do("SET", "t:1", w.sealed(old, "t:1", "", "before"), "PX", "500000")
	w.do("SET", "t:2", w.sealed(old, "t:2", "", "kept"), "PX", "500000")
	w.do("HSET", "h:1", "name", "x", "phone", w.sealed(old, "h:1", "phone", "before"))
	w.do("RPUSH", "l:1", w.sealed(old, "l:1", "", "a"), w.sealed(old, "l:1", "", "b"))
	walk := w.walk(both)
	writes := map[string]func(){
		"t:1": func() { w.do("SET", "t:1", w.sealed(old, "t:1", "", "after"), "PX", "500000") },
		"h:1": func() { w.do("HSET", "h:1", "phone", w.sealed(old, "h:1", "phone", "after")) },
		"l:1": func() { w.do("LPUSH", "l:1", w.sealed(both, "l:1", "", "first")) },
	}
	walk.Client = w.interrupted(writes)
	if _, err := walk.Rotate(w.Context()); err != nil {
		t.Fatal(err)
	}
	w.equal("writes that came in between", len(writes), 0)
	w.equal("string", w.open("t:1", "", w.do("GET", "t:1")), "after")
	w.equal("field", w.open("h:1", "phone", w.do("HGET", "h:1", "phone")), "after")
	for i, want := range []string{"first", "a", "b"} {
		w.equal("element", w.open("l:1", "", w.do("LINDEX", "l:1", fmt.Sprint(i))), want)
	}
	if ms, _ := w.do("PTTL", "t:2").(int64); ms < 300_000 {
		t.Errorf("a TTL of %d ms", ms)
	}
}

// TestListsThatMove: no element is passed over because others were popped in front
// between two pages.
func TestListsThatMove(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		old, both := ring(t, "old"), ring(t, "new", "old")
		for n := range 250 {
			r := both
			if n >= 150 {
				r = old
			}
			w.do("RPUSH", "l:1", w.sealed(r, "l:1", "", fmt.Sprint(n)))
		}
		writes := map[string]func(){"LRANGE l:1 100 200": func() { w.do("LPOP", "l:1", "150") }}
		walk := w.walk(both)
		walk.Client = w.interrupted(writes)
		r, err := walk.Status(w.Context())
		w.equal("pops that came in between", fmt.Sprint(len(writes), err), "0 <nil>")
		w.equal("under the old key", r.Total().Keys["old"], 100)
		w.equal("removable", len(r.Unused()), 0)
	})
}

// TestLongLists: elements of a list with a hundred thousand that have moved meanwhile are
// resealed where they are by then, and none of that holds the server for 5 ms.
func TestLongLists(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	w := newWorld(t, s.URL())
	old, both := ring(t, "old"), ring(t, "new", "old")
	var fill [][]string
	for n := range 1000 {
		line := []string{"RPUSH", "l:1"}
		for range 100 {
			line = append(line, "p") // not sealed: only counted
		}
		if n == 500 {
			for i := range 100 {
				line[2+i] = w.sealed(old, "l:1", "", fmt.Sprint(i))
			}
		}
		fill = append(fill, line)
	}
	long := s.Long(5*time.Millisecond, func() {
		s.Do("DEL", "l:1")
		s.Pipe(fill...)
		walk := w.walk(both)
		walk.Client = w.interrupted(map[string]func(){"l:1": func() { w.do("LPOP", "l:1", "40") }})
		_, err := walk.Rotate(w.Context())
		w.equal("error", err, nil)
	})
	if len(long) > 0 {
		t.Errorf("they hold the server for more than 5 ms: %q", long)
	}
	for i := range 100 {
		w.equal("element", w.open("l:1", "", w.do("LINDEX", "l:1", fmt.Sprint(49_960+i))), fmt.Sprint(i))
	}
}

// TestMutations: each guard of the script, taken out, is found.
func TestMutations(t *testing.T) {
	for _, m := range []struct{ guard, instead string }{
		{"if redis.call('GET', KEYS[1]) == old then", "if true then"},
		{"if redis.call('HGET', KEYS[1], where) == old then", "if true then"},
		{"if at >= 0 and redis.call('LINDEX', KEYS[1], at) == old then return at end", "if at >= 0 then return at end"},
		{"new, 'KEEPTTL'", "new"},
	} {
		t.Run(m.guard, func(t *testing.T) {
			reseal.Mutate(t, m.guard, m.instead)
			s := keywrighttest.Start(t, keywrighttest.Redis)
			f := &failures{TB: t}
			w := newWorld(t, s.URL())
			w.TB = f
			liveWriters(w, f)
			if f.n == 0 {
				t.Error("nobody notices")
			}
		})
	}
}

// failures counts instead of failing.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Errorf(string, ...any) { f.n++ }
