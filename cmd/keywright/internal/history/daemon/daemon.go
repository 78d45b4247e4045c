// Package daemon is a history that keywrightd keeps, in SQLite or PostgreSQL: it starts that program, speaks to it over
// a pipe, and starts it again when it has ended.
package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/link"
	"github.com/keywright/keywright/keyspace/finding"
)

// Program is the name of the program.
const Program = "keywrightd"

// Install is the command that installs it.
const Install = "go install github.com/keywright/keywright/cmd/keywrightd@latest"

const (
	apart    = time.Second      // between two starts, at least
	opening  = 30 * time.Second // how long a store may take to open
	ending   = 5 * time.Second  // how long the program may take to end
	lastSaid = 2 << 10          // bytes that are kept of what it says at its end
)

// Is reports whether a name of a store is one of keywrightd's.
func Is(name string) bool {
	return strings.HasPrefix(name, "sqlite:") || strings.HasPrefix(name, "postgres://") ||
		strings.HasPrefix(name, "postgresql://")
}

// Find returns the path of the program: beside this one, or one of PATH.
func Find() (string, error) {
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if beside := filepath.Join(filepath.Dir(self), name); isProgram(beside) {
			return beside, nil
		}
	}
	return exec.LookPath(Program)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Store represents a history that the program keeps. Its methods may be called by several goroutines.
type Store struct {
	program string
	name    string

	mu      sync.Mutex
	client  *link.Client
	began   time.Time
	closed  bool
	targets map[string]string
}

// Open starts a program and opens a store.
func Open(ctx context.Context, program, name string) (*Store, error) {
	s := &Store{program: program, name: name, targets: map[string]string{}}
	_, err := s.running(ctx)
	return s, err
}

// Call says how a target is called in the store: others that share it may have one of the same name.
func (s *Store) Call(target, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets[target] = name
}

func (s *Store) called(target string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := s.targets[target]; ok {
		return name
	}
	return target
}

// running returns the client of the program, which is started if it does not run.
func (s *Store) running(ctx context.Context) (*link.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.client != nil:
		return s.client, nil
	case s.closed:
		return nil, os.ErrClosed
	case !s.began.IsZero() && time.Since(s.began) < apart:
		return nil, fmt.Errorf("%w: it is started again in a second", link.ErrClosed)
	}
	s.began = time.Now()
	p, err := start(s.program)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", Program, err)
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), opening)
	defer done()
	c, err := link.Open(ctx, p, s.name)
	if err != nil {
		if said := p.last(); said != "" && errors.Is(err, link.ErrClosed) {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	s.client = c
	return c, nil
}

// ask asks the program. What it may have done when it ended is asked for once more.
func (s *Store) ask(ctx context.Context, do func(c *link.Client, again bool) error) error {
	for again := false; ; again = true {
		c, err := s.running(ctx)
		if err != nil {
			return err
		}
		if err = do(c, again); !errors.Is(err, link.ErrClosed) {
			return err
		}
		s.mu.Lock()
		if s.client == c {
			s.client = nil
		}
		s.mu.Unlock()
		_ = c.Close()
		if again || ctx.Err() != nil {
			return err
		}
	}
}

// Append implements history.Store.
func (s *Store) Append(ctx context.Context, target string, at time.Time, points map[string]history.Point) error {
	return s.ask(ctx, func(c *link.Client, again bool) error {
		err := c.Append(ctx, s.called(target), at, points)
		if !again || !errors.Is(err, history.ErrOrder) {
			return err
		}
		// The program has ended before it replied: it may have written them.
		there, read := c.At(ctx, s.called(target), history.Raw, at)
		for entry := range points {
			if read == nil && there[entry].At.Unix() == at.Unix() {
				return nil
			}
		}
		return err
	})
}

// Range implements history.Store.
func (s *Store) Range(ctx context.Context, q history.Query) (out []history.Point, err error) {
	q.Target = s.called(q.Target)
	err = s.ask(ctx, func(c *link.Client, _ bool) (err error) { out, err = c.Range(ctx, q); return err })
	return out, err
}

// At implements history.Store.
func (s *Store) At(ctx context.Context, target string, step history.Step, at time.Time) (out map[string]history.Point,
	err error) {
	err = s.ask(ctx,
		func(c *link.Client, _ bool) (err error) { out, err = c.At(ctx, s.called(target), step, at); return err })
	return out, err
}

// First implements history.Store.
func (s *Store) First(ctx context.Context, target string) (first time.Time, err error) {
	err = s.ask(ctx, func(c *link.Client, _ bool) (err error) { first, err = c.First(ctx, s.called(target)); return err })
	return first, err
}

// Prune implements history.Store.
func (s *Store) Prune(ctx context.Context, now time.Time) error {
	return s.ask(ctx, func(c *link.Client, _ bool) error { return c.Prune(ctx, now) })
}

// Turn implements history.Turns.
func (s *Store) Turn(ctx context.Context, target string) (end func(), err error) {
	err = s.ask(ctx, func(c *link.Client, _ bool) (err error) { end, err = c.Turn(ctx, s.called(target)); return err })
	return end, err
}

// Close ends the program.
func (s *Store) Close() error {
	s.mu.Lock()
	c := s.client
	s.client, s.closed = nil, true
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.Close()
}

// process represents a program that runs, as a connection.
type process struct {
	io.Reader
	io.WriteCloser
	cmd  *exec.Cmd
	once sync.Once
	err  error

	mu   sync.Mutex
	said bytes.Buffer
}

func start(program string) (*process, error) {
	p := &process{cmd: exec.Command(program, "store")}
	var err error
	if p.WriteCloser, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Reader, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	p.cmd.Stderr = (*sayings)(p)
	p.cmd.WaitDelay = ending
	return p, p.cmd.Start()
}

// Close closes the input of the program, which then ends; it is killed if it does not.
func (p *process) Close() error {
	p.once.Do(func() {
		p.err = p.WriteCloser.Close()
		late := time.AfterFunc(ending, func() { _ = p.cmd.Process.Kill() })
		p.err = errors.Join(p.err, p.cmd.Wait())
		late.Stop()
	})
	return p.err
}

// last returns what the program said last.
func (p *process) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return finding.Printable(strings.TrimSpace(p.said.String()))
}

// sayings keeps the end of what a program says.
type sayings process

func (s *sayings) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.Write(text)
	s.said.Next(max(0, s.said.Len()-lastSaid))
	return len(text), nil
}
