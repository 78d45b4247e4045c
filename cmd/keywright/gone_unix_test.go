//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestARestoreSaysThatItWaits: a restore whose server is gone says what it waits for, ends by itself, and says how it
// is gone on with. Run again it does the rest.
func TestARestoreSaysThatItWaits(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	dir := t.TempDir()
	declaration, file := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "all.kwa")
	text := "keywright: 1\nkeys:\n  page: {key: \"page:{n}\", type: string, ttl: none}\n"
	if err := os.WriteFile(declaration, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Do("EVAL", "for i = 1, 3000 do redis.call('SET', 'page:' .. i, i) end", "0")
	var said bytes.Buffer
	if err := keywrightWith(t, &said, "backup", "-f", declaration, "-u", s.URL(), "--to", file).Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	s.Do("FLUSHALL")
	said.Reset()
	cmd := keywrightWith(t, &said, "restore", file, "-f", declaration, "-u", s.URL(), "--apply", "--rate", "300",
		"--progress", "plain", "--timeout", "1s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, "a key is restored", func() bool { n, _ := s.Do("DBSIZE").(int64); return n > 10 })
	s.Stop()
	_ = cmd.Wait()
	out := said.String()
	for _, want := range []string{"waiting for " + s.Addr() + ", which has not answered for ", "the run ends after 6s",
		"INCOMPLETE: ", " has not answered for 6s", "what was restored is right; run it again to go on"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 5 || t.Failed() {
		t.Errorf("exit code %d: %s", code, out)
	}
	s.Continue()
	said.Reset()
	again := keywrightWith(t, &said, "restore", file, "-f", declaration, "-u", s.URL(), "--apply")
	expect.Eventually(t, "another process may act", func() bool {
		return s.Do("EXISTS",
			writelease.Key) == int64(0)
	})
	if err := again.Run(); err != nil || s.Do("DBSIZE").(int64) < 3000 {
		t.Errorf("%v, %s keys: %s", err, strconv.FormatInt(s.Do("DBSIZE").(int64), 10), said.String())
	}
}
