package memory_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// process represents a harcad of its own.
type process struct {
	*client
	cmd *exec.Cmd
	log sitetest.Output
}

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m, "../harcad")) }

// harcad starts a process, and gives it when it answers.
func harcad(t *testing.T, url string, flags ...string) *process {
	t.Helper()
	p := &process{client: &client{t, ""}, cmd: exec.Command(sitetest.Program(t, "harcad"),
		append([]string{"-listen", "127.0.0.1:0", "-sweep", "20ms", "-sweep-lease", "500ms"}, flags...)...)}
	p.cmd.Env = append(os.Environ(), "HARCA_RING="+string(ringText()), "KEYWRIGHT_URL="+url)
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	p.url = "http://" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return p
}

// kill is kill -9. It may be called twice.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// stop asks it to end, and waits.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.cmd.Wait()
}

// processPool represents the processes that clients write through, and that are killed.
type processPool struct {
	t   *testing.T
	url string
	dir string

	mu   sync.Mutex
	all  []*process
	turn int
}

// next returns the processes in turn.
func (c *processPool) next() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	return c.all[c.turn%len(c.all)]
}

// replace kills one and starts another in its place, with its file.
func (c *processPool) replace(i int) {
	c.all[i].kill()
	fresh := harcad(c.t, c.url, "-backup", filepath.Join(c.dir, fmt.Sprint(i, ".db")))
	c.mu.Lock()
	c.all[i] = fresh
	c.mu.Unlock()
}

// TestKilled: three processes write and sweep, and are killed again and again.
// Afterwards every index holds exactly the items there are, what was confirmed is
// there, and what has expired was announced, once.
func TestKilled(t *testing.T) {
	gate.Skip(t, "kills programs")
	t.Parallel()
	s := protected(t, keywrighttest.Redis, keywrighttest.MovableClock())
	m, c := start(t, options(t, sitetest.URL(s, user)))
	var heard sync.Map
	stop, err := m.Subscribe(t.Context(), func(e memory.Event) {
		if e.Name == "item expired" {
			n, _ := heard.LoadOrStore(e.ID, new(int))
			*n.(*int)++
		}
	})
	must(t, err)
	defer stop()
	crew := &processPool{t: t, url: sitetest.URL(s, user), dir: t.TempDir()}
	for i := range 3 {
		crew.all = append(crew.all, harcad(t, sitetest.URL(s, user), "-backup",
			filepath.Join(crew.dir, fmt.Sprint(i, ".db"))))
	}
	writers := write(t, crew)
	for round := range 8 {
		more := writers.many() + 3
		eventually(t, "some more is written", func() bool { return writers.many() >= more })
		crew.replace(round % 3)
		if round%3 == 2 {
			s.MoveClock(time.Duration(round) * 2 * time.Minute) // items of low priority expire
		}
	}
	confirmed, gone := writers.end()
	for _, p := range crew.all {
		eventually(t, "nothing waits", func() bool {
			var h memory.Health
			_, _ = p.try("GET", "/health", "", "", &h)
			return h.Status == "healthy" && h.Pending == 0
		})
	}
	s.MoveClock(30 * time.Minute)
	eventually(t, "everything that has expired is swept", func() bool {
		return s.Do("ZCOUNT", "harca:memory:short:idx:expiry", "-inf",
			fmt.Sprint(time.Now().Add(30*time.Minute).UnixMilli())) == int64(0)
	})
	check(t, sitetest.URL(s, "test"))
	for _, id := range confirmed {
		if status, text := c.try("GET", "/items/"+id, "", "", nil); status != http.StatusOK {
			t.Errorf("a confirmed item of high priority: %d %s", status, text)
		}
	}
	for _, id := range gone {
		eventually(t, "an item that has expired is announced", func() bool { _, ok := heard.Load(id); return ok })
	}
	stop()
	heard.Range(func(id, n any) bool {
		if *n.(*int) != 1 {
			t.Errorf("%v expired %d times", id, *n.(*int))
		}
		return true
	})
	t.Logf("%d items live, %d have expired", len(confirmed), len(gone))
	for _, p := range crew.all {
		if err := p.stop(); err != nil {
			t.Errorf("a process that was asked to stop: %v\n%s", err, p.log.String())
		}
	}
}

// TestStops: a process that is asked to end does so while a client listens to
// events, and another one has connected and asked nothing.
func TestStops(t *testing.T) {
	gate.Skip(t, "runs a program")
	t.Parallel()
	p := harcad(t, sitetest.URL(protected(t, keywrighttest.Valkey), user))
	heard := p.events()
	heard.await(t, "item created", p.create("fact", memory.Global, 5))
	silent, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	must(t, err)
	defer silent.Close()
	if err := p.stop(); err != nil {
		t.Errorf("%v\n%s", err, p.log.String())
	}
}

// TestEventsGoOn: events are received for longer than a request may take.
func TestEventsGoOn(t *testing.T) {
	gate.Skip(t, "takes seconds, and runs a program")
	t.Parallel()
	const timeout = time.Second
	p := harcad(t, sitetest.URL(protected(t, keywrighttest.Redis), user), "-timeout", timeout.String())
	heard, began := p.events(), time.Now()
	for last := false; !last; {
		last = time.Since(began) > 3*timeout
		var made memory.Written
		eventually(t, "an item is made", func() bool { // a busy machine may need longer than the timeout
			status, _ := p.try("POST", "/items", `{"type":"fact","content":1}`, "", &made)
			return status == http.StatusCreated
		})
		heard.await(t, "item created", made.ID)
	}
}

// writers holds clients that create and change items until they are to end.
type writers struct {
	stop chan struct{}
	work sync.WaitGroup

	mu              sync.Mutex
	confirmed, gone []string // of high priority, of low priority
}

func write(t *testing.T, crew *processPool) *writers {
	w := &writers{stop: make(chan struct{})}
	for range 4 {
		w.work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-w.stop:
					return
				default:
					w.one(crew.next(), i)
				}
			}
		})
	}
	return w
}

// one creates an item, changes it and deletes some; its process may die at any
// moment.
func (w *writers) one(p *process, i int) {
	priority := 9 - i%2*8
	var made memory.Written
	if status, _ := p.try("POST", "/items", fmt.Sprintf(`{"type":"t%d","content":%d,"priority":%d}`, i%5, i, priority),
		"", &made); status != http.StatusCreated {
		return
	}
	status, _ := p.try("PATCH", "/items/"+made.ID, fmt.Sprintf(`{"type":"t%d"}`, i%3), fmt.Sprint(made.Version), nil)
	if i%4 == 0 || status == 0 {
		_, _ = p.try("DELETE", "/items/"+made.ID, "", "", nil)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if priority == 9 {
		w.confirmed = append(w.confirmed, made.ID)
	} else {
		w.gone = append(w.gone, made.ID)
	}
}

// many returns how many items were created.
func (w *writers) many() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.confirmed) + len(w.gone)
}

func (w *writers) end() (confirmed, gone []string) {
	close(w.stop)
	w.work.Wait()
	return w.confirmed, w.gone
}
