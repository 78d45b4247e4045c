// Command movebench measures what moves keys: backup, restore, copy, verify and rename, each
// beside a bare loop of the same commands that does nothing with the answers, beside
// redis-cli --rdb and --pipe, and beside SET, which is the floor of all writing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "movebench:", err)
		os.Exit(1)
	}
}

type options struct {
	keys    int
	seed    uint64
	rounds  int
	servers string
	only    string
	asJSON  bool

	child, from, to, file string // of a bare loop
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("movebench", flag.ContinueOnError)
	flags.IntVar(&o.keys, "keys", 1_000_000, "keys of the dataset")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the dataset")
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.StringVar(&o.servers, "servers", "redis-server,valkey-server", "server binaries, one after the other")
	flags.StringVar(&o.only, "only", "", "backup, restore, copy, verify, rename: these parts only, separated by commas")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.child, "child", "", "run one bare loop: backup, copy, verify or rename")
	flags.StringVar(&o.from, "from", "", "with -child: host:port of the source")
	flags.StringVar(&o.to, "to", "", "with -child: host:port of the target")
	flags.StringVar(&o.file, "file", "", "with -child: the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.child != "" {
		return runChild(ctx, o, stdout)
	}
	dir, err := os.MkdirTemp("", "keywright-movebench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := &field{options: o, cli: filepath.Join(dir, "keywright"), dir: dir,
		declaration: filepath.Join(dir, "keyspace.yaml"), stream: filepath.Join(dir, "commands")}
	if err := errors.Join(os.WriteFile(f.declaration, dataset.Declaration, 0o644), f.writeStream(),
		live.BuildCLI(ctx, f.cli)); err != nil {
		return err
	}
	if f.own, err = os.Executable(); err != nil {
		return err
	}
	out := &report.Report{Title: fmt.Sprintf("Moving keys: %d keys, %d interleaved rounds", o.keys, o.rounds),
		Notes: []string{
			"every contestant is a process of its own; wall includes its start",
			"server CPU is that of the main threads of both servers",
			"the bare loops keep one page ahead, as keywright does; keywright's backup also matches, compresses and checks " +
				"every block",
		}}
	for binary := range strings.SplitSeq(o.servers, ",") {
		if err := f.onServers(ctx, out, binary); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", binary, err), out.Print(stdout, o.asJSON))
		}
	}
	return out.Print(stdout, o.asJSON)
}

// field describes where contestants run.
type field struct {
	options
	cli, own, dir, declaration, stream string

	binary   string
	from, to *live.Server
}

// writeStream writes the dataset as commands, for redis-cli --pipe.
func (f *field) writeStream() error {
	out, err := os.Create(f.stream)
	if err != nil {
		return err
	}
	_, err = dataset.Write(out, dataset.Options{Keys: f.keys, Seed: f.seed})
	return errors.Join(err, out.Close())
}

func (f *field) onServers(ctx context.Context, out *report.Report, binary string) (err error) {
	f.binary = binary
	if f.from, err = live.Start(ctx, binary); err != nil {
		return err
	}
	defer f.from.Stop()
	if f.to, err = live.Start(ctx, binary); err != nil {
		return err
	}
	defer f.to.Stop()
	if _, err := dataset.Load(ctx, f.from.Addr, dataset.Options{Keys: f.keys, Seed: f.seed}); err != nil {
		return err
	}
	return out.Run(ctx, f.only, report.Part{Name: "backup", Run: f.backup}, report.Part{Name: "restore", Run: f.restore},
		report.Part{Name: "copy", Run: f.copy}, report.Part{Name: "verify", Run: f.verify},
		report.Part{Name: "rename", Run: f.rename})
}

// keywright returns a contestant of the command line.
func (f *field) keywright(name string, args ...string) *contest.Contestant {
	return &contest.Contestant{Name: name,
		Command: contest.Program(f.cli, append(args, "-f", f.declaration, "--progress", "none")...)}
}

// bare returns a bare loop.
func (f *field) bare(name string) *contest.Contestant {
	return &contest.Contestant{Name: "bare loop",
		Command: contest.Program(f.own, "-child", name, "-from", f.from.Addr, "-to", f.to.Addr, "-file",
			filepath.Join(f.dir, "bare"))}
}

