package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	peer "github.com/alicebob/miniredis/v2/server"
)

// Embedded is the name of the server that needs no program on the machine.
const Embedded = "miniredis"

// programs lists the servers that are looked for, in this order.
var programs = []string{"valkey-server", "redis-server"}

// lacking says what the embedded server cannot show.
var lacking = []string{
	"TTLs do not run: nothing expires while the demo runs",
	"bytes are estimates of its own, not what a real server would use",
	"no CONFIG, ACL or cluster: settings, permissions and topology cannot be looked at",
}

// throwaway represents a server of our own. stop ends it and removes what it left.
type throwaway struct {
	name string // "valkey-server", or Embedded
	addr string
	stop func()
}

func (s *throwaway) url() string { return "redis://" + s.addr }

// start runs the named server; "" takes the first that is there.
func start(ctx context.Context, name string) (*throwaway, error) {
	if name == Embedded {
		return startEmbedded()
	}
	candidates := programs
	if name != "" {
		candidates = []string{name}
	}
	for _, program := range candidates {
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		return startProgram(ctx, program, path)
	}
	if name != "" {
		return nil, fmt.Errorf("%s is not in PATH; install it, or take the embedded server with --server %s", name, Embedded)
	}
	return startEmbedded()
}

func startEmbedded() (*throwaway, error) {
	m, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	m.Server().SetPreHook(func(c *peer.Peer, cmd string, _ ...string) bool {
		if cmd != "INFO" {
			return false
		}
		c.WriteBulk(fmt.Sprintf(embeddedInfo, len(m.Keys())))
		return true
	})
	return &throwaway{name: Embedded, addr: m.Addr(), stop: m.Close}, nil
}

// embeddedInfo says what miniredis does not say of itself, and an audit needs to
// know that its server is still the same one when it ends.
const embeddedInfo = "redis_version:7.2-miniredis\r\nredis_mode:standalone\r\nrun_id:0000000000000000000000000000000000000000\r\n" +
	"role:master\r\nloading:0\r\ndb0:keys=%d,expires=0,avg_ttl=0\r\n"

// startProgram tries again on another port when another program was quicker to
// take the free one.
func startProgram(ctx context.Context, name, path string) (*throwaway, error) {
	var errs []error
	for range 3 {
		s, err := tryProgram(ctx, name, path)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("start %s: %w", path, errors.Join(errs...))
}

func tryProgram(ctx context.Context, name, path string) (*throwaway, error) {
	dir, err := os.MkdirTemp("", "keywright-demo-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := newChild(path, dir, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "no")
	s := &throwaway{name: name, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), stop: c.end}
	if err := c.ready(ctx, s.addr); err != nil {
		s.stop()
		return nil, err
	}
	// It saves nothing, and works in a folder without a name as well. So none is left, however the demo ends.
	_ = os.RemoveAll(dir)
	return s, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// child represents a server program that dies with us.
type child struct {
	cmd  *exec.Cmd
	dir  string
	out  bytes.Buffer
	done chan struct{} // closed when it has ended
	err  error         // valid after done
}

func newChild(path, dir string, args ...string) *child {
	c := &child{cmd: exec.Command(path, args...), dir: dir, done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	dieWithParent(c.cmd)
	started := make(chan struct{})
	go c.run(started)
	<-started
	return c
}

// run stays on one thread: the death signal comes when the thread that started
// the child ends, not only when the process does.
func (c *child) run(started chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	c.err = c.cmd.Start()
	close(started)
	if c.err == nil {
		c.err = c.cmd.Wait()
	}
}

// ready waits until the server answers.
func (c *child) ready(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return fmt.Errorf("it ended at once: %v%s", c.err, c.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("it does not answer on %s: %w", addr, context.Cause(ctx))
		case <-tick.C:
			if answers(addr) {
				return nil
			}
		}
	}
}

// answers reports whether PING is answered with PONG; another's server on the
// port would have kept ours from starting.
func answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	var reply [5]byte
	_, err = conn.Write([]byte("PING\r\n"))
	n, _ := conn.Read(reply[:])
	return err == nil && string(reply[:n]) == "+PONG"
}

// lastWords returns the end of what the server printed.
func (c *child) lastWords() string {
	lines := strings.Split(strings.TrimSpace(c.out.String()), "\n")
	return "\n  " + strings.Join(lines[max(0, len(lines)-3):], "\n  ")
}

func (c *child) end() {
	if c.cmd.Process != nil {
		_ = c.cmd.Process.Kill()
	}
	<-c.done
	_ = os.RemoveAll(c.dir)
}
