package entity

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// churn does something to one of a few items. Conflicts and faults are none of its
// business.
func churn(ctx context.Context, r *rand.Rand, notes *Store[string, note], ids int) error {
	id := fmt.Sprint(r.IntN(ids))
	n := a(fmt.Sprint("k", r.IntN(3)), 1+r.Int64N(3))
	var err error
	switch r.IntN(8) {
	case 0, 1:
		_, err = notes.Put(ctx, id, n, keywright.ExpiresIn(time.Duration(10+r.IntN(400))*time.Millisecond))
	case 2:
		_, err = notes.Create(ctx, id, n)
	case 3, 4:
		_, err = notes.Update(ctx, id, setKind.Set(n.Kind), setPriority.Set(n.Priority))
	case 5:
		_, err = notes.Delete(ctx, id)
	case 6:
		_, err = notes.Shorten(ctx, id, 5*time.Millisecond)
	case 7:
		err = notes.Touch(ctx, id, keywright.ExpiresIn(time.Minute))
	}
	return err
}

// crowd runs writers until done, and gives how many calls went through.
func crowd(t *testing.T, stores []*Store[string, note], writers, ids int, done func(more func())) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var through atomic.Int64
	for i := range writers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			for ctx.Err() == nil {
				if churn(t.Context(), r, stores[i%len(stores)], ids) == nil {
					through.Add(1)
				}
			}
		})
	}
	group.Go(func() { stores[0].Sweeper(ctx, SweepOptions{Every: 20 * time.Millisecond}, nil) })
	done(func() {
		enough := through.Load() + 20
		eventually(t, "calls go through", func() bool { return through.Load() >= enough })
	})
	cancel()
	group.Wait()
	return through.Load()
}

// later waits until the clock of the server with the index records is so much later.
func later(t *testing.T, notes *Store[string, note], d time.Duration) {
	t.Helper()
	began := int64(0)
	eventually(t, "time passes", func() bool {
		e, err := upkeep.BookOf(t.Context(), notes.core, "none")
		if err == nil && began == 0 {
			began = e.Now
		}
		return err == nil && e.Now > began+d.Milliseconds()
	})
}

// atRest: after every intent is due, one sweep leaves nothing.
func atRest(t *testing.T, notes *Store[string, note]) {
	t.Helper()
	later(t, notes, notes.core.Windows.Due)
	notes.core.Windows.Act = itemkeys.UsualWindows.Act // no other is at work: it may take its time
	eventually(t, "the sweep is free", func() bool {
		done, err := notes.Sweep(t.Context(), SweepOptions{})
		return err == nil && done.Busy == 0
	})
	sound(t, notes)
}

// near returns a prefix whose index records are in the first slots.
func near(slots uint16) string {
	for i := 0; ; i++ {
		if prefix := fmt.Sprint("p", i); slot.Of([]byte(prefix)) < slots {
			return prefix
		}
	}
}

// TestApartCrowd: 8 writers on few items, while slots with the index records and some of the
// items move to another server and back.
func TestApartCrowd(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		const moved = 60
		prefix := near(moved)
		stores := []*Store[string, note]{spread(t, c.URL(), prefix), spread(t, c.URL(), prefix)}
		for _, s := range stores {
			s.core.Windows = quick
		}
		n := crowd(t, stores, 8, 4, func(more func()) {
			c.MoveSlots(0, 1, moved)
			more()
		})
		if n == 0 {
			t.Error("no call went through")
		}
		atRest(t, stores[1])
		t.Logf("%d calls", n)
	})
}

// TestApartFailover: primaries hand over to their replicas under load.
func TestApartFailover(t *testing.T) {
	gate.Skip(t, "primaries hand over to their replicas, under load")
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 1)
	stores := []*Store[string, note]{spread(t, c.URL(), "n")}
	stores[0].core.Windows = quick
	n := crowd(t, stores, 4, 6, func(more func()) {
		for replica := 3; replica < 5; replica++ {
			more()
			c.Failover(replica)
		}
		more()
	})
	eventually(t, "the index records can be read", func() bool { _, err := stores[0].Stats(t.Context()); return err == nil })
	atRest(t, stores[0])
	t.Logf("%d calls", n)
}

