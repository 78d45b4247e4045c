package migrate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// The points at which a process can be killed: before and after each thing that it leaves.
var points = []string{"begin", "mark", "marked", "locked", "temp", "synced", "rename", "renamed", "folder",
	"ticket", "read", "pushed",
	"script", "answered", "taken", "raise", "raised", "closed", "drained", "opened", "undo", "taken over", "marks"}

// worker describes what a child process does: it writes until its input ends, and dies as it was
// told, by kill -9 from within.
type worker struct {
	name  string
	m     *migrate.Migration
	root  string
	part  string // whose phase is changed
	steps bool   // it also changes the phase
	r     *rand.Rand
	point string
	times int64
	calls atomic.Int64
	say   sync.Mutex
}

func child() {
	migrate.RewriteMarksAt(16)
	w := &worker{name: os.Getenv("MIGRATE_NAME"), root: os.Getenv("MIGRATE_ROOT"),
		steps: os.Getenv("MIGRATE_STEPS") != "", point: os.Getenv("MIGRATE_POINT")}
	w.times, _ = strconv.ParseInt(os.Getenv("MIGRATE_TIMES"), 10, 64)
	seed, _ := strconv.ParseUint(os.Getenv("MIGRATE_SEED"), 10, 64)
	w.r = rand.New(rand.NewPCG(seed, 1))
	ctx, stop := context.WithCancel(context.Background())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	if err := w.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, w.name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (w *worker) line(words ...any) {
	text := fmt.Sprintln(words...)
	w.say.Lock()
	defer w.say.Unlock()
	_, _ = os.Stdout.WriteString(text)
}

// at kills the process at its point; with no point at any, when it has been called often
// enough.
func (w *worker) at(point string) error {
	if w.times > 0 && (w.point == "" || w.point == point) && w.calls.Add(1) == w.times {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	}
	return nil
}

// wrote looks at the phase where a write has just been done, under its lock: the epoch of
// the write must be the one of now.
func (w *worker) wrote(side phase.Side, part string, epoch uint64, drain bool) {
	if side == phase.Redis {
		return // the script has compared
	}
	is, err := w.m.Phase(part)
	if err != nil || drain && (is.Intent == nil || is.Intent.Epoch != epoch) || !drain && is.Epoch != epoch {
		w.line("old", side, epoch, is.Epoch, err)
	}
}

func (w *worker) run(ctx context.Context) error {
	config := migrate.Config{Name: "test", Root: w.root, Lease: 400 * time.Millisecond, Wait: 2 * time.Second,
		Connect: func(ctx context.Context) (*keywright.Client, error) { // the server may be away just now
			return keywright.Open(ctx, os.Getenv("MIGRATE_URL"), keywright.Options{NoCache: true, Attempts: 2,
				Timeout: time.Second})
		}}
	docs, write := migrate.Documents(oneOfEach), w.write
	w.part = "a"
	if os.Getenv("MIGRATE_DECLARED") != "" {
		moves, err := killedMap()
		if err != nil {
			return err
		}
		config.Map, docs, write, w.part = moves, nil, w.writeDeclared, "p"
	}
	var err error
	if w.m, err = migrate.Open(ctx, migrate.Tracing(migrate.With(config, docs, w.at), w.wrote)); err != nil {
		return err
	}
	w.line("ready")
	for n := 1; ctx.Err() == nil; n++ {
		if w.steps && w.r.IntN(6) == 0 {
			w.change(ctx)
		}
		write(ctx, n)
	}
	return w.m.Close()
}

func (w *worker) write(ctx context.Context, n int) {
	value := w.name + "-" + strconv.Itoa(n)
	i := []record.ID{id("string:a:shared"), id("field:b:h", w.name), id("field:b:h", "shared"), id("list:a:l"),
		id("string:b:" + w.name), id("stream:b:s")}[w.r.IntN(6)]
	var err error
	w.line("try", i.Key+"|"+i.Sub, value)
	if w.r.IntN(8) == 0 {
		value = w.name + "-" + strconv.Itoa(n) + "-deleted"
		err = w.m.Delete(ctx, i)
	} else {
		err = w.m.Write(ctx, change(i, value))
	}
	w.ended(err, i, value)
	if w.r.IntN(4) == 0 {
		_, _ = w.m.Read(ctx, id("string:b:shared"))
	}
}

// ended says how a write has ended.
func (w *worker) ended(err error, i record.ID, value string) {
	class, known := keywright.ClassOf(err)
	switch {
	case err == nil:
		w.line("ack", i.Key+"|"+i.Sub, value)
	case !known:
		w.line("wrong", err)
	case class != keywright.NotApplied && class != keywright.UnknownOutcome && class != keywright.Refused:
		w.line("wrong", class, err)
	default:
		w.line("failed", class)
	}
}

func (w *worker) change(ctx context.Context) {
	is, err := w.m.Phase(w.part)
	if err != nil {
		return
	}
	to := is.Phase + 1
	if is.Phase == phase.RampDown || is.Phase > phase.DualWrite && w.r.IntN(2) == 0 {
		to = is.Phase - 1
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if c, err := w.m.Change(ctx, w.part, to, migrate.ChangeOptions{Force: true}); err == nil {
		w.line("changed", c.To)
	} else {
		w.line("unchanged")
	}
}

// crowd represents the processes of a test.
type crowd struct {
	t      *testing.T
	env    []string
	root   string
	url    string
	n      int
	mu     sync.Mutex
	lines  []string
	killed int
}

type running struct {
	cmd   *exec.Cmd
	stdin io.Closer
	name  string
	ready chan struct{}
	done  chan struct{} // all of its lines are read
}

func (c *crowd) start(point string, times int, steps bool) *running {
	c.t.Helper()
	c.n++
	r := &running{cmd: exec.Command(os.Args[0]), name: "p" + strconv.Itoa(c.n), ready: make(chan struct{}),
		done: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), "MIGRATE_ROOT="+c.root, "MIGRATE_URL="+c.url, "MIGRATE_NAME="+r.name,
		"MIGRATE_POINT="+point,
		"MIGRATE_TIMES="+strconv.Itoa(times), "MIGRATE_SEED="+strconv.Itoa(c.n))
	r.cmd.Env = append(r.cmd.Env, c.env...)
	if steps {
		r.cmd.Env = append(r.cmd.Env, "MIGRATE_STEPS=1")
	}
	r.cmd.Stderr = os.Stderr
	stdin, err1 := r.cmd.StdinPipe()
	stdout, err2 := r.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		c.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	r.stdin = stdin
	go c.listen(r, stdout)
	c.t.Cleanup(func() { _ = r.cmd.Process.Kill(); <-r.done; _ = r.cmd.Wait() })
	return r
}

func (c *crowd) listen(r *running, out io.Reader) {
	defer close(r.done)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if line == "ready" {
			close(r.ready)
		}
		c.mu.Lock()
		c.lines = append(c.lines, line)
		c.mu.Unlock()
	}
}

