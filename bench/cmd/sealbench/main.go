// Command sealbench measures sealing: how many texts a process seals and opens, beside
// bare AES-GCM with a key that is there already, and how many values a second a
// rotation, and the adoption of plain text, seal again on a server.
package main

import (
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/report"
)

func main() { benchmark().Main() }

type options struct {
	*harness.Program
	values int
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "sealbench", Rounds: 15, Slice: 100 * time.Millisecond, Server: harness.Redis}
	o := &options{Program: p}
	p.Flags.IntVar(&o.values, "values", 50_000, "values that are sealed again")
	p.Title = func() string {
		return fmt.Sprintf("Sealing, %d rounds of %v; %d values on %s", p.Rounds, p.Slice, o.values, p.Server)
	}
	p.Parts = []report.Part{{Name: "texts", Run: o.texts}, {Name: "walks", Run: o.walks}}
	return p
}
