package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/queue"
	"github.com/prometheus/client_golang/prometheus"
)

// Queue represents a queue.Queue of any type.
type Queue interface {
	Stats(ctx context.Context) (queue.Stats, error)
}

// Stream represents an event.Stream of any type.
type Stream interface {
	Stats(ctx context.Context) (event.Stats, error)
}

// Queues registers gauges of queues, by the names that their label is to have:
//
//	err := metrics.Queues(prometheus.DefaultRegisterer, 0, map[string]metrics.Queue{"mail": keys.MailQueue()})
//
// Each scrape asks each queue once, one round trip, and takes timeout at most (0: 5
// seconds). A queue that fails has no gauges in that scrape, and counts in
// keywright_scrape_errors_total. docs/metrics.md has all names. The error is that
// they are registered already, or that one of the queues is nil.
func Queues(r prometheus.Registerer, timeout time.Duration, queues map[string]Queue) error {
	sources := make(map[string]func(context.Context) (queue.Stats, error), len(queues))
	for name, q := range queues {
		if q == nil {
			return fmt.Errorf("the queue %q is nil", name)
		}
		sources[name] = q.Stats
	}
	return register(r, "queue", timeout, sources, queueGauges, ofQueue)
}

// Streams works as Queues does, for durable channels: lag and pending of each group. It asks two
// round trips of each stream, and shows the first 1,000 groups.
func Streams(r prometheus.Registerer, timeout time.Duration, streams map[string]Stream) error {
	sources := make(map[string]func(context.Context) (event.Stats, error), len(streams))
	for name, s := range streams {
		if s == nil {
			return fmt.Errorf("the stream %q is nil", name)
		}
		sources[name] = s.Stats
	}
	return register(r, "stream", timeout, sources, streamGauges, ofStream)
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	queueWaiting = gauge("keywright_queue_waiting_jobs", "Jobs that wait in a lane.", "queue", "lane")
	queueOldest  = gauge("keywright_queue_oldest_age_seconds",
		"How long the first job of a lane has waited, 0 without one.", "queue", "lane")
	queueDelayed = gauge("keywright_queue_delayed_jobs", "Jobs that are not due yet, or wait for another attempt.",
		"queue")
	queueRunning = gauge("keywright_queue_running_jobs", "Jobs that workers have claimed.", "queue")
	queueExpired = gauge("keywright_queue_expired_jobs", "Of the running jobs those whose lease is over.", "queue")
	queueOverdue = gauge("keywright_queue_overdue_jobs",
		"Of a thousand running jobs those that were claimed longer ago than their queue's timeout, or than an hour.", "queue")
	queueRun = gauge("keywright_queue_oldest_run_age_seconds",
		"How long ago the oldest of a thousand running jobs was claimed, 0 without one.", "queue")
	queueDead    = gauge("keywright_queue_dead_jobs", "Jobs that were given up and are kept.", "queue")
	queueWorkers = gauge("keywright_queue_workers", "Workers that give a sign of life.", "queue")
	queuePaused  = gauge("keywright_queue_paused", "1 if the queue is paused, else 0.", "queue")
	queueGauges  = []*prometheus.Desc{queueWaiting, queueOldest, queueDelayed, queueRunning, queueExpired, queueOverdue,
		queueRun, queueDead, queueWorkers, queuePaused}

	streamMessages = gauge("keywright_stream_messages", "Messages that are kept.", "stream")
	streamDead     = gauge("keywright_stream_dead_letters", "Dead letters that are kept.", "stream")
	streamLag      = gauge("keywright_stream_group_lag_messages",
		"Messages that a group has not read yet; none if the server cannot tell.", "stream", "group")
	streamPending = gauge("keywright_stream_group_pending_messages",
		"Messages that a group has read and not acknowledged.", "stream", "group")
	streamMissed = gauge("keywright_stream_group_missed_messages",
		"Messages that were trimmed before a group has read them; none if the server cannot tell.", "stream", "group")
	streamConsumers = gauge("keywright_stream_group_consumers", "Consumers of a group.", "stream", "group")
	streamOldest    = gauge("keywright_stream_group_oldest_pending_timestamp_seconds",
		"When the oldest pending message was published; none without one.", "stream", "group")
	streamOverdue = gauge("keywright_stream_group_overdue_runs",
		"Of the handlers that run in this process those that began longer ago than the channel's timeout, or than an hour.",
		"stream", "group")
	streamRun = gauge("keywright_stream_group_oldest_run_age_seconds",
		"For how long the oldest handler of this process has been running, 0 without one.", "stream", "group")
	streamGauges = []*prometheus.Desc{streamMessages, streamDead, streamLag, streamPending, streamMissed, streamConsumers,
		streamOldest, streamOverdue, streamRun}
)

