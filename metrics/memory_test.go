package metrics_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestPressureAndSweep(t *testing.T) {
	r := prometheus.NewRegistry()
	look, done, err := metrics.Pressure(r)
	if err != nil {
		t.Fatal(err)
	}
	swept, err := metrics.Sweep(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := metrics.Pressure(r); err == nil {
		t.Error("registered twice without a word")
	}
	if _, err := metrics.Sweep(r); err == nil {
		t.Error("registered twice without a word")
	}
	look(pressure.Reading{Server: "a:1", Used: 5, Limit: 10})
	look(pressure.Reading{Server: "a:1", Used: 6, Limit: 10})
	done(pressure.Report{Entry: "item", Shortened: 7, End: pressure.Through})
	done(pressure.Report{Entry: "item", Release: true, Released: 3, End: pressure.Below})
	swept(entity.Swept{Gone: 4, Lives: 1})
	swept(entity.Swept{Gone: 2})
	want := `# HELP keywright_memory_limit_bytes The maxmemory of a server, 0 if it has none.
# TYPE keywright_memory_limit_bytes gauge
keywright_memory_limit_bytes{server="a:1"} 10
# HELP keywright_memory_used_bytes What a server counts against its maxmemory.
# TYPE keywright_memory_used_bytes gauge
keywright_memory_used_bytes{server="a:1"} 6
# HELP keywright_pressure_items_total Items that were shortened or released because memory was short.
# TYPE keywright_pressure_items_total counter
keywright_pressure_items_total{action="release",entry="item"} 3
keywright_pressure_items_total{action="shorten",entry="item"} 7
# HELP keywright_pressure_runs_total How runs of the declared pressure rules ended.
# TYPE keywright_pressure_runs_total counter
keywright_pressure_runs_total{action="release",end="below",entry="item"} 1
keywright_pressure_runs_total{action="shorten",end="through",entry="item"} 1
# HELP keywright_swept_items_total Expired items that were taken out of their indexes and announced.
# TYPE keywright_swept_items_total counter
keywright_swept_items_total 6
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
