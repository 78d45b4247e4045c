package serve

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/finding"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// maxSeries bounds what one scrape gets; how many are left out is a series of its own.
const maxSeries = 20_000

// exposition represents what Prometheus reads, family by family.
type exposition struct {
	families map[string]*dto.MetricFamily
	order    []string
	keyspace string // of what is added now; "": of none
	series   int
	left     int
}

// count adds one series of a counter.
func (x *exposition) count(name, help string, value float64, labels ...string) {
	if f := x.family(name, help, dto.MetricType_COUNTER); f != nil {
		f.Metric = append(f.Metric, &dto.Metric{Label: x.labels(labels), Counter: &dto.Counter{Value: &value}})
	}
}

// add adds one series of a gauge: labels are names and values by turns.
func (x *exposition) add(name, help string, value float64, labels ...string) {
	if f := x.family(name, help, dto.MetricType_GAUGE); f != nil {
		f.Metric = append(f.Metric, &dto.Metric{Label: x.labels(labels), Gauge: &dto.Gauge{Value: &value}})
	}
}

// family returns the family of one more series; nil: there are as many as there may be.
func (x *exposition) family(name, help string, kind dto.MetricType) *dto.MetricFamily {
	if x.series >= maxSeries {
		x.left++
		return nil
	}
	x.series++
	f := x.families[name]
	if f == nil {
		f = &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
		x.families[name] = f
		x.order = append(x.order, name)
	}
	return f
}

func (x *exposition) labels(pairs []string) []*dto.LabelPair {
	out := make([]*dto.LabelPair, 0, len(pairs)/2+1)
	if x.keyspace != "" {
		out = append(out, &dto.LabelPair{Name: new("keyspace"), Value: new(x.keyspace)})
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, &dto.LabelPair{Name: new(pairs[i]), Value: new(pairs[i+1])})
	}
	return out
}

// write encodes all families in the form that the client asks for: text, OpenMetrics or protocol buffers.
func (x *exposition) write(w http.ResponseWriter, r *http.Request) {
	form := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	var text bytes.Buffer // written at once: how long an answer is decides whether it is compressed
	to := expfmt.NewEncoder(&text, form)
	for _, name := range x.order {
		if err := to.Encode(x.families[name]); err != nil {
			refuse(w, problem(http.StatusInternalServerError, "failed", finding.Printable(err.Error()), ""))
			return
		}
	}
	if end, ok := to.(expfmt.Closer); ok {
		_ = end.Close() // to memory
	}
	w.Header().Set("Content-Type", string(form))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text.Bytes())
}

// metrics answers what Prometheus scrapes.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	x := &exposition{families: map[string]*dto.MetricFamily{}}
	for _, t := range s.all() {
		s.measure(x, t)
	}
	broken, _ := s.fleetNow()
	x.keyspace = "" // of those none is known
	for _, b := range broken {
		x.add("keywright_up", "Whether the server answered when it was asked last.", 0, "target", b.ID)
	}
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
func (s *Server) measure(x *exposition, t *observe.Target) {
	st := t.State()
	x.keyspace = t.Declaration.Package
	away := st.Failed != nil || st.Server.Failed != nil
	x.add("keywright_up", "Whether the server answered when it was asked last.", truth(!away), "target",
		t.ID)
	x.add("keywright_audit_running", "Whether an audit is under way.", truth(st.Running != nil), "target", t.ID)
	if a := st.Shown(); a != nil {
		x.add("keywright_audit_timestamp_seconds", "When the audit that the figures are of ended.",
			float64(a.At.UnixMilli())/1000, "target", t.ID)
		x.add("keywright_audit_duration_seconds", "How long that audit took.", a.Report.Seconds, "target", t.ID)
		x.add("keywright_audit_whole", "Whether that audit is of all keys.", truth(a.All()), "target", t.ID)
		for _, r := range s.rows(t, a) {
			labels := []string{"target", t.ID, "entry", r.Name, "kind", r.Kind}
			x.add("keywright_keys", "Keys of an entry, as of the audit.", float64(r.Keys), labels...)
			x.add("keywright_bytes", "Bytes of an entry's keys, as of the audit.", float64(r.Bytes), labels...)
			for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
				x.add("keywright_violations", "Keys of an entry that break a rule, as of the audit.",
					float64(r.Codes[code]), append(labels, "code", code)...)
			}
		}
	}
	now := s.Now()
	for _, p := range st.Parts() {
		measureReading(x, t.ID, p, st.Began, now)
	}
	drop(&st.Queues, st.Began, now)
	drop(&st.Locks, st.Began, now)
	drop(&st.Entities, st.Began, now)
	drop(&st.Streams, st.Began, now)
	drop(&st.Shards, st.Began, now)
	measureQueues(x, t.ID, st)
	measureOthers(x, t.ID, st)
	measureJobs(x, t.ID, &st)
	s.measureNow(x, t.ID)
	if len(t.Labels) > 0 {
		labels := []string{"target", t.ID}
		for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
			labels = append(labels, "label_"+name, t.Labels[name])
		}
		x.add("keywright_target_info", "The labels of a target.", 1, labels...)
	}
}

