package pages

import (
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// Everything that is counted, for Prometheus.
func Example_metrics() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	url, stop := keywrighttest.Example()
	defer stop()
	registry := prometheus.NewRegistry()
	//doc:begin metrics
	hook, err := metrics.Hook(registry) // registry: prometheus.DefaultRegisterer, or one of your own
	check(err)
	client, err := keywright.Open(ctx, url, keywright.Options{Hooks: []keywright.Hook{hook}})
	check(err)

	err = metrics.Queues(registry, 0, map[string]metrics.Queue{"tasks": app.Tasks()})
	check(err)
	err = metrics.Streams(registry, 0, map[string]metrics.Stream{"order_paid": app.OrderPaid()})
	check(err)
	look, ended, err := metrics.Pressure(registry)
	check(err)
	watcher := app.Pressure(pressure.Options{Look: look, Done: ended})
	swept, err := metrics.Sweep(registry)
	sweeping := entity.SweepOptions{Swept: swept}
	//doc:end
	check(err)
	defer client.Close()
	families, err := registry.Gather()
	fmt.Println(len(families) > 5, err, watcher != nil, sweeping.Batch)
	// Output: true <nil> true 0
}
