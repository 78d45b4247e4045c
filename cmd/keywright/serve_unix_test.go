//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestServe: a server and its snapshot are shown under the address that is printed, the page,
// the figures and the metrics; an interrupt ends the program; what has users at no address but
// this machine's is refused.
func TestServe(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("EVAL", "for i = 1, 500 do redis.call('SET', 'user:' .. i, i, 'EX', 900) end", "0")
	s.Do("SET", "stray", "x")
	s.Do("SAVE")
	dir := t.TempDir()
	declaration := filepath.Join(dir, "keyspace.yaml")
	text := "keywright: 1\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: 1h}\n"
	if err := os.WriteFile(declaration, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string][]string{
		"server":   {"-u", s.URL(), "--store", filepath.Join(dir, "history.db")},
		"snapshot": {filepath.Join(s.Dir, "dump.rdb")},
	} {
		t.Run(name, func(t *testing.T) {
			url, stop := serving(t, append([]string{"-f", declaration}, source...)...)
			if page, kind := get(t, url, http.StatusOK); !strings.HasPrefix(kind, "text/html") ||
				!strings.Contains(page, "<script") {
				t.Errorf("the page is %s: %s", kind, page)
			}
			var target struct {
				ID    string
				State string
				Keys  *int64
			}
			changing(t, url, func() bool {
				var all struct{ Items []json.RawMessage }
				text, _ := get(t, url+"api/v1/targets", http.StatusOK)
				if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Items) != 1 {
					t.Fatalf("%v: %s", err, text)
				}
				if err := json.Unmarshal(all.Items[0], &target); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				return target.Keys != nil && *target.Keys > 0
			})
			if *target.Keys != 501 {
				t.Errorf("%d keys of 501", *target.Keys)
			}
			if text, _ := get(t, url+"api/v1/t/"+target.ID+"/overview", http.StatusOK); !strings.Contains(text, `"user"`) {
				t.Errorf("no entry user: %s", text)
			}
			if text, _ := get(t, url+"metrics", http.StatusOK); !strings.Contains(text, `entry="user"`) {
				t.Errorf("no metrics of user: %s", text)
			}
			get(t, url+"readyz", http.StatusOK)
			get(t, url+"api/v1/nothing", http.StatusNotFound)
			stop()
		})
	}
	for _, args := range [][]string{{"--listen", "0.0.0.0:0"}, {"--listen", "nowhere"}, {"--audit-every", "1s"}} {
		var said bytes.Buffer
		cmd := keywrightWith(t, &said,
			append([]string{"serve", "-f", declaration, "-u", s.URL(), "--store", "none"}, args...)...)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%v: %v, %s", args, err, said.String())
		}
	}
}

// serving starts the program, and gives the address that it prints, and what interrupts it.
func serving(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	var said bytes.Buffer
	cmd := keywrightWith(t, &said, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	url = urlOf(t, cmd, &said)
	ended := make(chan error, 1)
	return url, func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(expect.Patience):
			t.Error("an interrupt does not end it")
		}
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 130 {
			t.Errorf("exit code %d: %s", code, said.String())
		}
	}
}

// urlOf starts a program that serves, and gives the address that it prints.
func urlOf(t *testing.T, cmd *exec.Cmd, said *bytes.Buffer) string {
	t.Helper()
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v, %s", err, said.String())
	}
	return strings.TrimSpace(url)
}

// changing asks whether something is so with each event that a server tells, until it is.
func changing(t *testing.T, url string, good func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); !good(); {
		for lines.Scan() && lines.Text() != "" { // an event ends with an empty line
		}
		if err := lines.Err(); err != nil || ctx.Err() != nil {
			t.Fatalf("it is never so: %v", err)
		}
	}
}

// get asks for a page.
func get(t *testing.T, url string, code int) (text, kind string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<22))
	if err != nil || r.StatusCode != code {
		t.Errorf("%s: %d, %v: %s", url, r.StatusCode, err, body)
	}
	return string(body), r.Header.Get("Content-Type")
}
