package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// profile lets keywright lock and unlock alone, with 128 goroutines, and writes
// where this process spends its time. The server's share is reported by its CPU.
func profile(ctx context.Context, server *live.Server, file string, stdout io.Writer) error {
	c, err := ours("keywright, fair", lock.Fair).open(ctx, server.Addr, nil)
	if err != nil {
		return err
	}
	defer c.close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	mutexes := make([]mutex, 128)
	for g := range mutexes {
		mutexes[g] = c.mutex(fmt.Sprintf("lock:%d", g))
	}
	before, err := costs.Read(server)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	r, err := turns.Race(ctx,
		[]turns.Contestant{{Name: "keywright",
			Do: func(ctx context.Context, g, _ int) error { return once(ctx, mutexes[g]) }}}, []int{len(mutexes)},
		1, 5*time.Second)
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	after, err := costs.Read(server)
	var sum costs.Costs
	sum.Add(before, after)
	fmt.Fprintf(stdout, "%.0f locks/s\n", r.Rate(0, len(mutexes)))
	for i, cell := range sum.Cells(r.Done(0, len(mutexes))) {
		fmt.Fprintf(stdout, "%s per lock: %v\n", costs.Columns[i], cell)
	}
	return err
}
