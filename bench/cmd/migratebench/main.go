// Command migratebench measures a migration from files: an import beside a bare loader that
// reads the same file with the same JSON reader and sends plain commands in pipelines, a
// verification, writes to both sides beside writes to each, reads that are compared beside
// reads that are not, and a plan of a large file with its memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/report"
)

func main() { benchmark().Main() }

type options struct {
	*harness.Program
	records int
	size    int64
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "migratebench", Rounds: 5, Slice: 500 * time.Millisecond, Server: harness.Redis}
	o := &options{Program: p}
	p.Flags.IntVar(&o.records, "records", 1_000_000, "records of about 220 bytes that are imported")
	p.Flags.Int64Var(&o.size, "size", 2<<30, "bytes of the file that is planned")
	p.Title = func() string {
		return fmt.Sprintf("A migration from files: %d records, %d rounds on %s", o.records, p.Rounds, p.Server)
	}
	p.Parts = []report.Part{{Name: "import", Run: o.imports}, {Name: "write", Run: o.writes},
		{Name: "read", Run: o.reads}, {Name: "plan", Run: o.plans}}
	p.Child = harness.Instead{Flag: "child", Run: o.planned,
		Usage: "plan the file state.json of this folder, for the memory that it takes"}
	p.Profile = harness.Instead{Flag: "profile", Run: o.profile,
		Usage: "write a profile of imports and verifications to this file; -only says of what: strings or hashes"}
	return p
}

// profile runs imports and verifications of one kind.
func (o *options) profile(ctx context.Context, file string, _ io.Writer) error {
	return harness.Profiled(file, func() (err error) {
		for range o.Rounds {
			err = errors.Join(err, o.imported(ctx, kind(o.Only), &imported{}))
		}
		return err
	})
}
