// Command movebench measures what moves keys: backup, restore, copy, verify and rename, each
// beside a bare loop of the same commands that does nothing with the answers, beside
// redis-cli --rdb and --pipe, and beside SET, which is the floor of all writing.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

func main() { benchmark().Main() }

// field represents where contestants run.
type field struct {
	*harness.Program
	binary   string
	from, to *live.Server
	stream   string // the file of the dataset as commands, for redis-cli --pipe
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "movebench", Rounds: 5, Servers: harness.Both, Keys: 1_000_000, Tools: &harness.Tools{},
		Notes: []string{
			"every contestant is a process of its own; wall includes its start",
			"server CPU is that of the main threads of both servers",
			"the bare loops keep one page ahead, as keywright does; keywright's backup also matches, compresses and checks " +
				"every block",
		}}
	child := &loop{}
	f := &field{Program: p}
	p.Flags.StringVar(&child.from, "from", "", "with -child: host:port of the source")
	p.Flags.StringVar(&child.to, "to", "", "with -child: host:port of the target")
	p.Flags.StringVar(&child.file, "file", "", "with -child: the file to write")
	p.Child = harness.Instead{Flag: "child", Usage: "run one bare loop: backup, copy, verify or rename",
		Run: child.run}
	p.Title = func() string { return fmt.Sprintf("Moving keys: %d keys, %d interleaved rounds", p.Keys, p.Rounds) }
	p.Open = f.open
	p.Parts = []report.Part{{Name: "backup", Run: f.backup}, {Name: "restore", Run: f.restore},
		{Name: "copy", Run: f.copy}, {Name: "verify", Run: f.verify}, {Name: "rename", Run: f.rename}}
	return p
}

func (f *field) open(ctx context.Context, binary string) (err error) {
	f.binary, f.stream = binary, filepath.Join(f.Tools.Dir, "commands")
	out, err := os.Create(f.stream)
	if err != nil {
		return err
	}
	_, err = dataset.Write(out, f.Dataset())
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if f.to, err = f.Start(ctx, binary); err == nil {
		f.from, _, err = f.Load(ctx, binary)
	}
	return err
}

// keywright returns a contestant of the command line, whose name begins with its command.
func (f *field) keywright(name string, args ...string) *contest.Contestant {
	return f.Tools.Keywright("keywright "+name, args...)
}

// bare returns a bare loop.
func (f *field) bare(name string) *contest.Contestant {
	return &contest.Contestant{Name: "bare loop", Command: contest.Program(f.Tools.Self, "-child", name, "-from",
		f.from.Addr, "-to", f.to.Addr, "-file", f.file("bare"))}
}

func (f *field) loop() *loop { return &loop{from: f.from.Addr, to: f.to.Addr} }

func (f *field) file(name string) string { return filepath.Join(f.Tools.Dir, name) }

// meter returns the CPU of both servers.
func (f *field) meter() (time.Duration, error) {
	a, err1 := f.from.CPU()
	b, err2 := f.to.CPU()
	return a + b, errors.Join(err1, err2)
}

// contest lets contestants run in turns; after is called after each.
func (f *field) contest(ctx context.Context, out *report.Report, title string, after func(*contest.Contestant) error,
	all ...*contest.Contestant) error {
	c := &contest.Contest{All: all, Meter: f.meter, After: after}
	if err := c.Run(ctx, f.Rounds); err != nil {
		return err
	}
	c.Show(out, f.binary+": "+title, f.Keys)
	return nil
}

// empty deletes what a contestant has written: the target is a server of our own.
func (f *field) empty(*contest.Contestant) error {
	return (&loop{from: f.to.Addr}).run(context.Background(), "empty", nil)
}

// goal adds a share of the speed of another contestant.
func (f *field) goal(out *report.Report, what string, ours, theirs *contest.Contestant, bound float64) {
	out.AtLeast(bound, contest.Ratio(theirs, ours, contest.Wall), "%s: %s", f.binary, what)
}

// memory adds a goal for each contestant.
func (f *field) memory(out *report.Report, all ...*contest.Contestant) {
	for _, c := range all {
		out.AtMost(64, contest.Peak.Value(c.Samples), "%s: peak MiB, %s", f.binary, c.Name)
	}
}

// tenth lists the entries that have about one tenth of the keys.
const tenth = "session,queue"

