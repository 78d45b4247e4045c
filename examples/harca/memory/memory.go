// Package memory is the short-term memory of HARCA as a service: items and the
// contexts they belong to, results that are dear to compute, the state of parts
// of the system, and the events of all of it, over generated code only (package
// harcakeys). Any number of processes may serve one memory; any of them may be
// killed at any moment.
//
// No key, TTL, event, index or encryption is written here by hand: the
// declaration (keyspace.yaml) has them. What is here is what only this team can
// know: which context an item prolongs, what makes a result void, what HTTP says.
package memory

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
	"github.com/prometheus/client_golang/prometheus"
)

// Options of a memory.
type Options struct {
	// URL of the server, of the sentinels, or of a cluster's nodes.
	URL string
	// Client is how to reach it: TLS, timeouts, and the key ring as its Sealer.
	Client keywright.Options
	// Backup is the file of the second store: what was read or written through this
	// process, for when Redis is away. A file per process; "": in memory.
	Backup string
	// Patience is how long a call waits for Redis before it does without; 0: 250 ms for a read, 1 s for a write, 500 ms
	// for the context of an item.
	Patience time.Duration
	// Note is how often a read prolongs its context; 0: 10 s. Writes always do.
	Note time.Duration

	Sweep    entity.SweepOptions
	Pressure pressure.Options
	Logger   *slog.Logger // nil: nothing
}

// Memory represents a client of the memory. It is safe for concurrent use.
type Memory struct {
	client *keywright.Client
	keys   *harcakeys.Keyspace
	items  *fallback.Entities[string, harcakeys.ItemValue]
	file   *bbolt.File

	generation cache.Version
	metrics    *prometheus.Registry
	figures    figures
	o          Options

	mu    sync.Mutex
	noted map[string]time.Time // contexts, and when they were prolonged by us
}

// Open connects, and fails when Redis cannot be reached now. Close it.
func Open(ctx context.Context, o Options) (*Memory, error) {
	m := &Memory{o: o, metrics: prometheus.NewRegistry(), figures: newFigures(), noted: map[string]time.Time{}}
	if m.o.Note == 0 {
		m.o.Note = 10 * time.Second
	}
	if m.o.Logger == nil {
		m.o.Logger = slog.New(slog.DiscardHandler)
	}
	hook, err := m.observe()
	if err != nil {
		return nil, err
	}
	o.Client.Hooks = append(o.Client.Hooks[:len(o.Client.Hooks):len(o.Client.Hooks)], hook, m.connection())
	if m.client, err = keywright.Open(ctx, o.URL, o.Client); err != nil {
		return nil, err
	}
	// Dear results live longer, and are computed again before they expire, the dearer the
	// earlier; while Redis is away they are computed each time.
	m.keys = harcakeys.NewTuned(m.client, harcakeys.Tuning{Computed: cache.Options{ByCost: dear, Early: 1,
		Down: cache.LoadThrough}})
	m.generation = cache.NewVersion(m.client, m.keys.ComputedGeneration().Key)
	if err = m.backUp(); err != nil {
		m.client.Close()
		return nil, err
	}
	return m, nil
}

// backUp gives the items their second store.
func (m *Memory) backUp() (err error) {
	var second fallback.Store = fallback.NewMemory(fallback.Limits{})
	if m.o.Backup != "" {
		if m.file, err = bbolt.Open(m.o.Backup, bbolt.Options{}); err != nil {
			return err
		}
		if second, err = m.file.Store("item", fallback.Limits{}); err != nil {
			return errors.Join(err, m.file.Close())
		}
	}
	m.items, err = fallback.NewEntities(m.keys.ItemStore().Store, second, fallback.Options{Patience: m.o.Patience, WritePatience: m.o.Patience,
		OnConflict: func(c fallback.Conflict) {
			m.o.Logger.Warn("a write of while Redis was away has lost against newer data", "fields", c.Fields)
		},
		OnEvent: m.second,
	})
	if err != nil && m.file != nil {
		return errors.Join(err, m.file.Close())
	}
	return err
}

// Close writes what waits for the second store, and disconnects. What Redis has
// not got yet stays in the file, for the next process that opens it.
func (m *Memory) Close() error {
	err := m.items.Close()
	if m.file != nil {
		err = errors.Join(err, m.file.Close())
	}
	m.client.Close()
	return err
}

// Serve does what must go on beside the calls until ctx ends: it sweeps what has
// expired, shortens and releases when memory is short, and makes computed results
// void whose items have changed. Every process may do so; they take turns.
func (m *Memory) Serve(ctx context.Context) error {
	stop, err := m.Subscribe(ctx, m.forget)
	if err != nil {
		return err
	}
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { m.keys.Sweeper(ctx, m.o.Sweep, m.failed("sweep")) })
	all.Go(func() { err = m.keys.Pressure(m.o.Pressure).Run(ctx) })
	all.Wait()
	return err
}

func (m *Memory) failed(what string) func(error) {
	return func(err error) { m.o.Logger.Warn(what, "error", err) }
}

// Check compares every item and context with every index: it is for tests and
// operators, and needs a user that may SCAN.
func (m *Memory) Check(ctx context.Context, o entity.CheckOptions) (problems int, err error) {
	items, err1 := m.keys.ItemStore().Check(ctx, o)
	contexts, err2 := m.keys.ContextStore().Check(ctx, o)
	return items.Problems + contexts.Problems, errors.Join(err1, err2)
}
