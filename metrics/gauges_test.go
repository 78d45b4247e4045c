package metrics_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/metrics"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

var must = expect.NoError

func open(t *testing.T, s *keywrighttest.Server) *keywright.Client {
	return servertest.Open(t, s.URL(), keywright.Options{Timeout: time.Hour})
}

// number returns the value of a series, as the text format has it.
func number(t *testing.T, r *prometheus.Registry, name, label string) (v float64, there bool) {
	t.Helper()
	families, err := r.Gather()
	must(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label {
					return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
				}
			}
		}
	}
	return 0, false
}

// TestQueues: the gauges are what the queue has, and a queue whose server does not
// answer is an error of the scrape that hides no other.
func TestQueues(t *testing.T) {
	s, frozen := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey)
	mail := queue.Open(open(t, s), "mail", value.Text(0), queue.Options{}, "high", "low")
	away := queue.Open(open(t, frozen), "away", value.Text(0), queue.Options{})
	tasks := []queue.Task[string]{{ID: "dead"}, {Lane: "low"}, {Lane: "low"}, {In: time.Hour}}
	_, err := mail.EnqueueAll(t.Context(), tasks[:1])
	must(t, err)
	life, end := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- mail.Worker(func(context.Context, *queue.Job[string]) error { end(); return queue.Discard(errors.New("no")) },
			queue.WorkerOptions{}).Run(life)
	}()
	must(t, <-over)
	_, err = mail.EnqueueAll(t.Context(), tasks[1:])
	must(t, err)
	must(t, mail.Pause(t.Context()))
	r := prometheus.NewRegistry()
	queues := map[string]metrics.Queue{"mail": mail, "away": away}
	must(t, metrics.Queues(r, 5*time.Second, queues))
	if metrics.Queues(r, 0, queues) == nil ||
		metrics.Queues(prometheus.NewRegistry(), 0, map[string]metrics.Queue{"none": nil}) == nil {
		t.Error("what cannot be is registered")
	}
	frozen.Stop()
	defer frozen.Continue()
	want := `# HELP keywright_queue_dead_jobs Jobs that were given up and are kept.
# TYPE keywright_queue_dead_jobs gauge
keywright_queue_dead_jobs{queue="mail"} 1
# HELP keywright_queue_delayed_jobs Jobs that are not due yet, or wait for another attempt.
# TYPE keywright_queue_delayed_jobs gauge
keywright_queue_delayed_jobs{queue="mail"} 1
# HELP keywright_queue_expired_jobs Of the running jobs those whose lease is over.
# TYPE keywright_queue_expired_jobs gauge
keywright_queue_expired_jobs{queue="mail"} 0
# HELP keywright_queue_oldest_run_age_seconds How long ago the oldest of a thousand running jobs was claimed, 0 without one.
# TYPE keywright_queue_oldest_run_age_seconds gauge
keywright_queue_oldest_run_age_seconds{queue="mail"} 0
# HELP keywright_queue_overdue_jobs Of a thousand running jobs those that were claimed longer ago than their queue's timeout, or than an hour.
# TYPE keywright_queue_overdue_jobs gauge
keywright_queue_overdue_jobs{queue="mail"} 0
# HELP keywright_queue_paused 1 if the queue is paused, else 0.
# TYPE keywright_queue_paused gauge
keywright_queue_paused{queue="mail"} 1
# HELP keywright_queue_running_jobs Jobs that workers have claimed.
# TYPE keywright_queue_running_jobs gauge
keywright_queue_running_jobs{queue="mail"} 0
# HELP keywright_queue_waiting_jobs Jobs that wait in a lane.
# TYPE keywright_queue_waiting_jobs gauge
keywright_queue_waiting_jobs{lane="high",queue="mail"} 0
keywright_queue_waiting_jobs{lane="low",queue="mail"} 2
# HELP keywright_queue_workers Workers that give a sign of life.
# TYPE keywright_queue_workers gauge
keywright_queue_workers{queue="mail"} 0
# HELP keywright_scrape_errors_total Queues and streams that did not answer a scrape.
# TYPE keywright_scrape_errors_total counter
keywright_scrape_errors_total{kind="queue",name="away"} 1
keywright_scrape_errors_total{kind="queue",name="mail"} 0
`
	names := append(regexp.MustCompile(`keywright_\w+`).FindAllString(want, -1), "keywright_scrape_errors_total")
	expect.Return(t, "a scrape of five seconds; the client's calls have an hour", func() {
		if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	})
	frozen.Continue()
	if v, there := number(t, r, "keywright_queue_oldest_age_seconds", "low"); !there || v <= 0 || v > 600 {
		t.Errorf("the oldest has waited for %v s", v)
	}
	if _, there := number(t, r, "keywright_queue_waiting_jobs", "away"); !there {
		t.Error("a queue that answers again has no gauges")
	}
}