// TestApartProcess is no test: it is a process that writes and sweeps until it is
// killed.
func TestApartProcess(t *testing.T) {
	url := os.Getenv("KEYWRIGHT_ENTITY_PROCESS")
	if url == "" {
		return
	}
	seed, _ := strconv.ParseUint(os.Getenv("KEYWRIGHT_ENTITY_SEED"), 10, 64)
	notes := spread(t, url, os.Getenv("KEYWRIGHT_ENTITY_PREFIX"))
	notes.core.Windows = quick
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	if os.Getenv("KEYWRIGHT_ENTITY_STOP") != "" {
		at(notes, "written", func() error {
			fmt.Println("stops")
			err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			later(t, notes, quick.Due) // this thread may go on for a moment
			return err
		})
		at(notes, "indexed", func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		_, _ = notes.Create(ctx, "stopped", a("x", 1))
		return
	}
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				_ = churn(ctx, r, notes, 5)
				fmt.Println("did")
			}
		})
	}
	notes.Sweeper(ctx, SweepOptions{Every: 20 * time.Millisecond, Lease: 50 * time.Millisecond}, nil)
	group.Wait()
}

// child represents a process of TestApartProcess.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func startChild(t *testing.T, url, prefix string, env ...string) *child {
	t.Helper()
	p := &child{cmd: exec.Command(os.Args[0], "-test.run=^TestApartProcess$")}
	p.cmd.Env = append(append(os.Environ(), "KEYWRIGHT_ENTITY_PROCESS="+url, "KEYWRIGHT_ENTITY_PREFIX="+prefix), env...)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.lines = bufio.NewScanner(out)
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	must(t, p.cmd.Start())
	return p
}

// waitLines waits until the client has received so many lines.
func (p *child) waitLines(n int) {
	for ; n > 0 && p.lines.Scan(); n-- {
	}
}

func (p *child) kill() {
	_ = p.cmd.Process.Kill()
	p.stdin.Close()
	_, _ = io.Copy(io.Discard, readerOf(p.lines))
	_ = p.cmd.Wait()
}

// readerOf lets a scanner be drained.
func readerOf(s *bufio.Scanner) io.Reader { return drain{s} }

type drain struct{ *bufio.Scanner }

// Read implements io.Reader.
func (d drain) Read([]byte) (int, error) {
	if d.Scan() {
		return 0, nil
	}
	return 0, io.EOF
}

// apartKills: processes that write and sweep are killed in the middle of it. When
// their intents are due, one sweep leaves 0 stale and 0 missing entries.
// KEYWRIGHT_KILLS makes it longer.
func apartKills(t *testing.T, c *keywrighttest.Cluster) {
	kills := gate.Count(t, "KEYWRIGHT_KILLS", 4, 12)
	notes := spread(t, c.URL(), "kills")
	notes.core.Windows = quick
	r := rand.New(rand.NewPCG(6, 6))
	all := make([]*child, 2)
	start := func(i, seed int) {
		all[i] = startChild(t, c.URL(), "kills", "KEYWRIGHT_ENTITY_SEED="+strconv.Itoa(seed))
	}
	for i := range all {
		start(i, i)
	}
	for k := range kills {
		victim := k % len(all)
		all[victim].waitLines(5 + r.IntN(60))
		all[victim].kill()
		if k+len(all) < kills {
			start(victim, 10+k)
		} else {
			all[victim] = nil
		}
	}
	for _, p := range all {
		if p != nil {
			p.kill()
		}
	}
	atRest(t, notes)
}

// apartStopped: a writer is stopped (SIGSTOP) past its intent, and goes on when
// the item is long gone.
func apartStopped(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "stopped")
	notes.core.Windows = quick
	p := startChild(t, c.URL(), "stopped", "KEYWRIGHT_ENTITY_STOP=1")
	p.waitLines(1)
	atRest(t, notes)
	did, err := notes.Delete(t.Context(), "stopped")
	if must(t, err); !did {
		t.Error("it was not there")
	}
	must(t, p.cmd.Process.Signal(syscall.SIGCONT))
	p.waitLines(1 << 30)
	_ = p.cmd.Wait()
	p.stdin.Close()
	if n := keysLeft(c, "stopped"); n == 0 {
		t.Error("the writer did not go on")
	}
	atRest(t, notes)
	if n := keysLeft(c, "stopped"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// lossyClient represents a client that loses replies: of those commands that lose says. With late
// they are executed when the test says so.
type lossyClient struct {
	rueidis.Client
	lose func() bool
	late chan func()
}

func (d *lossyClient) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	return d.DoMulti(ctx, command)[0]
}

