package apply_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
	"github.com/redis/rueidis"
)

var must = expect.NoError

// open gives a client for each database of a server.
func open(t testing.TB, url string) apply.Clients {
	all := map[int]*keywright.Client{}
	return func(db int) (*keywright.Client, error) {
		if all[db] == nil {
			c, err := keywright.Open(t.Context(), url+map[bool]string{true: "/" + strconv.Itoa(db)}[db > 0],
				keywright.Options{NoCache: true})
			if err != nil {
				return nil, err
			}
			t.Cleanup(c.Close)
			all[db] = c
		}
		return all[db], nil
	}
}

// do runs a command in a database.
func do(t testing.TB, clients apply.Clients, db int, args ...string) any {
	t.Helper()
	c, err := clients(db)
	must(t, err)
	keys := args[1:min(2, len(args))]
	b := c.Raw().B().Arbitrary(args[0])
	if len(args) > 1 {
		b = b.Args(args[1:]...)
	}
	cmd := b.Build()
	if len(keys) > 0 {
		key := keys[0]
		if slices.Contains([]string{"DEBUG", "XGROUP", "XREADGROUP", "XINFO"}, args[0]) {
			key = args[2]
		}
		cmd = cmd.SetSlot(key)
	}
	v, err := c.Raw().Do(t.Context(), cmd).ToAny()
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%q: %v", args, err)
	}
	return v
}

// fill writes values of every kind and encoding, and gives their names.
func fill(t testing.TB, clients apply.Clients, db int) {
	set := func(args ...string) { t.Helper(); do(t, clients, db, args...) }
	set("SET", "string:int", "42")
	set("SET", "string:empty", "", "PX", "3600000")
	set("SET", "string:\xff\x00\n}{", "binary \x00\xff", "PXAT", "4102444800123")
	set("SET", "string:large", string(bytes.Repeat([]byte("0123456789"), 60_000)))
	set("RPUSH", "list", "a", "b", "")
	set("SADD", "set:ints", "1", "2")
	set("SADD", "set", "a", "b")
	set("ZADD", "zset", "1.5", "a", "inf", "b", "-0.25", "c", "3.0000000000000004", "d")
	set("HSET", "hash", "f", "v", "", "empty")
	for i := 0; i < 2000; i += 100 {
		var hash, list, members, scored []string
		for j := i; j < i+100; j++ {
			hash = append(hash, fmt.Sprint("field", j), fmt.Sprint("value", j))
			list = append(list, fmt.Sprint("element", j))
			members = append(members, fmt.Sprint("member", j))
			scored = append(scored, strconv.FormatFloat(float64(j)/7, 'g', 17, 64), fmt.Sprint("member", j))
		}
		set(append([]string{"HSET", "hash:large"}, hash...)...)
		set(append([]string{"RPUSH", "list:large"}, list...)...)
		set(append([]string{"SADD", "set:large"}, members...)...)
		set(append([]string{"ZADD", "zset:large"}, scored...)...)
	}
	for i := range 60 {
		set("XADD", "stream", fmt.Sprintf("%d-1", i+1), "n", strconv.Itoa(i), "text", "x")
	}
	set("XDEL", "stream", "60-1")
	set("XGROUP", "CREATE", "stream", "g", "0")
	set("XGROUP", "CREATE", "stream", "idle group", "$")
	set("PEXPIREAT", "stream", "4102444800999")
	set("XADD", "stream:empty", "7-7", "a", "b")
	set("XDEL", "stream:empty", "7-7")
}

// backup makes an archive of a server.
func backup(t testing.TB, url string, largest int64) []byte {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	must(t, err)
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "00"}, archive.Deflate)
	must(t, err)
	_, err = server.New(config, server.Options{OnlyDB: -1}).Contents(t.Context(), server.ContentsRequest{Largest: largest},
		func(batch []source.Content) error {
			for i := range batch {
				r := archive.Of(&batch[i], archive.Undeclared)
				if err := w.Add(&r); err != nil {
					return err
				}
			}
			return nil
		})
	must(t, err)
	_, err = w.Close()
	must(t, err)
	return out.Bytes()
}

// records reads an archive.
func records(file []byte) iter.Seq2[*archive.Record, error] {
	return func(yield func(*archive.Record, error) bool) {
		r, err := archive.NewReader(bytes.NewReader(file))
		for err == nil {
			var rec *archive.Record
			if rec, err = r.Next(); err == nil && !yield(rec, nil) {
				return
			}
		}
		if err != io.EOF {
			yield(nil, err)
		}
	}
}

