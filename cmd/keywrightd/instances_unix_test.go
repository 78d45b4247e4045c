//go:build unix

package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// programs builds keywright and keywrightd into one folder.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "keywright-programs"); err != nil {
		return "", err
	}
	folder = dir
	text, err := exec.Command("go", "build", "-o", dir, ".", "../keywright").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return dir, nil
})

// folder is the folder of the programs; "": none are built.
var folder string

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// said describes what a program writes, while it runs.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// instance starts keywright serve over a store, and gives its address.
func instance(t *testing.T, dir, server, store string) (*exec.Cmd, string) {
	t.Helper()
	var errors said
	cmd := exec.Command(filepath.Join(dir, "keywright"), "serve", "--listen", "127.0.0.1:0", "-u", server, "--store",
		store, "--audit-every", "10s")
	cmd.Dir, cmd.Stderr = t.TempDir(), &errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v, %s", err, errors.String())
	}
	return cmd, strings.TrimSpace(url)
}

// pointsAt returns the times of the points that an instance shows; nil: it shows none yet.
func pointsAt(t *testing.T, url string) []float64 {
	t.Helper()
	r, err := http.Get(url + "api/v1/t/default/history?metric=keys")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct {
		Series []struct{ Points [][]float64 }
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(text, &answer) != nil || r.StatusCode != http.StatusOK || len(answer.Series) == 0 {
		return nil
	}
	var out []float64
	for _, p := range answer.Series[0].Points {
		out = append(out, p[0])
	}
	return out
}

var until = expect.Eventually

// TestInstancesShareAHistory: two instances of keywright serve have one PostgreSQL. Each shows the points of both. One
// is killed, its keywrightd ends, and the other goes on: no point that was there is lost, and none is there twice. A
// keywrightd that is killed is started again. A server of its own has figures of its own.
func TestInstancesShareAHistory(t *testing.T) {
	t.Parallel()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	p := startPostgres(t)
	store, db := p.fresh(t), p.open(t)
	schema := fmt.Sprintf("s%d", p.n.Load())
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "user:1", "x")
	first, at1 := instance(t, dir, s.URL(), store)
	_, at2 := instance(t, dir, s.URL(), store)
	until(t, "both show the points of both",
		func() bool { return len(pointsAt(t, at1)) >= 2 && len(pointsAt(t, at2)) >= 2 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	before := pointsAt(t, at2)
	sessions := "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keywrightd'"
	until(t, "points come after the kill", func() bool { return len(pointsAt(t, at2)) > len(before) })
	after := pointsAt(t, at2)
	for i, at := range before {
		if after[i] != at {
			t.Errorf("point %d was of %f, and is of %f", i, at, after[i])
		}
	}
	if n := one(t, db, "SELECT count(*) FROM "+schema+".keywright_history_target"); n != 1 {
		t.Errorf("%d targets, of one server", n)
	}
	// The database ends each session, and keywrightd is started again where it is killed.
	if one(t, db, sessions) == 0 {
		t.Error("no session of keywrightd")
	}
	killDaemons(t, dir)
	n := len(after)
	until(t, "points come after keywrightd was killed", func() bool { return len(pointsAt(t, at2)) > n })
	other := keywrighttest.Start(t, keywrighttest.Redis)
	_, at3 := instance(t, dir, other.URL(), store)
	until(t, "the other server has points", func() bool { return len(pointsAt(t, at3)) > 0 })
	if n := one(t, db, "SELECT count(*) FROM "+schema+".keywright_history_target"); n != 2 {
		t.Errorf("%d targets, of two servers", n)
	}
	doubled(t, db, schema)
	rising(t, pointsAt(t, at2))
}

// killDaemons kills every keywrightd of a folder of programs.
func killDaemons(t *testing.T, dir string) {
	t.Helper()
	killed := 0
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range all {
		if path, err := os.Readlink(link); err != nil || path != filepath.Join(dir, "keywrightd") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/exe", &pid); err != nil {
			t.Fatal(err)
		}
		if process, err := os.FindProcess(pid); err == nil && process.Kill() == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no keywrightd runs")
	}
}

// doubled: the tables have one chunk of each entry and time.
func doubled(t *testing.T, db *sql.DB, schema string) {
	t.Helper()
	if n := one(t, db,
		"SELECT count(*) FROM (SELECT 1 FROM "+schema+
			".keywright_history_chunk GROUP BY step, begins, target, entry HAVING count(*) > 1) d"); n != 0 {
		t.Errorf("%d chunks are there twice", n)
	}
}

// rising: each time is there once.
func rising(t *testing.T, shown []float64) {
	t.Helper()
	for i := 1; i < len(shown); i++ {
		if shown[i] <= shown[i-1] {
			t.Errorf("point %d is not after the one before it", i)
		}
	}
}

// TestSQLiteStore: keywright serve keeps its figures in SQLite, and has them when it is started again. Without
// keywrightd it says what to install.
func TestSQLiteStore(t *testing.T) {
	t.Parallel()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "user:1", "x")
	store := "sqlite:" + filepath.Join(t.TempDir(), "history.db")
	cmd, at := instance(t, dir, s.URL(), store)
	until(t, "there is a point", func() bool { return len(pointsAt(t, at)) > 0 })
	before := pointsAt(t, at)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	_, at = instance(t, dir, s.URL(), store)
	until(t, "there is one point more", func() bool { return len(pointsAt(t, at)) > len(before) })
	if after := pointsAt(t, at); after[0] != before[0] {
		t.Errorf("the first point was of %f, and is of %f", before[0], after[0])
	}
	if info, err := os.Stat(strings.TrimPrefix(store, "sqlite:")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}

	alone := filepath.Join(t.TempDir(), "keywright")
	text, err := os.ReadFile(filepath.Join(dir, "keywright"))
	if err == nil {
		err = os.WriteFile(alone, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		program, store, want string
	}{
		{alone, store, "go install github.com/keywright/keywright/cmd/keywrightd@latest"},
		{filepath.Join(dir, "keywright"), "postgres://u:secret@127.0.0.1:1/x", "whether the database answers"},
		{filepath.Join(dir, "keywright"), "sqlite:" + filepath.Join(t.TempDir(), "no", "h.db"), "no such file"},
	} {
		cmd := exec.Command(one.program, "serve", "--listen", "127.0.0.1:0", "-u", s.URL(), "--store", one.store)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PATH="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), one.want) ||
			strings.Contains(string(out), "secret") {
			t.Errorf("%s: %v: %s", one.store, err, out)
		}
	}
}
