package ranking

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/counter"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/limit"
)

const declaration = `keywright: 1
owner: shop
vars: {day: date YYYY-MM-DD, id: int 1.., end: date YYYY-MM-DD}
keys:
  sales: {key: "sales:{day}", type: ranking, member: id, score: int, ttl: 40d, cached: 1m}
  popular: {key: "popular:{end}", type: zset, member: id, score: float, ttl: 1m}
  visits: {key: "visits:{day}", type: counter, ttl: 1h}
  visit_ids: {key: "visits:{day}:ids", type: zset, member: slug, score: unix_ms, ttl: 1h}
  rate: {key: "rate:{id}", type: ratelimit, rate: 100 per 1m, ttl: 2m}
  uniques: {key: "uniques:{day}", type: string, ttl: 1h}
  actives: {key: "actives:{day}", type: string, ttl: 1h}
  scratch: {key: "scratch", type: string, ttl: 1m}
`

// TestTheGuardIsContent: every key that is written is declared and has its TTL,
// to the one who watches all commands.
func TestTheGuardIsContent(t *testing.T) {
	t.Parallel()
	ks, found := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(declaration)}}, "keyspace.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		t.Fatal(found)
	}
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := servertest.Open(t, keywrighttest.Start(t, keywrighttest.Valkey).URL(),
		keywright.Options{Wrap: g.Wrap})
	b := board(t, c, "sales:", &numbers, ByMember)
	w, err := NewWindows(keywright.Binding{Entry: expires("popular", time.Minute)}, b,
		WindowConfig[float64]{Key: dayKey("popular:"),
			Score: &floats, Weights: []float64{1, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	hour := expires("hour", time.Hour)
	visits := counter.New(keywright.Binding{Client: c, Entry: hour, Key: "visits:2026-11-21"})
	actives := counter.NewActives(keywright.Binding{Client: c, Entry: hour}, counter.ActivesConfig{Scratch: "scratch"})
	calls := map[string]func() error{
		"increase": func() error { _, err := b.Increase(t.Context(), today, 1, 1); return err },
		"window":   func() error { _, err := w.Ending(today).Top(t.Context(), 3); return err },
		"large": func() error { // its parts fit the pattern of a declared window
			large, _ := heavy(t, c, "sales:", 700)
			large.key = "{sales}:window:" + Day.Window(today, []float64{1, 0.5, -2})
			_, err := large.Top(t.Context(), 3)
			return err
		},
		"top": func() error { _, err := b.Of(today).Top(t.Context(), 3); return err },
		"exact": func() error {
			_, err := visits.Exactly(keywright.Binding{Entry: hour, Key: "visits:2026-11-21:ids"}).AddOnce(t.Context(), "a", 1)
			return err
		},
		"uniques": func() error {
			_, err := counter.NewUniques(keywright.Binding{Client: c, Entry: hour, Key: "uniques:2026-11-21"},
				&numbers).Add(t.Context(), 1)
			return err
		},
		"actives": func() error { _, err := actives.Of("actives:2026-11-21", nil).Mark(t.Context(), 1); return err },
		"any":     func() error { _, err := actives.Any(t.Context(), actives.Of("actives:2026-11-21", nil)); return err },
		"limit": func() error {
			_, err := limit.New(keywright.Binding{Client: c, Entry: expires("rate", 2*time.Minute)},
				limit.Sliding(5, time.Minute)).Of("rate:1", nil).Allow(
				t.Context())
			return err
		},
	}
	for _, name := range []string{"increase", "window", "large", "top", "exact", "uniques", "actives", "any", "limit"} {
		if err := calls[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