func (f *field) backup(ctx context.Context, out *report.Report) error {
	backup := func(name, file string, more ...string) *contest.Contestant {
		return f.keywright(name, append([]string{"backup", f.from.URL(), "--to", f.file(file), "--replace-file"}, more...)...)
	}
	ours, entry := backup("backup", "all.kwa"), backup("backup --entry "+tenth, "tenth.kwa", "--entry", tenth)
	bare := f.bare("backup")
	if err := f.contest(ctx, out, "backup by SCAN", nil, ours, entry, bare); err != nil {
		return err
	}
	f.goal(out, "speed of backup ÷ bare loop", ours, bare, 0.9)
	out.AtMost(1.3, turns.Median("", "", contest.Wall).Value(entry.Samples)*1e6/float64(f.Keys),
		"%s: seconds per million keys of the server, backup of entry %s", f.binary, tenth)
	snapshot, rdb := backup("backup --snapshot", "moment.kwa", "--snapshot"), harness.RDB(f.from)
	if err := f.contest(ctx, out, "backup by snapshot", nil, snapshot, rdb); err != nil {
		return err
	}
	f.goal(out, "speed of backup --snapshot ÷ redis-cli --rdb", snapshot, rdb, 0.9)
	f.memory(out, ours, entry, snapshot)
	return nil
}

// floor writes as many strings of 220 bytes by SET.
func (f *field) floor() *contest.Contestant {
	host, port, _ := net.SplitHostPort(f.to.Addr)
	return &contest.Contestant{Name: "redis-benchmark SET", Discard: true,
		Command: contest.Program("redis-benchmark", "-h", host, "-p", port, "-t", "set", "-d", "220", "-P", "128", "-c", "4",
			"-r", "1000000000", "-n", strconv.Itoa(f.Keys), "-q")}
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

func (f *field) restore(ctx context.Context, out *report.Report) error {
	file := f.file("restored.kwa")
	saved := f.keywright("backup", "backup", f.from.URL(), "--to", file, "--replace-file")
	ours := f.keywright("restore, 4 connections", "restore", file, "-u", f.to.URL(), "--apply", "--writers", "4",
		"--momentary")
	floor, pipe := f.floor(), f.pipe()
	if err := (&contest.Contest{All: []*contest.Contestant{saved}}).Run(ctx, 1); err != nil {
		return err
	}
	if err := f.contest(ctx, out, "restore into an empty server", f.empty, ours, floor, pipe); err != nil {
		return err
	}
	f.goal(out, "speed of restore ÷ SET", ours, floor, 0.65)
	f.goal(out, "speed of restore ÷ redis-cli --pipe", ours, pipe, 1.5)
	f.memory(out, ours)
	return nil
}

func (f *field) copy(ctx context.Context, out *report.Report) error {
	args := []string{"copy", f.from.URL(), f.to.URL(), "--apply", "--momentary"}
	ours := f.keywright("copy, compared once", args...)
	first := f.keywright("copy --rounds 0", append(args, "--rounds", "0")...)
	bare := f.bare("copy")
	if err := f.contest(ctx, out, "copy to an empty server", f.empty, ours, first, bare); err != nil {
		return err
	}
	f.goal(out, "speed of copy, without the comparison, ÷ bare loop", first, bare, 0.9)
	f.memory(out, ours)
	return nil
}

func (f *field) verify(ctx context.Context, out *report.Report) error {
	if err := errors.Join(f.empty(nil), f.loop().run(ctx, "copy", nil)); err != nil {
		return err
	}
	ours, bare := f.keywright("verify", "verify", f.from.URL(), f.to.URL()), f.bare("verify")
	if err := f.contest(ctx, out, "verify two servers that are the same", nil, ours, bare); err != nil {
		return err
	}
	f.goal(out, "speed of verify ÷ bare loop", ours, bare, 0.85)
	f.memory(out, ours)
	return nil
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
func (f *field) rename(ctx context.Context, out *report.Report) error {
	args := []string{"rename", "-u", f.from.URL(), "--apply"}
	for _, p := range renamedPatterns {
		args = append(args, "--map", p+"="+newPrefix+p)
	}
	ours, bare := f.keywright("rename", args...), f.bare("rename")
	back := func(*contest.Contestant) error { return f.loop().run(ctx, "rename back", nil) }
	if err := f.contest(ctx, out, "rename four keys in ten", back, ours, bare); err != nil {
		return err
	}
	f.goal(out, "speed of rename ÷ bare loop", ours, bare, 0.85)
	f.memory(out, ours)
	return nil
}
