// Command auditbench measures an audit of a live server against the same
// commands sent by loops that do nothing with the answers, and against
// `redis-cli --memkeys`, in interleaved rounds on one server. Every report of
// the audit is compared with the dataset's ground truth; one difference fails
// the run.
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

func main() { benchmark().Main() }

// field represents a loaded server on which contestants run one at a time.
type field struct {
	*harness.Program
	addr   string // with -child
	asked  int    // -count
	count  int    // COUNT of the loops' SCAN
	binary string
	server *live.Server
	truth  *dataset.Manifest
	before map[string]int64            // calls of each command until now
	calls  map[string]map[string]int64 // of the first run of each contestant
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "auditbench", Rounds: 5, Servers: harness.Both, Keys: 1_000_000, Tools: &harness.Tools{},
		Notes: []string{
			"every contestant is a process of its own; wall includes its start",
			"CPU of the server is that of its main thread; ratios are medians of the rounds' ratios",
			"the system shows no child's peak RSS below that of this program, some 12 MiB",
		}}
	f := &field{Program: p}
	p.Flags.IntVar(&f.asked, "count", 0, "COUNT of the loops' SCAN (default: the mean page of the audit)")
	p.Flags.StringVar(&f.addr, "addr", "", "with -child: host:port of a loaded server")
	p.Child = harness.Instead{Flag: "child", Run: f.runChild,
		Usage: "run one contestant against -addr: " + childNames}
	p.Profile = harness.Instead{Flag: "cpuprofile",
		Usage: "with -child: write a CPU profile of the contestant to this file"}
	p.Title = func() string {
		return fmt.Sprintf("Audit of a live server: %d keys, %d interleaved rounds", p.Keys, p.Rounds)
	}
	p.Open = func(ctx context.Context, server string) (err error) {
		f.binary, f.calls = server, map[string]map[string]int64{}
		f.server, f.truth, err = p.Load(ctx, server)
		return err
	}
	p.Parts = []report.Part{{Name: "audit", Run: f.audits}}
	return p
}

// audits measures all contestants on one server. The audit runs once before the rounds; its mean page becomes the COUNT
// of the loops.
func (f *field) audits(ctx context.Context, out *report.Report) (err error) {
	if f.before, err = f.server.Calls(); err != nil {
		return err
	}
	all := f.contestants()
	c := &contest.Contest{All: all[:1], Meter: f.server.CPU, After: f.countCalls}
	if err := c.Run(ctx, 1); err != nil {
		return err
	}
	if f.count = f.asked; f.count == 0 {
		f.count = max(1, f.truth.Keys/int(max(1, f.calls[auditCLI]["scan"])))
	}
	c.All, all[0].Samples = all, nil
	if err := c.Run(ctx, f.Rounds); err != nil {
		return err
	}
	f.show(out, c)
	return nil
}

// countCalls keeps which commands the first run of a contestant has sent.
func (f *field) countCalls(c *contest.Contestant) error {
	now, err := f.server.Calls()
	if f.calls[c.Name] == nil {
		f.calls[c.Name] = maps.Clone(now)
		for name, n := range f.before {
			f.calls[c.Name][name] -= n
		}
	}
	f.before = now
	return err
}

func (f *field) show(out *report.Report, c *contest.Contest) {
	of := map[string]*contest.Contestant{}
	for _, who := range c.All {
		of[who.Name] = who
	}
	peer := of[rueidis].Samples
	c.ShowFigures(out, fmt.Sprintf("%s, SCAN COUNT %d in the loops", f.binary, f.count), "contestant",
		turns.Least("wall s min", "%.2f", contest.Wall), turns.Median("median", "%.2f", contest.Wall),
		turns.Median("server CPU s", "%.2f", contest.Server), turns.Median("client CPU s", "%.2f", contest.CPU),
		contest.Peak, turns.Most("k keys/s", "%.0f", contest.Speed(float64(f.truth.Keys)/1e3)),
		turns.Versus("wall × rueidis", "%.3f", contest.Wall, peer),
		turns.Versus("server CPU × rueidis", "%.3f", contest.Server, peer))
	t := out.Table("Commands of one run", "contestant", "calls by command")
	for _, who := range c.All {
		var parts []string
		calls := f.calls[who.Name]
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			if name != "info" && calls[name] > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", name, calls[name]))
			}
		}
		t.Add(who.Name, strings.Join(parts, ", "))
	}
	ratio := func(a, b string) float64 { return contest.Ratio(of[a], of[b], contest.Wall) }
	out.AtMost(1.15, ratio(auditCLI, rueidis), "%s: wall, audit ÷ rueidis loop", f.binary)
	out.AtMost(1, contest.Ratio(of[auditCLI], of[rueidis], contest.Server), "%s: server CPU, audit ÷ rueidis loop",
		f.binary)
	values := ratio(valuesCLI, auditCLI)
	out.AtMost(1.5, values, "%s: wall, audit --values ÷ audit", f.binary)
	out.AtMost(1.1, values/ratio(valueFloor, floor),
		"%s: wall, audit --values ÷ audit, by the same of the tuned floors", f.binary)
	out.AtLeast(1.4, ratio(memkeys, auditCLI), "%s: wall, redis-cli --memkeys ÷ audit", f.binary)
}
