package entity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// The environment of a process that writes.
const (
	writerURL  = "KEYWRIGHT_ENTITY_WRITER"
	writerSeed = "KEYWRIGHT_ENTITY_WRITER_SEED"
)

// TestWriterProcess is no test: it is a process that writes, and sweeps, until its
// standard input ends.
func TestWriterProcess(t *testing.T) {
	url := os.Getenv(writerURL)
	if url == "" {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	c, err := keywright.Open(ctx, url, keywright.Options{})
	for ; err != nil && ctx.Err() == nil; c, err = keywright.Open(ctx, url, keywright.Options{}) {
		<-time.After(time.Millisecond) // the server is away
	}
	must(t, err)
	defer c.Close()
	notes := storeOf(c, announcing("n"))
	var all sync.WaitGroup
	seed, _ := strconv.ParseUint(os.Getenv(writerSeed), 10, 64)
	for i := range uint64(4) {
		all.Go(func() {
			for r := rand.New(rand.NewPCG(seed, i)); ctx.Err() == nil; {
				scribble(ctx, r, notes)
			}
		})
	}
	all.Go(func() {
		notes.Sweeper(ctx, SweepOptions{Every: 5 * time.Millisecond, Lease: 30 * time.Millisecond, Batch: 7}, nil)
	})
	all.Wait()
}

// scribble is one write of one of few items; that it may fail is expected.
func scribble(ctx context.Context, r *rand.Rand, notes *Store[string, note]) {
	id := fmt.Sprint(r.IntN(12))
	v := a(fmt.Sprint("k", r.IntN(3)), int64(1+r.IntN(3)))
	options := []keywright.WriteOption{keywright.ExpiresIn(time.Duration(10+r.IntN(40)) * time.Millisecond)}
	if id == "0" || id == "1" {
		options = nil // these stay for an hour
	}
	switch r.IntN(8) {
	case 0, 1:
		_, _ = notes.Create(ctx, id, v, options...)
	case 2, 3:
		_, _ = notes.Put(ctx, id, v, options...)
	case 4:
		_, _ = notes.Update(ctx, id, setKind.Set(v.Kind), setPriority.Set(v.Priority))
	case 5:
		_, _ = notes.UpdateWith(ctx, id, options, setText.Set("x"))
	case 6:
		if item, err := notes.Get(ctx, id); err == nil {
			item.Value.Kind = v.Kind
			_, _ = notes.Save(ctx, item, options...)
		}
	default:
		_, _ = notes.Delete(ctx, id)
	}
}

type writingProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func startWriter(t *testing.T, url string, seed uint64) *writingProcess {
	t.Helper()
	w := &writingProcess{cmd: exec.Command(os.Args[0], "-test.run=^TestWriterProcess$")}
	w.cmd.Env = append(os.Environ(), writerURL+"="+url, fmt.Sprint(writerSeed, "=", seed))
	stdin, err := w.cmd.StdinPipe()
	must(t, err)
	w.stdin = stdin
	must(t, w.cmd.Start())
	return w
}

// history returns what must hold of the events of each item: it is made, changed, and
// ends once before it is made again, and its versions grow. It gives who lives.
func history(t *testing.T, s asked, stream string) (lives map[string]bool, ends int) {
	t.Helper()
	lives = map[string]bool{}
	versions := map[string]int64{}
	told := map[string][]string{}
	for _, e := range readLog(s, stream) {
		var data map[string]any
		d := json.NewDecoder(strings.NewReader(e.raw))
		d.UseNumber()
		if err := d.Decode(&data); err != nil {
			t.Fatalf("%s: %v", e.raw, err)
		}
		id := fmt.Sprint(data["id"])
		_, created := data["created"]
		_, deleted := data["deleted"]
		_, expired := data["expired"]
		told[id] = append(told[id], e.id+" "+e.raw)
		if created == lives[id] {
			t.Errorf("%s: %s, and that it lives is %v; before it:\n%s", e.id, e.raw, lives[id],
				strings.Join(told[id][max(0, len(told[id])-6):], "\n"))
		}
		lives[id] = !deleted && !expired
		if !lives[id] {
			ends++
		}
		number, _ := data["version"].(json.Number)
		if v, _ := number.Int64(); v > 0 && !deleted {
			if v <= versions[id] {
				t.Errorf("%s: %s behind version %d", e.id, e.raw, versions[id])
			}
			versions[id] = v
		}
	}
	return lives, ends
}

// TestRestart: a server that is killed forgets no expiry and tells of none twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand, keywrighttest.Config("appendonly", "yes"),
				keywrighttest.Config("appendfsync", "always"))
			notes := storeOf(open(t, s.URL()), announcing("n"))
			for i := range 4 {
				_, err := notes.Create(t.Context(), fmt.Sprint(i), a("k", 5))
				must(t, err)
			}
			expire(t, s, notes, "0")
			s.Kill()
			s.Restart()
			expire(t, s, notes, "1")
			for range 2 {
				_, err := notes.Sweep(t.Context(), SweepOptions{})
				must(t, err)
				s.Kill()
				s.Restart()
			}
			sound(t, notes)
			lives, ends := history(t, s, "n:log")
			if ends != 2 || lives["0"] || lives["1"] || !lives["2"] || !lives["3"] {
				t.Errorf("%d ends, %v", ends, lives)
			}
		})
	}
}
