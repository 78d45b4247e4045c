package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/server/internal/replica"
)

// transfers lists the two ways in which a server sends a snapshot.
var transfers = map[string][]kt.Option{
	"disk":     {kt.Config("repl-diskless-sync", "no")},
	"diskless": {kt.Config("repl-diskless-sync", "yes"), kt.Config("repl-diskless-sync-delay", "0")},
}

// transfer runs f over both brands and both ways.
func transfer(t *testing.T, f func(*testing.T, kt.Brand, []kt.Option)) {
	both(t, func(t *testing.T, b kt.Brand) {
		for name, options := range transfers {
			t.Run(name, func(t *testing.T) { f(t, b, options) })
		}
	})
}

// slow makes the server take its time: 20,000 keys last four seconds.
var slow = kt.Config("rdb-key-save-delay", "200")

// slower makes 10,000 keys last ten seconds: what is done after the first of them is done in the middle.
var slower = kt.Config("rdb-key-save-delay", "1000")

func with(options []kt.Option, more ...kt.Option) []kt.Option { return slices.Concat(options, more) }

// snapshot gathers what a snapshot yields; a name that comes twice fails the test.
func snapshot(t testing.TB, c connect.Config, o SnapshotOptions, req source.Request) (map[string]source.Key,
	source.Summary, error) {
	t.Helper()
	if o.OnlyDB == 0 {
		o.OnlyDB = -1
	}
	got := map[string]source.Key{}
	sum, err := NewSnapshot(c, o).Scan(t.Context(), req, func(keys []source.Key) error {
		for _, k := range keys {
			name := fmt.Sprintf("%d/%s", k.DB, k.Name)
			if _, twice := got[name]; twice {
				t.Errorf("%q came twice", name)
			}
			got[name] = k
		}
		return nil
	})
	return got, sum, err
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	transfer(t, func(t *testing.T, b kt.Brand, options []kt.Option) {
		s := kt.Start(t, b, options...)
		got, sum, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{}, source.Request{})
		if err != nil || len(got) != 0 || len(sum.Incomplete) > 0 || sum.Shards != 1 {
			t.Fatalf("empty: %d keys, %v, %+v", len(got), err, sum)
		}
		fill(s, 20_000)
		got, sum, err = snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{}, source.Request{})
		if err != nil || len(got) != 20_000 || len(sum.Incomplete) > 0 || sum.Keys != 20_000 || sum.Expected != 20_000 ||
			sum.Databases != 1 || !strings.Contains(sum.Server, "single server") || sum.Endpoint != s.Addr() {
			t.Fatalf("%d keys, %v, %+v", len(got), err, sum)
		}
		s.Await("connected_slaves", "0")
	})
}

// TestSnapshotAgreesWithScan: the same keys, types, TTLs and values from both.
func TestSnapshotAgreesWithScan(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, with(transfers["diskless"], kt.Config("enable-debug-command", "yes"))...)
		everyType(s)
		s.Do("COPY", "hash", "elsewhere", "DB", "9")
		s.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
		s.Do("SET", "expired", "v", "PX", "1")
		seconds := func() int { return number(fmt.Sprint(s.Do("TIME").([]any)[0])) }
		was := seconds()
		until(t, "the key has expired, by a clock that counts whole seconds", func() bool { return seconds() > was+2 })
		if got, sum, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{}, source.Request{}); err != nil ||
			len(got) != 12 || sum.Expired != 1 || sum.Expected != 13 {
			t.Errorf("%d keys, %v, %+v", len(got), err, sum)
		}
		s.Do("DEL", "expired")
		for name, req := range map[string]source.Request{
			"all":   {Values: func([]byte, source.Kind) bool { return true }},
			"match": {Match: "*s*", Values: func(_ []byte, k source.Kind) bool { return k == source.Hash }},
		} {
			live, a, err1 := scanned(t, servertest.Config(t, s.URL()), Options{}, req)
			snap, b, err2 := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{}, req)
			if err1 != nil || err2 != nil || len(live) < 5 || len(live) != len(snap) || len(b.Incomplete) > 0 ||
				a.Databases != b.Databases || a.Server != b.Server || a.Endpoint != b.Endpoint || a.Keys != b.Keys {
				t.Errorf("%s: %v %v\n%+v\n%+v", name, err1, err2, a, b)
			}
			for name, l := range live {
				if s := snap[name]; s.Kind != l.Kind || (s.Value == nil) != (l.Value == nil) ||
					(s.TTL == source.NoTTL) != (l.TTL == source.NoTTL) || (s.TTL-l.TTL).Abs() > 10*time.Second {
					t.Errorf("%.40q: %+v, live %+v", name, s, l)
				}
			}
		}
		few, sum, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{}, source.Request{Sample: 3})
		if err != nil || len(few) < 3 || len(few) == 12 || len(sum.Incomplete) > 0 {
			t.Errorf("a sample of 3: %d keys, %v, %+v", len(few), err, sum)
		}
	})
}

