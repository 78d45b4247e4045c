// Command runtimebench measures what generated code costs: building and parsing
// keys, and reading and writing through typed handles against bare rueidis with
// keys, types and TTLs written by hand, against go-redis, and with a guard in
// front. All contestants run in turns in one process against one server.
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
	p := &harness.Program{Name: "runtimebench", Rounds: 100, Slice: 30 * time.Millisecond, Server: harness.Redis,
		Parts: []report.Part{{Name: "keys", Run: measureKeys}}, Notes: []string{
			"values of 256 bytes, hashes of six fields, 10,000 keys; ratios are medians of the ratios within a round"}}
	f := &field{Program: p}
	p.Open = f.open
	p.Title = func() string {
		return fmt.Sprintf("Generated code on %s: %d interleaved rounds of %v", p.Server, p.Rounds, p.Slice)
	}
	for _, o := range ops {
		p.Parts = append(p.Parts, report.Part{Name: o.name, Run: func(ctx context.Context, out *report.Report) error {
			return f.race(o).Show(ctx, out, p.Rounds, p.Slice)
		}})
	}
	return p
}
