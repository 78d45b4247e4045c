package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/metrics"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestHook(t *testing.T) {
	r := prometheus.NewRegistry()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	hook, err := metrics.Hook(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.Hook(r); err == nil {
		t.Error("registered twice without a word")
	}
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Hooks: []keywright.Hook{hook}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	codec := value.Text(0)
	e := keywright.Entry{Name: "note",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute}}
	note := typed.NewString(keywright.Binding{Client: c, Entry: &e, Key: "note:secret"}, &codec)
	for range 2 {
		if err := note.Set("secret").Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = note.Get().Do(t.Context())
	_ = note.Set("x", keywright.ExpiresIn(time.Hour)).Do(t.Context())
	_, _ = note.Delete().Do(t.Context())
	_, _ = note.Get().Do(t.Context())
	s.Do("SADD", "note:secret", "x")
	_, _ = note.Get().Do(t.Context())
	want := `# HELP keywright_operations_total Operations on declared keys, by entry, operation and outcome.
# TYPE keywright_operations_total counter
keywright_operations_total{entry="note",op="delete",outcome="ok"} 1
keywright_operations_total{entry="note",op="get",outcome="not_found"} 1
keywright_operations_total{entry="note",op="get",outcome="ok"} 1
keywright_operations_total{entry="note",op="get",outcome="refused"} 1
keywright_operations_total{entry="note",op="set",outcome="ok"} 2
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "keywright_operations_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(r, "keywright_operation_duration_seconds"); err != nil || n != 3 {
		t.Errorf("%d histograms, %v", n, err)
	}
}

// TestNotices: what happens to constructs is counted by entry and kind, and timed
// where the kind has a duration.
func TestNotices(t *testing.T) {
	r := prometheus.NewRegistry()
	hook, err := metrics.Hook(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []keywright.Notice{
		{Kind: notice.JobDone, Entry: "tasks", Elapsed: 2 * time.Second},
		{Kind: notice.JobDone, Entry: "tasks"},
		{Kind: notice.JobDead, Entry: "tasks"},
		{Kind: notice.CacheHit, Entry: "product"},
	} {
		hook.Notice(t.Context(), n)
	}
	want := `# HELP keywright_notices_total What happened to constructs: jobs, messages, locks, cached values, connections.
# TYPE keywright_notices_total counter
keywright_notices_total{entry="product",kind="cache_hit"} 1
keywright_notices_total{entry="tasks",kind="job_dead"} 1
keywright_notices_total{entry="tasks",kind="job_done"} 2
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "keywright_notices_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(r, "keywright_notice_duration_seconds"); err != nil || n != 1 {
		t.Errorf("%d histograms, %v", n, err)
	}
}