// TestSnapshotBytes: what a stream yields is what the server itself would write
// into a file, in whatever pieces it is read.
func TestSnapshotBytes(t *testing.T) {
	t.Parallel()
	transfer(t, func(t *testing.T, b kt.Brand, options []kt.Option) {
		s := kt.Start(t, b, options...)
		fill(s, 3000)
		for name, pieces := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r },
			"bytes": iotest.OneByteReader, "halves": iotest.HalfReader} {
			stream, err := replica.Open(t.Context(), servertest.Config(t, s.URL()), 0)
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(pieces(stream))
			if err != nil || len(all) < 30_000 || !strings.HasPrefix(string(all), "REDIS00") || all[len(all)-9] != 0xff ||
				len(stream.ReplID) != 40 {
				t.Errorf("%s: %d bytes, %v, %q", name, len(all), err, stream.ReplID)
			}
			if n, err := stream.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d %v", n, err)
			}
			if err := stream.Close(); err != nil {
				t.Error(err)
			}
			s.Await("connected_slaves", "0")
		}
	})
}

func TestSnapshotOfOneDatabase(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis, transfers["diskless"]...)
	fill(s, 10)
	s.Do("COPY", "key:1", "other", "DB", "3")
	for db, want := range map[int]int64{3: 1, 5: 0} {
		got, sum, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{OnlyDB: db}, source.Request{})
		if err != nil || int64(len(got)) != want || sum.Expected != want || len(sum.Incomplete) > 0 || sum.Databases != 1 {
			t.Errorf("database %d: %d keys, %v, %+v", db, len(got), err, sum)
		}
	}
	if got, _, err := snapshot(t, servertest.Config(t, s.URL()+"/3"), SnapshotOptions{OnlyDB: -1},
		source.Request{}); err != nil ||
		len(got) != 1 {
		t.Errorf("the database of the URL: %d keys, %v", len(got), err)
	}
}

