// Package applytest has what tests of changes to real servers share: clients of each database, keys of every kind, and
// processes that die at a moment. It holds no assertions of its own; those are in internal/expect.
package applytest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// Clients gives the client of a database.
type Clients = func(db int) (*keywright.Client, error)

// Open gives a client for each database of a server.
func Open(t testing.TB, url string) Clients {
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

// Do runs a command in a database.
func Do(t testing.TB, clients Clients, db int, args ...string) any {
	t.Helper()
	c, err := clients(db)
	expect.NoError(t, err)
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
	if err != nil && !kernel.IsNil(err) {
		t.Fatalf("%q: %v", args, err)
	}
	return v
}

// Fill writes values of every kind and encoding, and gives their names.
func Fill(t testing.TB, clients Clients, db int) {
	set := func(args ...string) { t.Helper(); Do(t, clients, db, args...) }
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

// FillMore adds what moves by itself: groups with pending entries, and short expiries.
func FillMore(t testing.TB, clients Clients, db int) {
	set := func(args ...string) { t.Helper(); Do(t, clients, db, args...) }
	for i := range 40 {
		set("XADD", "stream:busy", fmt.Sprintf("%d-1", i+1), "n", strconv.Itoa(i))
	}
	set("XGROUP", "CREATE", "stream:busy", "g", "0")
	c, err := clients(db)
	expect.NoError(t, err)
	for _, who := range []string{"Ann", "B\x00b"} {
		expect.NoError(t, c.Raw().Do(t.Context(),
			c.Raw().B().Xreadgroup().Group("g", who).Count(7).Streams().Key("stream:busy").Id(">").Build()).Error())
	}
	set("XACK", "stream:busy", "g", "3-1")
}

// Digest returns the digest and the expiry of every key of a server, by database and name.
func Digest(t testing.TB, url string, clients Clients) map[string]string {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	expect.NoError(t, err)
	out := map[string]string{}
	_, err = server.New(config, server.Options{OnlyDB: -1}).Contents(t.Context(), server.ContentsRequest{Largest: 1 << 40},
		func(batch []source.Content) error {
			for _, k := range batch {
				ask := []string{"DEBUG", "DIGEST-VALUE", string(k.Name)}
				if k.Kind == source.ZSet { // the brands print a score differently into the digest
					ask = []string{"ZRANGE", string(k.Name), "0", "-1", "WITHSCORES"}
				}
				about := fmt.Sprint(Do(t, clients, k.DB, ask...), k.Expires)
				if k.Kind == source.Stream {
					about += stateOf(t, clients, k.DB, string(k.Name))
				}
				out[fmt.Sprintf("%d %q", k.DB, k.Name)] = about
			}
			return nil
		})
	expect.NoError(t, err)
	return out
}

// stateOf returns what a stream has beside its entries, but for the times at which a message was
// delivered or a consumer was seen: DEBUG DIGEST-VALUE is that of the entries.
func stateOf(t testing.TB, clients Clients, db int, key string) string {
	t.Helper()
	about := Do(t, clients, db, "XINFO", "STREAM", key, "FULL", "COUNT", "0").(map[string]any)
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

// Live returns what reads the values of a server while it is written to.
func Live(t testing.TB, url string, largest int64) *server.Reader {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	expect.NoError(t, err)
	r, err := server.NewReader(t.Context(), config, server.Options{OnlyDB: -1, Role: server.Primary},
		server.ContentsRequest{Largest: largest})
	expect.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}
