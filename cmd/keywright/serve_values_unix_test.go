//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestServeShowsValues: values are shown by `serve --show-values` alone; each look is in the log, and no value is in what
// the program says or keeps.
func TestServeShowsValues(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("SET", "user:7", "s3cret")
	dir := t.TempDir()
	declaration, plans := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "plans")
	if err := os.WriteFile(declaration, []byte("keywright: 1\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: none}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	look := func(url string) (code int, text string) {
		p := opened(t, url)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"api/v1/t/default/value",
			strings.NewReader(`{"key":{"text":"user:7"}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Keywright-CSRF", p.csrf)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "-v", "-f", declaration, "-u", s.URL(), "--plans", plans,
		"--store", filepath.Join(dir, "h.db")}
	for _, c := range []struct {
		flag, part string
		code       int
	}{{"--show-values=false", "--show-values", http.StatusForbidden}, {"--show-values", "s3cret", http.StatusOK}} {
		var said bytes.Buffer
		cmd := keywrightWith(t, &said, append(args, c.flag)...)
		code, text := look(urlOf(t, cmd, &said))
		if code != c.code || !strings.Contains(text, c.part) {
			t.Errorf("%s: %d: %s", c.flag, code, text)
		}
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		if strings.Contains(said.String(), "s3cret") {
			t.Error("the program says a value:", said.String())
		}
	}
	var noted struct {
		User, Action string
		Key          struct{ Text string }
	}
	text, err := os.ReadFile(filepath.Join(plans, "looks.log"))
	if err != nil || json.Unmarshal(text, &noted) != nil || noted.User != "local" || noted.Key.Text != "user:7" {
		t.Errorf("%v: %s", err, text)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kept, err := os.ReadFile(path)
		if bytes.Contains(kept, []byte("s3cret")) {
			t.Error(path, "has a value")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
