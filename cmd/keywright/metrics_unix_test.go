//go:build unix

package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/gen/grafana"
	"github.com/keywright/keywright/gen/prometheus"
	"github.com/keywright/keywright/keywrighttest"
)

// scrapedKeyspace has something for each family of metrics.
const scrapedKeyspace = `keywright: 1
package: shop
owner: shop-svc
vars: {n: int}
keys:
  mails: {key: mails, type: queue, lease: 30s, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  log: {key: log, type: stream, maxlen: 100000, groups: [readers], fields: {n: int}, ttl: none}
  item:
    key: item:{id}
    type: entity
    ttl: 1h
    fields: {priority: int 1..3, at: unix_ms}
    index: {priority+at: "item:p:{priority}", expires: "item:ends"}
pressure:
  - {at: 80%, entry: item, where: {priority: 1..2}, shorten: to 5m}
`

var (
	metricName   = regexp.MustCompile(`keywright_[a-z_]*[a-z]`)
	recordedName = regexp.MustCompile(`\w+:keywright_\w+:\w+`)
)

// named returns the metrics that a text of queries names.
func named(text string) []string {
	names := metricName.FindAllString(recordedName.ReplaceAllString(text, ""), -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// scraped starts `serve` of a server that has something of each kind, and gives the address
// of its metrics once the names are all there, the files that gen made, and what ends it.
func scraped(t *testing.T) (url string, files map[string]string, stop func()) {
	t.Helper()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for _, command := range [][]string{{"SET", "stray", "x"}, {"SET", "lock:1", "me/1", "PX", "600000"},
		{"XADD", "log", "1-1", "n", "1"},
		{"XGROUP", "CREATE", "log", "readers", "0"}, {"XADD", "log", "2-1", "n", "2"}} {
		s.Do(command...)
	}
	dir := t.TempDir()
	declaration := filepath.Join(dir, "keyspace.yaml")
	if err := os.WriteFile(declaration, []byte(scrapedKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for target, name := range map[string]string{"prometheus": prometheus.Name, "grafana": grafana.Name} {
		var said bytes.Buffer
		if err := keywrightWith(t, &said, "gen", target, "-f", declaration, "--out", dir).Run(); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[target] = string(text)
	}
	url, stop = serving(t, "-f", declaration, "-u", s.URL(), "--store", "none")
	wanted := append(named(files["prometheus"]), named(files["grafana"])...)
	var missing []string
	for deadline := time.Now().Add(2 * time.Minute); ; {
		text, _ := get(t, url+"metrics", http.StatusOK)
		there := regexp.MustCompile(`(?m)^keywright_\w+`).FindAllString(text, -1)
		missing = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(there, name) })
		if len(missing) == 0 {
			return url, files, stop
		}
		if time.Now().After(deadline) {
			t.Fatalf("no metrics %s in\n%s", strings.Join(missing, ", "), text)
		}
		<-time.After(200 * time.Millisecond) // more requests in a second are refused
	}
}

// TestGeneratedNamesAreScraped: every metric that the generated rules and the dashboard name
// is one that /metrics has, with the labels that they select by.
func TestGeneratedNamesAreScraped(t *testing.T) {
	t.Parallel()
	url, files, stop := scraped(t)
	defer stop()
	text, _ := get(t, url+"metrics", http.StatusOK)
	for _, file := range files {
		for _, label := range regexp.MustCompile(`(\w+)=\\*"(\w+)\\*"`).FindAllStringSubmatch(file, -1) {
			if want := label[1] + `="` + label[2] + `"`; !strings.Contains(text, want) {
				t.Errorf("no series has %s", want)
			}
		}
	}
}
