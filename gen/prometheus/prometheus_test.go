package prometheus

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"go.yaml.in/yaml/v4"
)

// everything has each construct that rules are about, and names that are hard to quote.
const everything = `keywright: 1
package: shop
owner: shop-svc
vars: {n: int, prio: high|low}
keys:
  tasks: {key: "q:{prio}", type: queue, order: prio, lease: 30m, ttl: none, owner: "{{ team \"a\" }}"}
  mails: {key: mails, type: queue, ttl: none}
  log: {key: log, type: stream, maxlen: 1000, groups: [a], ttl: none}
  item:
    key: item:{id}
    type: entity
    ttl: 1h
    fields: {priority: int 1..3, at: unix_ms}
    index: {priority+at: "item:p:{priority}", expires: "item:ends"}
pressure:
  - {at: 80%, entry: item, where: {priority: 1..2}, shorten: to 5m}
  - {at: 90%, entry: item, where: {priority: 1..2}, release: to 85%}
janitor:
  swept: {do: sweep, every: 1h}
`

func generated(t *testing.T, text string) string { return declared.Generator(Generate).Text(t, text) }

func TestGolden(t *testing.T) {
	const name = "testdata/everything.rules.yaml"
	got := generated(t, everything)
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != got {
		t.Errorf("%s is not what is generated now (%v); KEYWRIGHT_UPDATE=1 writes it", name, err)
	}
}

// rules represents the form of a file of rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Record, Alert, Expr, For string
			Labels, Annotations      map[string]string
		}
	}
}

// TestRules: the file is YAML; what an alert asks for is recorded; of a queue and a stream
// there are the declared figures, with its owner.
func TestRules(t *testing.T) {
	var file rules
	text := generated(t, everything)
	if err := yaml.Unmarshal([]byte(text), &file); err != nil || len(file.Groups) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	recorded, found := map[string]bool{}, map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			recorded[r.Record] = true
			for _, name := range regexp.MustCompile(`\w+:\w+:\w+`).FindAllString(r.Expr, -1) {
				if !recorded[name] {
					t.Errorf("%s asks for %s, which is not recorded before it", r.Alert, name)
				}
			}
			for _, series := range regexp.MustCompile(`keywright_\w+(:\w+)?[^\w:]`).FindAllString(r.Expr, -1) {
				if !strings.HasSuffix(series, "{") || strings.Count(r.Expr, "{") != strings.Count(r.Expr, `{keyspace="shop"`) {
					t.Errorf("%s%s asks for series of other keyspaces: %s", r.Record, r.Alert, r.Expr)
				}
			}
			for _, together := range regexp.MustCompile(`(by|on) \([^)]*\)`).FindAllString(r.Expr, -1) {
				if !strings.Contains(together, "(job, instance, keyspace, target") {
					t.Errorf("%s%s puts servers together: %s", r.Record, r.Alert, r.Expr)
				}
			}
			if r.Alert != "" && (r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
				r.Labels["severity"] == "" || r.Labels["keyspace"] != "shop") {
				t.Errorf("%+v", r)
			}
			found[fmt.Sprint(r.Alert, " ", r.Expr, " ", r.Labels["severity"], " ", r.Labels["owner"])] = true
		}
	}
	for _, want := range []string{
		`KeywrightQueueLate keywright_queue_oldest_seconds{keyspace="shop",entry="tasks"} > 1800` +
			` unless keywright_queue_paused{keyspace="shop",entry="tasks"} == 1 warning {{"{{"}} team "a" }}`,
		`KeywrightQueueLate keywright_queue_oldest_seconds{keyspace="shop",entry="mails"} > 15` +
			` unless keywright_queue_paused{keyspace="shop",entry="mails"} == 1 warning shop-svc`,
		`KeywrightQueueNoWorkers keywright_queue_workers{keyspace="shop",entry="mails"} == 0 and ignoring (state)` +
			` keywright_queue_jobs{keyspace="shop",entry="mails",state="waiting"} > 0` +
			` unless keywright_queue_paused{keyspace="shop",entry="mails"} == 1 critical shop-svc`,
		`KeywrightStreamLag keywright_stream_lag{keyspace="shop",entry="log"} > 800 critical shop-svc`,
		`KeywrightSweepLate keywright_entity_sweep_late_seconds{keyspace="shop",entry="item"} > 300 warning shop-svc`,
		`KeywrightJanitorFailed keywright_janitor_failing{keyspace="shop"} == 1 warning `,
		`KeywrightMemory target_address:keywright_server_memory:ratio{keyspace="shop"} > 0.8 warning `,
		`KeywrightMemory target_address:keywright_server_memory:ratio{keyspace="shop"} > 0.9 critical `,
	} {
		if !found[want] {
			t.Errorf("there is no %s", want)
		}
	}
	if text := generated(t, "keywright: 1\npackage: p\nkeys: {a: {key: a, type: string, ttl: 1h}}\n"); strings.Contains(text, "Queue") || strings.Contains(text, "Janitor") ||
		!strings.Contains(text, `ratio{keyspace=\"p\"} > 0.9`) {
		t.Error(text)
	}
}
