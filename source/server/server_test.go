package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/examine"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/look"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs a test for each brand.
var both = servertest.Brands

// scanned gathers what a scan yields by database and name; a name that comes twice
// fails the test.
func scanned(t testing.TB, c connect.Config, o Options, req source.Request) (map[string]source.Key, source.Summary,
	error) {
	t.Helper()
	if o.OnlyDB == 0 {
		o.OnlyDB = -1
	}
	got := map[string]source.Key{}
	sum, err := New(c, o).Scan(t.Context(), req, func(keys []source.Key) error {
		for _, k := range keys {
			name := fmt.Sprintf("%d/%s", k.DB, k.Name)
			if _, twice := got[name]; twice {
				t.Errorf("%q came twice", name)
			}
			k.Name = slices.Clone(k.Name)
			got[name] = k
		}
		return nil
	})
	return got, sum, err
}

// everyType writes a key of each type, in two databases, with and without TTL,
// and names that are not text.
func everyType(s *kt.Server) {
	for _, c := range [][]string{
		{"SET", "string", "v", "PX", "3600000"}, {"HSET", "hash", "f", "1", "g", "2"}, {"RPUSH", "list", "a", "b"},
		{"SADD", "set", "1", "2", "x"},
		{"ZADD", "zset", "1.5", "m", "2", "n"}, {"XADD", "stream", "1-1", "f", "v"}, {"SET", "bin\xff\x00\r\n key", "v"},
		{"SET", "", "empty name"},
		{"PFADD", "hll", "a"}, {"GEOADD", "geo", "13.3", "38.1", "p"}, {"SET", strings.Repeat("long", 10_000), "v"},
	} {
		s.Do(c...)
	}
}

func TestEveryTypeAndDatabase(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		everyType(s)
		other, err := link.Dial(t.Context(), servertest.Config(t, s.URL()))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for _, args := range [][]string{{"SELECT", "9"}, {"SET", "elsewhere", "v"}} {
			if _, err := connect.Ask(other.Conn, args...); err != nil {
				t.Fatal(err)
			}
		}
		got, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{}, source.Request{Bytes: true, Values: func([]byte, source.Kind) bool { return true }})
		if err != nil || len(sum.Incomplete) > 0 {
			t.Fatalf("%v %+v", err, sum)
		}
		want := map[string]source.Kind{"0/string": source.String, "0/hash": source.Hash, "0/list": source.List,
			"0/set": source.Set, "0/zset": source.ZSet, "0/stream": source.Stream,
			"0/bin\xff\x00\r\n key": source.String, "0/": source.String, "0/hll": source.String, "0/geo": source.ZSet,
			"0/" + strings.Repeat("long", 10_000): source.String, "9/elsewhere": source.String}
		if len(got) != len(want) {
			t.Errorf("got %d keys, want %d", len(got), len(want))
		}
		for name, kind := range want {
			k := got[name]
			if k.Kind != kind || k.Bytes <= 0 || k.Value == nil {
				t.Errorf("%.40q = %+v, want kind %d", name, k, kind)
			}
		}
		if ttl := got["0/string"].TTL; ttl < 59*time.Minute || ttl > time.Hour {
			t.Errorf("TTL %s", ttl)
		}
		if got["0/hash"].TTL != source.NoTTL {
			t.Errorf("TTL %s", got["0/hash"].TTL)
		}
		if z := got["0/zset"].Value; len(z.Elements) != 2 ||
			z.Scores[slices.IndexFunc(z.Elements, func(m []byte) bool { return string(m) == "m" })] != 1.5 || z.Partial {
			t.Errorf("zset value %+v", z)
		}
		if sum.Databases != 2 || sum.Keys != int64(len(want)) || sum.Expected != int64(len(want)) || sum.MaxRepeats != 0 {
			t.Errorf("summary %+v", sum)
		}
	})
}

