// Package costs counts what an operation uses up: CPU of this process and of the
// server's main thread, allocations, commands. Other than time, that hardly
// depends on what else the machine does.
//
// It is for benchmarks in one process; processes of their own are package
// contest's.
package costs

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/keywright/keywright/bench/live"
)

// Costs holds counters, or the difference of two readings.
type Costs struct {
	Client, Server        time.Duration // CPU: all threads of this process; the server's main thread
	Allocations, Commands float64       // commands in scripts, too
}

// Columns lists the titles of Cells.
var Columns = []string{"client CPU µs", "server CPU µs", "allocations", "server commands"}

// Read returns all counters now.
func Read(server *live.Server) (c Costs, err error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var usage syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	cpu, err2 := server.CPU()
	commands, err3 := server.Commands()
	c.Client, c.Server = time.Duration(usage.Utime.Nano()+usage.Stime.Nano()), cpu
	c.Allocations, c.Commands = float64(memory.Mallocs), float64(commands)
	return c, errors.Join(err, err2, err3)
}

// Add the difference of two readings to a sum.
func (c *Costs) Add(before, after Costs) {
	c.Client += after.Client - before.Client
	c.Server += after.Server - before.Server
	c.Allocations += after.Allocations - before.Allocations
	c.Commands += after.Commands - before.Commands
}

// Cells returns the costs of one of n operations.
func (c *Costs) Cells(n float64) []any {
	return []any{fmt.Sprintf("%.1f", float64(c.Client)/1e3/n), fmt.Sprintf("%.1f", float64(c.Server)/1e3/n),
		fmt.Sprintf("%.0f", c.Allocations/n), fmt.Sprintf("%.1f", c.Commands/n)}
}
