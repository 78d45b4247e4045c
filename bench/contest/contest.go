// Package contest runs processes in turns and measures each: wall time, CPU and
// peak memory. Ratios are medians of the ratios within each round, since time on
// a shared machine moves by half from one minute to the next.
//
// It knows no server and no file; what a contestant does is its command.
package contest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
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

func (c *Contestant) String() string { return c.Name }

// Program returns a Command that runs the same program each time.
func Program(name string, args ...string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) }
}

// Says returns a Verify that looks for a text.
func Says(want string) func(stdout []byte) error {
	return func(stdout []byte) error {
		if !bytes.Contains(stdout, []byte(want)) {
			return fmt.Errorf("it does not say %q", want)
		}
		return nil
	}
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
	After func(*Contestant) error       // is called after every run; nil: nothing is
}

// Run lets each contestant run once in each round, in turns.
func (c *Contest) Run(ctx context.Context, rounds int) error {
	_, err := turns.Rounds(rounds, c.All, func(who *Contestant) (Sample, error) { return c.once(ctx, who) })
	return err
}

func (c *Contest) once(ctx context.Context, who *Contestant) (s Sample, err error) {
	meter := func() (time.Duration, error) { return 0, nil }
	if c.Meter != nil {
		meter = c.Meter
	}
	before, err := meter()
	if err != nil {
		return s, err
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
	s.Wall = time.Since(start)
	if got := cmd.ProcessState.ExitCode(); got != who.Exit || got == 0 && err != nil {
		return s, fmt.Errorf("exit status %d, want %d: %w\n%s%s", got, who.Exit, err, tail(stdout.Bytes()),
			tail(stderr.Bytes()))
	}
	after, err := meter()
	if err != nil {
		return s, err
	}
	s.Server = after - before
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.RSS = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	who.Samples = append(who.Samples, s)
	if who.Verify != nil {
		err = who.Verify(stdout.Bytes())
	}
	if err == nil && c.After != nil {
		err = c.After(who)
	}
	return s, err
}

func tail(p []byte) []byte { return p[max(0, len(p)-2000):] }

// Wall returns the seconds from start to end.
func Wall(s Sample) float64 { return s.Wall.Seconds() }

// CPU returns the seconds of CPU that the contestant used.
func CPU(s Sample) float64 { return s.CPU.Seconds() }

// Server returns the seconds that were metered beside it.
func Server(s Sample) float64 { return s.Server.Seconds() }

// RSS returns the MiB of memory at the peak.
func RSS(s Sample) float64 { return float64(s.RSS) / (1 << 20) }

// Peak shows the most memory of all runs.
var Peak = turns.Most("peak RSS MiB", "%.1f", RSS)

// Ratio returns the median of the rounds' ratios of a to b.
func Ratio(a, b *Contestant, of func(Sample) float64) float64 {
	return turns.Ratio(a.Samples, b.Samples, of)
}

// Speed returns how many of so many things a run went through in a second.
func Speed(things float64) func(Sample) float64 {
	return func(s Sample) float64 { return things / s.Wall.Seconds() }
}

// Show adds a table of the runs; keys is how many each of them went through.
func (c *Contest) Show(out *report.Report, title string, keys int) {
	figures := []turns.Figure[Sample]{turns.Least("wall s min", "%.3f", Wall), turns.Median("median", "%.3f", Wall),
		turns.Median("CPU s", "%.3f", CPU), Peak, turns.Most("M keys/s", "%.2f", Speed(float64(keys)/1e6))}
	if c.Meter != nil {
		figures = append(figures, turns.Median("server CPU s", "%.3f", Server))
	}
	c.ShowFigures(out, title, "contestant", figures...)
}

// ShowFigures adds a table of some figures; column is the title of the names.
func (c *Contest) ShowFigures(out *report.Report, title, column string, figures ...turns.Figure[Sample]) {
	var runs turns.Runs[Sample]
	for _, who := range c.All {
		runs.Names, runs.All = append(runs.Names, who.Name), append(runs.All, who.Samples)
	}
	runs.Show(out, title, column, figures...)
}