func (d *lossyClient) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	if !d.lose() {
		return d.Client.DoMulti(ctx, commands...)
	}
	if d.late == nil {
		d.Client.DoMulti(ctx, commands...)
	} else {
		for i := range commands {
			commands[i] = commands[i].Pin()
		}
		d.late <- func() { d.Client.DoMulti(context.Background(), commands...) }
	}
	out := make([]rueidis.RedisResult, len(commands))
	for i := range out {
		out[i] = rueidis.NewErrorResult(io.EOF)
	}
	return out
}

func deafClient(t *testing.T, url string, d *lossyClient) *keywright.Client {
	return servertest.Open(t, url,
		keywright.Options{Backoff: time.Microsecond,
			Wrap: func(raw rueidis.Client) rueidis.Client { d.Client = raw; return d }})
}

// apartLostReplies: every fifth reply is lost, the commands are executed.
func apartLostReplies(t *testing.T, c *keywrighttest.Cluster) {
	var n atomic.Int64
	r := rand.New(rand.NewPCG(8, 8))
	notes := spreadOn(t, deafClient(t, c.URL(), &lossyClient{lose: func() bool { return n.Add(1)%5 == 0 }}), "lost")
	notes.core.Windows = quick
	for range 60 {
		_ = churn(t.Context(), r, notes, 3)
	}
	healthy := spread(t, c.URL(), "lost")
	healthy.core.Windows = quick
	atRest(t, healthy)
}

// apartLateCommand: a command to an index is lost on the way, sent again, and
// arrives when others have moved the item and all is done. Its intent is still open.
func apartLateCommand(t *testing.T, c *keywrighttest.Cluster) {
	var losing atomic.Bool
	d := &lossyClient{lose: func() bool { return losing.CompareAndSwap(true, false) }, late: make(chan func(), 1)}
	notes, healthy := spreadOn(t, deafClient(t, c.URL(), d), "latecomer"), spread(t, c.URL(), "latecomer")
	notes.core.Windows, healthy.core.Windows = quick, quick
	at(notes, "written", func() error { losing.Store(true); return nil })
	_, err := notes.Create(t.Context(), "1", a("x", 1))
	must(t, err)
	_, err = healthy.Update(t.Context(), "1", setKind.Set("y"))
	must(t, err)
	(<-d.late)()
	if checked := sound(t, healthy); checked.Expired == 0 {
		t.Error("nobody would find what the late command has done")
	}
	atRest(t, healthy)
}

// apartSkew: a server whose clock is far ahead takes nothing, and says why.
func apartSkew(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "skew")
	if _, err := notes.Create(t.Context(), "1", a("x", 1)); err != nil {
		t.Fatal(err)
	}
	notes.core.Windows.Act = -time.Hour
	_, err := notes.Create(t.Context(), "2", a("x", 1))
	if class, _ := keywright.ClassOf(err); class != keywright.NotApplied || !errors.Is(err, crossslot.ErrLate) {
		t.Errorf("create: %v", err)
	}
	if _, err = notes.Shorten(t.Context(), "1", time.Minute); !errors.Is(err, crossslot.ErrLate) {
		t.Errorf("shorten: %v", err)
	}
	notes.core.Windows = itemkeys.UsualWindows
	if checked := sound(t, notes); checked.Items != 1 || checked.Expired != 0 {
		t.Errorf("%+v", checked)
	}
}

// apartBlind: the read that follows when another was there fails again and again; the
// writer never acts on what it read before.
func apartBlind(t *testing.T, c *keywrighttest.Cluster) {
	var losing atomic.Int64
	d := &lossyClient{lose: func() bool { return losing.Add(-1) >= 0 }}
	notes, healthy := spreadOn(t, deafClient(t, c.URL(), d), "blind"), spread(t, c.URL(), "blind")
	notes.core.Windows, healthy.core.Windows = quick, quick
	at(notes, "written", func() error {
		_, err := healthy.Update(t.Context(), "1", setKind.Set("y"))
		return err
	})
	at(notes, "closed", func() error { losing.Store(20); return nil })
	_, err := notes.Create(t.Context(), "1", a("x", 1))
	losing.Store(0)
	if class, _ := keywright.ClassOf(err); err != nil && class != keywright.UnknownOutcome {
		t.Error(err)
	}
	atRest(t, healthy)
}
