// Package grafana generates a dashboard for Grafana from a keyspace, for the metrics of
// `keywright serve`. It has the panels that the declaration has something for.
//
// API: may change until 1.0.
package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
)

// Name is the file that is generated.
const Name = "keyspace.dashboard.json"

// dashboard represents the form of Grafana's version 8 and later
// (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/).
type dashboard struct {
	Description   string     `json:"description"` // first: the marker is looked for in the first lines
	Title         string     `json:"title"`
	UID           string     `json:"uid"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Templating    templating `json:"templating"`
	Panels        []panel    `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []variable `json:"list"`
}

type variable struct {
	Name       string  `json:"name"`
	Label      string  `json:"label"`
	Type       string  `json:"type"`
	Query      string  `json:"query"`
	Datasource *source `json:"datasource,omitempty"`
	Refresh    int     `json:"refresh,omitempty"`
	Multi      bool    `json:"multi,omitempty"`
	IncludeAll bool    `json:"includeAll,omitempty"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// prometheus is the data source that the dashboard's first variable chooses.
var prometheus = &source{"prometheus", "${datasource}"}

type panel struct {
	ID          int       `json:"id"`
	Type        string    `json:"type"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Datasource  *source   `json:"datasource,omitempty"`
	GridPos     position  `json:"gridPos"`
	FieldConfig *defaults `json:"fieldConfig,omitempty"`
	Targets     []query   `json:"targets,omitempty"`
}

type position struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type defaults struct {
	Defaults  field `json:"defaults"`
	Overrides []any `json:"overrides"`
}

type field struct {
	Unit       string         `json:"unit,omitempty"`
	Min        *float64       `json:"min,omitempty"`
	Thresholds *thresholds    `json:"thresholds,omitempty"`
	Custom     map[string]any `json:"custom,omitempty"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"` // null: from the beginning
}

type query struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
	Instant      bool   `json:"instant,omitempty"`
}

// chosen selects the servers that the dashboard shows, and one are the labels of one of them.
const (
	chosen = `job=~"$job",instance=~"$instance",target=~"$target"`
	one    = "job, instance, target"
	place  = "{{instance}} {{target}} "
)