// TestReadOnly proves by MONITOR that a run sends only listed commands, and by
// the ACL that it needs no others.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		everyType(s)
		s.Do(append([]string{"ACL", "SETUSER", "auditor", ">secret"}, strings.Fields(ACL(true))...)...)
		c := servertest.Config(t, "redis://auditor:secret@"+s.Addr())
		stop := s.Monitor()
		got, sum, err := scanned(t, c, Options{}, source.Request{Bytes: true, Values: func([]byte, source.Kind) bool { return true }})
		if err != nil || len(sum.Incomplete) > 0 || len(sum.Notes) > 0 || len(got) != 11 {
			t.Fatalf("%v %+v, %d keys", err, sum, len(got))
		}
		if _, err := examine.Examine(t.Context(), c, time.Now); err != nil {
			t.Fatal(err)
		}
		if f, err := look.Inspect(t.Context(), c, []byte("zset")); err != nil || f.Type != "zset" || f.Bytes <= 0 ||
			f.Encoding == "" {
			t.Fatalf("%+v %v", f, err)
		}
		seen := map[string]int{}
		for _, line := range stop() {
			words := strings.Split(line, `"`)
			if len(words) < 2 {
				continue
			}
			name := strings.ToLower(words[1])
			if !link.Allowed[name] && len(words) > 3 {
				name += "|" + strings.ToLower(words[3])
			}
			if !link.Allowed[name] && !strings.HasPrefix(name, "auth") {
				t.Errorf("not listed: %s", line)
			}
			seen[name]++
		}
		if seen["scan"] == 0 || seen["memory|usage"] < 11 {
			t.Errorf("the monitor saw %v", seen)
		}
	})
}

func TestRefusesOtherCommands(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	l, err := link.Dial(t.Context(), servertest.Config(t, s.URL()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range [][]string{{"DEL", "a"}, {"KEYS", "*"}, {"CONFIG", "SET", "maxmemory", "1"}, {"MEMORY", "PURGE"},
		{"EVAL", "return 1", "0"}} {
		if _, err := l.Ask(t.Context(), args...); err == nil ||
			!strings.Contains(err.Error(), "not a command this package may send") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// fill writes n keys.
func fill(s *kt.Server, n int) {
	commands := make([][]string, n)
	for i := range commands {
		commands[i] = []string{"SET", "key:" + strconv.Itoa(i), "v"}
	}
	s.Pipe(commands...)
}

// fillCluster writes n keys to the primaries of a cluster whose slots are where they began.
func fillCluster(c *kt.Cluster, n int) {
	commands := make([][][]string, c.Primaries)
	for i := range n {
		key := "key:" + strconv.Itoa(i)
		node := c.Primaries - 1
		for int(slot.Of([]byte(key))) < node*slot.Count/c.Primaries {
			node--
		}
		commands[node] = append(commands[node], []string{"SET", key, "v"})
	}
	for node, list := range commands {
		c.Nodes[node].Pipe(list...)
	}
}

func TestManyKeysOnceEach(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		fill(s, 20_000)
		got, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{Count: 10}, source.Request{})
		if err != nil || len(got) != 20_000 || len(sum.Incomplete) > 0 {
			t.Errorf("%d keys, %v, %+v", len(got), err, sum)
		}
		few, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{}, source.Request{Match: "key:1999?"})
		if err != nil || len(few) != 10 || sum.MaxRepeats != 0 {
			t.Errorf("MATCH gave %d keys, %v, %+v", len(few), err, sum)
		}
		seen := 0
		_, err = New(servertest.Config(t, s.URL()), Options{OnlyDB: -1, Count: 50}).Scan(t.Context(),
			source.Request{Sample: 500},
			func(k []source.Key) error { seen += len(k); return nil })
		if err != nil || seen < 400 || seen > 1000 {
			t.Errorf("a sample of 500 gave %d keys, %v", seen, err)
		}
	})
}

// TestValuesOfManyPages: value commands must not run into the pages that are
// read ahead.
func TestValuesOfManyPages(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		fill(s, 5000)
		got, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{Count: 100},
			source.Request{Bytes: true, Values: func(name []byte, _ source.Kind) bool { return name[len(name)-1] != '7' }})
		if err != nil || len(got) != 5000 || len(sum.Incomplete) > 0 {
			t.Fatalf("%d keys, %v, %+v", len(got), err, sum)
		}
		for name, k := range got {
			if want := name[len(name)-1] != '7'; want != (k.Value != nil) || want && string(k.Value.Str) != "v" {
				t.Fatalf("%s = %+v", name, k.Value)
			}
		}
	})
}

func TestReplicaIsPreferred(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		fill(s, 100)
		r := kt.Start(t, b, kt.ReplicaOf(s))
		r.Await("master_link_status", "up")
		for !strings.Contains(s.Info("slave0"), "state=online") {
			s.Do("PING")
		}
		primaryScans := func() string { return s.Info("cmdstat_scan") }
		got, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{}, source.Request{})
		if err != nil || len(got) != 100 || len(sum.Incomplete) > 0 || !strings.Contains(sum.Server, "replica") {
			t.Fatalf("%d keys, %v, %+v", len(got), err, sum)
		}
		if primaryScans() != "" {
			t.Error("the primary was scanned")
		}
		if _, _, err := scanned(t, servertest.Config(t, s.URL()), Options{Role: Primary}, source.Request{}); err != nil ||
			primaryScans() == "" {
			t.Errorf("the primary was not scanned: %v", err)
		}
	})
}

