// Command rankbench measures what rankings and limits cost over the bare
// commands: a window over many large sorted sets against ZUNIONSTORE and ZRANGE
// by hand, the same window when it is cached, and a rate limit against the
// smallest GCRA script that there is. All contestants run in turns in one
// process against one server.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

func main() { benchmark().Main() }

// field represents the server with its clients.
type field struct {
	*harness.Program
	harness.Clients
	builds, days, members int
	server                *live.Server
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "rankbench", Rounds: 40, RoundsOf: " of what is quick", Slice: 100 * time.Millisecond,
		Server: harness.Redis, Notes: []string{
			"ratios are medians of the ratios within a round; every contestant gets the same answer, which is checked"}}
	f := &field{Program: p}
	p.Flags.IntVar(&f.builds, "builds", 9, "interleaved rounds of building a window")
	p.Flags.IntVar(&f.days, "days", 30, "days in the window")
	p.Flags.IntVar(&f.members, "members", 100_000, "members of a day")
	p.Title = func() string {
		return fmt.Sprintf("Rankings and limits on %s: %d days of %d members, top %d", p.Server, f.days, f.members, top)
	}
	p.Open = f.open
	p.Parts = []report.Part{{Name: "window", Run: f.window}, {Name: "cached", Run: f.cached},
		{Name: "limits", Run: f.limits}}
	return p
}

// patience is longer than the slowest union takes.
const patience = 2 * time.Minute

func (f *field) open(ctx context.Context, server string) (err error) {
	if f.server, f.Clients, err = f.Connect(ctx, server, patience); err != nil {
		return err
	}
	return f.fill(ctx)
}

// contestant does one thing in its own way.
func contestant(name string, do func(ctx context.Context) error) turns.Contestant {
	return turns.Contestant{Name: name, Do: func(ctx context.Context, _, _ int) error { return do(ctx) }}
}
