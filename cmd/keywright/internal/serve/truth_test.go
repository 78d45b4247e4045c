package serve_test

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/history/file"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/source"
)

// sampling represents a source that has given some keys of a million.
type sampling struct{ source.Source }

func (s sampling) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	req.Sample = 0
	sum, err := s.Source.Scan(ctx, req, each)
	sum.Expected = 1_000_000
	return sum, err
}

// A sample is not reported as all keys: not by the metrics, the list of targets, an answer, or the
// history, where it would be compared with whole audits.
func TestASampleIsNotAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *observe.Options) {
		whole := o.Source
		o.Source = func() (source.Source, source.Request, func(), error) {
			src, req, done, err := whole()
			req.Sample = 50
			return sampling{src}, req, done, err
		}
	})
	if text := r.text("/metrics"); !strings.Contains(text, `keywright_audit_whole{keyspace="shopkeys",target="main"} 0`) {
		t.Error("the metrics say that a sample is whole")
	}
	list := ask[document.Targets](r, "/api/v1/targets")
	if row := list.Items[0]; row.State != "partial" || !strings.Contains(row.Why, "a sample of") {
		t.Errorf("%+v", row)
	}
	o := ask[document.Overview](r, "/api/v1/t/main/overview")
	if !strings.Contains(o.Partial, "a sample of") || o.Since != "" || len(o.Changed) > 0 {
		t.Errorf("%+v since %s", o.Measured, o.Since)
	}
	r.runs.Store(true)
	if s := ask[document.Series](r, "/api/v1/t/main/history"); len(s.Series) != 3 || len(s.Series[0].Points) != 0 {
		t.Errorf("a sample is in the history: %+v", s)
	}
}

// Each series is there once, also where names are so long that only their beginnings are shown.
func TestSeriesAreThereOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("g", 5000)
	for _, end := range []string{"a", "b"} {
		r.redis.Do("XGROUP", "CREATE", "shop:log", long+end, "0")
	}
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, func(s observe.State) bool { return len(s.Streams.Value.Streams[0].Groups) == 3 })
	seen := map[string]bool{}
	for line := range strings.Lines(r.text("/metrics")) {
		series, _, _ := strings.Cut(line, "} ")
		if !strings.HasPrefix(line, "#") && seen[series] {
			t.Errorf("twice: %.200s", series)
		}
		seen[series] = true
		if strings.HasPrefix(line, "keywright_stream_pending") && !strings.Contains(line, `keyspace="shopkeys"`) {
			t.Errorf("%.200s has no keyspace", line)
		}
	}
	if n := len(regexp.MustCompile(`sha256:[0-9a-f]{16}`).FindAllString(r.text("/metrics"), -1)); n < 2 {
		t.Errorf("%d long names have a digest", n)
	}
}

