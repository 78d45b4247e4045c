//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// printedKeyspace declares sessions; what else begins with s: belongs to the program, too.
const printedKeyspace = `keywright: 1
package: shop
owner: o
owns: ["s:*"]
keys:
  session: {doc: d, key: "s:{id}", type: string, value: text, ttl: 1h}
`

// TestAPrintedCommandWorks: the command that a plan prints executes it, as it is printed: with the declaration and the
// server that the plan was made with.
func TestAPrintedCommandWorks(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, gate.Pick(t, keywrighttest.Brands())[0])
	other := keywrighttest.Start(t, gate.Pick(t, keywrighttest.Brands())[0])
	dir := t.TempDir()
	declared := filepath.Join(dir, "a declaration.yaml")
	if err := os.WriteFile(declared, []byte(printedKeyspace), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Do("SET", "s:1", "x")
	s.Do("SET", "s:nobody:declares", "x")
	at := "redis://" + s.Addr() + "/0" // without a password, which a printed command does not have
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := keywrightWith(t, &out, args...).Run(); err != nil {
			t.Fatalf("keywright %s: %v\n%s", strings.Join(args, " "), err, &out)
		}
		return out.String()
	}
	run("backup", "-u", at, "-f", declared, "--to", filepath.Join(dir, "all.kwa"))
	for _, args := range [][]string{
		{"ttl", "-u", at, "-f", declared, "--rate", "1000"},
		{"delete", "--undeclared", "-u", at, "--file=" + declared},
		{"rename", "--map", "s:{id}=t:{id}", "-u" + at, "-f", declared, "--progress", "none"},
		{"restore", filepath.Join(dir, "all.kwa"), "-u", "redis://" + other.Addr(), "-f", declared},
		{"copy", at, "redis://" + other.Addr(), "--existing", "replace", "-f", declared},
	} {
		file := filepath.Join(dir, "the plan of "+args[0])
		said := run(append(args, "--plan", file)...)
		found := regexp.MustCompile("`(keywright apply .*)`").FindStringSubmatch(said)
		if found == nil {
			t.Fatalf("no command is printed:\n%s", said)
		}
		if first, _, _ := strings.Cut(said, "\n"); !strings.Contains(first, s.Addr()) && !strings.Contains(first, other.Addr()) ||
			!strings.Contains(first, "database") || !strings.Contains(first, declared) {
			t.Errorf("%s begins with %q, and not with the server, the databases and the declaration", args[0], first)
		}
		if out, err := exec.Command("sh", "-c", found[1]).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", found[1], err, out)
		}
	}
	if n := s.Do("EXISTS", "s:nobody:declares"); n != int64(0) {
		t.Errorf("what nothing declares is still there: %v", n)
	}
}