// drop leaves out what is no figure of now: the latest reading failed, or it is old.
func drop[T any](r *observe.Reading[T], began, now time.Time) {
	if r.Stale(began, now) {
		r.Value = nil
	}
}

// measureReading says how old a reading is, and whether its series are there.
func measureReading(x *exposition, id string, p observe.Part, began, now time.Time) {
	labels := []string{"target", id, "reading", p.Name}
	x.add("keywright_reading_up",
		"Whether the latest reading of a part of a server gave figures, and is not old. Where not, they are left out.",
		truth(!p.Stale(began, now)), labels...)
	x.add("keywright_reading_age_seconds", "How old the reading of a part of a server is.", p.Age(began, now).Seconds(),
		labels...)
	x.add("keywright_reading_every_seconds", "How long it is from one reading of a part of a server to the next.",
		p.Every.Seconds(), labels...)
	if !p.At.IsZero() {
		x.add("keywright_reading_timestamp_seconds", "When a part of a server was read last.", float64(p.At.UnixMilli())/1000,
			labels...)
	}
}

func measureQueues(x *exposition, id string, st observe.State) {
	if st.Queues.Value == nil {
		return
	}
	for _, q := range st.Queues.Value.Queues {
		labels := []string{"target", id, "entry", q.Entry, "queue", instanceText(q.Queue)}
		row := rowOfQueue(q)
		for _, part := range []struct {
			state string
			jobs  int64
		}{{"waiting", row.Waiting}, {"running", q.Running}, {"zombie", q.Zombies}, {"delayed", q.Delayed},
			{"dead", q.Dead}} {
			x.add("keywright_queue_jobs", "Jobs of a queue, by state.", float64(part.jobs),
				append(labels, "state", part.state)...)
		}
		x.count("keywright_queue_enqueued_total", "Jobs that were put into a queue, as it counts them.",
			float64(q.Enqueued), labels...)
		x.count("keywright_queue_deaths_total", "Jobs that have died while the queue was watched.",
			float64(st.Queues.Value.Died[q.Title()]), labels...)
		x.add("keywright_queue_oldest_seconds", "For how long the first job has waited.", row.Oldest, labels...)
		x.add("keywright_queue_overdue_jobs",
			"Of a thousand running jobs those that were claimed longer ago than their queue's timeout, or than an hour.",
			float64(q.Overdue), labels...)
		x.add("keywright_queue_oldest_run_seconds", "How long ago the oldest of a thousand running jobs was claimed.", q.Run,
			labels...)
		x.add("keywright_queue_workers", "Workers of a queue.", float64(len(q.Workers)), labels...)
		x.add("keywright_queue_paused", "Whether a queue is paused.", truth(q.Paused), labels...)
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

func measureOthers(x *exposition, id string, st observe.State) {
	if v := st.Locks.Value; v != nil {
		held, waiting := map[string]int64{}, map[string]int64{}
		for _, l := range v.Locks {
			if l.Token != nil {
				held[l.Entry]++
			}
			waiting[l.Entry] += l.Waiting
		}
		for _, e := range slices.Sorted(maps.Keys(waiting)) {
			x.add("keywright_locks_held", "Locks of an entry that are held.", float64(held[e]), "target", id,
				"entry", e)
			x.add("keywright_lock_waiters", "Processes that wait for locks of an entry.", float64(waiting[e]),
				"target", id, "entry", e)
		}
	}
	if v := st.Entities.Value; v != nil {
		for _, e := range v.Entities {
			labels := []string{"target", id, "entry", e.Entry, "of", instanceText(e.Of)}
			x.add("keywright_entity_items", "Items of an entity.", float64(e.Items), labels...)
			x.add("keywright_entity_unswept", "Items that have expired and wait to be swept.", float64(e.Expired),
				labels...)
			x.add("keywright_entity_sweep_late_seconds", "For how long the first of them has waited.", e.Late,
				labels...)
		}
	}
	if v := st.Streams.Value; v != nil {
		for _, one := range v.Streams {
			key := labelOf(one.Key)
			x.add("keywright_stream_length", "Entries of a stream.", float64(one.Length), "target", id, "entry",
				one.Entry, "key", key)
			for _, g := range one.Groups {
				labels := []string{"target", id, "entry", one.Entry, "key", key, "group", labelOf(g.Name)}
				x.add("keywright_stream_pending", "Entries that a group has and has not acknowledged.",
					float64(g.Pending), labels...)
				if g.Lag != nil {
					x.add("keywright_stream_lag", "Entries that a group has not been given yet.",
						float64(*g.Lag), labels...)
				}
			}
		}
	}
	if v := st.Shards.Value; v != nil {
		for _, shard := range *v {
			for _, one := range []struct {
				name, help string
				figure     *int64
			}{{"keywright_server_memory_bytes", "Memory that a server uses.", shard.Memory},
				{"keywright_server_max_memory_bytes", "Memory that a server may use; 0: no limit.", shard.MaxMemory},
				{"keywright_server_clients", "Clients of a server.", shard.Clients}} {
				if one.figure != nil { // it is reported
					x.add(one.name, one.help, float64(*one.figure), "target", id, "address", shard.Address)
				}
			}
		}
	}
}
