//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestVerbsNameWhatIsMissing: a verb that cannot do without a command that the server has not says so before it does
// anything, with a way out; one that can does without it.
func TestVerbsNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	whole := keywrighttest.Start(t, keywrighttest.Redis)
	whole.Do("EVAL", "for i = 1, 300 do redis.call('SET', 'page:' .. i, i) end", "0")
	dir := t.TempDir()
	declaration, file := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "all.kwa")
	text := "keywright: 1\nkeys:\n  page: {key: \"page:{n}\", type: string, ttl: 1h}\n"
	if err := os.WriteFile(declaration, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := keywrightWith(t, &made, "backup", "-f", declaration, "-u", whole.URL(), "--to", file).Run(); err != nil {
		t.Fatalf("%v: %s", err, made.String())
	}
	for _, c := range []struct {
		without string
		line    string // U is the server without the command, W one with all
		code    int
		says    []string
	}{
		{"DUMP", "backup --to new.kwa -u U", 4, []string{"has no DUMP", "--snapshot"}},
		{"DUMP", "backup --to new.kwa -u U --snapshot", 0, []string{"Saved 300 keys"}},
		{"DUMP", "verify all.kwa U", 4, []string{"has no DUMP", "--snapshot"}},
		{"DUMP", "copy U W --apply", 4, []string{"has no DUMP", "--snapshot"}},
		{"RESTORE", "restore all.kwa -u U --apply", 4, []string{"has no RESTORE", "rename-command"}},
		{"RESTORE", "copy W U --apply", 4, []string{"has no RESTORE", "rename-command"}},
		{"EVAL", "restore all.kwa -u U --apply", 4, []string{"has no EVAL", "rename-command"}},
		{"EVAL", "copy W U --apply", 4, []string{"has no EVAL", "rename-command"}},
		{"EVAL", "ttl -u U --apply", 4, []string{"has no EVAL", "rename-command"}},
		{"MEMORY", "backup --to new.kwa -u U", 0, []string{"Saved 300 keys", "no MEMORY USAGE"}},
		{"MEMORY", "verify all.kwa U", 0, []string{"The same: 300 keys"}},
		{"MEMORY", "copy U W --existing different --apply", 0, []string{"nothing differs"}},
		{"OBJECT", "backup --to new.kwa -u U", 0, []string{"Saved 300 keys"}},
		{"OBJECT", "explain --key page:1 -u U", 1, []string{"encoding unknown"}},
	} {
		t.Run(c.without+"/"+c.line, func(t *testing.T) {
			s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("rename-command", c.without, ""))
			if c.without != "EVAL" {
				s.Do("EVAL", "for i = 1, 300 do redis.call('SET', 'page:' .. i, i) end", "0")
			} else {
				s.Do("SET", "page:1", "1")
			}
			before := s.Do("DBSIZE")
			var said bytes.Buffer
			args := strings.Fields(strings.NewReplacer("all.kwa", file, "new.kwa", filepath.Join(t.TempDir(), "new.kwa"), "U", s.URL(),
				"W", whole.URL()).Replace(c.line))
			cmd := keywrightWith(t, &said, append(args, "-f", declaration)...)
			_ = cmd.Run() // the exit code is looked at
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d", code)
			}
			for _, want := range c.says {
				if !strings.Contains(said.String(), want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() {
				t.Error(said.String())
			}
			if after := s.Do("DBSIZE"); c.code != 0 && after != before {
				t.Errorf("%v keys, not %v", after, before)
			}
		})
	}
}
