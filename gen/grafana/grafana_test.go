package grafana

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
)

const everything = `keywright: 1
package: shop
vars: {n: int}
keys:
  mails: {key: mails, type: queue, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  log: {key: log, type: stream, maxlen: 1000, ttl: none}
  item:
    key: item:{id}
    type: entity
    ttl: 1h
    fields: {priority: int 1..3, at: unix_ms}
    index: {priority+at: "item:p:{priority}", expires: "item:ends"}
pressure:
  - {at: 80%, entry: item, where: {priority: 1..2}, shorten: to 5m}
  - {at: 90%, entry: item, where: {priority: 1..2}, release: to 85%}
`

func generated(t *testing.T, text string) string { return declared.Generator(Generate).Text(t, text) }

func TestGolden(t *testing.T) {
	const name = "testdata/everything.dashboard.json"
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

// TestServersStayApart: what is shown over time is shown for each server alone.
func TestServersStayApart(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(generated(t, everything)), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			if p.Type == "timeseries" && (strings.Contains(q.Expr, "sum") && !strings.Contains(q.Expr, "sum by ("+one) ||
				!strings.Contains(q.LegendFormat, "{{instance}}")) {
				t.Errorf("%s: %s by %s", p.Title, q.Expr, q.LegendFormat)
			}
		}
	}
}

// TestLayout: no panel covers another or outside of the grid, each has an id of its own
// and a query of the chosen targets; only what is declared has a row.
func TestLayout(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(generated(t, everything)), &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for i, p := range d.Panels {
		a := p.GridPos
		if ids[p.ID] || a.X < 0 || a.W < 1 || a.X+a.W > columns {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for _, other := range d.Panels[:i] {
			if b := other.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s covers %s", p.Title, other.Title)
			}
		}
		if p.Type != "row" && (len(p.Targets) != 1 || strings.Count(p.Targets[0].Expr, "{") !=
			strings.Count(p.Targets[0].Expr, `{keyspace="shop",`+chosen)) {
			t.Errorf("%s asks for %v", p.Title, p.Targets)
		}
	}
	for title, declared := range map[string]string{"Queues": "mails", "Locks": "hold", "Entities": "item",
		"Streams": "log"} {
		row := `"title": "` + title + `"`
		plain := generated(t, "keywright: 1\npackage: p\nkeys: {a: {key: a, type: string, ttl: 1h}}\n")
		if !strings.Contains(generated(t, everything), row) || strings.Contains(plain, row) {
			t.Errorf("the row %s is not there for %s alone", title, declared)
		}
	}
}
