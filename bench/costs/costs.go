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

// Columns lists what is counted, in the order of Cells.
var Columns = []struct {
	Title, Format string
	Of            func(Costs) float64
}{
	{"client CPU µs", "%.1f", func(c Costs) float64 { return float64(c.Client) / 1e3 }},
	{"server CPU µs", "%.1f", func(c Costs) float64 { return float64(c.Server) / 1e3 }},
	{"allocations", "%.0f", func(c Costs) float64 { return c.Allocations }},
	{"server commands", "%.1f", func(c Costs) float64 { return c.Commands }},
}

// Titles lists the titles of Columns.
func Titles() (titles []string) {
	for _, c := range Columns {
		titles = append(titles, c.Title)
	}
	return titles
}

// read returns all counters now.
func read(server *live.Server) (c Costs, err error) {
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

// Count adds what do costs, if it does not fail.
func (c *Costs) Count(server *live.Server, do func() error) error {
	before, err := read(server)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := read(server)
	before.Client, before.Server = -before.Client, -before.Server
	before.Allocations, before.Commands = -before.Allocations, -before.Commands
	c.Add(after)
	c.Add(before)
	return err
}

// Add sums costs up.
func (c *Costs) Add(more Costs) {
	c.Client, c.Server = c.Client+more.Client, c.Server+more.Server
	c.Allocations, c.Commands = c.Allocations+more.Allocations, c.Commands+more.Commands
}

// Cells returns the costs of one of n operations.
func (c Costs) Cells(n float64) (cells []any) {
	for _, column := range Columns {
		cells = append(cells, fmt.Sprintf(column.Format, column.Of(c)/n))
	}
	return cells
}