// Generate writes the dashboard.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	d := dashboard{Title: "Keyspace " + ks.Package, UID: "keywright-" + ks.Package[:min(len(ks.Package), 30)],
		Description: gen.Marker + " From the keyspace " + ks.Package + ", for the metrics of keywright serve.",
		Tags:        []string{"keywright"}, SchemaVersion: 36, Refresh: "1m", Time: timeRange{"now-24h", "now"}}
	name, err := json.Marshal(ks.Package)
	if err != nil {
		return nil, err
	}
	in := "keyspace=" + string(name)
	d.Templating.List = []variable{{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"}}
	for _, label := range []string{"job", "instance", "target"} {
		d.Templating.List = append(d.Templating.List, variable{Name: label, Label: strings.ToUpper(label[:1]) + label[1:],
			Type: "query", Query: "label_values(keywright_up{" + in + "}, " + label + ")", Datasource: prometheus,
			Refresh: 2, Multi: true, IncludeAll: true})
	}
	l := &layout{of: in + "," + chosen}
	l.overview()
	l.constructs(ks)
	l.server(ks)
	d.Panels = l.panels
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return []gen.File{{Name: Name, Text: text.Bytes()}}, nil
}

// layout puts panels beside and below each other.
type layout struct {
	of     string // the labels of what is shown
	panels []panel
	x, y   int
	high   int
}

// Grafana's grid has 24 columns.
const columns = 24

func (l *layout) put(p panel, w, h int) {
	if l.x+w > columns {
		l.x, l.y, l.high = 0, l.y+l.high, 0
	}
	p.ID, p.GridPos = len(l.panels)+1, position{h, w, l.x, l.y}
	l.x, l.high = l.x+w, max(l.high, h)
	l.panels = append(l.panels, p)
}

func (l *layout) row(title string) {
	l.x, l.y, l.high = 0, l.y+l.high, 0
	l.put(panel{Type: "row", Title: title}, columns, 1)
}

// shown is one panel with one query.
func (l *layout) shown(kind, title, unit, expr, legend, what string, w int, levels ...step) {
	p := panel{Type: kind, Title: title, Description: what, Datasource: prometheus,
		Targets: []query{{"A", expr, legend, kind != "timeseries"}}}
	f := field{Unit: unit, Min: new(float64)}
	if len(levels) > 0 {
		f.Thresholds = &thresholds{"absolute", levels}
		if kind == "timeseries" {
			f.Custom = map[string]any{"thresholdsStyle": map[string]string{"mode": "line"}}
		}
	}
	p.FieldConfig = &defaults{f, []any{}}
	h := 8
	if kind == "stat" {
		h = 4
	}
	l.put(p, w, h)
}

func (l *layout) line(title, unit, expr, legend, what string, levels ...step) {
	l.shown("timeseries", title, unit, expr, legend, what, columns/2, levels...)
}

func from(color string, value float64) step { return step{color, &value} }

func (l *layout) overview() {
	l.row("Overview")
	fine := step{"green", nil}
	l.shown("stat", "Keys", "short", "sum(keywright_keys{"+l.of+"})", "", "", 6)
	l.shown("stat", "Memory of keys", "bytes", "sum(keywright_bytes{"+l.of+"})", "", "", 6)
	l.shown("stat", "Violations", "short", "sum(keywright_violations{"+l.of+"}) or vector(0)", "",
		"Keys that break a rule.", 6, fine, from("orange", 1))
	l.shown("stat", "Age of the audit", "s", "max(time() - keywright_audit_timestamp_seconds{"+l.of+"})", "",
		"All figures by entry are as old.", 6, fine, from("orange", 3600))
	l.line("Memory by entry", "bytes", "sum by ("+one+", entry) (keywright_bytes{"+l.of+"})", place+"{{entry}}", "")
	l.line("Keys by entry", "short", "sum by ("+one+", entry) (keywright_keys{"+l.of+"})", place+"{{entry}}", "")
	l.line("Violations", "short", "sum by ("+one+", entry, code) (keywright_violations{"+l.of+"})",
		place+"{{entry}} {{code}}", "")
	l.line("Audits: how long they took", "s", "keywright_audit_duration_seconds{"+l.of+"}", "{{instance}} {{target}}", "")
}

// constructs are the rows of what is declared.
func (l *layout) constructs(ks *keyspace.Keyspace) {
	has := func(is func(*keyspace.Entry) bool) bool { return slices.ContainsFunc(ks.Entries, is) }
	built := func(c keyspace.Construct) func(*keyspace.Entry) bool {
		return func(e *keyspace.Entry) bool { return e.Construct == c }
	}
	if has(built(keyspace.Queue)) {
		l.queues()
	}
	if has(func(e *keyspace.Entry) bool { return len(e.Keys) > 0 && e.Keys[0].Kind == keyspace.Stream }) {
		l.row("Streams")
		l.line("Lag", "short", "keywright_stream_lag{"+l.of+"}", place+"{{entry}} {{key}} {{group}}",
			"Entries that a group has not been given yet.")
		l.line("Pending", "short", "keywright_stream_pending{"+l.of+"}", place+"{{entry}} {{key}} {{group}}",
			"Entries that a group has and has not acknowledged.")
	}
	if has(built(keyspace.Lock)) {
		l.row("Locks")
		l.line("Held", "short", "keywright_locks_held{"+l.of+"}", place+"{{entry}}", "")
		l.line("Waiting", "short", "keywright_lock_waiters{"+l.of+"}", place+"{{entry}}", "Processes that wait for a lock.")
	}
	if has(built(keyspace.Entity)) {
		l.row("Entities")
		l.line("Items", "short", "keywright_entity_items{"+l.of+"}", place+"{{entry}} {{of}}", "")
		l.line("Not swept", "short", "keywright_entity_unswept{"+l.of+"}", place+"{{entry}} {{of}}",
			"Items that have expired and are in indexes still.")
	}
}

func (l *layout) queues() {
	l.row("Queues")
	l.line("Waiting", "short", `keywright_queue_jobs{`+l.of+`,state="waiting"}`, place+"{{entry}} {{queue}}", "")
	l.line("Age of the first job", "s", "keywright_queue_oldest_seconds{"+l.of+"}", place+"{{entry}} {{queue}}", "")
	l.line("Jobs that come", "short", "rate(keywright_queue_enqueued_total{"+l.of+"}[5m])", place+"{{entry}} {{queue}}",
		"How many a second.")
	l.line("Running and delayed", "short", `keywright_queue_jobs{`+l.of+`,state=~"running|zombie|delayed"}`,
		place+"{{entry}} {{queue}} {{state}}", "A zombie's lease has ended and no worker has taken it.")
	l.line("Dead", "short", `keywright_queue_jobs{`+l.of+`,state="dead"}`, place+"{{entry}} {{queue}}", "",
		step{"green", nil}, from("red", 1))
}

// server is the row of the servers: their memory, with the declared levels.
func (l *layout) server(ks *keyspace.Keyspace) {
	l.row("Servers")
	levels := []step{{"green", nil}}
	var at []int
	for _, p := range ks.Pressure {
		at = append(at, p.At)
	}
	slices.Sort(at)
	what := "Of what a server may use."
	for i, n := range slices.Compact(at) {
		levels = append(levels, from([]string{"orange", "red"}[min(i, 1)], float64(n)/100))
		what += fmt.Sprintf(" At %d %% pressure begins.", n)
	}
	l.line("Memory used", "percentunit", "keywright_server_memory_bytes{"+l.of+
		"} / (keywright_server_max_memory_bytes{"+l.of+"} > 0)", place+"{{address}}", what, levels...)
	l.line("Clients", "short", "keywright_server_clients{"+l.of+"}", place+"{{address}}", "")
}
