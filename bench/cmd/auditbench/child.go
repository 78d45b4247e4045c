package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/pprof"
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
var children = map[string]func(ctx context.Context, o options) (any, error){
	"audit":   func(ctx context.Context, o options) (any, error) { return auditInProcess(ctx, o.addr, audit.Options{}) },
	"rueidis": func(ctx context.Context, o options) (any, error) { return peers.Rueidis(ctx, o.load()) },
	"floor":   func(ctx context.Context, o options) (any, error) { return peers.Floor(ctx, o.load()) },
	"values": func(ctx context.Context, o options) (any, error) {
		load := o.load()
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

// load repeats what the audit asks for.
func (o options) load() peers.Load {
	return peers.Load{Addr: o.addr, Count: max(1, o.count), Memory: true, Samples: -1}
}

func runChild(ctx context.Context, o options, stdout io.Writer) error {
	child := children[o.child]
	if child == nil {
		return fmt.Errorf("-child %s: there are %q", o.child, childNames())
	}
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	result, err := child(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}