// meter returns the CPU of both servers.
func (f *field) meter() (time.Duration, error) {
	a, err1 := f.from.CPU()
	b, err2 := f.to.CPU()
	return a + b, errors.Join(err1, err2)
}

// contest lets contestants run in turns; after is called after each.
func (f *field) contest(ctx context.Context, title string, after func() error,
	all ...*contest.Contestant) (report.Table, error) {
	c := &contest.Contest{All: all, Meter: f.meter, After: after}
	if err := c.Run(ctx, f.rounds); err != nil {
		return report.Table{}, err
	}
	return c.Table(f.binary+": "+title, f.keys), nil
}

// emptied deletes what a contestant has written: the target is a server of our own.
func (f *field) emptied() error {
	c, err := dial(context.Background(), f.to.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return scan(c, func(names []any) {
		for _, n := range names {
			c.command("UNLINK", n.(string))
		}
	}, func(names []any) error {
		_, err := c.values(len(names))
		return err
	})
}

// goal returns a share of the speed of another contestant.
func (f *field) goal(what string, ours, theirs *contest.Contestant, bound float64) report.Goal {
	return report.Goal{What: f.binary + ": " + what, Value: contest.Ratio(theirs, ours, contest.Wall), Bound: bound,
		AtLeast: true}
}

func (f *field) memory(all ...*contest.Contestant) (out []report.Goal) {
	for _, c := range all {
		out = append(out, report.Goal{What: f.binary + ": peak MiB, " + c.Name, Value: c.PeakRSS(), Bound: 64})
	}
	return out
}

// tenth lists the entries that have about one tenth of the keys.
const tenth = "session,queue"

func (f *field) backup(ctx context.Context) ([]report.Table, []report.Goal, error) {
	file := filepath.Join(f.dir, "all.kwa")
	ours := f.keywright("keywright backup", "backup", "redis://"+f.from.Addr, "--to", file, "--replace-file")
	entry := f.keywright("keywright backup --entry "+tenth, "backup", "redis://"+f.from.Addr, "--to",
		filepath.Join(f.dir, "tenth.kwa"), "--replace-file", "--entry", tenth)
	bare := f.bare("backup")
	table, err := f.contest(ctx, "backup by SCAN", nil, ours, entry, bare)
	if err != nil {
		return nil, nil, err
	}
	goals := []report.Goal{f.goal("speed of backup ÷ bare loop", ours, bare, 0.9),
		{What: f.binary + ": seconds per million keys of the server, backup of entry " + tenth,
			Value: entry.Median(contest.Wall).Seconds() * 1e6 / float64(f.keys), Bound: 1.3}}
	snapshot := f.keywright("keywright backup --snapshot", "backup", "redis://"+f.from.Addr, "--snapshot", "--to",
		filepath.Join(f.dir, "moment.kwa"), "--replace-file")
	rdb := f.rdb()
	moments, err := f.contest(ctx, "backup by snapshot", nil, snapshot, rdb)
	if err != nil {
		return nil, nil, err
	}
	goals = append(goals, f.goal("speed of backup --snapshot ÷ redis-cli --rdb", snapshot, rdb, 0.9))
	return []report.Table{table, moments}, append(goals, f.memory(ours, entry, snapshot)...), nil
}

// rdb takes a snapshot and does nothing with it.
func (f *field) rdb() *contest.Contestant {
	host, port, _ := net.SplitHostPort(f.from.Addr)
	return &contest.Contestant{Name: "redis-cli --rdb -", Discard: true,
		Command: contest.Program("redis-cli", "-h", host, "-p", port, "--rdb", "-")}
}

// floor writes as many strings of 220 bytes by SET.
func (f *field) floor() *contest.Contestant {
	host, port, _ := net.SplitHostPort(f.to.Addr)
	return &contest.Contestant{Name: "redis-benchmark SET", Discard: true,
		Command: contest.Program("redis-benchmark", "-h", host, "-p", port, "-t", "set", "-d", "220", "-P", "128", "-c", "4",
			"-r", "1000000000", "-n", strconv.Itoa(f.keys), "-q")}
}

// pipe sends the dataset as commands.
func (f *field) pipe() *contest.Contestant {
	host, port, _ := net.SplitHostPort(f.to.Addr)
	return &contest.Contestant{Name: "redis-cli --pipe", Command: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "redis-cli", "-h", host, "-p", port, "--pipe")
		cmd.Stdin, _ = os.Open(f.stream)
		return cmd
	}}
}

