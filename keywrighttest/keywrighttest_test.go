package keywrighttest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/keywright/keywright/connect/slot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func each(t *testing.T, f func(*testing.T, Brand)) {
	for _, b := range Brands() {
		t.Run(string(b), func(t *testing.T) { t.Parallel(); f(t, b) })
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b)
		s.Do("SET", "a", "1")
		stop := s.Monitor()
		s.Do("GET", "a")
		if lines := stop(); len(lines) != 1 || !strings.Contains(lines[0], `"GET" "a"`) {
			t.Errorf("monitor saw %q", lines)
		}
		before := s.Info("run_id")
		s.Restart()
		if s.Info("run_id") == before || s.Do("EXISTS", "a") != int64(0) {
			t.Error("the server was not restarted")
		}
		pid := s.PID()
		s.Kill()
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Error("the server is still there")
		}
	})
}

func TestPersistencePasswordReplica(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b, Password("secret"), Config("appendonly", "yes"), Config("appendfsync", "always"))
		if strings.Contains(s.URL(), "secret") {
			t.Error("the address has the password")
		}
		s.Do("SET", "a", "1")
		s.Restart()
		if got := s.Do("GET", "a"); fmt.Sprint(got) != "1" {
			t.Errorf("after a restart a is %v", got)
		}
		r := Start(t, b, ReplicaOf(s), Config("masterauth", "secret"))
		r.Await("master_link_status", "up")
		if got := r.Do("GET", "a"); fmt.Sprint(got) != "1" {
			t.Errorf("on the replica a is %v", got)
		}
	})
}

// TestCopied: writes of any connection are on the replica, also if it was frozen.
func TestCopied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b)
		r := Start(t, b, ReplicaOf(s))
		r.Await("master_link_status", "up")
		r.Stop()
		for range 100 {
			s.Do("INCR", "a")
		}
		var goesOn atomic.Bool
		time.AfterFunc(200*time.Millisecond, func() { goesOn.Store(true); r.Continue() })
		s.Copied(r)
		if got := r.Do("GET", "a"); got != "100" || !goesOn.Load() {
			t.Errorf("on the replica a is %v, waited %t", got, goesOn.Load())
		}
	})
}

// TestLogin: a test works on a server whose default user is off, and sees its scripts.
func TestLogin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		file := filepath.Join(t.TempDir(), "users.acl")
		if err := os.WriteFile(file, []byte("user default off\nuser test on >secret ~* &* +@all\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Start(t, b, Login("test", "secret"), Config("aclfile", file))
		if who := s.Do("ACL", "WHOAMI"); who != "test" {
			t.Errorf("the test is %v", who)
		}
		w := s.RecordScripts()
		s.Do("EVAL", "return 1", "0")
		if calls := w.Calls(); len(calls) != 1 {
			t.Errorf("%d scripts were seen", len(calls))
		}
	})
}

// TestTornAOF: a server that died in the middle of writing what a script did loses
// that, and nothing that was written after its restart.
func TestTornAOF(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b, Config("appendonly", "yes"), Config("appendfsync", "always"))
		s.Do("SET", "before", "1")
		s.Do("EVAL", "redis.call('SET', KEYS[1], 1) redis.call('SET', KEYS[2], 1)", "2", "torn:1", "torn:2")
		s.Kill()
		files, err := filepath.Glob(filepath.Join(s.Dir, "*", "*.incr.aof"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q %v", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(files[0], info.Size()-2); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			s.Restart()
			if got := s.Do("EXISTS", "torn:1", "torn:2"); got != int64(0) {
				t.Errorf("half a script: %v", got)
			}
			s.Do("SET", fmt.Sprint("behind:", i), "1")
			s.Do("EVAL", "redis.call('SET', KEYS[1], 1) redis.call('SET', KEYS[2], 1)", "2", fmt.Sprint("script:", i),
				fmt.Sprint("script too:", i))
		}
		s.Restart()
		if got := s.Do("DBSIZE"); got != int64(10) {
			t.Errorf("%v keys of 10", got)
		}
	})
}

func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b)
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.Stop()
		fmt.Fprint(c, "PING\r\n")
		if got := read(c, 1, 100*time.Millisecond); got != 0 {
			t.Error("a frozen server answers")
		}
		s.Continue()
		if got := read(c, 7, 10*time.Second); got != 7 {
			t.Error("a thawed server does not answer")
		}
		s.Stop() // Kill ends a frozen server too
	})
}

func TestMovableClock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b, MovableClock())
		s.Do("SET", "a", "1", "PX", "100000000")
		left := int64(100_000_000)
		for _, ahead := range []time.Duration{0, time.Minute, -time.Hour, 0} {
			s.MoveClock(ahead)
			seconds, _ := strconv.ParseInt(fmt.Sprint(s.Do("TIME").([]any)[0]), 10, 64)
			if off := time.Until(time.Unix(seconds, 0)) - ahead; off.Abs() > 30*time.Second {
				t.Errorf("moved by %v, the server is off by %v", ahead, off)
			}
			if off := left - ahead.Milliseconds() - s.Do("PTTL", "a").(int64); off < -30_000 || off > 30_000 {
				t.Errorf("moved by %v, a TTL is off by %d ms", ahead, off)
			}
		}
		s.MoveClock(28 * time.Hour)
		if s.Do("EXISTS", "a") != int64(0) {
			t.Error("a key outlives its time")
		}
	})
}

