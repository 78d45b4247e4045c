package memory_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestHalfCopies: a machine copies its configuration once. A copy that fails, or whose process is
// killed, is made again at the next start, and one that the server has changed is kept.
func TestHalfCopies(t *testing.T) {
	t.Parallel()
	s := newSite(t, keywrighttest.Redis)
	all := []service{s.unit("harca-redis.service", "redis-1"), s.unit("harca-sentinel.service", "redis-1")}
	for _, v := range s.composed("compose.yaml") {
		if v.name != "harcad" {
			all = append(all, v)
		}
	}
	if len(all) != 7 {
		t.Fatalf("%d services copy", len(all))
	}
	for _, v := range all {
		v.copies(t, s)
	}
}

// copies runs the shell command of a service that copies, without the server that follows it.
func (v service) copies(t *testing.T, s *site) {
	t.Helper()
	words := v.commands[0]
	etc, data := filepath.Join(t.TempDir(), "etc"), t.TempDir()
	script, _, _ := strings.Cut(s.moved(v.host, etc, data).Replace(words[len(words)-1]), "&& exec ")
	name := "redis.conf"
	if strings.Contains(v.name, "sentinel") {
		name = "sentinel.conf"
	}
	run := func() error {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = data
		return cmd.Run()
	}
	file := filepath.Join(data, name)
	if err := run(); err == nil {
		t.Errorf("%s: it goes on without a configuration", v.name)
	}
	if _, err := os.Stat(file); err == nil {
		t.Errorf("%s: a copy that failed is used", v.name)
	}
	from, err := os.ReadFile(filepath.Join(s.dir, "etc", name))
	must(t, err)
	must(t, os.MkdirAll(etc, 0o700))
	must(t, os.WriteFile(filepath.Join(etc, name), from, 0o600))
	must(t, os.WriteFile(filepath.Join(data, "new.conf"), from[:len(from)/2], 0o600)) // killed meanwhile
	if err := run(); err != nil {
		t.Errorf("%s: %v", v.name, err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), string(from)) {
		t.Errorf("%s: the copy after a half one: %v\n%s", v.name, err, text)
	}
	must(t, os.WriteFile(file, []byte("changed"), 0o600))
	if err := run(); err != nil {
		t.Errorf("%s: %v", v.name, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "changed" {
		t.Errorf("%s: what the server has changed is %q, %v", v.name, text, err)
	}
}