// ended waits until a process is dead.
func (c *crowd) ended(r *running) {
	select {
	case <-r.done:
	case <-time.After(expect.Patience):
		_ = r.cmd.Process.Kill()
		c.t.Fatalf("%s does not die at its point", r.name)
	}
	if err := r.cmd.Wait(); err != nil && strings.Contains(err.Error(), "killed") {
		c.killed++
	} else if err != nil {
		c.t.Errorf("%s: %v", r.name, err)
	}
}

// count returns how many lines begin with a word.
func (c *crowd) count(word string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if strings.HasPrefix(l, word+" ") || l == word {
			n++
		}
	}
	return n
}

// judge replays what is left and counts what is wrong: acknowledged writes that are lost,
// records that differ, writes by an old epoch.
func (c *crowd) judge(m *migrate.Migration) {
	c.t.Helper()
	eventually(c.t, func() error {
		_, left, err := m.Replay(c.t.Context())
		if f, e := m.Facts(c.t.Context(), "a"); err == nil && (e != nil || f.Marks > 0) {
			err = fmt.Errorf("%d marks are left, %v", f.Marks, e)
		}
		if is, e := m.Phase("a"); e != nil || is.Intent != nil {
			err = errors.Join(err, e, errors.New("the phase is being changed"))
		}
		return errors.Join(err, map[bool]error{true: errors.New("marks are left")}[left > 0])
	})
	is, err := m.Phase("a")
	if err != nil || is.Intent != nil {
		c.t.Fatalf("the phase is %+v, %v", is, err)
	}
	client := dial(c.t, c.url)
	acked, tried := map[string]map[string]int{}, map[string]map[string]int{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		words := strings.Fields(l)
		switch words[0] {
		case "old", "wrong":
			c.t.Error(l)
		case "try", "ack":
			of := map[string]map[string]map[string]int{"try": tried, "ack": acked}[words[0]]
			if of[words[1]] == nil {
				of[words[1]] = map[string]int{}
			}
			process, n := split(words[2])
			of[words[1]][process] = n
		}
	}
	for name, by := range tried {
		key, sub, _ := strings.Cut(name, "|")
		i := id(key, sub)
		file, stored := fileHas(c.root, i), redisHas(c.t, client, i)
		if phase.Of(is.Phase).Both() && !slices.Equal(file, stored) {
			c.t.Errorf("%s, %s: the file has %v, Redis %v", is.Phase, name, file, stored)
		}
		c.value(name, file, by, acked[name])
	}
}