func TestTLS(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		certs := NewCertificates(t)
		s := Start(t, b, TLS(certs))
		client, err := tls.LoadX509KeyPair(certs.ClientCert, certs.ClientKey)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name, ca string
			certs    []tls.Certificate
			ok       bool
		}{
			{"its CA", certs.CA, []tls.Certificate{client}, true},
			{"another CA", certs.OtherCA, []tls.Certificate{client}, false},
			{"no client certificate", certs.CA, nil, false},
		} {
			pem, err := os.ReadFile(c.ca)
			if err != nil {
				t.Fatal(err)
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(pem)
			conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: pool, Certificates: c.certs})
			if err == nil {
				fmt.Fprint(conn, "PING\r\n")
				err = errors.New("no answer")
				if read(conn, 7, 10*time.Second) == 7 {
					err = nil
				}
				conn.Close()
			}
			if (err == nil) != c.ok {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}

// TestServerDiesWithTheTest runs this binary again, as a test that starts a
// server and is then killed: no Cleanup runs, and still no server is left.
func TestServerDiesWithTheTest(t *testing.T) {
	t.Parallel()
	if os.Getenv("KEYWRIGHTTEST_VICTIM") != "" {
		fmt.Println("pid", Start(t, Redis).PID())
		select {}
	}
	victim := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithTheTest$")
	victim.Env = append(os.Environ(), "KEYWRIGHTTEST_VICTIM=1", "TMPDIR="+t.TempDir())
	out, err := victim.StdoutPipe()
	if err == nil {
		err = victim.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	_, scanErr := fmt.Fscanf(out, "pid %d\n", &pid)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	if scanErr != nil {
		t.Fatal(scanErr)
	}
	if err := within(5*time.Second, "the server outlives its test", func() bool { return !lives(pid) }); err != nil {
		t.Error(err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		c := StartCluster(t, b, 3, 1)
		key := 0
		for slot.Of([]byte(strconv.Itoa(key))) >= 3 {
			key++
		}
		name := strconv.Itoa(key)
		c.Nodes[0].Do("SET", name, "moved")
		c.MoveSlots(0, 1, 3)
		if got := c.Nodes[1].Do("GET", name); fmt.Sprint(got) != "moved" {
			t.Errorf("the slot of %s went without it: %v", name, got)
		}
		c.Failover(3)
	})
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Brand) {
		s := StartSentinel(t, b, 1, 3)
		if !strings.HasPrefix(s.URL(), "redis+sentinel://127.0.0.1:") {
			t.Error(s.URL())
		}
	})
}

func TestProxy(t *testing.T) {
	t.Parallel()
	s := Start(t, Redis)
	s.Do("SET", "big", strings.Repeat("x", 100_000))
	const whole = 100_011 // with its length and line ends
	cases := []struct {
		name   string
		rules  Rules
		passed []func(int) bool // for each connection in turn
	}{
		{"no rules", Rules{}, []func(int) bool{all}},
		{"cut once", Rules{CutAfter: 1000, CutTimes: 1}, []func(int) bool{part, all}},
		{"cut always", Rules{CutAfter: 1000}, []func(int) bool{part, part}},
		{"delay", Rules{Delay: time.Millisecond}, []func(int) bool{all}},
		{"swallow", Rules{SwallowAfter: 1000}, []func(int) bool{part}},
	}
	for _, c := range cases {
		p := NewProxy(t, s.Addr(), c.rules)
		for i, ok := range c.passed {
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, "GET big\r\n")
			limit := 10 * time.Second
			if c.rules.SwallowAfter > 0 {
				limit = 100 * time.Millisecond
			}
			if n := read(conn, whole, limit); !ok(n) {
				t.Errorf("%s: connection %d passed %d bytes", c.name, i, n)
			}
			conn.Close()
		}
		if p.Connections() != len(c.passed) {
			t.Errorf("%s: %d connections", c.name, p.Connections())
		}
	}
}

func all(n int) bool  { return n > 100_000 }
func part(n int) bool { return n < 100_000 }

// read reads so many bytes, or until the end or the limit, and says how many.
func read(c net.Conn, want int, limit time.Duration) int {
	_ = c.SetReadDeadline(time.Now().Add(limit))
	n, _ := io.ReadFull(c, make([]byte, want))
	return n
}

// TestServersOfAFolder: a program of the folder goes before the one on PATH, and one that it does not have is taken
// from there. What is there and cannot be started is reported, not passed over.
func TestServersOfAFolder(t *testing.T) {
	folder := t.TempDir()
	installed, err := exec.LookPath(string(Redis))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(installed, filepath.Join(folder, string(Redis))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEYWRIGHT_SERVERS", folder)
	started := filepath.Join(folder, string(Redis))
	if path, err := programOf(Redis); err != nil || path != started {
		t.Errorf("%q, %v", path, err)
	}
	s := Start(t, Redis)
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID())); err == nil && !strings.Contains(string(line), "redis-server") {
		t.Errorf("%q was started", line)
	}
	if path, err := programOf(Valkey); err != nil || filepath.Dir(path) == folder {
		t.Errorf("%q, %v", path, err)
	}
	if err := os.WriteFile(filepath.Join(folder, string(Valkey)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := programOf(Valkey); err == nil {
		t.Errorf("%q, which cannot be run", path)
	}
	t.Setenv("PATH", folder)
	t.Setenv("KEYWRIGHT_SERVERS", "")
	if _, err := programOf("other-server"); err == nil || !strings.Contains(err.Error(), "scripts/install-test-deps.sh") {
		t.Errorf("%v", err)
	}
}
