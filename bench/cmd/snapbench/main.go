// Command snapbench measures the audit of a live server by snapshot against
// `redis-cli --rdb -`, which receives the same bytes and does nothing with them,
// and against the audit by SCAN. What counts is time, and what it costs the
// server's main thread.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

func main() { benchmark().Main() }

func benchmark() *harness.Program {
	p := &harness.Program{Name: "snapbench", Rounds: 5, Servers: harness.Both, Keys: 1_000_000, Tools: &harness.Tools{},
		Notes: []string{"repl-diskless-sync-delay is 0; by default a server waits 5 s before it sends a snapshot diskless",
			"server CPU is that of its main thread: the child that writes the snapshot is not in it"}}
	p.Title = func() string {
		return fmt.Sprintf("Snapshot of a live server: %d keys, %d interleaved rounds", p.Keys, p.Rounds)
	}
	var binary string
	var server *live.Server
	var f field
	p.Open = func(ctx context.Context, name string) error {
		s, truth, err := p.Load(ctx, name, "--repl-diskless-sync-delay", "0")
		if err != nil {
			return err
		}
		binary, server = name, s
		f = field{snapshot: p.Tools.Audit("keywright audit --snapshot", s.URL(), truth, "--snapshot"),
			dump: harness.RDB(s), scan: p.Tools.Audit("keywright audit", s.URL(), truth)}
		return nil
	}
	// A server sends its snapshot to a replica in two ways, by repl-diskless-sync.
	for _, way := range []struct{ name, diskless string }{{"diskless", "yes"}, {"from disk", "no"}} {
		p.Parts = append(p.Parts, report.Part{Name: way.name, Run: func(ctx context.Context, out *report.Report) error {
			if err := server.Do("CONFIG", "SET", "repl-diskless-sync", way.diskless); err != nil {
				return err
			}
			c := &contest.Contest{All: []*contest.Contestant{f.snapshot, f.dump, f.scan}, Meter: server.CPU,
				After: func(*contest.Contestant) error { return idle(ctx, server) }}
			if err := c.Run(ctx, p.Rounds); err != nil {
				return err
			}
			title := binary + ", " + way.name
			c.Show(out, title, p.Keys)
			f.goals(out, title)
			return nil
		}})
	}
	return p
}

// field describes what runs.
type field struct{ snapshot, dump, scan *contest.Contestant }

func (f field) goals(out *report.Report, title string) {
	out.AtMost(1.2, contest.Ratio(f.snapshot, f.dump, contest.Wall),
		"%s: wall, snapshot audit ÷ redis-cli --rdb", title)
	out.AtMost(0.2, contest.Ratio(f.snapshot, f.scan, contest.Server),
		"%s: server's main thread, snapshot audit ÷ SCAN audit", title)
}

// idle waits until the server has no child left: the next snapshot would wait
// for it.
func idle(ctx context.Context, server *live.Server) error {
	return live.Until(ctx, 5*time.Millisecond, func() (bool, error) {
		persistence, err := server.Info("persistence")
		if err != nil {
			return false, err
		}
		replication, err := server.Info("replication")
		return persistence["rdb_bgsave_in_progress"] == "0" && replication["connected_slaves"] == "0", err
	})
}
