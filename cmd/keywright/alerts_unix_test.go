//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAlerts: a queue that is late and a new kind of violation come to a webhook, each once,
// also when the program is started again; nothing shows the webhook's address.
func TestAlerts(t *testing.T) {
	messages := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- r.URL.Path + " " + string(body)
	}))
	defer hook.Close()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "album:1", "x", "EX", "600")
	s.Do("SET", "{jobs}:job:1", "q1 1 high 0 - -\n{}")
	s.Do("RPUSH", "jobs:high", "1")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"keyspace.yaml": "keywright: 1\nvars: {prio: high|low, n: int}\nkeys:\n  album: {key: \"album:{n}\", type: string, ttl: 1h}\n" +
			"  jobs: {key: \"jobs:{prio}\", type: queue, order: prio, lease: 1s, ttl: none, value: {n: int}}\n",
		"hooks": "json " + hook.URL + "/secret-path\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	last := ""
	expect := func(words ...string) {
		t.Helper()
		late := time.After(2 * time.Minute)
		for {
			select {
			case m := <-messages:
				number := regexp.MustCompile(`"number":\d+`).FindString(m)
				if number == last {
					continue // an end of the program between the answer and the file
				}
				last = number
				for _, w := range words {
					if !strings.Contains(m, w) {
						t.Errorf("%s does not say %s", m, w)
					}
				}
				return
			case <-late:
				t.Fatalf("no alert of %q", words)
			}
		}
	}
	args := []string{"-u", s.URL(), "--store", "none", "--webhooks", "hooks"}
	_, stop := serving(t, args...)
	expect("/secret-path ", `"event":"begun"`, `"kind":"queue-late"`, `"entry":"jobs"`)
	awaitCompared(t)
	var refused bytes.Buffer
	second := keywrightWith(t, &refused, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	if err := second.Run(); err == nil || second.ProcessState.ExitCode() != 2 ||
		!strings.Contains(refused.String(), "--alerts") {
		t.Errorf("two programs have one file of alerts: %v, %s", err, refused.String())
	}
	stop()
	for _, wrong := range [][2]string{{"album:2", `"code":"KW505","keys":1`}, {"stray", `"code":"KW502","keys":1`}} {
		s.Do("SET", wrong[0], "x") // the next message is about this one: nothing else is reported again
		_, stop = serving(t, args...)
		expect(`"event":"begun"`, `"kind":"violation-new"`, wrong[1])
		stop()
	}
	if text, err := os.ReadFile("keywright-alerts.json"); err != nil || strings.Contains(string(text), "secret-path") {
		t.Errorf("%v %s", err, text)
	}
	for _, args := range [][]string{{"--silences", "hooks"}, {"--webhooks", "none"}, {"--webhooks", "keyspace.yaml"},
		{"--webhooks", "hooks", "--silences", "hooks"},
		{"--webhooks", "hooks", "--alerts", "keyspace.yaml"},
		{"--webhooks", "hooks", "--alerts", filepath.Join("none", "alerts")}} {
		var said bytes.Buffer
		cmd := keywrightWith(t, &said,
			append([]string{"serve", "-u", s.URL(), "--store", "none", "--listen", "127.0.0.1:0"}, args...)...)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 ||
			strings.Contains(said.String(), "secret-path") {
			t.Errorf("%v: %v, %s", args, err, said.String())
		}
	}
}

// awaitCompared waits until there was an audit to compare later ones with.
func awaitCompared(t *testing.T) {
	t.Helper()
	expect.Eventually(t, "an audit is there", func() bool {
		text, _ := os.ReadFile("keywright-alerts.json")
		return strings.Contains(string(text), `"seen":{"default"`)
	})
}
