package bbolt_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
	"github.com/keywright/keywright/internal/gate"
)

func TestMain(m *testing.M) {
	path, limit := os.Getenv("KEYWRIGHT_TEST_FILE"), os.Getenv("KEYWRIGHT_TEST_DISK")
	if path == "" {
		os.Exit(m.Run())
	}
	run := child
	if os.Getenv("KEYWRIGHT_TEST_URL") != "" {
		run = guarded
	}
	if cut := os.Getenv("KEYWRIGHT_TEST_CUT"); cut != "" {
		run, limit = faulted, cut
	}
	if err := run(path, limit); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// child returns what this test program is when another has started it.
func child(path, limit string) error {
	f, err := bbolt.Open(path, bbolt.Options{Wait: 10 * time.Second})
	if err != nil {
		return err
	}
	s, err := f.Store("notes", fallback.Limits{LogEntries: 1 << 20, LogBytes: 1 << 40})
	if err != nil {
		return err
	}
	if limit != "" {
		return fill(s)
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				e, err := write(s, fmt.Sprintf("%d-%d", w, n%7), 100)
				if err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println("acknowledged", e.Seq)
			}
		})
	}
	all.Wait()
	return nil
}

// write appends a write of an item.
func write(s fallback.Store, id string, size int) (fallback.Entry, error) {
	return s.Append(ctx, id, func(now fallback.Record, _ bool) (fallback.Entry, fallback.Record, error) {
		f := fallback.Fields{"text": strings.Repeat("x", size)}
		return fallback.Entry{ID: id, Change: fallback.Change{Fields: f}, At: time.Now()},
			fallback.Record{Fields: f, Pending: now.Pending + 1, AsOf: time.Now()}, nil
	})
}

// fill writes until the disk is full, first where the file would have to grow, then
// in the middle of what is to be written, and again when there is room.
func fill(s *bbolt.Store) error {
	stored := map[string]bool{}
	failures := 0
	for round, limit := range []uint64{1 << 20, 64 << 10, 1 << 40} {
		var was syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			return err
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE,
			&syscall.Rlimit{Cur: min(limit, was.Max), Max: was.Max}); err != nil {
			return err
		}
		for n := range 200 {
			id := fmt.Sprintf("%d-%d", round, n)
			_, err := write(s, id, 10_000)
			if stored[id] = err == nil; err != nil {
				failures++
				if !strings.Contains(err.Error(), syscall.EFBIG.Error()) {
					return fmt.Errorf("a full disk is %w", err)
				}
			}
		}
		if err := whole(s, stored); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	if failures < 100 || !stored["0-0"] || !stored["2-199"] {
		return fmt.Errorf("%d failures: this shows nothing", failures)
	}
	return nil
}

// whole reports what is not as it was confirmed or refused.
func whole(s *bbolt.Store, stored map[string]bool) error {
	entries, err := s.Next(ctx, 0, 10_000)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.ID] = true
	}
	for id, want := range stored {
		if _, known, err := s.Get(ctx, id); known != want || there[id] != want || err != nil {
			return fmt.Errorf("confirmed %v, and its record is there: %v, its entry: %v, %w", want, known, there[id], err)
		}
	}
	return nil
}

// start runs this test program as a child.
func start(t *testing.T, env ...string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func TestDiskFull(t *testing.T) {
	cmd, out := start(t, "KEYWRIGHT_TEST_FILE="+filepath.Join(t.TempDir(), "second"), "KEYWRIGHT_TEST_DISK=1")
	text, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// TestKills: a process that writes is killed, again and again; what was confirmed to it is
// stored is stored, whole, and with the record that belongs to it.
// KEYWRIGHT_KILLS=200 kills so often.
func TestKills(t *testing.T) {
	kills, r := gate.Count(t, "KEYWRIGHT_KILLS", 3, 20), gate.Rand(t)
	path := filepath.Join(t.TempDir(), "second")
	acknowledged := map[uint64]bool{}
	for range kills {
		for _, seq := range killed(t, path, 1+r.IntN(60)) {
			acknowledged[seq] = true
		}
		check(t, path, acknowledged)
	}
	if len(acknowledged) < kills {
		t.Errorf("%d writes in %d processes: this shows nothing", len(acknowledged), kills)
	}
	t.Logf("%d acknowledged writes, %d kills, none lost", len(acknowledged), kills)
}

// killed lets a child write until it has reported so many writes, and kills it.
func killed(t *testing.T, path string, writes int) (out []uint64) {
	t.Helper()
	cmd, stdout := start(t, "KEYWRIGHT_TEST_FILE="+path)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "acknowledged ")
		seq, err := strconv.ParseUint(text, 10, 64)
		if !ok || err != nil {
			break // the last line may be cut off
		}
		if out = append(out, seq); len(out) == writes {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return out
}

// check opens the file that a dead process has left.
func check(t *testing.T, path string, acknowledged map[uint64]bool) {
	t.Helper()
	f := file(t, path)
	s, err := f.Store("notes", fallback.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.Next(ctx, 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	stored, perItem := map[uint64]bool{}, map[string]int{}
	for _, e := range entries {
		stored[e.Seq] = true
		perItem[e.ID]++
	}
	for seq := range acknowledged {
		if !stored[seq] {
			t.Errorf("write %d was acknowledged and is lost", seq)
		}
	}
	for id, n := range perItem {
		if r, _, err := s.Get(ctx, id); err != nil || r.Pending != n {
			t.Errorf("%d writes of %s, and its record says %d, %v", n, id, r.Pending, err)
		}
	}
	stats, err := s.Stats(ctx)
	if err != nil || stats.Pending != len(entries) {
		t.Errorf("%d entries, counted %d, %v", len(entries), stats.Pending, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