func TestClusterAllShards(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 1)
		const want = 2000
		fillCluster(c, want)
		for _, role := range []Role{Auto, Primary} {
			got, sum, err := scanned(t, servertest.Config(t, c.URL()), Options{Role: role}, source.Request{Bytes: true})
			if err != nil || len(got) != want || sum.Shards != 3 || len(sum.Incomplete) > 0 {
				t.Errorf("%s: %d of %d keys, %v, %+v", role, len(got), want, err, sum)
			}
		}
		if f, err := look.Inspect(t.Context(), servertest.Config(t, c.URL()), []byte("key:7")); err != nil || !f.Exists {
			t.Errorf("Inspect: %+v %v", f, err)
		}
	})
}

func TestSentinelTLSAndSocket(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		sen := kt.StartSentinel(t, b, 1, 3)
		fill(sen.Primary, 10)
		if got, sum, err := scanned(t, servertest.Config(t, sen.URL()), Options{Role: Primary}, source.Request{}); err != nil ||
			len(got) != 10 {
			t.Errorf("sentinel: %d keys, %v, %+v", len(got), err, sum)
		}
		s := kt.Start(t, b)
		fill(s, 10)
		if got, _, err := scanned(t, servertest.Config(t, "unix://"+s.Socket()), Options{}, source.Request{}); err != nil ||
			len(got) != 10 {
			t.Errorf("unix: %d keys, %v", len(got), err)
		}
		certs := kt.NewCertificates(t)
		secure := kt.Start(t, b, kt.TLS(certs))
		fill(secure, 10)
		for _, c := range []struct {
			name string
			o    connect.Options
			hint string // "" works
		}{
			{"right", connect.Options{CAFile: certs.CA, CertFile: certs.ClientCert, KeyFile: certs.ClientKey}, ""},
			{"foreign CA", connect.Options{CAFile: certs.OtherCA, CertFile: certs.ClientCert, KeyFile: certs.ClientKey},
				"--tls-ca"},
			{"no client certificate", connect.Options{CAFile: certs.CA}, "client certificate"},
		} {
			c.o.URL = secure.URL()
			conf, err := connect.New(c.o)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := scanned(t, conf, Options{}, source.Request{})
			if c.hint == "" && (err != nil || len(got) != 10) ||
				c.hint != "" && (err == nil || !strings.Contains(err.Error(), c.hint)) {
				t.Errorf("TLS, %s: %d keys, %v", c.name, len(got), err)
			}
		}
		if _, _, err := scanned(t, servertest.Config(t, "redis://"+secure.Addr()), Options{}, source.Request{}); err == nil {
			t.Error("plain text to a TLS port is no error")
		}
		plain := servertest.Config(t, "rediss://"+s.Addr())
		plain.Timeout = 300 * time.Millisecond
		if _, _, err := scanned(t, plain, Options{}, source.Request{}); err == nil ||
			!strings.Contains(err.Error(), "redis://") {
			t.Errorf("TLS to a plain port: %v", err)
		}
	})
}

// TestNeverFalselyComplete does harm in the middle of a run. Whatever is done,
// the summary must not look complete.
func TestNeverFalselyComplete(t *testing.T) {
	t.Parallel()
	harms := map[string]func(*kt.Server){
		"restart":  func(s *kt.Server) { s.Restart() },
		"kill":     func(s *kt.Server) { s.Kill() },
		"flushall": func(s *kt.Server) { s.Do("FLUSHALL") },
		"flushdb":  func(s *kt.Server) { s.Do("FLUSHDB") },
		"swapdb":   func(s *kt.Server) { s.Do("SWAPDB", "0", "1") },
		"demotion": func(s *kt.Server) { s.Do("REPLICAOF", "127.0.0.1", "1") },
	}
	both(t, func(t *testing.T, b kt.Brand) {
		for _, name := range slices.Sorted(maps.Keys(harms)) {
			for round := range gate.Count(t, "KEYWRIGHT_ROUNDS", 1, 3) {
				s := kt.Start(t, b)
				fill(s, 3000)
				first := true
				sum, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1, Count: 10 + 40*round}).Scan(t.Context(),
					source.Request{},
					func([]source.Key) error {
						if first {
							first = false
							harms[name](s)
						}
						return nil
					})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if len(sum.Incomplete) == 0 {
					t.Errorf("%s, round %d: falsely complete with %d keys", name, round, sum.Keys)
				}
			}
		}
	})
}

