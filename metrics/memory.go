package metrics

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/prometheus/client_golang/prometheus"
)

// Pressure registers the metrics of a pressure.Watcher and gives its two hooks:
//
//	look, done, err := metrics.Pressure(prometheus.DefaultRegisterer)
//	watcher := keys.Pressure(pressure.Options{Look: look, Done: done})
//
//	keywright_memory_used_bytes{server}                     gauge
//	keywright_memory_limit_bytes{server}                    gauge, 0 without one
//	keywright_pressure_items_total{entry,action}            counter, action is shorten or release
//	keywright_pressure_runs_total{entry,action,end}         counter, end is one of pressure.End
//
// A server is its address. The error is that they are registered already.
func Pressure(r prometheus.Registerer) (look func(pressure.Reading), done func(pressure.Report), err error) {
	used := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "keywright_memory_used_bytes",
		Help: "What a server counts against its maxmemory."}, []string{"server"})
	limit := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "keywright_memory_limit_bytes",
		Help: "The maxmemory of a server, 0 if it has none."}, []string{"server"})
	items := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "keywright_pressure_items_total",
		Help: "Items that were shortened or released because memory was short."}, []string{"entry", "action"})
	runs := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "keywright_pressure_runs_total",
		Help: "How runs of the declared pressure rules ended."}, []string{"entry", "action", "end"})
	if err := errors.Join(r.Register(used), r.Register(limit), r.Register(items), r.Register(runs)); err != nil {
		return nil, nil, fmt.Errorf("registering the metrics of memory pressure: %w", err)
	}
	look = func(m pressure.Reading) {
		used.WithLabelValues(m.Server).Set(float64(m.Used))
		limit.WithLabelValues(m.Server).Set(float64(m.Limit))
	}
	done = func(p pressure.Report) {
		action := "shorten"
		if p.Release {
			action = "release"
		}
		items.WithLabelValues(p.Entry, action).Add(float64(p.Shortened + p.Released))
		runs.WithLabelValues(p.Entry, action, string(p.End)).Inc()
	}
	return look, done, nil
}

// Sweep registers the metric of the sweepers of entities and gives the hook for
// entity.SweepOptions.Swept:
//
//	keywright_swept_items_total                             counter, expired items taken out of their indexes
//
// The error is that it is registered already.
func Sweep(r prometheus.Registerer) (func(entity.Swept), error) {
	gone := prometheus.NewCounter(prometheus.CounterOpts{Name: "keywright_swept_items_total",
		Help: "Expired items that were taken out of their indexes and announced."})
	if err := r.Register(gone); err != nil {
		return nil, fmt.Errorf("registering the metric of sweepers: %w", err)
	}
	return func(s entity.Swept) { gone.Add(float64(s.Gone)) }, nil
}