func TestSnapshotTLSAndPassword(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		certs := kt.NewCertificates(t)
		secure := kt.Start(t, b, with(transfers["diskless"], kt.TLS(certs))...)
		fill(secure, 20_000)
		c, err := connect.New(connect.Options{URL: secure.URL(), CAFile: certs.CA, CertFile: certs.ClientCert,
			KeyFile: certs.ClientKey})
		if err != nil {
			t.Fatal(err)
		}
		if got, sum, err := snapshot(t, c, SnapshotOptions{}, source.Request{}); err != nil || len(got) != 20_000 ||
			len(sum.Incomplete) > 0 {
			t.Errorf("TLS: %d keys, %v, %+v", len(got), err, sum)
		}
		s := kt.Start(t, b, with(transfers["diskless"], kt.Password("hunter2"))...)
		fill(s, 10)
		if got, _, err := snapshot(t, servertest.Config(t, "redis://:hunter2@"+s.Addr()), SnapshotOptions{},
			source.Request{}); err != nil || len(got) != 10 {
			t.Errorf("password: %d keys, %v", len(got), err)
		}
		for _, url := range []string{"redis://" + s.Addr(), "redis://:hunter3@" + s.Addr()} {
			if _, _, err := snapshot(t, servertest.Config(t, url), SnapshotOptions{},
				source.Request{}); !connect.IsKind(err, connect.Denied) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestSnapshotPermissions: exactly SnapshotACL is enough, and what is less is
// refused with the way out.
func TestSnapshotPermissions(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		file := t.TempDir() + "/users.acl"
		if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\nuser file "+SnapshotACL()+" >secret\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		s := kt.Start(t, b, with(transfers["diskless"], kt.Config("aclfile", file))...)
		fill(s, 50)
		if got, _, err := snapshot(t, servertest.Config(t, "redis://file:secret@"+s.Addr()), SnapshotOptions{},
			source.Request{}); err != nil || len(got) != 50 {
			t.Errorf("of an ACL file: %d keys, %v", len(got), err)
		}
		for _, c := range []struct {
			rules string
			works bool
		}{
			{SnapshotACL(), true},
			{SnapshotACL() + " -psync", true},
			{SnapshotACL() + " -replconf", true}, // then from a file
			{SnapshotACL() + " -sync -psync", false},
			{ACL(true), false},
		} {
			s.Do(append([]string{"ACL", "SETUSER", "u", "reset", ">secret"}, strings.Fields(c.rules)...)...)
			got, sum, err := snapshot(t, servertest.Config(t, "redis://u:secret@"+s.Addr()), SnapshotOptions{}, source.Request{})
			if c.works && (err != nil || len(got) != 50 || len(sum.Incomplete) > 0) {
				t.Errorf("%s: %d keys, %v, %+v", c.rules, len(got), err, sum)
			}
			if !c.works && (!connect.IsKind(err, connect.Denied) || !strings.Contains(err.Error(), "+psync") ||
				!strings.Contains(err.Error(), "--snapshot")) {
				t.Errorf("%s: %v", c.rules, err)
			}
		}
	})
}

// TestSnapshotWithoutPSYNC: managed services take commands away by renaming them.
func TestSnapshotWithoutPSYNC(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, with(transfers["diskless"], kt.Config("rename-command", "PSYNC", ""))...)
		fill(s, 50)
		if got, sum, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{}, source.Request{}); err != nil ||
			len(got) != 50 || len(sum.Incomplete) > 0 {
			t.Errorf("SYNC: %d keys, %v, %+v", len(got), err, sum)
		}
		s = kt.Start(t, b, kt.Config("rename-command", "PSYNC", ""), kt.Config("rename-command", "SYNC", ""))
		if _, _, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{},
			source.Request{}); !connect.IsKind(err, connect.Denied) || !strings.Contains(err.Error(), "--snapshot") {
			t.Errorf("%v", err)
		}
	})
}

func TestSnapshotCluster(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 1)
		for _, n := range c.Nodes {
			n.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
		}
		fillCluster(c, 2000)
		for _, n := range c.Nodes[:3] {
			until(t, "its replica is in step", func() bool { return strings.Contains(n.Info("slave0"), "state=online") })
		}
		forks := func() (n int) {
			for _, p := range c.Nodes[:3] {
				full, _ := strconv.Atoi(p.Info("sync_full"))
				n += full
			}
			return n
		}
		before := forks()
		for _, role := range []Role{Auto, Replica, Primary} {
			got, sum, err := snapshot(t, servertest.Config(t, c.URL()), SnapshotOptions{Role: role, MaxForks: 2},
				source.Request{})
			if err != nil || len(got) != 2000 || sum.Shards != 3 || len(sum.Incomplete) > 0 ||
				!strings.Contains(fmt.Sprint(sum.Notes), "own moment") {
				t.Errorf("%s: %d keys, %v, %+v", role, len(got), err, sum)
			}
			if fromReplicas := strings.Contains(sum.Server, "from 3 replicas"); fromReplicas != (role != Primary) ||
				fromReplicas != (forks() == before) {
				t.Errorf("%s: %s, %d snapshots of primaries", role, sum.Server, forks()-before)
			}
		}
		clusterForks(t, servertest.Config(t, c.URL()))
		clusterHarm(t, c)
	})
}

