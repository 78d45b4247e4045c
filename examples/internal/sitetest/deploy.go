package sitetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// Unit describes what a file of systemd says.
type Unit struct {
	Run  []string // ExecStart: the program and its arguments
	Env  []string // Environment
	File string   // EnvironmentFile
}

// ReadUnit reads a unit of the folder deploy. instance is what comes after the @ of its name.
func ReadUnit(t testing.TB, name, instance string) (u Unit) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", name))
	Must(t, err)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "%i", instance)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ExecStart":
			u.Run = strings.Fields(value)
		case "Environment":
			u.Env = append(u.Env, value)
		case "EnvironmentFile":
			u.File = value
		}
	}
	if len(u.Run) == 0 || filepath.Dir(u.Run[0]) != "/usr/local/bin" {
		t.Fatalf("%s runs %v", name, u.Run)
	}
	return u
}

// Start runs the program of a unit. files are the environment files of the machine, and moved
// replaces what differs on this one.
func (u Unit) Start(t testing.TB, files map[string][]string, moved *strings.Replacer) *Process {
	t.Helper()
	env, known := files[u.File]
	if u.File != "" && !known {
		t.Fatalf("the unit reads %s", u.File)
	}
	var args []string
	for _, word := range u.Run[1:] {
		args = append(args, moved.Replace(word))
	}
	for _, e := range u.Env {
		env = append(slices.Clone(env), moved.Replace(e))
	}
	return Start(t, env, Program(t, filepath.Base(u.Run[0])), args...)
}

// Configuration returns deploy/redis.conf, but for where the server is and listens.
func Configuration(t testing.TB) (options []keywrighttest.Option) {
	t.Helper()
	text, err := os.ReadFile("deploy/redis.conf")
	Must(t, err)
	moved := []string{"port", "bind", "dir", "aclfile"}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" && !slices.Contains(moved, words[0]) {
			options = append(options, keywrighttest.Config(words...))
		}
	}
	return options
}

// DeployedUsers demands that deploy/users.acl has the default user off, and for each program
// what is printed for it, or writes it so.
func DeployedUsers(t *testing.T, want string, update bool) {
	t.Helper()
	if update {
		Must(t, os.WriteFile("deploy/users.acl", []byte(want), 0o644))
		return
	}
	if Deployed(t) != want {
		t.Error("deploy/users.acl is not what `keywright acl print` prints now: KEYWRIGHT_UPDATE=1 writes it")
	}
}

// Deployed returns deploy/users.acl.
func Deployed(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("deploy/users.acl")
	Must(t, err)
	return string(text)
}

// Survives restarts a server and demands that all is there that lives for more than a minute.
func Survives(t testing.TB, s *keywrighttest.Server) {
	t.Helper()
	var keys []string
	for _, key := range s.Do("SCAN", "0", "COUNT", "100000").([]any)[1].([]any) {
		if left := s.Do("PTTL", key.(string)).(int64); left < 0 || left > 60_000 {
			keys = append(keys, key.(string))
		}
	}
	// With appendfsync everysec, a server whose disk is busy answers before it has written, up to two seconds.
	s.Await("aof_buffer_length", "0")
	s.Restart()
	for _, key := range keys {
		if s.Do("EXISTS", key) != int64(1) {
			t.Errorf("a restart has lost %s", key)
		}
	}
	if len(keys) == 0 {
		t.Error("nothing was there")
	}
}
