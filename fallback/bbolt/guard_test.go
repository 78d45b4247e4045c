package bbolt_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// tally represents an item that counts the writes to it, as its version does.
type tally struct {
	N       int64
	Version int64
}

var (
	tallyFields = value.Fields[tally]{Columns: []value.Column[tally]{
		value.Required("n", value.Int(0, 1<<62), func(t *tally) *int64 { return &t.N }),
		value.Required("version", value.Int(1, 1<<62), func(t *tally) *int64 { return &t.Version }),
	}}
	setN = entity.Field[tally, int64]{Name: "n", At: func(t *tally) *int64 { return &t.N }}
)

func tallies(url string) (*entity.Store[string, tally], *keywright.Client, error) {
	c, err := keywright.Open(ctx, url, keywright.Options{NoCache: true, Timeout: time.Second})
	if err != nil {
		return nil, nil, err
	}
	return entity.New(keywright.Binding{Client: c,
		Entry: &keywright.Entry{Name: "tally", Pattern: "{s}:tally:{id}", Type: "hash",
			TTL: keywright.TTL{Policy: keywright.Forever, Text: "none"}}}, &entity.Spec[string, tally]{
		Prefix: "{s}:tally:",
		Key:    func(id string) (string, error) { return "{s}:tally:" + id, nil },
		Parse:  func(key string) (string, bool) { return strings.CutPrefix(key, "{s}:tally:") },
		Fields: &tallyFields, Records: "{s}:tallies", Version: "version",
	}), c, nil
}

// workers says how many items are written at the same time, each by one goroutine.
const workers = 3

// guarded returns a child that counts up items under a guard until it is killed, and
// tells of every write that was done or accepted.
func guarded(path, _ string) error {
	f, err := bbolt.Open(path, bbolt.Options{Wait: 10 * time.Second})
	if err != nil {
		return err
	}
	second, err := f.Store("tallies", fallback.Limits{})
	if err != nil {
		return err
	}
	s, _, err := tallies(os.Getenv("KEYWRIGHT_TEST_URL"))
	if err != nil {
		return err
	}
	e, err := fallback.NewEntities(s, second,
		fallback.Options{Patience: 30 * time.Millisecond, WritePatience: 30 * time.Millisecond, Probe: 20 * time.Millisecond,
			Rate: 10_000})
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { count(e, fmt.Sprint(w)) })
	}
	all.Wait()
	return nil
}

// count counts an item up, and never ends.
func count(e *fallback.Entities[string, tally], id string) {
	n, version := look(e, id)
	fmt.Println("ready", id)
	for {
		r, err := e.Update(ctx, id, []entity.Change[tally]{setN.Set(n + 1)}, fallback.If(version))
		if err != nil { // a lost reply, or one too late: what is there?
			n, version = look(e, id)
			continue
		}
		n, version = n+1, r.Version
		fmt.Println("written", id, n, r.Pending)
	}
}

// look reads an item. On a slow machine the server may seem to be away before there
// is a copy.
func look(e *fallback.Entities[string, tally], id string) (n, version int64) {
	for {
		if a, err := e.Get(ctx, id); err == nil {
			return a.Value.Value.N, a.Version
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestGuardIsKilled: a process that writes while the server is cut off is killed,
// again and again, also while it replays. After all that each item has every write
// that was done or accepted, each of them once: its version has grown with it.
func TestGuardIsKilled(t *testing.T) {
	kills := gate.Count(t, "KEYWRIGHT_KILLS", 1, 10)
	server := keywrighttest.Start(t, keywrighttest.Redis)
	proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{})
	s, c, err := tallies(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var began [workers]int64
	for w := range workers {
		item, err := s.Create(ctx, fmt.Sprint(w), tally{})
		if err != nil {
			t.Fatal(err)
		}
		began[w] = item.Version
	}
	k := &killing{T: t, path: filepath.Join(t.TempDir(), "second"), proxy: proxy, random: gate.Rand(t)}
	for range kills {
		k.once()
	}
	k.replay("redis://" + server.Addr())
	for w := range workers {
		item, err := s.Get(ctx, fmt.Sprint(w))
		if err != nil {
			t.Fatal(err)
		}
		if item.Value.N < k.last[w] || item.Version != began[w]+item.Value.N {
			t.Errorf("item %d: %d, of which %d were confirmed; its version has grown by %d", w, item.Value.N, k.last[w],
				item.Version-began[w])
		}
	}
	if k.accepted < kills {
		t.Errorf("%d writes were accepted: this shows nothing", k.accepted)
	}
	t.Logf("%d kills, %v confirmed, %d of them accepted while the server was cut off", kills, k.last, k.accepted)
}

// killing describes what was confirmed so far.
type killing struct {
	*testing.T
	path     string
	proxy    *keywrighttest.Proxy
	random   *rand.Rand
	last     [workers]int64
	accepted int
}

// once starts a child, freezes its server when it has read its items, and kills it
// after so many lines, some of them while the server is back.
func (k *killing) once() {
	k.Helper()
	k.proxy.Thaw()
	cmd, out := start(k.T, "KEYWRIGHT_TEST_FILE="+k.path, "KEYWRIGHT_TEST_URL=redis://"+k.proxy.Addr())
	ready, accepted, behind, until := 0, 0, 0, 1+k.random.IntN(30)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var w int
		var n int64
		var pending bool
		text := lines.Text()
		switch _, err := fmt.Sscanf(text, "written %d %d %t", &w, &n, &pending); {
		case strings.HasPrefix(text, "ready"):
			if ready++; ready == workers {
				k.proxy.Freeze()
			}
		case err != nil:
		case pending:
			accepted++
			fallthrough
		default:
			k.last[w] = max(k.last[w], n)
		}
		if accepted >= until {
			k.proxy.Thaw()
			behind++
		}
		if behind == 1+until%7 { // while it replays, or soon after
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil {
		k.Fatal("the child ended by itself")
	}
	k.accepted += accepted
}

// replay lets the rest be applied, by this process.
func (k *killing) replay(url string) {
	k.Helper()
	f := file(k.T, k.path)
	second, err := f.Store("tallies", fallback.Limits{})
	if err != nil {
		k.Fatal(err)
	}
	s, c, err := tallies(url)
	if err != nil {
		k.Fatal(err)
	}
	defer c.Close()
	e, err := fallback.NewEntities(s, second, fallback.Options{Probe: 10 * time.Millisecond, Rate: 10_000})
	if err != nil {
		k.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if state, err := e.Guard().State(ctx); err != nil || time.Now().After(end) {
			k.Fatalf("%+v, %v", state, err)
		} else if state.Phase == fallback.Up {
			break
		}
	}
	conflicts, err := e.Guard().Conflicts(ctx)
	if err != nil || len(conflicts) > 0 {
		k.Errorf("%d conflicts, %v: %+v", len(conflicts), err, conflicts[:min(len(conflicts), 3)])
	}
	if err := e.Close(); err != nil {
		k.Fatal(err)
	}
	if err := f.Close(); err != nil {
		k.Fatal(err)
	}
}
