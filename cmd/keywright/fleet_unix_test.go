//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// fleetRow represents a target as the API answers.
type fleetRow struct {
	ID, State, Why string
	Keys           int64
	Labels         map[string]string
}

// TestFleet: several servers are watched from a file, one of them a cluster. What is broken or away
// harms no other one, and the file is followed.
func TestFleet(t *testing.T) {
	a, b := keywrighttest.Start(t, keywrighttest.Valkey), keywrighttest.Start(t, keywrighttest.Redis)
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	for i := range 7 {
		a.Do("SET", fmt.Sprintf("user:%d", i), "x", "EX", "60")
	}
	b.Do("SET", "user:1", "x")
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil { // in one step, as an editor does
			t.Fatal(err)
		}
		return path
	}
	write("one.yaml", "keywright: 1\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: 1h}\n")
	messages := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- string(body)
	}))
	defer hook.Close()
	hooks := write("hooks", "json "+hook.URL+"\n")
	write("wrong.yaml", "keywright: 1\npackage: wrongkeys\nkeys:\n  user: {key: \"user:{id\"}\n")
	target := func(name, url, more string) string {
		return fmt.Sprintf("  - {name: %s, url: %q%s}\n", name, url, more)
	}
	begin := "keywright_targets: 1\ntargets:\n"
	file := write("targets.yaml",
		begin+target("a", a.URL(), ", declaration: one.yaml, labels: {region: eu}")+target("b", "${FLEET_B}",
			", declaration: one.yaml")+
			target("c", cluster.URL(), "")+target("gone", "redis://127.0.0.1:1", "")+target("wrong", a.URL(),
			", declaration: wrong.yaml"))
	t.Setenv("FLEET_B", b.URL())
	var said bytes.Buffer
	cmd := keywrightWith(t, &said, "serve", "--listen", "127.0.0.1:0", "--targets", file, "--audits-at-once", "1",
		"--audit-every", "10s", "--store", filepath.Join(dir, "h.db"),
		"--webhooks", hooks, "--alerts", filepath.Join(dir, "alerts.json"))
	url := urlOf(t, cmd, &said)
	rows := func() map[string]fleetRow {
		t.Helper()
		text, _ := get(t, url+"api/v1/targets", http.StatusOK)
		var all struct{ Items []fleetRow }
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		out := map[string]fleetRow{}
		for _, r := range all.Items {
			out[r.ID] = r
		}
		return out
	}
	until := func(good func(map[string]fleetRow) bool) (out map[string]fleetRow) {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
			if out = rows(); good(out) {
				return out
			}
			if time.Now().After(end) {
				t.Fatalf("it is never so: %+v\n%s", out, said.String())
			}
		}
	}
	all := until(func(r map[string]fleetRow) bool {
		return len(r) == 5 && r["a"].State == "ok" && r["b"].State == "ok" && r["c"].State == "ok" &&
			r["gone"].State == "away" && r["wrong"].State == "broken"
	})
	if all["a"].Keys != 7 || all["a"].Labels["region"] != "eu" || all["b"].Keys != 1 || all["wrong"].Why == "" ||
		all["gone"].Why == "" {
		t.Errorf("%+v", all)
	}
	text, _ := get(t, url+"metrics", http.StatusOK)
	for _, want := range []string{`keywright_up{target="a"} 1`, `keywright_up{target="gone"} 0`,
		`keywright_up{keyspace="wrongkeys",target="wrong"} 0`,
		`keywright_wrong{keyspace="wrongkeys",target="wrong",kind="server-away"} 1`, `keywright_target_info{target="a",label_region="eu"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for _, path := range []string{"a/overview", "b/server", "c/undeclared"} {
		get(t, url+"api/v1/t/"+path, http.StatusOK)
	}
	get(t, url+"api/v1/t/wrong/overview", http.StatusNotFound)
	now, _ := get(t, url+"api/v1/t/wrong/now", http.StatusOK)
	if !strings.Contains(now, `"kind":"server-away"`) || strings.Contains(now, `"since":""`) {
		t.Error(now)
	}
	for late := time.After(2 * time.Minute); ; {
		select {
		case m := <-messages:
			if !strings.Contains(m, `"target":"wrong"`) {
				continue
			}
		case <-late:
			t.Error("no webhook is told of the broken target")
		}
		break
	}

	write("targets.yaml", "this is no file of targets")
	write("targets.yaml",
		begin+target("a", a.URL(), ", declaration: one.yaml, labels: {region: eu}")+target("d", b.URL(),
			", declaration: one.yaml"))
	until(func(r map[string]fleetRow) bool { return len(r) == 2 && r["a"].State == "ok" && r["d"].State == "ok" })
	get(t, url+"api/v1/t/b/overview", http.StatusNotFound)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if strings.Contains(said.String(), "panic") {
		t.Error(said.String())
	}
	for name, text := range map[string]string{"none": "keywright_targets: 1\n",
		"twice": begin + target("a", "redis://x", "") + target("a", "redis://x", ""),
		"word":  begin + target("A/b", "redis://x", ""), "more": begin + target("a", "redis://x", ", colour: red"),
		"form": "targets:\n" + target("a", "redis://x", ""), "url": begin + "  - {name: a}\n"} {
		var said bytes.Buffer
		cmd := keywrightWith(t, &said, "serve", "--listen", "127.0.0.1:0", "--store", "none", "--targets",
			write(name+".yaml", text))
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%s: %v, %s", name, err, said.String())
		}
	}
}
