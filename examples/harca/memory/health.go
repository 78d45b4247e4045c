package memory

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// Health describes how the memory is doing. While Redis is away it is unhealthy, and
// nevertheless answers what it has seen and accepts what it is given.
type Health struct {
	Status           string   `json:"status"`           // "healthy" or "unhealthy"
	ResponseTime     float64  `json:"responseTime"`     // of the slowest server, in ms
	MemoryUsage      float64  `json:"memoryUsage"`      // of all servers, in MB
	Uptime           int64    `json:"uptime"`           // of the server that began last, in s
	ConnectedClients int      `json:"connectedClients"` // of all servers
	Servers          []string `json:"servers,omitempty"`

	Fallback  string `json:"fallback"`  // "up", "away" or "replaying"
	Pending   int    `json:"pending"`   // writes that wait for Redis
	Copies    int    `json:"copies"`    // of items, that are read while Redis is away
	Conflicts int    `json:"conflicts"` // writes of while it was away that have lost
	Error     string `json:"error,omitempty"`
}

// Health asks every server and the second store: two round trips.
func (m *Memory) Health(ctx context.Context) Health {
	h := Health{Status: "healthy"}
	found, err := m.client.Check(ctx)
	for i, s := range found.Servers {
		h.Servers = append(h.Servers, s.Address)
		h.ResponseTime = max(h.ResponseTime, float64(s.Latency)/float64(time.Millisecond))
		h.MemoryUsage += float64(s.Memory) / (1 << 20)
		if up := int64(s.Uptime / time.Second); i == 0 || up < h.Uptime {
			h.Uptime = up
		}
		h.ConnectedClients += s.Clients
	}
	if err != nil {
		h.Status, h.Error = "unhealthy", err.Error()
	}
	if s, err := m.items.Guard().State(ctx); err == nil {
		h.Fallback, h.Pending, h.Copies, h.Conflicts = s.Phase.String(), s.Pending, s.Copies, s.Conflicts
	}
	return h
}

// figures describes what this service counts itself; package metrics does the rest.
type figures struct {
	digests  prometheus.Counter
	fallback *prometheus.CounterVec
}

func newFigures() figures {
	return figures{
		digests: prometheus.NewCounter(prometheus.CounterOpts{Name: "harca_digests_computed_total",
			Help: "Digests that were not in the cache."}),
		fallback: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "harca_fallback_events_total",
			Help: "What happened at the second store."}, []string{"event"}),
	}
}

// connection writes what becomes of connections: an error, each attempt, ready again.
func (m *Memory) connection() keywright.Hook {
	return keywright.Hook{Notice: func(_ context.Context, n keywright.Notice) {
		switch n.Kind {
		case notice.Disconnected:
			m.o.Logger.Error("Redis connection error", "error", n.Err)
		case notice.Reconnecting:
			m.o.Logger.Warn("reconnecting to Redis", "attempt", n.Attempt, "away", n.Elapsed.Round(time.Millisecond))
		case notice.Reconnected:
			m.o.Logger.Info("Redis connection ready", "away", n.Elapsed.Round(time.Millisecond))
		}
	}}
}

// second counts what happens at the second store, and writes when it answers in the place of
// Redis. After a failover Redis is another server, to which no connection was lost.
func (m *Memory) second(e fallback.Event) {
	m.figures.fallback.WithLabelValues(e.String()).Inc()
	switch e {
	case fallback.WentAway:
		m.o.Logger.Error("Redis does not answer; reads are from the second store, and writes wait there")
	case fallback.CameBack:
		m.o.Logger.Info("Redis answers again")
	case fallback.Stuck:
		m.o.Logger.Error("Redis refuses a write that waited for it")
	}
}

