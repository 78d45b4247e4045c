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

	"github.com/keywright/keywright/bench/peers"
)

// children are the contestants that run inside this binary, one per process so
// that CPU and memory are theirs alone.
var children = map[string]func(ctx context.Context, o options) (any, error){
	"rueidis": func(ctx context.Context, o options) (any, error) { return peers.Rueidis(ctx, o.load()) },
	"floor":   func(ctx context.Context, o options) (any, error) { return peers.Floor(ctx, o.load()) },
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
