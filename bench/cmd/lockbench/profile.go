package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// profile lets keywright lock and unlock alone, with 128 goroutines, and writes
// where this process spends its time. The server's share is told by its CPU time.
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
	busy, err := server.CPU()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	const span = 5 * time.Second
	r, err := turns.Race(ctx, []turns.Contestant{{Name: "keywright", Do: func(ctx context.Context, g, _ int) error { return once(ctx, mutexes[g]) }}}, []int{len(mutexes)}, 1, span)
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	until, err := server.CPU()
	rate := r.Rate(0, len(mutexes))
	locks := rate * span.Seconds()
	fmt.Fprintf(stdout, "%.0f locks/s; per lock: %.1f µs of the server's main thread, %.0f allocations, %.0f bytes\n", rate,
		float64(until-busy)/1e3/locks, float64(after.Mallocs-before.Mallocs)/locks, float64(after.TotalAlloc-before.TotalAlloc)/locks)
	return err
}
