package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

// billed is the number of goroutines at which costs are counted.
const billed = 128

// bill is what a contestant uses up. Other than its time, that hardly depends on
// who else is on the machine.
type bill struct {
	server            *live.Server
	client, main      time.Duration // CPU of this process, and of the server's main thread
	mallocs, commands float64
	err               error
}

// meters are all counters at one moment.
type meters struct {
	client, main      time.Duration
	mallocs, commands float64
}

func (b *bill) read() (m meters, err error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var usage syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	m.client = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	m.mallocs = float64(memory.Mallocs)
	var err2, err3 error
	m.main, err2 = b.server.CPU()
	n, err3 := commandsOf(b.server)
	m.commands = float64(n)
	return m, errors.Join(err, err2, err3)
}

// open counts from now on until the function that it returns is called.
func (b *bill) open(_ context.Context, goroutines int) (func(), error) {
	if goroutines != billed {
		return func() {}, nil
	}
	before, err := b.read()
	return func() {
		after, err := b.read()
		b.client, b.main = b.client+after.client-before.client, b.main+after.main-before.main
		b.mallocs, b.commands = b.mallocs+after.mallocs-before.mallocs, b.commands+after.commands-before.commands
		b.err = errors.Join(b.err, err)
	}, err
}

func (b *bill) add(t *report.Table, name string, n float64) {
	t.Add(name, fmt.Sprintf("%.1f", float64(b.client)/1e3/n), fmt.Sprintf("%.1f", float64(b.main)/1e3/n), fmt.Sprintf("%.0f", b.mallocs/n), fmt.Sprintf("%.1f", b.commands/n))
}
