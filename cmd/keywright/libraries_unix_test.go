//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	source "github.com/keywright/keywright/source/server"
)

// libraryCode returns the code of a library with one function, which returns a number.
func libraryCode(name string, n int) string {
	return fmt.Sprintf("#!lua name=%s\nredis.register_function('%s_n', function() return %d end)", name, name, n)
}

// says fails unless a text has all words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// A backup has the libraries of functions of a server, and a restore loads them: what is there with another code is
// reported, and replaced only where that was asked for.
func TestLibrariesOfFunctions(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s, dir := keywrighttest.Start(t, brand, keywrighttest.Config("repl-diskless-sync-delay", "0")), t.TempDir()
		s.Do("FUNCTION", "LOAD", libraryCode("one", 1))
		s.Do("FUNCTION", "LOAD", libraryCode("two", 2))
		s.Do("SET", "key", "value")
		s.Do("SAVE")
		for name, from := range map[string][]string{"scan": {"-u", s.URL()}, "snapshot": {"--snapshot", "-u", s.URL()},
			"file": {filepath.Join(s.Dir, "dump.rdb")}} {
			text := ran(t, 0, dir, append([]string{"backup", "--to", name + ".kwa"}, from...)...)
			says(t, text, "libraries of functions: 2 (one, two)")
			for _, verb := range []string{"info", "verify", "ls"} {
				says(t, ran(t, 0, dir, "archive", verb, name+".kwa"), "libraries of functions: 2 (one, two)")
			}
		}
		says(t, ran(t, 0, dir, "backup", "--to", "some.kwa", "--match", "k*", "-u", s.URL()), "not all keys were asked for",
			"2 (one, two)")
		says(t, ran(t, 0, dir, "archive", "diff", "scan.kwa", "file.kwa"), "libraries of functions that are the same: 2")
		says(t, ran(t, 1, dir, "archive", "diff", "scan.kwa", "some.kwa"), "missing at B: libraries of functions: 2 (one, two)",
			"1 key are the same")

		to := keywrighttest.Start(t, brand)
		says(t, ran(t, 0, dir, "restore", "scan.kwa", "-u", to.URL(), "--plan", "one.plan"), "to load", "2 (one, two)")
		if n := to.Do("FUNCTION", "LIST"); len(n.([]any)) != 0 {
			t.Errorf("a plan has loaded %v", n)
		}
		says(t, ran(t, 0, dir, "apply", "one.plan", "-u", to.URL()), "loaded", "2 (one, two)")
		says(t, fmt.Sprint(to.Do("FCALL", "two_n", "0")), "2")
		ran(t, 0, dir, "verify", "scan.kwa", to.URL())
		says(t, ran(t, 0, dir, "restore", "file.kwa", "-u", to.URL(), "--apply"), "there with the same code")

		to.Do("FUNCTION", "LOAD", "REPLACE", libraryCode("one", 3))
		to.Do("FUNCTION", "LOAD", libraryCode("more", 3))
		says(t, ran(t, 1, dir, "verify", "scan.kwa", to.URL()), "with another code, or not at every shard: libraries of functions: 1 (one)",
			"at B only: libraries of functions: 1 (more)")
		ran(t, 0, dir, "verify", "scan.kwa", to.URL(), "--match", "k*")
		says(t, ran(t, 1, dir, "restore", "scan.kwa", "-u", to.URL(), "--apply"), "there with another code, and left")
		says(t, ran(t, 0, dir, "restore", "scan.kwa", "-u", to.URL(), "--apply", "--existing", "skip"),
			"there with another code, and left")
		says(t, fmt.Sprint(to.Do("FCALL", "one_n", "0")), "3")
		says(t, ran(t, 0, dir, "restore", "scan.kwa", "-u", to.URL(), "--match", "k*", "--apply", "--existing", "replace"),
			"were not asked for")
		says(t, fmt.Sprint(to.Do("FCALL", "one_n", "0")), "3")
		ran(t, 0, dir, "restore", "scan.kwa", "-u", to.URL(), "--plan", "two.plan", "--existing", "replace")
		to.Do("FUNCTION", "DELETE", "one")
		says(t, ran(t, 4, dir, "apply", "two.plan", "-u", to.URL()), `of the library of functions "one"`)
		to.Do("FUNCTION", "LOAD", libraryCode("one", 3))
		says(t, ran(t, 0, dir, "copy", s.URL(), to.URL(), "--existing", "different", "--apply"), "replaced", "1 (one)")
		says(t, fmt.Sprint(to.Do("FCALL", "one_n", "0")), "1")

		to.Do("FUNCTION", "FLUSH")
		to.Do("FUNCTION", "LOAD", strings.Replace(libraryCode("else", 7), "else_n", "two_n", 1))
		says(t, ran(t, 1, dir, "restore", "scan.kwa", "-u", to.URL(), "--apply"), "not loaded", "1 (two)", "already exists")
	}
}

