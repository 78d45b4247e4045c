// Package metrics counts and times the operations of a keywright client for
// Prometheus. It is a module of its own: who does not use it does not get the
// Prometheus client.
//
//	hook, err := metrics.Hook(prometheus.DefaultRegisterer)
//	client, err := keywright.Open(ctx, url, keywright.Options{Hooks: []keywright.Hook{hook}})
//
// Labels are names of the declaration and a few words, never keys: there are at
// most as many series as entries times operations times outcomes.
//
// API: may change until 1.0.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/prometheus/client_golang/prometheus"
)

// durations lists the buckets of what lasts from a millisecond to an hour.
var durations = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600}

// timed lists the kinds whose duration is a figure of its own.
var timed = map[notice.Kind]bool{
	notice.JobDone: true, notice.JobFailed: true, notice.MessageDone: true, notice.MessageFailed: true,
	notice.LockAcquired: true, notice.LockReleased: true, notice.LockLost: true, notice.LeaseLost: true,
	notice.CacheLoad: true, notice.Reconnected: true,
}

// Hook registers the metrics and gives the hook that fills them. The error is
// that they are registered already: make one hook per process and give it to
// every client.
//
//	keywright_operations_total{entry,op,outcome}          counter
//	keywright_operation_duration_seconds{entry,op}        histogram, all attempts
//	keywright_operation_retries_total{entry,op}           counter, attempts beyond the first
//
// outcome is ok, not_found, decode, or the class of the error: invalid,
// not_applied, retryable, unknown_outcome, refused, partly_applied. It is caller for
// a transaction whose function returned an error of its own.
//
// What happens to constructs (keywright.Notice):
//
//	keywright_notices_total{entry,kind}                   counter, kind is a keywright.NoticeKind: job_done, dead_letter, cache_hit …
//	keywright_notice_duration_seconds{entry,kind}         histogram of the kinds that have a duration:
//	                                                      job_done, job_failed, message_done, message_failed, lock_acquired (waited),
//	                                                      lock_released, lock_lost and lease_lost (held), cache_load, reconnected (was away)
func Hook(r prometheus.Registerer) (keywright.Hook, error) {
	operations := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "keywright_operations_total",
		Help: "Operations on declared keys, by entry, operation and outcome."}, []string{"entry", "op", "outcome"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "keywright_operation_duration_seconds",
		Help:    "How long operations took, retries included.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}},
		[]string{"entry", "op"})
	retries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "keywright_operation_retries_total",
		Help: "Attempts beyond the first one."}, []string{"entry", "op"})
	events := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "keywright_notices_total",
		Help: "What happened to constructs: jobs, messages, locks, cached values, connections."}, []string{"entry", "kind"})
	lasted := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "keywright_notice_duration_seconds",
		Help:    "How long handlers ran, locks were waited for and held, values were loaded, a connection was away.",
		Buckets: durations}, []string{"entry", "kind"})
	if err := errors.Join(r.Register(operations), r.Register(seconds), r.Register(retries), r.Register(events),
		r.Register(lasted)); err != nil {
		return keywright.Hook{}, fmt.Errorf("registering the metrics of keywright: %w", err)
	}
	notice := func(_ context.Context, n keywright.Notice) {
		events.WithLabelValues(n.Entry, string(n.Kind)).Inc()
		if timed[n.Kind] {
			lasted.WithLabelValues(n.Entry, string(n.Kind)).Observe(n.Elapsed.Seconds())
		}
	}
	return keywright.Hook{Notice: notice, Done: func(_ context.Context, call keywright.Call, o keywright.Outcome) {
		operations.WithLabelValues(call.Entry, call.Op, strings.ReplaceAll(o.Kind(), " ", "_")).Inc()
		seconds.WithLabelValues(call.Entry, call.Op).Observe(o.Elapsed.Seconds())
		if o.Attempts > 1 {
			retries.WithLabelValues(call.Entry, call.Op).Add(float64(o.Attempts - 1))
		}
	}}, nil
}