// observe tells Prometheus of every operation, of sweeps and of memory pressure, of
// what is counted here, and of what the servers say when it asks.
func (m *Memory) observe() (keywright.Hook, error) {
	hook, err1 := metrics.Hook(m.metrics)
	look, done, err2 := metrics.Pressure(m.metrics)
	swept, err3 := metrics.Sweep(m.metrics)
	m.o.Pressure.Look, m.o.Pressure.Done, m.o.Pressure.Failed = look, done, m.failed("pressure")
	m.o.Sweep.Swept = swept
	return hook, errors.Join(err1, err2, err3, m.metrics.Register(m.figures.digests),
		m.metrics.Register(m.figures.fallback), m.metrics.Register(collector{m}))
}

// gauge represents one figure of a server.
type gauge struct {
	desc  *prometheus.Desc
	value func(*keywright.ServerHealth) float64
}

func ofServer(name, help string, value func(*keywright.ServerHealth) float64) gauge {
	return gauge{prometheus.NewDesc("harca_redis_"+name, help, []string{"server"}, nil), value}
}

var gauges = []gauge{
	ofServer("up", "1 if the server answers.", func(s *keywright.ServerHealth) float64 {
		if s.Err != nil {
			return 0
		}
		return 1
	}),
	ofServer("memory_bytes", "Memory in use.", func(s *keywright.ServerHealth) float64 { return float64(s.Memory) }),
	ofServer("memory_max_bytes", "maxmemory, 0 without.",
		func(s *keywright.ServerHealth) float64 { return float64(s.MaxMemory) }),
	ofServer("memory_peak_bytes", "The most there has been.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Peak) }),
	ofServer("memory_fragmentation", "What the system gives ÷ what is in use.",
		func(s *keywright.ServerHealth) float64 { return s.Fragmentation }),
	ofServer("clients", "Connected clients.", func(s *keywright.ServerHealth) float64 { return float64(s.Clients) }),
	ofServer("clients_blocked", "Clients that wait for something.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Blocked) }),
	ofServer("commands", "Commands since it began.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Commands) }),
	ofServer("input_bytes", "Bytes read since it began.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Input) }),
	ofServer("output_bytes", "Bytes written since it began.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Output) }),
	ofServer("expired_keys", "Keys that have expired since it began.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Expired) }),
	ofServer("evicted_keys", "Keys thrown away at maxmemory since it began.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Evicted) }),
	ofServer("hits", "Reads that found their key since it began.",
		func(s *keywright.ServerHealth) float64 { return float64(s.Hits) }),
	ofServer("misses", "Reads that did not.", func(s *keywright.ServerHealth) float64 { return float64(s.Misses) }),
	ofServer("hit_rate", "Hits ÷ reads.", func(s *keywright.ServerHealth) float64 { return s.HitRate() }),
}

var (
	itemsDesc = prometheus.NewDesc("harca_entities", "Items and contexts, those to be swept with them.",
		[]string{"entity"}, nil)
	lateDesc = prometheus.NewDesc("harca_sweep_late_seconds", "For how long the first one waits to be swept.",
		[]string{"entity"}, nil)
	pendingDesc = prometheus.NewDesc("harca_fallback_pending", "Writes that wait for Redis.", nil, nil)
)

// collector asks when Prometheus does.
type collector struct{ m *Memory }

// Describe implements prometheus.Collector: what there is depends on the servers.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	health, _ := c.m.client.Check(ctx)
	for _, s := range health.Servers {
		for _, g := range gauges {
			tell(g.desc, g.value(&s), s.Address)
		}
	}
	for name, stats := range map[string]func(context.Context) (entity.Stats, error){"item": c.m.keys.ItemStore().Stats,
		"context": c.m.keys.ContextStore().Stats} {
		if s, err := stats(ctx); err == nil {
			tell(itemsDesc, float64(s.Items), name)
			tell(lateDesc, s.Late.Seconds(), name)
		}
	}
	if s, err := c.m.items.Guard().State(ctx); err == nil {
		tell(pendingDesc, float64(s.Pending))
	}
}
