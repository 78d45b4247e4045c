package replay_test

import (
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/replay"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// folder returns the manifest of an append-only folder: a base with one key, and an increment that changes it and adds
// another one.
func folder(t *testing.T) string {
	t.Helper()
	brand := gate.Pick(t, keywrighttest.Brands())[0]
	s := keywrighttest.Start(t, brand, keywrighttest.Config("appendonly", "yes"), keywrighttest.Config("appendfsync", "always"))
	s.Do("SET", "a", "old")
	s.Do("BGREWRITEAOF")
	s.Await("aof_rewrite_in_progress", "0")
	s.Do("SET", "a", "new")
	s.Do("SELECT", "3")
	s.Do("SET", "b", "x")
	s.Kill()
	found, err := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", "*.manifest"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	return found[0]
}

// sums returns what is in the files of a folder.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	files, err := os.ReadDir(dir)
	expect.NoError(t, err)
	for _, f := range files {
		out[f.Name()] = sha256.Sum256([]byte(expect.Text(t, filepath.Join(dir, f.Name()))))
	}
	return out
}

// TestStart: a throw-away server has what the commands have changed; the original is as it was, and nothing is left.
func TestStart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	manifest := folder(t)
	before := sums(t, filepath.Dir(manifest))
	s, err := replay.Start(t.Context(), manifest)
	expect.NoError(t, err)
	socket := strings.TrimPrefix(s.URL(), "unix://")
	out, err := exec.Command("redis-cli", "-s", socket, "GET", "a").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "new" {
		t.Errorf("%v: %s", err, out)
	}
	s.Close()
	s.Close()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "keywright-replay*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	after := sums(t, filepath.Dir(manifest))
	for name, sum := range before {
		if after[name] != sum || len(after) != len(before) {
			t.Errorf("%s is another file than before", name)
		}
	}
}

// TestRefused: a folder that no server loads is an error with what each of them said, and nothing is left.
func TestRefused(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	manifest := folder(t)
	for name := range sums(t, filepath.Dir(manifest)) {
		if strings.HasSuffix(name, ".rdb") {
			expect.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(manifest), name), []byte("REDIS0099\xff"), 0o600))
		}
	}
	_, err := replay.Start(t.Context(), manifest)
	if err == nil || !strings.Contains(err.Error(), "valkey-server: ") || !strings.Contains(err.Error(), "redis-server: ") {
		t.Errorf("%v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if s, err := replay.Start(ended, manifest); err == nil {
		s.Close()
		t.Error("it started though its context had ended")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := replay.Start(t.Context(), manifest); err == nil || !strings.Contains(err.Error(), "redis-server is not in PATH") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "keywright-replay*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
