// Package live starts throw-away Redis and Valkey servers for benchmarks and
// reads their counters.
//
// It is not keywrighttest: it needs no testing.T, has one configuration
// (persistence off, one node), and measures CPU and commands.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/wire"
)

// Server represents a running server process with an empty data directory.
type Server struct {
	Addr string // host:port
	Dir  string // of its files

	cmd     *exec.Cmd
	console io.Closer // the watchdog's stdin: closing it, or our death, ends the server
}

// startTimeout is generous: a loaded machine starts a server in under a second.
const startTimeout = 20 * time.Second

// Start runs the binary ("redis-server", "valkey-server") on a free port and
// waits until it answers. settings are further arguments: "--name", "value". The
// server dies with this process.
func Start(ctx context.Context, binary string, settings ...string) (*Server, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w; install it, the benchmarks need a real server", binary, err)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "keywright-bench-")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", port), Dir: dir}
	s.cmd = exec.Command("sh", append([]string{"-c", watchdog, "sh", path, "--port", port, "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", dir, "--loglevel", "warning"}, settings...)...)
	if s.console, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err == nil {
		err = s.await(ctx)
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("start %s on port %s: %w", binary, port, err)
	}
	return s, nil
}

// watchdog ends the server when its own stdin closes, be it by Stop or because
// the benchmark was killed.
const watchdog = `"$@" </dev/null & server=$!; cat >/dev/null; kill -9 $server; wait $server 2>/dev/null`

// Stop ends the server and removes its directory.
func (s *Server) Stop() {
	s.console.Close()
	if s.cmd.Process != nil {
		s.cmd.Wait() // the exit status of a killed server says nothing
	}
	os.RemoveAll(s.Dir)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

func (s *Server) await(ctx context.Context) (last error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if Until(ctx, 5*time.Millisecond, func() (bool, error) {
		info, err := s.Info("persistence")
		last = err
		return err == nil && info["loading"] == "0", nil
	}) != nil {
		return fmt.Errorf("no answer: %w", last)
	}
	return nil
}

// Do sends one command and waits until it is answered. An error reply is an
// error.
func (s *Server) Do(args ...string) error {
	_, err := s.reply(time.Hour, args...)
	return err
}

func (s *Server) reply(timeout time.Duration, args ...string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := wire.Dial(ctx, s.Addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(timeout))
	return conn.Do(args...)
}

// URL returns how clients are asked to connect.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Info returns one section of INFO as a map.
func (s *Server) Info(section string) (map[string]string, error) {
	text, err := s.reply(startTimeout, "INFO", section)
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for line := range strings.Lines(text.(string)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m, nil
}

// CPU returns what the main thread has used since the server started. Commands run
// there, background freeing does not.
func (s *Server) CPU() (time.Duration, error) {
	info, err := s.Info("cpu")
	if err != nil {
		return 0, err
	}
	var sum float64
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, fmt.Errorf("INFO cpu has no readable %s: %w", name, err)
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second)), nil
}

// Calls returns how often each command ran since the server started, by its name in
// INFO commandstats ("scan", "memory|usage").
func (s *Server) Calls() (map[string]int64, error) {
	info, err := s.Info("commandstats")
	if err != nil {
		return nil, err
	}
	calls := map[string]int64{}
	for name, stats := range info {
		command, ok := strings.CutPrefix(name, "cmdstat_")
		count, _, ok2 := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
		n, err := strconv.ParseInt(count, 10, 64)
		if !ok || !ok2 || err != nil {
			return nil, errors.New("INFO commandstats has an unknown form: " + name + ":" + stats)
		}
		calls[command] = n
	}
	return calls, nil
}

// Commands returns how many commands have run since the server started, those in
// scripts too, without the INFO that asks for it.
func (s *Server) Commands() (sum int64, err error) {
	calls, err := s.Calls()
	for name, n := range calls {
		if name != "info" {
			sum += n
		}
	}
	return sum, err
}

// Until asks until the answer is yes or an error, or the context ends.
func Until(ctx context.Context, every time.Duration, ask func() (bool, error)) error {
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		if Pause(ctx, every); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Pause waits for a time, or until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
