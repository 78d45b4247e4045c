// Package keywrighttest gives tests real servers: redis-server and
// valkey-server on free ports, alone, with replicas, as a cluster, under
// sentinels, with TLS; and a proxy between test and server that cuts, delays and
// swallows. A server dies with the test process and leaves nothing.
//
// It never mocks a server, and it never skips: a server that is not installed
// fails the test. It is for tests, and imports testing.
//
// API: may change until 1.0.
package keywrighttest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/wire"
)

// Brand represents the program of a server.
type Brand string

// The brands that keywright supports.
const (
	Redis  Brand = "redis-server"
	Valkey Brand = "valkey-server"
)

// Brands returns all of them: run a test for each. Where the variable KEYWRIGHT_BRAND names one, it is that one alone.
func Brands() []Brand {
	if brand := os.Getenv("KEYWRIGHT_BRAND"); brand != "" {
		return []Brand{Brand(brand)}
	}
	return []Brand{Redis, Valkey}
}

// programOf returns what is started for a brand: its program in the folder that the variable KEYWRIGHT_SERVERS names,
// and where that has none, or the variable is empty, the one on PATH. So tests run on servers that are not installed.
func programOf(brand Brand) (string, error) {
	if folder := os.Getenv("KEYWRIGHT_SERVERS"); folder != "" {
		path, err := filepath.Abs(filepath.Join(folder, string(brand))) // a server runs in a folder of its own
		if err == nil {
			path, err = exec.LookPath(path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	path, err := exec.LookPath(string(brand))
	if err != nil {
		return "", fmt.Errorf("%s is not installed: run scripts/install-test-deps.sh", brand)
	}
	return path, nil
}

// Server represents a running server.
type Server struct {
	t        testing.TB
	Brand    Brand
	program  string // its file
	Port     int
	Dir      string
	args     []string
	tls      *Certificates
	sentinel string // the settings of a sentinel, "" for a server
	password string
	user     string                   // "": default
	late     []func(*Server) []string // arguments that depend on the port
	env      []string
	clock    string // the file that says how far the clock is moved
	process  *exec.Cmd
	lifeline io.WriteCloser

	again     bool       // it may be used by the next test: it is not the test's that started it
	asStarted string     // its traits then
	ports     []*os.File // the locks of its ports
}

// Option changes how a server is started.
type Option func(*Server)

// Config appends settings as redis.conf has them, one argument a word:
// Config("maxmemory", "20mb").
func Config(words ...string) Option {
	return func(s *Server) {
		s.args = append(s.args, "--"+words[0])
		s.args = append(s.args, words[1:]...)
	}
}

// Password sets requirepass.
func Password(p string) Option {
	return func(s *Server) { s.password = p; Config("requirepass", p)(s) }
}

// Login makes the test log in as a user of an ACL file (Config("aclfile",
// FILE)), on a server whose default user is off.
func Login(user, password string) Option {
	return func(s *Server) { s.user, s.password = user, password }
}

// login returns what a new connection of the test sends first, nil if nothing.
func (s *Server) login() []string {
	switch {
	case s.password == "":
		return nil
	case s.user == "":
		return []string{"AUTH", s.password}
	}
	return []string{"AUTH", s.user, s.password}
}

// ReplicaOf makes the server a replica.
func ReplicaOf(primary *Server) Option {
	return Config("replicaof", "127.0.0.1", strconv.Itoa(primary.Port))
}

// Start starts a server and stops it when the test ends.
func Start(t testing.TB, brand Brand, options ...Option) *Server {
	t.Helper()
	program, err := programOf(brand)
	if err != nil {
		t.Fatal(err)
	}
	if reuses && len(options) == 0 {
		return startAgain(t, brand, program)
	}
	s := &Server{t: t, Brand: brand, program: program, Dir: tempDir(t)}
	for _, o := range options {
		o(s)
	}
	s.start()
	t.Cleanup(s.Kill)
	return s
}

// start starts the process on a free port.
func (s *Server) start() {
	s.t.Helper()
	for attempt := 0; ; attempt++ {
		port, locks := takePort(s.t)
		if s.Port = port; s.again {
			s.ports = locks // the server's, whatever test has it
		} else {
			s.t.Cleanup(func() { release(locks) })
		}
		err := s.launch(30 * time.Second)
		if err == nil {
			return
		}
		log := s.Log()
		s.Kill()
		release(s.ports)
		if attempt == 5 {
			s.t.Fatalf("start %s: %v\n%s", s.Brand, err, log)
		}
	}
}

// patience says how long a test waits for a server. It ends a test that hangs, and decides none: a machine that is busy
// with other tests may stop for seconds.
const patience = 2 * time.Minute

// tempDir returns a directory that goes with the test. A child of a server that was
// killed may write into it for a moment longer.
func tempDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "keywright")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := within(patience, "the server's directory to go",
			func() bool { return os.RemoveAll(dir) == nil }); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// launch starts the process and waits until it answers. A shell in between ends
// the server when the pipe from the test process breaks, however that ends.
func (s *Server) launch(limit time.Duration) error {
	after := ""
	if s.again {
		// No test removes its folder: it goes with the process of the tests, and stays when a test kills the server.
		after = `; [ "$order" ] || rm -rf "$PWD"`
	}
	args := []string{"-c", `"$@" & p=$!; echo $p >pid; read -r order; kill -9 $p; wait $p` + after, "sh", s.program}
	if s.sentinel != "" {
		conf := filepath.Join(s.Dir, "sentinel.conf")
		if err := os.WriteFile(conf, []byte(s.sentinel), 0o600); err != nil {
			return err
		}
		args = append(args, conf, "--sentinel")
	}
	args = append(args, "--bind", "127.0.0.1", "--dir", s.Dir, "--logfile", filepath.Join(s.Dir, "log"), "--unixsocket",
		s.Socket())
	if s.sentinel == "" {
		args = append(args, "--save", "", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0")
	}
	if s.tls == nil {
		args = append(args, "--port", strconv.Itoa(s.Port))
	} else {
		args = append(args, "--port", "0", "--tls-port", strconv.Itoa(s.Port))
	}
	for _, late := range s.late {
		args = append(args, late(s)...)
	}
	_ = os.Remove(filepath.Join(s.Dir, "pid"))
	s.process = exec.Command("sh", append(args, s.args...)...)
	s.process.Dir = s.Dir
	s.process.Env = append(os.Environ(), s.env...)
	s.process.SysProcAttr = ownProcessGroup()
	var err error
	if s.lifeline, err = s.process.StdinPipe(); err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	return within(limit, "the server does not answer", func() bool { return s.alive() })
}

// within polls until ok: often at first and seldom later, so that who is waited for has the processor.
func within(limit time.Duration, what string, ok func() bool) error {
	wait := 2 * time.Millisecond
	for deadline := time.Now().Add(limit); !ok(); wait = min(wait*5/4, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after %s", what, limit)
		}
		<-time.After(wait)
	}
	return nil
}

func (s *Server) alive() bool {
	c, err := s.dial()
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = ask(c, "PING")
	var answer *wire.ServerError
	return err == nil || errors.As(err, &answer) && answer.Code != "LOADING"
}

// Addr returns host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// Socket returns the path of the Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "s") }

// URL returns the address for clients, without the password.
func (s *Server) URL() string {
	if s.tls != nil {
		return "rediss://" + s.Addr()
	}
	return "redis://" + s.Addr()
}

// Log returns what the server has written to its log.
func (s *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	return string(text)
}

// PID returns the process id of the server itself.
func (s *Server) PID() int {
	pid := 0
	err := within(patience, "the server's pid is unknown", func() bool {
		text, _ := os.ReadFile(filepath.Join(s.Dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// Kill ends the server at once, as kill -9 does. It may be called twice.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	thaw(s.PID())
	end(s.PID())
	_, _ = io.WriteString(s.lifeline, "end\n")
	_ = s.lifeline.Close()
	_ = s.process.Wait()
	s.process = nil
}

// Restart kills the server and starts it again on the same port and folder.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	said := len(s.Log())
	if err := s.launch(patience); err != nil { // it loads what it has first
		s.t.Fatalf("restart: %v\n%s", err, s.Log())
	}
	if strings.Contains(s.Log()[said:], "Truncating the AOF") {
		s.rewriteAOF()
	}
}

// rewriteAOF writes the append-only file again, as the operator of a server has to
// when its end was torn: servers cut off the torn command and leave the MULTI it
// was in, and with the next start drop all that was written since, up to the next
// EXEC (https://github.com/valkey-io/valkey/pull/4342). What scripts write is
// in MULTI.
func (s *Server) rewriteAOF() {
	s.t.Helper()
	s.Do("BGREWRITEAOF")
	s.Await("aof_rewrite_scheduled", "0")
	s.Await("aof_rewrite_in_progress", "0")
	s.Await("aof_last_bgrewrite_status", "ok")
}

// Stop freezes the server (SIGSTOP) until Continue. Where the system says so (/proc), it has stopped when Stop returns.
func (s *Server) Stop() {
	s.t.Helper()
	freeze(s.PID())
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return
	}
	err := within(patience, "the server does not stop", func() bool { return strings.Contains("TZX", s.state()) })
	if err != nil {
		s.t.Fatal(err)
	}
}

// stopped reports whether the process is frozen, where the system says so.
func (s *Server) stopped() bool { return s.state() == "T" }

// state returns the letter that /proc has for the state of the process, "" where there is none.
func (s *Server) state() string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	_, rest, _ := strings.Cut(string(stat), ") ")
	letter, _, _ := strings.Cut(rest, " ")
	return letter
}

// Continue thaws a frozen server.
func (s *Server) Continue() { thaw(s.PID()) }
