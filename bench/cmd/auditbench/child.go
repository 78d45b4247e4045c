package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/peers"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// loops lists the loops that run inside this binary, one per process so that CPU and memory are theirs alone; the audit
// is another such child.
var loops = map[string]func(context.Context, peers.Load) (peers.Tally, error){"rueidis": peers.Rueidis,
	"floor": peers.Floor, "values": peers.Floor}

// auditInProcess returns the audit as a Go program would do it.
func auditInProcess(ctx context.Context, addr string, options audit.Options) (*audit.Report, error) {
	ks, err := harness.Declared(dataset.Declaration)
	if err != nil {
		return nil, err
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

const childNames = "audit, floor, rueidis, values"

// runChild is a contestant, which asks for what the audit asks for.
func (f *field) runChild(ctx context.Context, name string, stdout io.Writer) (err error) {
	load := peers.Load{Addr: f.addr, Count: max(1, f.asked), Memory: true, Samples: -1, Values: name == "values"}
	var result any
	switch {
	case name == "audit":
		result, err = auditInProcess(ctx, f.addr, audit.Options{})
	case loops[name] != nil:
		result, err = loops[name](ctx, load)
	default:
		err = fmt.Errorf("-child %s: there are %s", name, childNames)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}
