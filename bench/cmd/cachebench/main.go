// Command cachebench measures the package cache beside bare rueidis,
// go-redis/cache and otter: hits from the server, tracked hits in the process,
// hits in a tier of otter, and how often a cold key is loaded when a thousand
// callers of four clients want it at once. All contestants run in turns in one
// process against one server.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/report"
)

func main() { benchmark().Main() }

func benchmark() *harness.Program {
	p := &harness.Program{Name: "cachebench", Rounds: 60, Slice: 30 * time.Millisecond, Server: harness.Redis,
		Notes: []string{"values of 256 bytes, 10,000 keys; ratios are medians of the ratios within a round"}}
	f := &field{Program: p}
	p.Open = f.open
	p.Title = func() string {
		return fmt.Sprintf("Caches on %s: %d interleaved rounds of %v", p.Server, p.Rounds, p.Slice)
	}
	for _, r := range f.races() {
		p.Parts = append(p.Parts, report.Part{Name: r.part, Run: func(ctx context.Context, out *report.Report) error {
			return f.race(ctx, out, r)
		}})
	}
	p.Parts = append(p.Parts, report.Part{Name: "stampede", Run: f.stampedes})
	return p
}