// What is exported has the libraries of functions, or says that its form has none.
func TestLibrariesAreExported(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	s.Do("FUNCTION", "LOAD", libraryCode("one", 1))
	s.Do("SET", "key", "value")
	ran(t, 0, dir, "backup", "--to", "all.kwa", "-u", s.URL())
	says(t, ran(t, 1, dir, "archive", "export", "all.kwa", "--as", "rdb", "--for", "redis-6.2", "--to", "old.rdb"),
		"not exported", "1 (one)")
	says(t, ran(t, 0, dir, "archive", "export", "all.kwa", "--as", "jsonl"), `{"library":"one","engine":"lua","code":"#!lua name=one\n`)
	says(t, ran(t, 0, dir, "archive", "export", "all.kwa", "--as", "commands"), "FUNCTION\r\n$4\r\nLOAD\r\n$7\r\nREPLACE")
	if text := ran(t, 0, dir, "archive", "export", "all.kwa", "--as", "jsonl", "--match", "k*"); strings.Contains(text, "library") {
		t.Error(text)
	}
	ran(t, 0, dir, "archive", "export", "all.kwa", "--as", "rdb", "--to", "dump.rdb")
	ran(t, 0, dir, "verify", "dump.rdb", "all.kwa")
	text, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	must(t, err)
	s.Kill()
	must(t, os.WriteFile(filepath.Join(s.Dir, "dump.rdb"), text, 0o600))
	s.Restart()
	says(t, fmt.Sprint(s.Do("FCALL", "one_n", "0")), "1")
}

// Libraries are loaded at each primary of a cluster, and one that is not at all of them is reported.
func TestLibrariesOfACluster(t *testing.T) {
	t.Parallel()
	c, dir := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0), t.TempDir()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("FUNCTION", "LOAD", libraryCode("one", 1))
	ran(t, 0, dir, "backup", "--to", "all.kwa", "-u", s.URL())
	ran(t, 0, dir, "restore", "all.kwa", "-u", c.URL(), "--apply")
	for _, node := range c.Nodes {
		if n := node.Do("FUNCTION", "LIST"); len(n.([]any)) != 1 {
			t.Errorf("%v", n)
		}
	}
	ran(t, 0, dir, "verify", "all.kwa", c.URL())
	ran(t, 0, dir, "backup", "--to", "cluster.kwa", "-u", c.URL())
	c.Nodes[1].Do("FUNCTION", "FLUSH")
	says(t, ran(t, 1, dir, "verify", "all.kwa", c.URL()), "with another code, or not at every shard: libraries of functions: 1 (one)")
	says(t, ran(t, 0, dir, "backup", "--to", "part.kwa", "-u", c.URL()), "not at every shard: libraries of functions: 1 (one)")
	says(t, ran(t, 0, dir, "restore", "all.kwa", "-u", c.URL(), "--apply"), "loaded")
	ran(t, 0, dir, "verify", "all.kwa", c.URL())
	c.Nodes[1].Do("FUNCTION", "LOAD", "REPLACE", libraryCode("one", 2))
	says(t, ran(t, 5, dir, "backup", "--to", "other.kwa", "-u", c.URL()), `library "one": it has another code than at`)
}

// Users as acl print prints them read and load libraries. Where a user may not, it is reported, and the keys are saved
// or restored.
func TestLibrariesOutOfReach(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	s.Do("FUNCTION", "LOAD", libraryCode("one", 1))
	s.Do("SET", "key", "value")
	user := func(s *keywrighttest.Server, name string, rules string, less ...string) string {
		s.Do(append(append([]string{"ACL", "SETUSER", name, "nopass"}, strings.Fields(rules)...), less...)...)
		return strings.Replace(s.URL(), "://", "://"+name+":x@", 1)
	}
	ran(t, 0, dir, "backup", "--to", "all.kwa", "-u", user(s, "reader", source.ContentsACL()))
	less := user(s, "less", source.ContentsACL(), "-function|list")
	says(t, ran(t, 5, dir, "backup", "--to", "less.kwa", "-u", less, "-o", "json"), `"libraries-denied"`, "+function|list")
	says(t, ran(t, 5, dir, "verify", "all.kwa", less), "libraries of functions: 1 are not read", "+function|list")
	ran(t, 0, dir, "backup", "--to", "keys.kwa", "--match", "*", "-u", less)

	to := keywrighttest.Start(t, keywrighttest.Redis)
	says(t, ran(t, 5, dir, "restore", "all.kwa", "--apply", "-u", user(to, "less", apply.ACL(), "-function|load")),
		"not loaded", "1 (one)", "+function|load")
	says(t, fmt.Sprint(to.Do("GET", "key")), "value")
	says(t, ran(t, 0, dir, "restore", "all.kwa", "--apply", "-u", user(to, "writer", apply.ACL())), "loaded")
	s.Do("FUNCTION", "FLUSH")
	ran(t, 0, dir, "backup", "--to", "none.kwa", "-u", less)
}
