package observe

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// healthSeconds is the interval of diagnoses of `keywright serve`.
const healthSeconds = 60

// instances says how many constructs of each kind there are.
const instances = 40

// At rest a target costs its server less than 20 commands a second: what a reading costs is
// counted, scripts' own commands included, and is no more than the pace takes it for. So a
// second has no more than the pace, one reading's worth, and a diagnosis in a minute.
func TestCostAtRest(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("EVAL",
		`for i = 1, 40 do redis.call('RPUSH', 'jobs:q'..i, 'j'); redis.call('SET', 'lock:'..i, 'w/1', 'EX', 3000); redis.call('ZADD', 'top:'..i, 1, 'm'); redis.call('XADD', 'log:'..i, '*', 'a', 1) end`, "0")
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(`keywright: 1
package: p
owner: o
keys:
  tasks: {key: "jobs:{name}", type: queue, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  best: {key: "top:{n}", type: ranking, member: text, ttl: 7d}
  log: {key: "log:{n}", type: stream, ttl: none}
`)}}, "k.yaml")
	for _, f := range found {
		if f.Severity.String() == "error" {
			t.Fatal(f)
		}
	}
	config, err := connect.New(connect.Options{URL: s.URL(), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	target, err := New(Options{ID: "a", Declaration: Declaration{Keyspace: ks}, Now: time.Now,
		Audit: audit.Options{MinKeys: 1}, Pace: 1 << 20, Glance: time.Second,
		Source: func() (source.Source, source.Request, func(), error) {
			return server.New(config, server.Options{OnlyDB: -1}), source.Request{Bytes: true}, func() {}, nil
		},
		Server: &Server{config, func(ctx context.Context) (*keywright.Client, error) {
			return keywright.Open(ctx, s.URL(), keywright.Options{NoCache: true, Connections: -1})
		}}})
	if err != nil {
		t.Fatal(err)
	}
	if !target.audit(t.Context()) {
		t.Fatal("the audit is not whole")
	}
	defer func() { target.client.Close() }()
	target.glance(t.Context()) // scripts are loaded once
	counted := func(what func()) float64 {
		stop := s.Monitor()
		what()
		return float64(len(stop()))
	}
	r := &answer.Reader{Client: target.client, Keyspace: ks, Instances: target.instances,
		Rankings: target.rankings(target.client)}
	streams := target.State().Instances["log"].Keys
	for _, kind := range []struct {
		name string
		cost int
		read func([]*keyspace.Entry) error
	}{
		{"tasks", answer.QueueCost, func(e []*keyspace.Entry) error { _, err := r.Queues(t.Context(), e, 0); return err }},
		{"hold", answer.LockCost, func(e []*keyspace.Entry) error { _, err := r.Locks(t.Context(), e); return err }},
		{"best", answer.RankingCost,
			func(e []*keyspace.Entry) error { _, err := r.ReadRankings(t.Context(), e); return err }},
		{"log", answer.StreamCost,
			func([]*keyspace.Entry) error { _, err := r.ReadStreams(t.Context(), streams, nil); return err }},
	} {
		e, _ := ks.Lookup(kind.name)
		each := counted(func() {
			if err := kind.read([]*keyspace.Entry{e}); err != nil {
				t.Error(err)
			}
		}) / instances
		t.Logf("%s: %.1f commands each", kind.name, each)
		if each > float64(kind.cost) || each < 1 {
			t.Errorf("%s: a reading costs %.1f commands, and is taken for %d", kind.name, each, kind.cost)
		}
	}
	diagnosis := counted(func() {
		if _, err := server.Examine(t.Context(), config, time.Now); err != nil {
			t.Error(err)
		}
	})
	if perSecond := defaultPace + diagnosis/healthSeconds; perSecond >= 20 {
		t.Errorf("%.1f commands a second at rest", perSecond)
	}
}

// Readings keep to their pace: so many are let through in a time, however many wait.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pace{each: 10 * time.Millisecond}
		began := time.Now()
		for range 6 {
			if err := p.wait(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("six readings took %v, not five times 20 ms", took)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		p.next = time.Now().Add(time.Hour)
		if err := p.wait(ctx, 1); err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Error(err)
		}
	})
}