// digest returns the digest and the expiry of every key of a server, by database and name.
func digest(t testing.TB, url string, clients apply.Clients) map[string]string {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	must(t, err)
	out := map[string]string{}
	_, err = server.New(config, server.Options{OnlyDB: -1}).Contents(t.Context(), server.ContentsRequest{Largest: 1 << 40},
		func(batch []source.Content) error {
			for _, k := range batch {
				ask := []string{"DEBUG", "DIGEST-VALUE", string(k.Name)}
				if k.Kind == source.ZSet { // the brands print a score differently into the digest
					ask = []string{"ZRANGE", string(k.Name), "0", "-1", "WITHSCORES"}
				}
				about := fmt.Sprint(do(t, clients, k.DB, ask...), k.Expires)
				if k.Kind == source.Stream {
					about += stateOf(t, clients, k.DB, string(k.Name))
				}
				out[fmt.Sprintf("%d %q", k.DB, k.Name)] = about
			}
			return nil
		})
	must(t, err)
	return out
}

// stateOf returns what a stream has beside its entries, but for the times at which a message was
// delivered or a consumer was seen: DEBUG DIGEST-VALUE is that of the entries.
func stateOf(t testing.TB, clients apply.Clients, db int, key string) string {
	t.Helper()
	about := do(t, clients, db, "XINFO", "STREAM", key, "FULL", "COUNT", "0").(map[string]any)
	for _, name := range []string{"entries", "radix-tree-keys", "radix-tree-nodes"} {
		delete(about, name)
	}
	for _, g := range about["groups"].([]any) {
		group := g.(map[string]any)
		delete(group, "lag") // releases compute it otherwise, of what is compared here
		for _, p := range group["pending"].([]any) {
			p.([]any)[2] = nil
		}
		for _, c := range group["consumers"].([]any) {
			consumer := c.(map[string]any)
			delete(consumer, "seen-time")
			delete(consumer, "active-time")
			for _, p := range consumer["pending"].([]any) {
				p.([]any)[1] = nil
			}
		}
	}
	return fmt.Sprint(about)
}

var same = expect.EqualMaps

func adds(t testing.TB, r apply.Report) {
	t.Helper()
	var sum apply.Counts
	for _, c := range r.Entries {
		sum.Keys, sum.Restored, sum.Existing = sum.Keys+c.Keys, sum.Restored+c.Restored, sum.Existing+c.Existing
	}
	if sum.Keys != r.Keys || sum.Restored != r.Restored || sum.Existing != r.Existing {
		t.Errorf("the entries do not add up: %+v", r)
	}
	if r.Keys != r.Restored+r.Same+r.Existing+r.Expired+r.Left+r.Refused+r.Unknown {
		t.Errorf("the report does not add up: %+v", r)
	}
}

// TestBytesOfParts: a report counts all bytes of a value in parts, as the archive does, and so does
// a plan; the name of a key is counted once.
func TestBytesOfParts(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	clients := open(t, s.URL())
	fill(t, clients, 0)
	there, want := backup(t, s.URL(), 1), int64(0)
	for rec, err := range records(there) {
		must(t, err)
		want += int64(len(rec.Payload))
		if !rec.More {
			want += int64(len(rec.Key))
		}
	}
	s.Do("FLUSHALL")
	for _, planned := range []bool{true, false} {
		r, err := apply.Restore(t.Context(), clients, records(there), apply.RestoreOptions{Plan: planned})
		must(t, err)
		if r.Bytes != want {
			t.Errorf("plan %t: %d bytes, not %d", planned, r.Bytes, want)
		}
	}
}

// Every kind of value is restored as it was, to the millisecond, whole or in parts,
// between both brands and into a cluster. A second run changes nothing.
func TestRestored(t *testing.T) {
	t.Parallel()
	for _, from := range kt.Brands() {
		for _, to := range []string{"redis-server", "valkey-server", "cluster"} {
			for name, largest := range map[string]int64{"whole": 1 << 40, "in parts": 1} {
				way := string(from) + " to " + to + " " + name
				if !gate.All() && !slices.Contains([]string{"redis-server to valkey-server in parts",
					"valkey-server to redis-server whole", "valkey-server to cluster in parts"}, way) {
					continue
				}
				t.Run(way, func(t *testing.T) {
					t.Parallel()
					s := kt.Start(t, from)
					sources := open(t, s.URL())
					dbs := []int{0, 3}
					url := ""
					if to == "cluster" {
						dbs, url = dbs[:1], kt.StartCluster(t, kt.Valkey, 2, 0).URL()
					} else {
						url = kt.Start(t, kt.Brand(to)).URL()
					}
					for _, db := range dbs {
						fill(t, sources, db)
					}
					want := digest(t, s.URL(), sources)
					file := backup(t, s.URL(), largest)
					targets := open(t, url)
					for _, mode := range []apply.Existing{apply.Fail, apply.Different, apply.Skip, apply.Replace} {
						r, err := apply.Restore(t.Context(), targets, records(file), apply.RestoreOptions{Existing: mode})
						must(t, err)
						adds(t, r)
						if r.Keys != int64(len(want)) || r.Refused+r.Unknown > 0 {
							t.Fatalf("%s: %+v", mode, r)
						}
						if mode == apply.Skip && r.Existing != r.Keys {
							t.Errorf("skip: %+v", r)
						}
						same(t, want, digest(t, url, targets))
					}
				})
			}
		}
	}
}

