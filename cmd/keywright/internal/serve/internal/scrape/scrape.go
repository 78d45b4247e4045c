// Package scrape answers what Prometheus scrapes of `keywright serve`: series of the targets, of what is read of them,
// and of what is wrong now.
//
// It knows the states that are observed, and asks no server.
package scrape

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/keyspace/finding"
	dto "github.com/prometheus/client_model/go"
)

// Metrics represents what the metrics are of.
type Metrics struct {
	Targets []*observe.Target
	Broken  []Broken
	// Rows gives the rows of an audit.
	Rows func(*observe.Target, *observe.Audit) []document.EntryRow
	// Alerts gives what is wrong with a target now, and how much more there is; nil: no one judges that.
	Alerts func(target string) (now []alert.Alert, left int64)
	Now    time.Time
}

// Broken represents a target that cannot be watched.
type Broken struct {
	ID, Keyspace string // "": its keyspace is not known
	Labels       map[string]string
}

// up says whether the server of a target answered.
func (x *exposition) up(id string, answers bool) {
	x.add("keywright_up", "Whether the server answered when it was asked last.", truth(answers), "target", id)
}

// Write answers what Prometheus scrapes.
func (m *Metrics) Write(w http.ResponseWriter, r *http.Request) {
	x := &exposition{families: map[string]*dto.MetricFamily{}}
	for _, t := range m.Targets {
		m.measure(x, t)
	}
	for _, b := range m.Broken {
		x.keyspace = b.Keyspace
		x.up(b.ID, false)
		m.measureNow(x, b.ID)
		x.info(b.ID, b.Labels)
	}
	x.keyspace = ""
	left := x.left
	x.series = 0
	x.add("keywright_series_left_out", "Series that the bound of one scrape leaves out.", float64(left))
	x.write(w, r)
}

// truth returns 1 or 0.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// measure adds the series of one target.
func (m *Metrics) measure(x *exposition, t *observe.Target) {
	st := t.State()
	x.keyspace = t.Declaration.Package
	x.up(t.ID, st.Away() == nil)
	x.add("keywright_audit_running", "Whether an audit is under way.", truth(st.Running != nil), "target", t.ID)
	if a := st.Shown(); a != nil {
		x.add("keywright_audit_timestamp_seconds", "When the audit that the figures are of ended.",
			float64(a.At.UnixMilli())/1000, "target", t.ID)
		x.add("keywright_audit_duration_seconds", "How long that audit took.", a.Report.Seconds, "target", t.ID)
		x.add("keywright_audit_whole", "Whether that audit is of all keys.", truth(a.All()), "target", t.ID)
		for _, r := range m.Rows(t, a) {
			labels := []string{"target", t.ID, "entry", r.Name, "kind", r.Kind}
			x.add("keywright_keys", "Keys of an entry, as of the audit.", float64(r.Keys), labels...)
			x.add("keywright_bytes", "Bytes of an entry's keys, as of the audit.", float64(r.Bytes), labels...)
			for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
				x.add("keywright_violations", "Keys of an entry that break a rule, as of the audit.",
					float64(r.Codes[code]), append(labels, "code", code)...)
			}
		}
	}
	now := m.Now
	unknown := map[string]bool{}
	for _, u := range t.Unknown(&st, now) {
		unknown[u.Part] = true
	}
	for _, p := range st.Parts() {
		measureReading(x, t.ID, p, !unknown[p.Name], st.Began, now)
	}
	drop(&st.Queues, st.Began, now)
	drop(&st.Locks, st.Began, now)
	drop(&st.Entities, st.Began, now)
	drop(&st.Streams, st.Began, now)
	drop(&st.Shards, st.Began, now)
	measureQueues(x, t.ID, st)
	measureOthers(x, t.ID, st)
	measureJobs(x, t.ID, &st)
	m.measureNow(x, t.ID)
	x.info(t.ID, t.Labels)
}

// info adds the labels of a target.
func (x *exposition) info(id string, of map[string]string) {
	if len(of) == 0 {
		return
	}
	labels := []string{"target", id}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		labels = append(labels, "label_"+name, of[name])
	}
	x.add("keywright_target_info", "The labels of a target.", 1, labels...)
}

// drop leaves out what is no figure of now: the latest reading failed, or it is old.
func drop[T any](r *observe.Reading[T], began, now time.Time) {
	if r.Stale(began, now) {
		r.Value = nil
	}
}

// measureReading says how old a reading is, and whether its series are all there.
func measureReading(x *exposition, id string, p observe.Part, known bool, began, now time.Time) {
	labels := []string{"target", id, "reading", p.Name}
	x.add("keywright_reading_up",
		"Whether the latest reading of a part of a server gave all its figures, and is not old.", truth(known), labels...)
	x.add("keywright_reading_age_seconds", "How old the reading of a part of a server is.", p.Age(began, now).Seconds(),
		labels...)
	x.add("keywright_reading_every_seconds", "How long it is from one reading of a part of a server to the next.",
		p.Every.Seconds(), labels...)
	if !p.At.IsZero() {
		x.add("keywright_reading_timestamp_seconds", "When a part of a server was read last.", float64(p.At.UnixMilli())/1000,
			labels...)
	}
}

// instanceText returns a name as a label, which has to be text.
func instanceText(of *finding.JSONKey) string {
	if of == nil {
		return ""
	}
	return labelOf(*of)
}

// labelOf returns a name as a label. Two names are never the same label: a long one, of which the
// beginning is shown, has its digest.
func labelOf(name finding.JSONKey) string {
	shown := finding.Key(name)
	if shown == finding.FullKey(name) {
		return shown
	}
	digest := sha256.Sum256(name)
	return fmt.Sprintf("%s sha256:%x", shown, digest[:8])
}
