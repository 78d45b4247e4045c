//go:build prometheus && unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/gen/prometheus"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPrometheusEvaluates: a real Prometheus scrapes `serve`, takes the generated rules and
// evaluates each of them without an error; the records have values; and every query of the
// dashboard is answered.
func TestPrometheusEvaluates(t *testing.T) {
	t.Parallel()
	serve, files, stop := scraped(t)
	defer stop()
	at, err := url.Parse(serve)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [%s]\n"+
		"scrape_configs: [{job_name: keywright, static_configs: [{targets: [%q]}]}]\n", prometheus.Name, at.Host)
	for name, text := range map[string]string{"prometheus.yml": config, prometheus.Name: files["prometheus"]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api := startPrometheus(t, dir)
	awaitRules(t, api)
	for _, q := range dashboardQueries(t, files["grafana"]) {
		if !ask(t, api+"query?query="+url.QueryEscape(q), nil) {
			t.Errorf("%s is not answered", q)
		}
	}
	if n := value(t, api, "target:keywright_keys:sum"); n < 3 {
		t.Errorf("%v keys are recorded", n)
	}
	if n := value(t, api, `target_entry_code:keywright_violations:sum{code="KW502"}`); n != 1 {
		t.Errorf("%v keys with KW502 are recorded", n)
	}
}

// TestPromtoolReadsTheMetrics: what `serve` answers is read by Prometheus' own tool, which finds nothing to warn of.
func TestPromtoolReadsTheMetrics(t *testing.T) {
	t.Parallel()
	serve, _, stop := scraped(t)
	defer stop()
	text, _ := get(t, serve+"metrics", http.StatusOK)
	cmd := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v: %s", err, said)
	}
}

// startPrometheus starts it and gives the address of its API.
func startPrometheus(t *testing.T, dir string) string {
	t.Helper()
	address := keywrighttest.Address(t)
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out.Close()
		if t.Failed() {
			text, _ := os.ReadFile(out.Name())
			t.Logf("%s", text)
		}
	})
	return "http://" + address + "/api/v1/"
}

// ask asks Prometheus for an answer, which must be a success.
func ask(t *testing.T, path string, into any) bool {
	t.Helper()
	r, err := http.Get(path)
	if err != nil {
		return false // it has not begun to listen
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusServiceUnavailable {
		return false // it starts
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Errorf("%s: %v %s", path, err, answer.Error)
		return false
	}
	if into == nil {
		return true
	}
	return json.Unmarshal(answer.Data, into) == nil
}

// awaitRules waits until each rule was evaluated, none with an error.
func awaitRules(t *testing.T, api string) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(2 * time.Minute); ; {
		var all struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		known, ok := ask(t, api+"rules", &all), 0
		for _, g := range all.Groups {
			for _, r := range g.Rules {
				if r.LastError != "" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					ok++
				}
			}
		}
		if known && len(all.Groups) == 2 && ok == len(all.Groups[0].Rules)+len(all.Groups[1].Rules) &&
			value(t, api, "target:keywright_keys:sum") > 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d rules were evaluated of %+v", ok, all)
		case <-tick.C:
		}
	}
}

// value returns the first value of a query, 0 if there is none.
func value(t *testing.T, api, query string) float64 {
	t.Helper()
	var data struct{ Result []struct{ Value []any } }
	if !ask(t, api+"query?query="+url.QueryEscape(query), &data) || len(data.Result) == 0 {
		return 0
	}
	var n float64
	_, _ = fmt.Sscan(fmt.Sprint(data.Result[0].Value[1]), &n)
	return n
}

// dashboardQueries returns the queries of a dashboard, of all targets.
func dashboardQueries(t *testing.T, text string) (out []string) {
	t.Helper()
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Panels) < 10 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			out = append(out, strings.NewReplacer("$target", ".*", "$job", ".*", "$instance", ".*").Replace(q.Expr))
		}
	}
	return out
}
