package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAppendOnlyFolder: of an append-only folder the snapshot alone is not the whole, whichever way it is named; with
// --replay all of it is read.
func TestAppendOnlyFolder(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"),
		keywrighttest.Config("appendfsync", "always"))
	s.Do("SET", "a:1", "x")
	s.Do("BGREWRITEAOF")
	s.Await("aof_rewrite_in_progress", "0")
	folder, file := filepath.Join(s.Dir, "appendonlydir"), filepath.Join(t.TempDir(), "keyspace.yaml")
	expect.NoError(t, os.WriteFile(file, []byte("keywright: 1\npackage: p\nowner: o\nkeys:\n"+
		"  a: {key: \"a:{n}\", type: string, ttl: none}\n"), 0o600))
	bases, err := filepath.Glob(filepath.Join(folder, "*.base.rdb"))
	if err != nil || len(bases) != 1 {
		t.Fatalf("%q, %v", bases, err)
	}
	alone := filepath.Join(t.TempDir(), filepath.Base(bases[0]))
	text, err := os.ReadFile(bases[0])
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(alone, text, 0o600))
	run := func(args ...string) (code int, out, errs string) {
		var o, e strings.Builder
		code = Main(t.Context(), append(args, "-f", file), cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e,
			Getenv: func(string) string { return "" }})
		return code, o.String(), e.String()
	}
	if code, out, errs := run("audit", folder); code != 0 || !strings.Contains(out, "Clean: 1 key") {
		t.Errorf("without commands: %d, %s%s", code, out, errs)
	}
	s.Do("SET", "a:2", "x")
	s.Do("SET", "a:3", "x")
	s.Kill()
	const commands = "commands after the snapshot in its append-only folder: 2, files: 1"
	for _, at := range []string{folder, s.Dir, bases[0]} {
		if code, _, errs := run("audit", at); code != cli.ExitPartial || !strings.Contains(errs, commands) ||
			!strings.Contains(errs, "hint: --replay") {
			t.Errorf("%s: %d, %s", at, code, errs)
		}
		if code, out, errs := run("audit", at, "--replay"); code != 0 || !strings.Contains(out, "Clean: 3 keys") ||
			!strings.Contains(out, " at "+at) || !strings.Contains(out,
			"has loaded a copy of the folder, commands: 2, files: 1") {
			t.Errorf("%s, replayed: %d, %s%s", at, code, out, errs)
		}
	}
	if code, _, errs := run("audit", alone); code != cli.ExitPartial || !strings.Contains(errs,
		"base of an append-only folder") {
		t.Errorf("a base alone: %d, %s", code, errs)
	}
	if code, _, errs := run("audit", alone, "--replay"); code == 0 || !strings.Contains(errs, "no append-only folder") {
		t.Errorf("a base alone, replayed: %d, %s", code, errs)
	}
	other := keywrighttest.Start(t, keywrighttest.Redis)
	for _, name := range []string{"a:1", "a:2", "a:3"} {
		other.Do("SET", name, "x")
	}
	if code, out, errs := run("verify", folder, other.URL()); code == 0 || !strings.Contains(out+errs, commands) {
		t.Errorf("verify: %d, %s%s", code, out, errs)
	}
	if code, out, errs := run("verify", folder, "-u", other.URL(), "--replay"); code != 0 || !strings.Contains(out,
		"The same: 3 keys") ||
		!strings.Contains(out, "has loaded a copy of the folder") {
		t.Errorf("verify, replayed: %d, %s%s", code, out, errs)
	}
	last, err := filepath.Glob(filepath.Join(folder, "*.incr.aof"))
	expect.NoError(t, err)
	whole, err := os.ReadFile(last[len(last)-1])
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(last[len(last)-1], whole[:len(whole)-3], 0o600))
	if code, out, errs := run("audit", folder, "--replay"); code != 0 || !strings.Contains(out, "Clean: 2 keys") ||
		!strings.Contains(out, "ends in the middle of a command, which is left out") {
		t.Errorf("cut, replayed: %d, %s%s", code, out, errs)
	}
	expect.NoError(t, os.WriteFile(last[len(last)-1], whole, 0o600))
	archive := filepath.Join(t.TempDir(), "a.kwa")
	if code, _, errs := run("backup", folder, "--to", archive); code != cli.ExitPartial || !strings.Contains(errs,
		commands) {
		t.Errorf("backup: %d, %s", code, errs)
	}
	if code, out, errs := run("backup", folder, "--replay", "--to", archive+"2"); code != 0 ||
		!strings.Contains(out, "Saved 3 keys") {
		t.Errorf("backup, replayed: %d, %s%s", code, out, errs)
	}
}