// clusterForks: as many at the same time as wanted, and no more.
func clusterForks(t *testing.T, c connect.Config) {
	for _, forks := range []int{1, 3} {
		snap := NewSnapshot(c, SnapshotOptions{MaxForks: forks, OnlyDB: -1})
		open := meeting{all: make(chan struct{})}
		snap.parse = func(in io.Reader, _ rdb.Options) source.Source { return &meeter{in, &open, forks} }
		sum, err := snap.Scan(t.Context(), source.Request{}, nil)
		if err != nil || len(sum.Incomplete) > 0 || open.most != forks {
			t.Errorf("%d at the same time, want %d: %v %+v", open.most, forks, err, sum)
		}
	}
}

// clusterHarm: a slot that moves between two snapshots is in both or in none.
func clusterHarm(t *testing.T, c *kt.Cluster) {
	during := func(what string, harm func()) {
		var once sync.Once
		sum, err := NewSnapshot(servertest.Config(t, c.URL()), SnapshotOptions{OnlyDB: -1, Role: Primary}).Scan(t.Context(),
			source.Request{}, func([]source.Key) error {
				once.Do(harm)
				return nil
			})
		if err != nil || len(sum.Incomplete) == 0 {
			t.Errorf("%s: falsely complete with %d keys, %v", what, sum.Keys, err)
		}
	}
	during("slots moved", func() { c.MoveSlots(0, 1, 2) })
	during("failover", func() { c.Failover(3) })
	during("primaries are gone", func() { c.Nodes[1].Kill(); c.Nodes[2].Kill() })
}

// meeting describes where snapshots wait until as many are open as can be.
type meeting struct {
	mu        sync.Mutex
	now, most int
	all       chan struct{}
}

type meeter struct {
	io.Reader
	*meeting
	forks int
}

func (m *meeter) Scan(context.Context, source.Request, func([]source.Key) error) (sum source.Summary, err error) {
	m.mu.Lock()
	m.now++
	m.most = max(m.most, m.now)
	if m.now == m.forks && m.most == m.now && m.forks > 1 {
		close(m.all)
	}
	m.mu.Unlock()
	if m.forks > 1 {
		<-m.all
	}
	_, err = io.Copy(io.Discard, m.Reader)
	m.mu.Lock()
	m.now--
	m.mu.Unlock()
	return sum, err
}

// TestSnapshotUnderSentinels: the primary is found, and no sentinel takes us for
// a replica that it might promote.
func TestSnapshotUnderSentinels(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		sen := kt.StartSentinel(t, b, 1, 1)
		p, s := sen.Primary, sen.Sentinels[0]
		p.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
		fill(p, 20_000)
		for _, role := range []Role{Auto, Primary} {
			until(t, "the replica is in step",
				func() bool { return len(topology.ParseInfo(fmt.Sprint(p.Do("INFO", "replication"))).InStep()) == 1 })
			got, sum, err := snapshot(t, servertest.Config(t, sen.URL()), SnapshotOptions{Role: role}, source.Request{})
			if err != nil || len(got) != 20_000 || len(sum.Incomplete) > 0 || !strings.Contains(sum.Endpoint, "mymaster") {
				t.Errorf("%d keys, %v, %+v", len(got), err, sum)
			}
		}
		p.Do("CONFIG", "SET", "rdb-key-save-delay", "200")
		s.Do("SENTINEL", "DEBUG", "info-period", "50")
		stream, err := replica.Open(t.Context(), servertest.Config(t, "redis://"+p.Addr()), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		until(t, "we are listed", func() bool { return p.Info("connected_slaves") == "2" })
		last, looks := 0, 0
		until(t, "the sentinel has looked at the primary", func() bool {
			fields, _ := s.Do("SENTINEL", "MASTER", "mymaster").([]any)
			age, _ := strconv.Atoi(fmt.Sprint(fields[slices.Index(fields, any("info-refresh"))+1]))
			if age < last {
				looks++
			}
			last = age
			return looks == 5
		})
		if known, _ := s.Do("SENTINEL", "REPLICAS", "mymaster").([]any); len(known) != 1 {
			t.Errorf("the sentinel knows %d replicas: %v", len(known), known)
		}
		stream.Close()
		p.Await("connected_slaves", "1")
	})
}

