// Package contest runs processes in turns and measures each: wall time, CPU and
// peak memory. Ratios are medians of the ratios within each round, since time on
// a shared machine moves by half from one minute to the next.
//
// It knows no server and no file; what a contestant does is its command.
package contest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/keywright/keywright/bench/report"
)

// Contestant represents one way to do the work, as a process.
type Contestant struct {
	Name    string
	Command func(ctx context.Context) *exec.Cmd
	Exit    int                       // the exit status of success
	Discard bool                      // its output is thrown away, not kept
	Verify  func(stdout []byte) error // nil: none
	Samples []Sample
}

// Program returns a Command that runs the same program each time.
func Program(name string, args ...string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) }
}

// Sample represents one run.
type Sample struct {
	Wall, CPU time.Duration
	RSS       int64         // bytes, the peak
	Server    time.Duration // what Meter counted meanwhile
}

// Contest represents the runs of several contestants.
type Contest struct {
	All   []*Contestant
	Meter func() (time.Duration, error) // nil: nothing is metered
	After func() error                  // is called after every run; nil: nothing is
}

// Run lets everybody run once in each round, in turns.
func (c *Contest) Run(ctx context.Context, rounds int) error {
	for round := range rounds {
		for i := range c.All {
			if err := c.once(ctx, c.All[(i+round)%len(c.All)]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Contest) once(ctx context.Context, who *Contestant) error {
	before, err := c.meter()
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd := who.Command(ctx)
	cmd.Stderr = &stderr
	cmd.Stdout = &stdout
	if who.Discard {
		cmd.Stdout = nil // the null device, not a pipe
	}
	start := time.Now()
	err = cmd.Run()
	s := Sample{Wall: time.Since(start)}
	if got := exitStatus(err); got != who.Exit {
		return fmt.Errorf("%s: exit status %d, want %d: %w\n%s%s", who.Name, got, who.Exit, err, tail(stdout.Bytes()),
			tail(stderr.Bytes()))
	}
	after, err := c.meter()
	if err != nil {
		return err
	}
	s.Server = after - before
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.RSS = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	who.Samples = append(who.Samples, s)
	if who.Verify != nil {
		if err := who.Verify(stdout.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", who.Name, err)
		}
	}
	if c.After != nil {
		return c.After()
	}
	return nil
}

func (c *Contest) meter() (time.Duration, error) {
	if c.Meter == nil {
		return 0, nil
	}
	return c.Meter()
}

func tail(p []byte) []byte { return p[max(0, len(p)-2000):] }

func exitStatus(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// Best returns the shortest wall time.
func (c *Contestant) Best() time.Duration {
	best := c.Samples[0].Wall
	for _, s := range c.Samples {
		best = min(best, s.Wall)
	}
	return best
}

// Median of a figure over the runs.
func (c *Contestant) Median(of func(Sample) time.Duration) time.Duration {
	var all []time.Duration
	for _, s := range c.Samples {
		all = append(all, of(s))
	}
	return report.Median(all)
}

// PeakRSS returns the largest of the runs, in MiB.
func (c *Contestant) PeakRSS() float64 {
	var peak int64
	for _, s := range c.Samples {
		peak = max(peak, s.RSS)
	}
	return float64(peak) / (1 << 20)
}

// Ratio returns the median of the rounds' ratios of a to b.
func Ratio(a, b *Contestant, of func(Sample) time.Duration) float64 {
	var all []float64
	for i := range a.Samples {
		all = append(all, float64(of(a.Samples[i]))/float64(of(b.Samples[i])))
	}
	return report.Median(all)
}

// Wall returns the time from start to end.
func Wall(s Sample) time.Duration { return s.Wall }

// CPU returns what the contestant used.
func CPU(s Sample) time.Duration { return s.CPU }

// Server returns what was metered beside it.
func Server(s Sample) time.Duration { return s.Server }

// Table lists the runs; keys is how many each of them went through.
func (c *Contest) Table(title string, keys int) report.Table {
	t := report.Table{Title: title,
		Columns: []string{"contestant", "wall s min", "median", "CPU s", "peak RSS MiB", "M keys/s"}}
	if c.Meter != nil {
		t.Columns = append(t.Columns, "server CPU s")
	}
	for _, who := range c.All {
		row := []any{who.Name, seconds(who.Best()), seconds(who.Median(Wall)), seconds(who.Median(CPU)),
			fmt.Sprintf("%.1f", who.PeakRSS()), fmt.Sprintf("%.2f", float64(keys)/who.Best().Seconds()/1e6)}
		if c.Meter != nil {
			row = append(row, seconds(who.Median(Server)))
		}
		t.Add(row...)
	}
	return t
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
