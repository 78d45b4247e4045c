package harm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
)

// The environment of a process.
const (
	envURL   = "KEYWRIGHT_HARM_URL"
	envFile  = "KEYWRIGHT_HARM_FILE"
	envPlace = "KEYWRIGHT_HARM_PLACE"
)

// Worker describes what a process knows.
type Worker struct {
	URL  string
	Name string // of no other process of its side: the same in each database
	File string // what the processes of its place have
	say  sync.Mutex
}

// Say prints a line: what a process says at once is known, also if it is killed then.
// With the first word "done" it says that something was acknowledged.
func (w *Worker) Say(words ...any) {
	line := fmt.Sprintln(words...)
	w.say.Lock()
	defer w.say.Unlock()
	_, _ = os.Stdout.WriteString(line)
}

// Until runs do until it succeeds or the context ends, which gives false.
func (w *Worker) Until(ctx context.Context, do func() error) bool {
	for ctx.Err() == nil {
		if do() == nil {
			return true
		}
		w.Say("again")
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	return false
}

// Work is the body of the test that is a process. It does nothing where the test was
// not started as one; else work runs until the standard input ends.
func Work(t *testing.T, work func(ctx context.Context, w *Worker)) {
	t.Helper()
	url := os.Getenv(envURL)
	if url == "" {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	work(ctx, &Worker{URL: url, Name: os.Getenv(envPlace), File: os.Getenv(envFile)})
}

// process represents one that was started.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	said  chan struct{} // closed when all of its lines are read
}

func (s *Side) start(t *testing.T, test string, place int) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^"+test+"$"), said: make(chan struct{})}
	name := fmt.Sprint("p", s.log.born())
	p.cmd.Env = append(os.Environ(), envURL+"="+s.work, envPlace+"="+name, envFile+"="+s.File(place))
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	go func() {
		defer close(p.said)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			s.log.add(lines.Text())
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends it at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.said
	_ = p.cmd.Wait()
}

// end lets all processes end by themselves.
func (s *Side) end(t *testing.T) {
	t.Helper()
	for _, p := range s.all {
		p.stdin.Close()
	}
	for _, p := range s.all {
		select {
		case <-p.said:
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("a process ended with %v: %q", err, s.log.last(20))
			}
		case <-time.After(expect.Patience):
			t.Errorf("a process does not end: %q", s.log.last(5))
		}
	}
}

// log describes what the processes of a side have said.
type log struct {
	mu        sync.Mutex
	lines     map[string][]string // by their first words
	all       int
	tail      []string
	processes int
}

func (l *log) add(line string) {
	word, rest, _ := strings.Cut(line, " ")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string][]string{}
	}
	l.all++
	if word != "again" {
		l.lines[word] = append(l.lines[word], rest)
	}
	l.tail = append(l.tail[max(0, len(l.tail)-30):], line)
}

func (l *log) born() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes++
	return l.processes
}

func (l *log) of(word string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines[word])
}

// count returns how often a word was said, "" for any.
func (l *log) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if word == "" {
		return l.all
	}
	return len(l.lines[word])
}

func (l *log) last(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.tail[max(0, len(l.tail)-n):])
}