// TestSnapshotNeverFalselyComplete cuts streams in the middle in every way.
func TestSnapshotNeverFalselyComplete(t *testing.T) {
	t.Parallel()
	child := regexp.MustCompile(`Background (?:saving|RDB transfer) started by pid (\d+)`)
	harms := map[string]func(*kt.Server){
		"child killed": func(s *kt.Server) {
			all := child.FindAllStringSubmatch(s.Log(), -1)
			pid, _ := strconv.Atoi(all[len(all)-1][1])
			_ = syscall.Kill(pid, syscall.SIGKILL)
		},
		"killed":     func(s *kt.Server) { s.Kill() },
		"flushed":    func(s *kt.Server) { s.Do("FLUSHALL") },
		"demoted":    func(s *kt.Server) { s.Do("REPLICAOF", "127.0.0.1", "1") },
		"thrown out": func(s *kt.Server) { s.Do("CLIENT", "KILL", "TYPE", "replica") },
		"frozen":     func(s *kt.Server) { s.Stop() },
		"shut down":  func(s *kt.Server) { _, _ = s.Try("SHUTDOWN", "NOSAVE", "NOW", "FORCE") },
		"no harm":    nil,
	}
	both(t, func(t *testing.T, b kt.Brand) {
		for name, harm := range harms {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var sum source.Summary
				var err error
				// On a busy machine a server that is frozen after a moment is silent before.
				for patience, harmed := time.Second, false; !harmed && patience < time.Minute; patience *= 3 {
					options := with(transfers["diskless"], slower)
					if harm == nil {
						options = transfers["diskless"]
					}
					s := kt.Start(t, b, options...)
					fill(s, 10_000)
					c := servertest.Config(t, s.URL())
					if c.Timeout = time.Minute; name == "frozen" {
						c.Timeout = patience
					}
					sum, err = NewSnapshot(c, SnapshotOptions{OnlyDB: -1, Silence: c.Timeout}).Scan(t.Context(), source.Request{},
						func([]source.Key) error {
							if !harmed && harm != nil {
								harm(s)
							}
							harmed = true
							return nil
						})
				}
				if err != nil || sum.Keys == 0 || (len(sum.Incomplete) == 0) != (harm == nil) {
					t.Errorf("%d keys, %v, %q", sum.Keys, err, sum.Incomplete)
				}
			})
		}
	})
}

func TestSnapshotThroughABadNetwork(t *testing.T) {
	gate.Skip(t, "the server's timeouts of a bad network depend on the load")
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, with(transfers["diskless"], slow)...)
		fill(s, 12_000)
		for says, rules := range map[string]kt.Rules{"was cut after": {CutAfter: 40_000},
			"fell silent after": {SwallowAfter: 40_000}} {
			var got map[string]source.Key
			var sum source.Summary
			var err error
			// a busy machine may need longer than a second
			for silence := time.Second; len(got) == 0 && silence < time.Minute; silence *= 3 {
				p := kt.NewProxy(t, s.Addr(), rules)
				got, sum, err = snapshot(t, servertest.Config(t, "redis://"+p.Addr()), SnapshotOptions{Silence: silence},
					source.Request{})
			}
			if err != nil || len(got) == 0 || len(got) >= 12_000 || !strings.Contains(fmt.Sprint(sum.Incomplete), says) {
				t.Errorf("%s: %d keys, %v, %+v", says, len(got), err, sum)
			}
		}
		s.Await("connected_slaves", "0")
	})
}