func TestClusterHarm(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 1)
		fillCluster(c, 1500)
		there := "" // a key of the second shard, by its last slots
		for k := 0; there == ""; k++ {
			if at := slot.Of(fmt.Append(nil, "key:", k)); at > slot.Count/2 && at < slot.Count/3*2 {
				there = fmt.Sprint("key:", k)
			}
		}
		during := func(what string, role Role, harm func()) {
			first := true
			sum, err := New(servertest.Config(t, c.URL()), Options{OnlyDB: -1, Count: 10, Role: role}).Scan(t.Context(),
				source.Request{},
				func([]source.Key) error {
					if first {
						first = false
						harm()
					}
					return nil
				})
			if err != nil || len(sum.Incomplete) == 0 {
				t.Errorf("%s: falsely complete with %d keys, %v", what, sum.Keys, err)
			}
		}
		during("slots moved", Primary, func() { c.MoveSlots(0, 1, 2) })
		during("slots moved there and back", Primary, func() {
			c.MoveSlotOf(there, 1, 2)
			c.MoveSlotOf(there, 2, 1)
		})
		during("failover", Primary, func() { c.Failover(3) })
		during("failover, read from replicas", Auto, func() { c.Failover(4) })
	})
}

// TestCutConnectionGoesOn: a broken connection to the same server loses nothing
// and counts nothing twice.
func TestCutConnectionGoesOn(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		fill(s, 5000)
		p := kt.NewProxy(t, s.Addr(), kt.Rules{CutAfter: 60_000, CutTimes: 3})
		got, sum, err := scanned(t, servertest.Config(t, "redis://"+p.Addr()), Options{Count: 100}, source.Request{Bytes: true})
		if err != nil || len(got) != 5000 || len(sum.Incomplete) > 0 || p.Connections() < 3 {
			t.Errorf("%d keys over %d connections, %v, %+v", len(got), p.Connections(), err, sum)
		}
	})
}

func TestSilentServerEndsTheRun(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	fill(s, 5000)
	p := kt.NewProxy(t, s.Addr(), kt.Rules{SwallowAfter: 16_000})
	c := servertest.Config(t, "redis://"+p.Addr())
	var sum source.Summary
	err := io.EOF
	// a busy machine may need longer to connect
	for c.Timeout = 300 * time.Millisecond; err != nil && c.Timeout < time.Minute; c.Timeout *= 3 {
		_, sum, err = scanned(t, c, Options{Count: 100}, source.Request{})
	}
	if err != nil || len(sum.Incomplete) == 0 {
		t.Errorf("%v %+v", err, sum)
	}
}

func TestDatabaseThatDoesNotExist(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	fill(s, 10)
	if _, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{OnlyDB: 7}, source.Request{}); err != nil ||
		len(sum.Incomplete) > 0 {
		t.Errorf("a database without keys: %v %+v", err, sum)
	}
	s.Do("CONFIG", "RESETSTAT")
	c := servertest.Config(t, s.URL())
	for name, read := range map[string]func() error{
		"scan": func() error { _, _, err := scanned(t, c, Options{OnlyDB: 99}, source.Request{}); return err },
		"snapshot": func() error {
			_, _, err := snapshot(t, c, SnapshotOptions{OnlyDB: 99}, source.Request{})
			return err
		},
		"contents": func() error {
			_, err := New(c, Options{OnlyDB: 99}).Contents(t.Context(), ContentsRequest{}, nil)
			return err
		},
		"inspect": func() error {
			_, err := look.Inspect(t.Context(), servertest.Config(t, s.URL()+"/99"), []byte("a"))
			return err
		},
	} {
		var refused *connect.ConfigError
		if err := read(); !errors.As(err, &refused) ||
			!strings.HasSuffix(refused.What, "has no database 99: it has 16, 0 to 15") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if stats := s.Do("INFO", "commandstats").(string); strings.Contains(stats, "cmdstat_scan:") ||
		strings.Contains(stats, "cmdstat_psync:") {
		t.Errorf("something was read: %s", stats)
	}
	if x, err := examine.Examine(t.Context(), servertest.Config(t, s.URL()+"/99"), time.Now); err != nil ||
		!strings.Contains(x.Patients[0].NoDB, "no database 99") {
		t.Errorf("doctor: %v %+v", err, x)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	fill(s, 5000)
	ctx, cancel := context.WithCancel(t.Context())
	sum, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1, Count: 10}).Scan(ctx, source.Request{},
		func([]source.Key) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || len(sum.Incomplete) == 0 || sum.Keys == 0 {
		t.Errorf("%v %+v", err, sum)
	}
}

