//go:build linux && !race

// The race detector multiplies memory: .ci/run runs this without it.

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// lean is the memory in MiB that a verb may have at any moment above that of the program at rest, whatever it moves: 64
// are promised, of which the program at rest has 26. As a part of this test program it has 30.
const lean = 64 - 26

// fillLarge makes keys of 1 KB, and one hash: together more than is promised.
func fillLarge(s *keywrighttest.Server, keys, fields int) {
	s.Do("CONFIG", "SET", "rdbcompression", "no") // else DUMP gives next to nothing of what repeats itself
	s.Do("DEBUG", "POPULATE", strconv.Itoa(keys), "key", "1000")
	for from := 0; from < fields; from += 10_000 {
		s.Do("EVAL", `for i = 0, 9999 do redis.call('HSET', 'big', 'field:' .. (ARGV[1] + i), string.rep('v', 40) .. i) end`,
			"0", strconv.Itoa(from))
	}
}

func init() { programs["measured"] = measured }

// measured runs a program, and writes the most memory that it had (KiB) into the file of the
// variable PEAK. It is a process of its own because a child is said to have had what its
// parent had before it: this one has little.
func measured() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // the exit code is passed on
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if err := os.WriteFile(os.Getenv("PEAK"), []byte(strconv.FormatInt(used, 10)), 0o600); err != nil {
		os.Exit(99)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// peakOf runs keywright and tells the most memory that it had, in MiB.
func peakOf(t *testing.T, dir, url string, args ...string) (mib int64, said string, code int) {
	t.Helper()
	file := filepath.Join(dir, "peak")
	_ = os.Remove(file) // of another run
	cmd := exec.Command("measured", append([]string{"keywright"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(bare(os.Environ()), "LC_ALL=C", "TMPDIR="+dir, "KEYWRIGHT_URL="+url, "PEAK="+file)
	var out bytes.Buffer
	both := &bounded{&out}
	cmd.Stdout, cmd.Stderr = both, both // one writer: one goroutine
	_ = cmd.Run()                       // the exit code is looked at
	return figure(t, file), out.String(), cmd.ProcessState.ExitCode()
}

// figure returns a figure of memory that a program has left, in MiB.
func figure(t *testing.T, file string) (mib int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	used, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || used == 0 {
		t.Fatalf("%q is no figure: %v", text, err)
	}
	return used >> 10
}

// TestWhatMovesTakesLittleMemory runs each verb that moves, compares or reads keys over more
// of them than it may hold, and looks at the most memory that it has ever had.
func TestWhatMovesTakesLittleMemory(t *testing.T) {
	gate.Skip(t, "30 programs over 60 MB")
	t.Parallel()
	keys, fields := 30_000, gate.Count(t, "KEYWRIGHT_FIELDS", 30_000, 30_000)
	if fields > keys {
		keys = 300_000
	}
	from, to := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey)
	fillLarge(from, keys, fields)
	dir := t.TempDir()
	declaration := "keywright: 1\nkeys:\n  key: {key: \"key:{n}\", type: string, ttl: 1h}\n  big: {key: big, type: hash, ttl: none}\n" +
		"cleanup:\n  - {match: \"key:*\", keep: 10}\n"
	if err := os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(declaration), 0o600); err != nil {
		t.Fatal(err)
	}
	save := func() {
		from.Await("rdb_bgsave_in_progress", "0")
		from.Do("SAVE")
		if err := os.Rename(filepath.Join(from.Dir, "dump.rdb"), filepath.Join(dir, "dump.rdb")); err != nil {
			t.Fatal(err)
		}
	}
	resting, _, _ := peakOf(t, dir, from.URL(), "version")
	t.Logf("at rest: %d MiB", resting)
	for _, c := range []struct {
		line   string
		before func()
		codes  string // that are no failure; "": 0
	}{
		{line: "backup --to a.kwa"},
		{line: "backup --to b.kwa --snapshot"},
		{line: "backup --to c.kwa dump.rdb", before: save},
		{line: "backup --to d.kwa --since a.kwa",
			before: func() { from.Do("SET", "key:1", "changed"); from.Do("DEL", "key:2") }},
		{line: "archive verify a.kwa"},
		{line: "archive ls a.kwa -o names"},
		{line: "archive diff a.kwa b.kwa"},
		{line: "archive diff a.kwa d.kwa", codes: "1"},
		{line: "archive export a.kwa --as jsonl --to x --replace-file"},
		{line: "archive export d.kwa --base a.kwa --as rdb --to x --replace-file"},
		{line: "archive export a.kwa --as commands --to x --replace-file"},
		{line: "verify d.kwa --base a.kwa"},
		{line: "verify dump.rdb b.kwa"},
		{line: "verify dump.rdb FROM --snapshot", codes: "1"},
		{line: "copy FROM TO --apply"},
		{line: "copy FROM TO --apply --snapshot --existing different"},
		{line: "verify FROM TO"},
		{line: "restore a.kwa d.kwa -u TO --existing different --apply"},
		{line: "restore a.kwa -u TO --existing replace --apply"},
		{line: "top a.kwa"},
		{line: "top dump.rdb"},
		{line: "audit a.kwa", codes: "1"},
		{line: "audit dump.rdb", codes: "1"},
		{line: "ls a.kwa -o jsonl"},
		{line: "ls dump.rdb -o jsonl"},
		{line: "infer a.kwa"},
		{line: "ls -o jsonl"},
		{line: "ttl -u TO --apply"},
		{line: "clean -u TO --apply"},
		{line: "delete --match * --apply"},
	} {
		if c.before != nil {
			c.before()
		}
		line := strings.NewReplacer("FROM", from.URL(), "TO", to.URL()).Replace(c.line)
		used, said, code := peakOf(t, dir, from.URL(), strings.Fields(line)...)
		t.Logf("%3d MiB  %s", used, c.line)
		if used > resting+lean {
			t.Errorf("%s: %d MiB, %d at most", c.line, used, resting+lean)
		}
		if code != 0 && c.codes != fmt.Sprint(code) {
			t.Errorf("%s: exit code %d: %s", c.line, code, said)
		}
	}
}