// set gives one gauge of a scrape.
type set func(d *prometheus.Desc, v float64, labels ...string)

func ofQueue(set set, name string, s queue.Stats) {
	for _, l := range s.Lanes {
		set(queueWaiting, float64(l.Length), name, l.Name)
		set(queueOldest, l.Oldest.Seconds(), name, l.Name)
	}
	live, paused := 0, 0.
	for _, w := range s.Workers {
		if !w.Dead {
			live++
		}
	}
	if s.Paused {
		paused = 1
	}
	set(queueDelayed, float64(s.Delayed), name)
	set(queueRunning, float64(s.Leased), name)
	set(queueExpired, float64(s.Zombies), name)
	set(queueOverdue, float64(s.Overdue), name)
	set(queueRun, s.OldestRun.Seconds(), name)
	set(queueDead, float64(s.Dead), name)
	set(queueWorkers, float64(live), name)
	set(queuePaused, paused, name)
}

// mostGroups says how many groups of a stream are shown.
const mostGroups = 1000

func ofStream(set set, name string, s event.Stats) {
	set(streamMessages, float64(s.Length), name)
	set(streamDead, float64(s.Dead), name)
	for _, g := range s.Groups[:min(len(s.Groups), mostGroups)] {
		set(streamPending, float64(g.Pending), name, g.Name)
		set(streamConsumers, float64(g.Consumers), name, g.Name)
		set(streamOverdue, float64(g.Overdue), name, g.Name)
		set(streamRun, g.OldestRun.Seconds(), name, g.Name)
		if g.Lag >= 0 {
			set(streamLag, float64(g.Lag), name, g.Name)
		}
		if g.Missed >= 0 {
			set(streamMissed, float64(g.Missed), name, g.Name)
		}
		if !g.Oldest.IsZero() {
			set(streamOldest, float64(g.Oldest.UnixMilli())/1000, name, g.Name)
		}
	}
}

// gauges are collected when they are scraped: by asking.
type gauges[S any] struct {
	timeout time.Duration
	sources map[string]func(context.Context) (S, error)
	descs   []*prometheus.Desc
	of      func(set set, name string, s S)
	failed  *prometheus.CounterVec
}

// mostAsked says how many are asked at a time.
const mostAsked = 16

func register[S any](r prometheus.Registerer, kind string, timeout time.Duration,
	sources map[string]func(context.Context) (S, error), descs []*prometheus.Desc, of func(set, string, S)) error {
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "keywright_scrape_errors_total",
		Help: "Queues and streams that did not answer a scrape.", ConstLabels: prometheus.Labels{"kind": kind}},
		[]string{"name"})
	for name := range sources {
		if !utf8.ValidString(name) {
			return fmt.Errorf("the name %q is no UTF-8", name)
		}
		failed.WithLabelValues(name)
	}
	if timeout < 0 {
		return errors.New("the timeout of a scrape is negative")
	}
	g := &gauges[S]{cmp.Or(timeout, 5*time.Second), sources, descs, of, failed}
	if err := r.Register(g); err != nil {
		return fmt.Errorf("registering the gauges of each %s: %w", kind, err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (g *gauges[S]) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		ch <- d
	}
	g.failed.Describe(ch)
}

// Collect implements prometheus.Collector. It asks all at the same time: one that
// does not answer hides no other.
func (g *gauges[S]) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
	defer cancel()
	set := func(d *prometheus.Desc, v float64, labels ...string) {
		for i, l := range labels {
			if !utf8.ValidString(l) {
				labels[i] = strconv.QuoteToASCII(l)
			}
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var asked sync.WaitGroup
	room := make(chan struct{}, mostAsked)
	for name, ask := range g.sources {
		room <- struct{}{}
		asked.Go(func() {
			defer func() { <-room }()
			s, err := ask(ctx)
			if err != nil {
				g.failed.WithLabelValues(name).Inc()
				return
			}
			g.of(set, name, s)
		})
	}
	asked.Wait()
	g.failed.Collect(ch)
}