// past returns a history that a test has written.
func past(t *testing.T, r *rig, points map[time.Time]map[string]history.Point) history.Store {
	t.Helper()
	store, err := file.Open(t.TempDir()+"/past.db", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	for at, all := range points {
		if err := store.Append(t.Context(), "main", at, all); err != nil {
			t.Fatal(err)
		}
	}
	r.api = serve.New(serve.Options{Targets: []*observe.Target{r.target}, Rules: audit.Rules(), Now: time.Now,
		History: store})
	return store
}

// What has come and gone since yesterday is reported: a row that is there no more has all of its keys
// less, and one that was not there yesterday, but days before, has all of them more.
func TestChangedSinceYesterday(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := r.target.State().Audit
	yesterday := map[string]history.Point{}
	maps.Copy(yesterday, r.api.Points(r.target, now))
	product := yesterday["product"]
	delete(yesterday, "product")
	total := yesterday["(total)"]
	total.Keys += 40 - product.Keys
	yesterday["(total)"] = total
	yesterday["(old name) x:*"] = history.Point{Keys: 40, Bytes: 4000, Violations: map[string]int64{"KW503": 40}}
	at := now.At.Add(-25 * time.Hour)
	store := past(t, r, map[time.Time]map[string]history.Point{})
	for _, one := range []struct {
		at     time.Time
		points map[string]history.Point
	}{{at.Add(-2 * time.Hour), map[string]history.Point{"product": {Keys: 7}, "(total)": {Keys: 7}}}, {at, yesterday}} {
		if err := store.Append(context.Background(), "main", one.at, one.points); err != nil {
			t.Fatal(err)
		}
	}
	o := ask[document.Overview](r, "/api/v1/t/main/overview")
	sum := int64(0)
	found := map[string]document.Changed{}
	for _, c := range o.Changed {
		found[c.Entry], sum = c, sum+c.Keys
	}
	if c := found["(old name) x:*"]; c.Keys != -40 || c.Bytes != -4000 || len(c.Gone) != 1 {
		t.Errorf("what is gone: %+v", c)
	}
	if c := found["product"]; c.Keys != product.Keys {
		t.Errorf("what has come: %+v, not %d keys", c, product.Keys)
	}
	if len(found) != 2 || sum != o.Keys {
		t.Errorf("%d keys in %+v, and %d of all", sum, found, o.Keys)
	}
}

// With audits every few seconds the week that is shown when nothing is asked for has more points
// than one answer: it comes in hours, and is not refused.
func TestAWeekOfManyAudits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().Truncate(time.Hour)
	r.api = serve.New(serve.Options{Targets: []*observe.Target{r.target}, Rules: audit.Rules(), Now: time.Now,
		History: many{past(t, r, map[time.Time]map[string]history.Point{now.Add(-time.Hour): {"(total)": {Keys: 5}}})}})
	s := ask[document.Series](r, "/api/v1/t/main/history")
	if s.Step != "hour" || len(s.Series[0].Points) != 1 || s.Series[0].Points[0][1] != 5 {
		t.Errorf("%+v", s)
	}
	r.get(400, "/api/v1/t/main/history?step=raw") // what was asked for is not another thing
}

// many represents a history with more raw points than one answer may have.
type many struct{ history.Store }

func (m many) Range(ctx context.Context, q history.Query) ([]history.Point, error) {
	if q.Step == history.Raw {
		return nil, history.ErrTooMany
	}
	return m.Store.Range(ctx, q)
}

// TestQueuesAndMemoryHaveAHistory: each audit keeps how many jobs each queue has in each state, and how much memory the
// servers use; neither is a row of the keyspace that has come or gone.
func TestQueuesAndMemoryHaveAHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, func(s observe.State) bool {
		return s.Shards.Value != nil && s.Queues.Value != nil && len(s.Queues.Value.Queues) > 0
	})
	now := time.Now().Add(-time.Minute).Truncate(time.Second)
	points := r.api.Points(r.target, r.target.State().Audit)
	name := ""
	for row := range points {
		if strings.HasPrefix(row, "(queue) ") {
			name = row
		}
	}
	if points["(memory)"].Bytes < 1<<10 || name == "" {
		t.Fatalf("%+v", points)
	}
	before := map[string]history.Point{}
	for row, p := range points {
		p.At = now.Add(-25 * time.Hour)
		before[row] = p
	}
	gone := before[name]
	gone.Violations = map[string]int64{"dead": 70, "waiting": 3}
	before[name], before["(queue) gone -"] = gone, gone
	past(t, r, map[time.Time]map[string]history.Point{now.Add(-25 * time.Hour): before})
	for ask, want := range map[string]string{"metric=bytes&entry=(memory)": `"name":"bytes"`,
		"metric=codes&entry=" + url.QueryEscape(name): `"name":"dead","points":[[`} {
		if text := r.text("/api/v1/t/main/history?" + ask); !strings.Contains(text, want) {
			t.Errorf("%s: %s", ask, text)
		}
	}
	if text := r.text("/api/v1/t/main/overview"); strings.Contains(text, "(queue)") || strings.Contains(text, "(memory)") {
		t.Error("the overview has rows that are none")
	}
}