func (f *field) restore(ctx context.Context) ([]report.Table, []report.Goal, error) {
	file := filepath.Join(f.dir, "restored.kwa")
	if text, err := exec.CommandContext(ctx, f.cli, "backup", "redis://"+f.from.Addr, "--to", file, "--replace-file", "-f",
		f.declaration, "--progress", "none").CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("backup: %w\n%s", err, text)
	}
	ours := f.keywright("keywright restore, 4 connections", "restore", file, "-u", "redis://"+f.to.Addr, "--apply",
		"--writers", "4", "--momentary")
	floor, pipe := f.floor(), f.pipe()
	table, err := f.contest(ctx, "restore into an empty server", f.emptied, ours, floor, pipe)
	if err != nil {
		return nil, nil, err
	}
	goals := []report.Goal{f.goal("speed of restore ÷ SET", ours, floor, 0.65),
		f.goal("speed of restore ÷ redis-cli --pipe", ours, pipe, 1.5)}
	return []report.Table{table}, append(goals, f.memory(ours)...), nil
}

func (f *field) copy(ctx context.Context) ([]report.Table, []report.Goal, error) {
	if err := f.emptied(); err != nil {
		return nil, nil, err
	}
	ours := f.keywright("keywright copy, compared once", "copy", "redis://"+f.from.Addr, "redis://"+f.to.Addr, "--apply",
		"--momentary")
	first := f.keywright("keywright copy --rounds 0", "copy", "redis://"+f.from.Addr, "redis://"+f.to.Addr, "--apply",
		"--momentary", "--rounds", "0")
	bare := f.bare("copy")
	table, err := f.contest(ctx, "copy to an empty server", f.emptied, ours, first, bare)
	if err != nil {
		return nil, nil, err
	}
	return []report.Table{table},
		append([]report.Goal{f.goal("speed of copy, without the comparison, ÷ bare loop", first, bare, 0.9)},
			f.memory(ours)...), nil
}

func (f *field) verify(ctx context.Context) ([]report.Table, []report.Goal, error) {
	o := f.options
	o.from, o.to = f.from.Addr, f.to.Addr
	if err := errors.Join(f.emptied(), bareCopy(ctx, o)); err != nil {
		return nil, nil, err
	}
	ours := f.keywright("keywright verify", "verify", "redis://"+f.from.Addr, "redis://"+f.to.Addr)
	bare := f.bare("verify")
	table, err := f.contest(ctx, "verify two servers that are the same", nil, ours, bare)
	if err != nil {
		return nil, nil, err
	}
	return []report.Table{table},
		append([]report.Goal{f.goal("speed of verify ÷ bare loop", ours, bare, 0.85)}, f.memory(ours)...), nil
}

// renamedPatterns are four keys in ten, all strings, and renamedPrefixes what they begin with.
var (
	renamedPatterns = []string{"sess:{sid}", "cache:product:detail:{productId}", "cache:user:profile:{userId}",
		"cache:page:{lang}:{name}",
		"stat:view:{productId}:{day}", "flag:{flag}:{userId}", "rate:{ip}:{window}"}
	renamedPrefixes = []string{"sess:", "cache:", "stat:", "flag:", "rate:"}
)

// newPrefix begins the new names.
const newPrefix = "new:"

// rename renames the keys of some patterns, and gives them their names back after each run.
func (f *field) rename(ctx context.Context) ([]report.Table, []report.Goal, error) {
	args := []string{"rename", "-u", "redis://" + f.from.Addr, "--apply"}
	for _, p := range renamedPatterns {
		args = append(args, "--map", p+"="+newPrefix+p)
	}
	ours, bare := f.keywright("keywright rename", args...), f.bare("rename")
	table, err := f.contest(ctx, "rename four keys in ten", func() error { return renameBack(ctx, f.from.Addr) },
		ours, bare)
	if err != nil {
		return nil, nil, err
	}
	return []report.Table{table},
		append([]report.Goal{f.goal("speed of rename ÷ bare loop", ours, bare, 0.85)}, f.memory(ours)...), nil
}