// TestStreams: the gauges are what the stream and its groups have.
func TestStreams(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	codec := value.JSON[map[string]int]()
	journal := event.NewStream(keywright.Binding{Client: open(t, s), Entry: &keywright.Entry{Name: "note"}},
		event.StreamKeys{Main: "journal", Dead: "{journal}:dead"}, &codec, event.StreamConfig{MaxLen: 100})
	for range 3 {
		_, err := journal.Publish(t.Context(), map[string]int{"n": 1})
		must(t, err)
	}
	s.Do("XGROUP", "CREATE", "journal", "mail", "0")
	s.Do("XGROUP", "CREATE", "journal", "none\xff", "$")
	s.Do("XREADGROUP", "GROUP", "mail", "one", "COUNT", "1", "STREAMS", "journal", ">")
	r := prometheus.NewRegistry()
	must(t, metrics.Streams(r, 0, map[string]metrics.Stream{"note": journal}))
	must(t, metrics.Queues(r, 0, nil))
	if metrics.Streams(prometheus.NewRegistry(), 0, map[string]metrics.Stream{"none": nil}) == nil ||
		metrics.Streams(prometheus.NewRegistry(), -1, nil) == nil {
		t.Error("what cannot be is registered")
	}
	for _, want := range []struct {
		name, label string
		v           float64
	}{
		{"keywright_stream_messages", "note", 3}, {"keywright_stream_dead_letters", "note", 0},
		{"keywright_stream_group_lag_messages", "mail", 2}, {"keywright_stream_group_pending_messages", "mail", 1},
		{"keywright_stream_group_consumers", "mail", 1}, {"keywright_stream_group_missed_messages", "mail", 0},
		{"keywright_stream_group_lag_messages", `"none\xff"`, 0}, {"keywright_stream_group_overdue_runs", "mail", 0},
		{"keywright_stream_group_oldest_run_age_seconds", "mail", 0},
	} {
		if v, there := number(t, r, want.name, want.label); !there || v != want.v {
			t.Errorf("%s{%s} is %v, there: %t", want.name, want.label, v, there)
		}
	}
	if v, _ := number(t, r, "keywright_stream_group_oldest_pending_timestamp_seconds", "mail"); v < 1.6e9 || v > 1e11 {
		t.Errorf("the oldest is of %v", v)
	}
	s.Do("SET", "journal", "x") // of another type
	if v, _ := number(t, r, "keywright_scrape_errors_total", "note"); v != 1 {
		t.Errorf("a scrape that failed is counted %v times", v)
	}
}

// described collects the names that are registered.
type described struct {
	prometheus.Registerer
	names []string
}

func (d *described) Register(c prometheus.Collector) error {
	found := make(chan *prometheus.Desc)
	go func() { c.Describe(found); close(found) }()
	for desc := range found {
		d.names = append(d.names, regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(desc.String())[1])
	}
	return nil
}

// TestEveryNameIsDocumented: docs/metrics.md has each name that is registered, and
// no other.
func TestEveryNameIsDocumented(t *testing.T) {
	var d described
	_, err1 := metrics.Hook(&d)
	_, _, err2 := metrics.Pressure(&d)
	_, err3 := metrics.Sweep(&d)
	must(t, errors.Join(err1, err2, err3, metrics.Queues(&d, 0, nil), metrics.Streams(&d, 0, nil)))
	text, err := os.ReadFile("../docs/metrics.md")
	must(t, err)
	documented := regexp.MustCompile("`(keywright_\\w+)").FindAllStringSubmatch(string(text), -1)
	var names []string
	for _, m := range documented {
		names = append(names, m[1])
		if !slices.Contains(d.names, m[1]) {
			t.Errorf("%s is documented and not registered", m[1])
		}
	}
	for _, name := range d.names {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in docs/metrics.md", name)
		}
	}
	if len(d.names) < 25 {
		t.Errorf("%d names: %v", len(d.names), d.names)
	}
}