func TestConsumerErrorStops(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	fill(s, 100)
	enough := errors.New("enough")
	if _, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1}).Scan(t.Context(), source.Request{},
		func([]source.Key) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	fill(s, 1000)
	started := time.Now()
	if _, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{Rate: 2000, Count: 100},
		source.Request{}); err != nil ||
		sum.Keys != 1000 {
		t.Fatalf("%v %+v", err, sum)
	}
	// 1000 keys at 2000/s are half a second, less the first and the last page
	if took := time.Since(started); took < 300*time.Millisecond {
		t.Errorf("1000 keys at 2000/s took %s only", took)
	}
}

func TestRestrictedUsers(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		fill(s, 50)
		s.Do("SET", "mine", "v")
		for _, c := range []struct{ rules, note, incomplete string }{
			{"on >pw ~* -@all +ping +select +scan +type +pttl +info +dbsize", "MEMORY USAGE", ""},
			{"on >pw ~* -@all +ping +select +scan +type +pttl +dbsize +memory|usage", "INFO is forbidden", "INFO"},
			{"on >pw ~* -@all +ping +scan +type +info +dbsize +memory|usage", "", "51 keys are out"},
			{"on >pw ~mine -@all +ping +select +scan +type +pttl +info +dbsize +memory|usage", "", "out of the user's reach"},
		} {
			s.Do(append([]string{"ACL", "SETUSER", "u", "reset"}, strings.Fields(c.rules)...)...)
			_, sum, err := scanned(t, servertest.Config(t, "redis://u:pw@"+s.Addr()), Options{}, source.Request{Bytes: true})
			if err != nil || !strings.Contains(strings.Join(sum.Notes, ";"), c.note) ||
				(c.incomplete == "") != (len(sum.Incomplete) == 0) || !strings.Contains(sum.Incomplete.String(), c.incomplete) {
				t.Errorf("%s: %v %+v", c.rules, err, sum)
			}
			if sum.Gone != 0 {
				t.Errorf("%s: %d keys out of reach are said to be gone", c.rules, sum.Gone)
			}
		}
		s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "-@all", "+ping", "+info")
		if _, sum, err := scanned(t, servertest.Config(t, "redis://u:pw@"+s.Addr()), Options{},
			source.Request{}); !connect.IsKind(err,
			connect.Denied) {
			t.Errorf("a user who may not SCAN: %v %+v", err, sum)
		}
	})
}

// TestACLFileLoads starts servers with the rendered line in an ACL file.
func TestACLFileLoads(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		file := t.TempDir() + "/users.acl"
		if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\nuser keywright "+ACL(true)+" >pw\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		s := kt.Start(t, b, kt.Config("aclfile", file))
		if got := fmt.Sprint(s.Do("ACL", "USERS")); !strings.Contains(got, "keywright") {
			t.Errorf("users: %s", got)
		}
	})
}

// TestErrorsSayWhatToDo: each way of not reaching a server has its kind and
// hint, at once, and none shows the password.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis, kt.Password("hunter2"))
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, c := range []struct {
		url  string
		kind connect.Kind
		hint string
	}{
		{"redis://" + closed.Addr().String(), connect.Unreachable, "nothing listens"},
		{"redis://" + s.Addr(), connect.Denied, "REDISCLI_AUTH"},
		{"redis://:wrong-hunter3@" + s.Addr(), connect.Denied, "check the user"},
		{"unix:///no/such/socket", connect.Unreachable, "socket does not exist"},
		{"redis+cluster://:hunter2@" + s.Addr(), connect.Unsupported, "redis://"},
	} {
		_, _, err := scanned(t, servertest.Config(t, c.url), Options{}, source.Request{})
		if !connect.IsKind(err, c.kind) || !strings.Contains(err.Error(), c.hint) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", c.url, err)
		}
	}
	if _, _, err := scanned(t, servertest.Config(t, "redis://:hunter2@"+s.Addr()), Options{}, source.Request{}); err != nil {
		t.Error(err)
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{{"6.0.16", "6.2", true}, {"6.2.0", "6.2", false}, {"7.0.15", "6.2", false}, {"10.1", "7.2", false},
		{"7.2.11", "7.2.9", false}, {"x", "6.2", false}} {
		if topology.Older(c.a, c.b) != c.want {
			t.Errorf("older(%s, %s) = %v", c.a, c.b, !c.want)
		}
	}
}