// A key that is there is left, or is an error, or is replaced.
func TestExisting(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis)
	clients := open(t, to.URL())
	s.Do("SET", "a", "archived")
	s.Do("SET", "b", "archived")
	file := backup(t, s.URL(), 1<<40)
	for mode, want := range map[apply.Existing]string{apply.Fail: "live", apply.Skip: "live", apply.Replace: "archived",
		apply.Different: "archived"} {
		to.Do("FLUSHALL")
		to.Do("SET", "a", "live")
		plan, err := apply.Restore(t.Context(), clients, records(file), apply.RestoreOptions{Existing: mode, Plan: true})
		must(t, err)
		adds(t, plan)
		if to.Do("DBSIZE").(int64) != 1 || to.Do("GET", "a") != "live" {
			t.Errorf("%s: a plan changed something", mode)
		}
		r, err := apply.Restore(t.Context(), clients, records(file), apply.RestoreOptions{Existing: mode})
		must(t, err)
		adds(t, r)
		if got := to.Do("GET", "a"); got != want {
			t.Errorf("%s: %v, not %s: %+v", mode, got, want, r)
		}
		if plan.Restored != r.Restored || plan.Existing != r.Existing ||
			plan.Replaces != map[bool]int64{true: 1}[want == "archived"] {
			t.Errorf("%s: planned %+v, done %+v", mode, plan, r)
		}
		if (len(r.Reasons) > 0) != (mode == apply.Fail) {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

// What has expired is not restored, and takes nothing away.
func TestExpired(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Valkey)
	to.Do("SET", "a", "live")
	file := backup(t, to.URL(), 1<<40)
	r, err := apply.Restore(t.Context(), open(t, to.URL()), records(file),
		apply.RestoreOptions{Existing: apply.Replace, Place: func(r *archive.Record) (apply.Place, error) {
			return apply.Place{Key: r.Key, Expires: 1}, nil
		}})
	must(t, err)
	adds(t, r)
	if r.Expired != 1 || to.Do("GET", "a") != "live" {
		t.Errorf("%+v", r)
	}
}

// Full memory ends a restore, and the report says what was not written.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis),
		kt.Start(t, kt.Redis, kt.Config("maxmemory", "1mb"), kt.Config("maxmemory-policy", "noeviction"))
	s.Do("EVAL", `for i = 1, 20000 do redis.call('SET', 'key'..i, string.rep('x', 100)) end`, "0")
	r, err := apply.Restore(t.Context(), open(t, to.URL()), records(backup(t, s.URL(), 1<<40)), apply.RestoreOptions{})
	adds(t, r)
	if err == nil || r.Unknown == 0 || r.Refused > 0 || errors.Is(err, context.Canceled) {
		t.Errorf("%v %+v", err, r) // the memory is the reason, and the only one
	}
}

// A context that ends, ends a restore; nothing is counted twice or forgotten.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis)
	fill(t, open(t, s.URL()), 0)
	ctx, cancel := context.WithCancel(t.Context())
	file := backup(t, s.URL(), 1)
	r, err := apply.Restore(ctx, open(t, to.URL()), records(file), apply.RestoreOptions{Progress: func(done int64) {
		if done == 3 {
			cancel()
		}
	}})
	if err == nil || r.Restored < 3 {
		t.Errorf("%v %+v", err, r)
	}
	adds(t, r)
}

// A temporary name is in the slot of its key, whatever braces the key has.
func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "{", "}", "{}a", "a}b{c", "{tag}x", "\xff"} {
		if name := apply.TemporaryName("run", []byte(key)); slot.Of([]byte(name)) != slot.Of([]byte(key)) ||
			!slices.Equal([]byte(name[:20]), []byte(apply.TemporaryPrefix)) {
			t.Errorf("%q: %s", key, name)
		}
	}
}
