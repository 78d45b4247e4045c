package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing/fstest"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/peers"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// children lists the contestants that run inside this binary, one per process so
// that CPU and memory are theirs alone.
var children = map[string]func(ctx context.Context, load peers.Load) (any, error){
	"audit": func(ctx context.Context, load peers.Load) (any, error) {
		return auditInProcess(ctx, load.Addr, audit.Options{})
	},
	"rueidis": func(ctx context.Context, load peers.Load) (any, error) { return peers.Rueidis(ctx, load) },
	"floor":   func(ctx context.Context, load peers.Load) (any, error) { return peers.Floor(ctx, load) },
	"values": func(ctx context.Context, load peers.Load) (any, error) {
		load.Values = true
		return peers.Floor(ctx, load)
	},
}

// auditInProcess returns the audit as a Go program would do it.
func auditInProcess(ctx context.Context, addr string, options audit.Options) (*audit.Report, error) {
	ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: dataset.Declaration}}, "keyspace.yaml")
	if len(findings) > 0 {
		return nil, fmt.Errorf("the dataset's declaration has faults: %s", findings[0].Message)
	}
	a, err := audit.New(ks, options)
	if err != nil {
		return nil, err
	}
	config, err := connect.Parse("redis://" + addr)
	if err != nil {
		return nil, err
	}
	scanner := server.New(config, server.Options{OnlyDB: -1})
	return a.Run(ctx, scanner, source.Request{Bytes: true})
}

func childNames() []string { return slices.Sorted(maps.Keys(children)) }

// runChild is a contestant, which asks for what the audit asks for.
func (f *field) runChild(ctx context.Context, name string, stdout io.Writer) error {
	child := children[name]
	if child == nil {
		return fmt.Errorf("-child %s: there are %q", name, childNames())
	}
	result, err := child(ctx, peers.Load{Addr: f.addr, Count: max(1, f.asked), Memory: true, Samples: -1})
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}
