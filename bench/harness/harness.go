// Package harness runs the programs of bench: it has the flags that they share, starts what they need, lets their
// parts measure one after the other, and prints the report. A program is data: a Program with its parts.
//
// It measures nothing. Package turns does for what runs in this process, package contest for processes.
package harness

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

// Redis and Both are the usual values of Server and Servers.
const (
	Redis = "redis-server"
	Both  = "redis-server,valkey-server"
)

// Program represents one benchmark program. There is a flag for each of Rounds, Slice, Server, Servers and Keys that
// is not zero, and its value is then the default.
type Program struct {
	Name     string
	Rounds   int
	RoundsOf string // what the rounds are of, for the help
	Slice    time.Duration
	Server   string
	Servers  string // several, one after the other
	Keys     int    // of the dataset
	Seed     uint64
	Only     string
	Tools    *Tools       // nil: none are needed
	Flags    flag.FlagSet // the program adds its own

	Title func() string // is called when the flags are known
	Notes []string
	Parts []report.Part

	// Open prepares for the parts, which run on each of the servers.
	Open func(ctx context.Context, server string) error

	Child   Instead // the work of a process that the program starts
	Profile Instead // the work that a CPU profile shows, by Profiled; the flag names the file, also for a child

	asJSON   bool
	cleanups []func()
}

// Instead represents what a program does in place of its parts, if a flag of this name has a value.
type Instead struct {
	Flag, Usage string
	Run         func(ctx context.Context, value string, stdout io.Writer) error
	value       string
}

// Main runs a program with the arguments of the process, and ends that if it fails.
func (p *Program) Main() { Main(p.Name, p.Run) }

// Main runs a program that prints no report.
func Main(name string, run func(ctx context.Context, args []string, stdout io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Run runs the program with some arguments. What was measured before an error is printed.
func (p *Program) Run(ctx context.Context, args []string, stdout io.Writer) error {
	p.addFlags()
	if err := p.Flags.Parse(args); err != nil {
		return err
	}
	defer p.CleanUp()
	switch {
	case p.Child.value != "":
		return Profiled(p.Profile.value, func() error { return p.Child.Run(ctx, p.Child.value, stdout) })
	case p.Profile.value != "":
		return p.Profile.Run(ctx, p.Profile.value, stdout)
	}
	parts, err := report.Select(p.Parts, p.Only)
	if err != nil {
		return err
	}
	if p.Tools != nil {
		defer p.Tools.remove()
		if err := p.Tools.prepare(ctx, p.Name); err != nil {
			return err
		}
	}
	out := &report.Report{Title: p.Title(), Notes: p.Notes}
	for server := range strings.SplitSeq(cmp.Or(p.Servers, p.Server), ",") {
		if err = p.measure(ctx, out, server, parts); err != nil {
			break
		}
	}
	return errors.Join(err, out.Print(stdout, p.asJSON))
}

func (p *Program) addFlags() {
	f := &p.Flags
	f.Init(p.Name, flag.ContinueOnError)
	f.BoolVar(&p.asJSON, "json", false, "print JSON")
	if p.Rounds > 0 {
		f.IntVar(&p.Rounds, "rounds", p.Rounds, "interleaved rounds"+p.RoundsOf)
	}
	if p.Slice > 0 {
		f.DurationVar(&p.Slice, "slice", p.Slice, "how long a contestant runs each time")
	}
	if p.Server != "" {
		f.StringVar(&p.Server, "server", p.Server, "server binary")
	}
	if p.Servers != "" {
		f.StringVar(&p.Servers, "servers", p.Servers, "server binaries, one after the other")
	}
	if p.Keys > 0 {
		f.IntVar(&p.Keys, "keys", p.Keys, "keys of the dataset")
		f.Uint64Var(&p.Seed, "seed", 1, "seed of the dataset")
	}
	if len(p.Parts) > 1 {
		f.StringVar(&p.Only, "only", "", "these parts alone: "+strings.Join(report.Names(p.Parts), ","))
	}
	if p.Tools != nil {
		f.StringVar(&p.Tools.CLI, "cli", "", "keywright binary (default: built from this tree)")
	}
	for _, i := range []*Instead{&p.Child, &p.Profile} {
		if i.Flag != "" {
			f.StringVar(&i.value, i.Flag, "", i.Usage)
		}
	}
}

// measure runs parts on one server.
func (p *Program) measure(ctx context.Context, out *report.Report, server string, parts []report.Part) error {
	defer p.CleanUp()
	if p.Open != nil {
		if err := p.Open(ctx, server); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
	}
	for _, part := range parts {
		if err := part.Run(ctx, out); err != nil {
			return fmt.Errorf("%s: %w", part.Name, err)
		}
	}
	return nil
}

// Start starts a server that ends when the parts have run on it.
func (p *Program) Start(ctx context.Context, server string, settings ...string) (*live.Server, error) {
	s, err := live.Start(ctx, server, settings...)
	if err == nil {
		p.Cleanup(s.Stop)
	}
	return s, err
}

// Cleanup has a function called when the parts have run on a server, the last one first.
func (p *Program) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// CleanUp calls these functions; Run does.
func (p *Program) CleanUp() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
	p.cleanups = nil
}

// Profiled writes a CPU profile of what do does, if there is a file.
func Profiled(file string, do func() error) error {
	if file == "" {
		return do()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err = pprof.StartCPUProfile(out); err == nil {
		err = do()
		pprof.StopCPUProfile()
	}
	return errors.Join(err, out.Close())
}