// value is that of a write that was tried, and of none before the last one of its process
// that was acknowledged.
func (c *crowd) value(name string, has []string, tried, acked map[string]int) {
	if len(has) == 0 {
		return // deleted, which every process does
	}
	process, n := split(has[0])
	if n > tried[process] || n < acked[process] {
		c.t.Errorf("%s: %s, and the last acknowledged write of that process was %d, the last tried %d", name, has[0],
			acked[process], tried[process])
	}
}

func split(value string) (process string, n int) {
	words := strings.Split(value, "-")
	n, _ = strconv.Atoi(words[1])
	return words[0], n
}

// A process is killed at each point, one by one, while another works: none of the three
// rules is broken.
func TestKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := &crowd{t: t, root: t.TempDir(), url: server.URL()}
	// What a dead process has left is there for the next one that has to die over it.
	alone := func(do func(m *migrate.Migration)) {
		m, err := migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: c.root, Client: dial(t,
			c.url), Lease: 2 * time.Second}, oneOfEach, nil))
		if err != nil {
			t.Fatal(err)
		}
		do(m)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]phase.Phase{"taken": phase.Live, "script": phase.Live, "answered": phase.Live,
		"ticket": phase.Shadow, "read": phase.Shadow, "pushed": phase.Shadow}
	for _, point := range points {
		for times := range gate.Count(t, "KEYWRIGHT_TIMES", 1, 2) {
			start := phase.Shadow
			if p, ok := before[point]; ok {
				start = p
			}
			alone(func(m *migrate.Migration) { to(t, m, "a", start) })
			switch point {
			case "undo":
				c.ended(c.start("raised", 1, true))
			case "taken over":
				c.ended(c.start("renamed", 3, false))
			}
			if c.ended(c.start(point, 1+times*(map[bool]int{true: 0, false: 1}[point == "undo" || point == "taken over"]),
				true)); t.Failed() {
				t.Fatalf("at %q", point)
			}
		}
	}
	m := open(t, c.root, c.url, oneOfEach, nil)
	if c.killed < len(points) {
		t.Errorf("%d were killed at %d points", c.killed, len(points))
	}
	c.judge(m)
	t.Logf("%d kills, %d acknowledged writes, %d changes of phase", c.killed, c.count("ack"), c.count("changed"))
}

// Processes are killed at random while the phases go forward and back, and the server is
// killed, too.
func TestKills(t *testing.T) {
	t.Parallel()
	for _, processes := range gate.Pick(t, []int{2, 7}) {
		t.Run(strconv.Itoa(processes), func(t *testing.T) {
			t.Parallel()
			server := kt.Start(t, kt.Brands()[processes%2], kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
			c := &crowd{t: t, root: t.TempDir(), url: server.URL()}
			m := open(t, c.root, c.url, oneOfEach, nil)
			to(t, m, "a", phase.Shadow)
			r := gate.Rand(t)
			all := make([]*running, processes)
			for i := range all {
				all[i] = c.start("", 1+r.IntN(400), true)
			}
			for n := range gate.Count(t, "KEYWRIGHT_KILLS", 2, 6) {
				i := n % processes
				if n%5 == 3 {
					server.Kill()
					server.Restart()
				}
				c.ended(all[i])
				all[i] = c.start("", 1+r.IntN(400), true)
			}
			for _, p := range all {
				<-p.ready
				p.stdin.Close()
				c.ended(p)
			}
			c.judge(m)
			t.Logf("%d kills, %d acknowledged writes, %d changes of phase, %d not done", c.killed, c.count("ack"),
				c.count("changed"), c.count("failed"))
		})
	}
}
