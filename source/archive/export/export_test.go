package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/wire"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/archive/export"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/server"
)

var must = expect.NoError

// client represents one connection to a server.
type client struct {
	t    testing.TB
	conn *wire.Conn
}

func dial(t testing.TB, server *kt.Server) client {
	t.Helper()
	config, err := connect.New(connect.Options{URL: server.URL()})
	must(t, err)
	conn, err := connect.Dial(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return client{t, conn}
}

// Do runs a command.
func (c client) Do(args ...string) any {
	c.t.Helper()
	reply, err := connect.Ask(c.conn, args...)
	if err != nil {
		c.t.Fatalf("%.100q: %v", args, err)
	}
	return reply
}

// fill writes values of every kind and encoding in two databases.
func fill(t testing.TB, server *kt.Server) {
	t.Helper()
	s := dial(t, server)
	for _, db := range []string{"0", "3"} {
		s.Do("SELECT", db)
		s.Do("SET", "int", "42")
		s.Do("SET", "", "", "PX", "3600000")
		s.Do("SET", "binary:\xff\x00\r\n}{", "binary \x00\xff\r\n", "PXAT", "4102444800123")
		s.Do("SET", "text", strings.Repeat("größe ##[x] \x1b\u2028", 40_000))
		s.Do("SET", "large", strings.Repeat("\xfe0123456789", 60_000))
		s.Do("RPUSH", "list", "a", "b", "", "12")
		s.Do("SADD", "ints", "1", "-2", "70000")
		s.Do("SADD", "set", "a", "b", "\xff")
		s.Do("ZADD", "zset", "1.5", "a", "inf", "b", "-inf", "c", "3.0000000000000004", "d", "-0", "e")
		s.Do("HSET", "hash", "f", "v", "", "empty")
		for i := 0; i < 1200; i += 100 {
			var hash, list, members, scored []string
			for j := i; j < i+100; j++ {
				hash = append(hash, fmt.Sprint("field", j), strings.Repeat("v", 90))
				list = append(list, fmt.Sprint("element", j))
				members = append(members, fmt.Sprint("member", j))
				scored = append(scored, strconv.FormatFloat(float64(j)/7, 'g', 17, 64), fmt.Sprint("member", j))
			}
			s.Do(append([]string{"HSET", "hash:large"}, hash...)...)
			s.Do(append([]string{"RPUSH", "list:large"}, list...)...)
			s.Do(append([]string{"SADD", "set:large"}, members...)...)
			s.Do(append([]string{"ZADD", "zset:large"}, scored...)...)
		}
		for i := range 260 {
			s.Do("XADD", "stream", fmt.Sprintf("%d-1", i+1), "n", strconv.Itoa(i), fmt.Sprint("text", i%3),
				strings.Repeat("x", 70*(i%2)))
		}
		s.Do("XDEL", "stream", "60-1", "260-1")
		s.Do("XGROUP", "CREATE", "stream", "busy", "0")
		s.Do("XREADGROUP", "GROUP", "busy", "Ann", "COUNT", "7", "STREAMS", "stream", ">")
		s.Do("XREADGROUP", "GROUP", "busy", "Bob", "COUNT", "5", "STREAMS", "stream", ">")
		s.Do("XACK", "stream", "busy", "3-1")
		s.Do("XGROUP", "CREATECONSUMER", "stream", "busy", "idle")
		s.Do("PEXPIREAT", "stream", "4102444800999")
		for n := 16_376; n < 16_380; n++ { // where the length after an entry of a listpack takes one more byte
			s.Do("RPUSH", "list:border", strings.Repeat("b", n))
			s.Do("XADD", "stream:border", fmt.Sprintf("%d-1", n), "f", strings.Repeat("b", n))
		}
		s.Do("XADD", "stream:empty", "7-7", "a", "b")
		s.Do("XDEL", "stream:empty", "7-7")
		for _, name := range []string{"stream:gone", "stream:all gone"} { // pending, and trimmed or deleted since
			for i := range 40 {
				s.Do("XADD", name, fmt.Sprintf("%d-1", i+1), "n", strconv.Itoa(i))
			}
			s.Do("XGROUP", "CREATE", name, "busy", "0")
			s.Do("XREADGROUP", "GROUP", "busy", "Ann", "COUNT", "25", "STREAMS", name, ">")
			s.Do("XTRIM", name, "MAXLEN", "30")
		}
		s.Do("XDEL", "stream:gone", "1-1", "15-1", "16-1", "40-1")
		s.Do("XTRIM", "stream:all gone", "MAXLEN", "0")
	}
	s.Do("SELECT", "0")
}

// archived makes a chain of one archive of a server, values of more than largest bytes in parts.
func archived(t testing.TB, s *kt.Server, largest int64) *archive.Chain {
	t.Helper()
	config, err := connect.New(connect.Options{URL: s.URL()})
	must(t, err)
	var out bytes.Buffer
	var w *archive.Writer
	_, err = server.New(config, server.Options{OnlyDB: -1}).Contents(t.Context(), server.ContentsRequest{Largest: largest,
		Begin: func(shards []source.Shard, now time.Time) (err error) {
			w, err = archive.NewWriter(&out, archive.Meta{ID: "00", Taken: now, Shards: shards, Consistency: archive.PerKey},
				archive.Deflate)
			return err
		}}, func(batch []source.Content) error {
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
	a, err := archive.Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
	must(t, err)
	chain, err := archive.NewChain(a)
	must(t, err)
	return chain
}

// state returns the digest, the expiry and, of streams, what is beside their entries.
func state(t testing.TB, server *kt.Server) map[string]string {
	s := dial(t, server)
	out := map[string]string{}
	for _, db := range []string{"0", "3"} {
		s.Do("SELECT", db)
		for _, k := range s.Do("KEYS", "*").([]any) {
			key := fmt.Sprint(k)
			digest := fmt.Sprint(s.Do("DEBUG", "DIGEST-VALUE", key))
			kind := s.Do("TYPE", key)
			if kind == "zset" { // the brands print a score differently into the digest
				list, _ := s.Do("ZRANGE", key, "0", "-1", "WITHSCORES").([]any)
				for i := range list {
					if score, err := strconv.ParseFloat(fmt.Sprint(list[i]), 64); err == nil && i%2 == 1 {
						list[i] = score
					}
				}
				digest = fmt.Sprint(list...)
			}
			out[db+" "+strconv.Quote(key)] = fmt.Sprint(digest, s.Do("PEXPIRETIME", key))
			if kind == "stream" {
				out[db+" "+key+" beside"] = beside(s, key)
			}
		}
	}
	s.Do("SELECT", "0")
	return out
}

func beside(s client, key string) string {
	about, _ := s.Do("XINFO", "STREAM", key).([]any)
	out := ""
	for i := 0; i+1 < len(about); i += 2 {
		switch about[i] {
		case "length", "last-generated-id", "max-deleted-entry-id", "entries-added", "groups":
			out += fmt.Sprint(about[i], about[i+1], " ")
		}
	}
	list, _ := s.Do("XINFO", "GROUPS", key).([]any)
	for _, g := range list {
		group := g.([]any)
		name := fmt.Sprint(group[1])
		for i := 0; i+1 < len(group); i += 2 {
			if group[i] != "lag" { // releases compute it otherwise, of what is compared here
				out += fmt.Sprint(group[i], group[i+1], " ")
			}
		}
		pending, _ := s.Do("XPENDING", key, name, "-", "+", "1000").([]any)
		for _, p := range pending {
			e := p.([]any)
			out += fmt.Sprint(e[0], e[1], e[3], " ")
		}
	}
	return out
}

var same = expect.EqualMaps

// loads puts what was exported into a server.
var loads = map[string]func(t testing.TB, s *kt.Server, a *archive.Chain){
	"RDB": func(t testing.TB, s *kt.Server, a *archive.Chain) {
		var out bytes.Buffer
		o := export.Options{RDB: dump.VersionOf(false, 7, 0)}
		if s.Brand == kt.Valkey {
			o.RDB = dump.VersionOf(true, 8, 0)
		}
		r, err := export.RDB(t.Context(), &out, a, o)
		must(t, err)
		if r.Refused > 0 {
			t.Errorf("%+v", r)
		}
		s.Kill()
		must(t, os.WriteFile(filepath.Join(s.Dir, "dump.rdb"), out.Bytes(), 0o600))
		s.Restart()
	},
	"commands": func(t testing.TB, s *kt.Server, a *archive.Chain) {
		var out bytes.Buffer
		r, err := export.Commands(t.Context(), &out, a, export.Options{})
		must(t, err)
		if r.Refused > 0 {
			t.Errorf("%+v", r)
		}
		for range 2 { // twice gives the same
			pipe(t, s, out.Bytes())
		}
	},
	"JSON": func(t testing.TB, s *kt.Server, a *archive.Chain) {
		var out bytes.Buffer
		r, err := export.JSONLines(t.Context(), &out, a, export.Options{})
		must(t, err)
		if r.Refused > 0 {
			t.Errorf("%+v", r)
		}
		c := dial(t, s)
		for line := range bytes.Lines(out.Bytes()) {
			readJSON(t, c, line)
		}
	},
}

// pipe sends commands as redis-cli --pipe does, and fails at the first error.
func pipe(t testing.TB, s *kt.Server, commands []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	must(t, err)
	defer conn.Close()
	go func() {
		_, _ = conn.Write(commands)
		_, _ = conn.Write([]byte("*2\r\n$4\r\nECHO\r\n$8\r\nthe end.\r\n"))
	}()
	var replies []byte
	buf := make([]byte, 1<<16)
	for !bytes.HasSuffix(replies, []byte("$8\r\nthe end.\r\n")) {
		n, err := conn.Read(buf)
		must(t, err)
		replies = append(replies, buf[:n]...)
	}
	for line := range bytes.Lines(replies) {
		if line[0] == '-' {
			t.Fatalf("%s", line)
		}
	}
}

// text represents a text of the JSON form.
type text string

func (x *text) UnmarshalJSON(b []byte) error {
	var object struct{ Base64 []byte }
	if b[0] == '{' {
		err := json.Unmarshal(b, &object)
		*x = text(object.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(x))
}

// readJSON writes what a line says to a server.
func readJSON(t testing.TB, s client, line []byte) {
	t.Helper()
	var l struct {
		Key struct {
			Text   string
			Base64 []byte
		}
		DB      int
		Type    string
		Expires int64
		Value   json.RawMessage
	}
	must(t, json.Unmarshal(line, &l))
	key := l.Key.Text
	if l.Key.Base64 != nil {
		key = string(l.Key.Base64)
	}
	s.Do("SELECT", strconv.Itoa(l.DB))
	send := func(args ...string) { s.Do(args...) }
	switch l.Type {
	case "string":
		var v text
		must(t, json.Unmarshal(l.Value, &v))
		send("SET", key, string(v))
	case "list", "set":
		var v []text
		must(t, json.Unmarshal(l.Value, &v))
		for _, e := range v {
			send(map[string]string{"list": "RPUSH", "set": "SADD"}[l.Type], key, string(e))
		}
	case "hash", "zset":
		var v [][2]text
		must(t, json.Unmarshal(l.Value, &v))
		for _, e := range v {
			if l.Type == "zset" {
				send("ZADD", key, string(e[1]), string(e[0]))
			} else {
				send("HSET", key, string(e[0]), string(e[1]))
			}
		}
	case "stream":
		var v struct {
			Entries []struct {
				ID     string
				Fields [][2]text
			}
			State source.StreamState
		}
		must(t, json.Unmarshal(l.Value, &v))
		for _, e := range v.Entries {
			args := []string{"XADD", key, e.ID}
			for _, f := range e.Fields {
				args = append(args, string(f[0]), string(f[1]))
			}
			send(args...)
		}
		if len(v.Entries) == 0 {
			send("XGROUP", "CREATE", key, "g", "$", "MKSTREAM")
			send("XGROUP", "DESTROY", key, "g")
		}
		send("XSETID", key, v.State.LastID, "ENTRIESADDED", strconv.FormatInt(v.State.Added, 10), "MAXDELETEDID",
			v.State.MaxDeleted)
		for _, g := range v.State.Groups {
			send("XGROUP", "CREATE", key, string(g.Name), g.LastID, "ENTRIESREAD", strconv.FormatInt(g.Read, 10))
			for _, c := range g.Consumers {
				send("XGROUP", "CREATECONSUMER", key, string(g.Name), string(c))
			}
			for _, p := range g.Pending {
				send("XCLAIM", key, string(g.Name), string(p.Consumer), "0", p.ID, "RETRYCOUNT",
					strconv.FormatInt(p.Deliveries, 10), "FORCE", "JUSTID")
			}
		}
	}
	if l.Expires > 0 {
		send("PEXPIREAT", key, strconv.FormatInt(l.Expires, 10))
	}
	s.Do("SELECT", "0")
}

// What is exported is what was archived, in each form, for each brand, of values that
// were read whole or in parts.
func TestExportLoads(t *testing.T) {
	t.Parallel()
	var pairs [][2]kt.Brand
	for _, from := range kt.Brands() {
		for _, to := range kt.Brands() {
			pairs = append(pairs, [2]kt.Brand{from, to})
		}
	}
	for form, load := range loads {
		for how, largest := range map[string]int64{"whole": 1 << 40, "in parts": 1} {
			t.Run(form+"/"+how, func(t *testing.T) {
				for _, pair := range gate.Pick(t, pairs) {
					t.Run(string(pair[0])+"/"+string(pair[1]), func(t *testing.T) {
						t.Parallel()
						s, target := kt.Start(t, pair[0]), kt.Start(t, pair[1])
						fill(t, s)
						a := archived(t, s, largest)
						load(t, target, a)
						want, got := state(t, s), state(t, target)
						for _, db := range []string{"0", "3"} {
							for _, name := range []string{"stream:gone", "stream:all gone"} {
								if form == "JSON" { // readJSON makes no pending entry without its message
									delete(want, db+" "+name+" beside")
									delete(got, db+" "+name+" beside")
								}
							}
						}
						same(t, want, got)
					})
				}
			})
		}
	}
}

// The keys of an archive are reported like those of the snapshot of the same server.
func TestArchiveIsASource(t *testing.T) {
	t.Parallel()
	for _, largest := range []int64{1 << 40, 1} {
		s := kt.Start(t, kt.Redis)
		fill(t, s)
		a := archived(t, s, largest)
		s.Do("SAVE")
		text, err := os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
		must(t, err)
		want := facts(t, rdb.New(bytes.NewReader(text), rdb.Options{OnlyDB: -1}))
		got := facts(t, export.NewSource(a, export.SourceOptions{OnlyDB: -1}))
		for key, w := range want {
			g := got[key]
			if g.Kind != w.Kind || g.Size != w.Size || (g.TTL-w.TTL).Abs() > time.Minute || g.Bytes <= 0 {
				t.Errorf("%q: %+v, not %+v", key, g, w)
			}
			if largest > 1 && g.Bytes != w.Bytes {
				t.Errorf("%q: %d bytes, not %d", key, g.Bytes, w.Bytes)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d keys, not %d", len(got), len(want))
		}
	}
}

func facts(t testing.TB, src source.Source) map[string]source.Key {
	t.Helper()
	out := map[string]source.Key{}
	sum, err := src.Scan(t.Context(), source.Request{Bytes: true}, func(batch []source.Key) error {
		for _, k := range batch {
			name := fmt.Sprintf("%d %s", k.DB, k.Name)
			k.Name, k.Facts = nil, nil
			out[name] = k
		}
		return nil
	})
	must(t, err)
	if len(sum.Incomplete) > 0 {
		t.Errorf("%q", sum.Incomplete)
	}
	return out
}