// TestSnapshotReadTooSlowly: the server drops a replica that does not read, and
// the reason is named.
func TestSnapshotReadTooSlowly(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, with(transfers["diskless"], kt.Config("repl-timeout", "1"), kt.Config("rdbcompression", "no"),
			kt.Config("enable-debug-command", "yes"))...)
		s.Do("DEBUG", "POPULATE", "8000", "key", "4000")
		stream, err := replica.Open(t.Context(), servertest.Config(t, s.URL()), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		s.Await("connected_slaves", "0")
		if n, err := io.Copy(io.Discard, stream); n == 0 || !errors.Is(err, io.ErrUnexpectedEOF) ||
			!strings.Contains(err.Error(), "too slowly") {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func TestSnapshotOfALonelyReplica(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, kt.Config("replicaof", "127.0.0.1", "1"))
		if _, _, err := snapshot(t, servertest.Config(t, s.URL()), SnapshotOptions{},
			source.Request{}); !connect.IsKind(err, connect.Unreachable) || !strings.Contains(err.Error(), "lost its primary") {
			t.Errorf("%v", err)
		}
		alone := kt.Start(t, b)
		if _, _, err := snapshot(t, servertest.Config(t, alone.URL()), SnapshotOptions{Role: Replica},
			source.Request{}); !connect.IsKind(err, connect.Unreachable) ||
			!strings.Contains(err.Error(), "no replica in step") {
			t.Errorf("%v", err)
		}
	})
}

func TestSnapshotCancel(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey, with(transfers["diskless"], slow)...)
	fill(s, 20_000)
	ctx, cancel := context.WithCancel(t.Context())
	sum, err := NewSnapshot(servertest.Config(t, s.URL()), SnapshotOptions{OnlyDB: -1}).Scan(ctx, source.Request{},
		func([]source.Key) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || len(sum.Incomplete) == 0 || sum.Keys == 0 {
		t.Errorf("%v %+v", err, sum)
	}
	s.Await("connected_slaves", "0")
	enough := errors.New("enough")
	if _, err := NewSnapshot(servertest.Config(t, s.URL()), SnapshotOptions{OnlyDB: -1}).Scan(t.Context(),
		source.Request{},
		func([]source.Key) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	s.Await("connected_slaves", "0")
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := replica.Open(ctx, servertest.Config(t, s.URL()), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

var until = expect.Eventually

// Shards are read side by side, but the consumer that is asked about values and given keys
// need not be safe for that: the race detector watches.
func TestValuesAreAskedOneAtATime(t *testing.T) {
	t.Parallel()
	c := kt.StartCluster(t, kt.Redis, 3, 0)
	fillCluster(c, 3000)
	parsed, err := connect.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]source.Source{"scan": New(parsed, Options{OnlyDB: -1}),
		"snapshot": NewSnapshot(parsed, SnapshotOptions{MaxForks: 3, OnlyDB: -1})} {
		asked, given := 0, 0
		sum, err := src.Scan(t.Context(), source.Request{Values: func([]byte, source.Kind) bool { asked += 1 + 0*given; return true }}, func(batch []source.Key) error {
			given += len(batch)
			return nil
		})
		if err != nil || len(sum.Incomplete) > 0 || asked != 3000 || given != 3000 {
			t.Errorf("%s: %d asked, %d given, %v, %+v", name, asked, given, err, sum)
		}
	}
}
