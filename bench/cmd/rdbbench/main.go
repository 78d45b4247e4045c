// Command rdbbench measures the audit of a snapshot file against
// redis-check-rdb on the same file, the draft that infer draws from it, and how
// close the estimate of memory comes to MEMORY USAGE of servers that loaded it.
// Every report is compared with the dataset's ground truth.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/report"
)

func main() { benchmark().Main() }

// track represents a file that a server has written.
type track struct {
	*harness.Program
	binary, file string
	truth        *dataset.Manifest
	raced        bool // another file
}

func benchmark() *harness.Program {
	p := &harness.Program{Name: "rdbbench", Rounds: 5, Servers: harness.Both, Keys: 1_000_000, Tools: &harness.Tools{},
		Notes: []string{
			"every contestant is a process of its own; wall includes its start",
			"the file is in the page cache; ratios are medians of the rounds' ratios",
			"the system shows no child's peak RSS below that of this program, some 12 MiB",
		}}
	t := &track{Program: p}
	p.Title = func() string {
		return fmt.Sprintf("Audit of a snapshot file: %d keys, %d interleaved rounds", p.Keys, p.Rounds)
	}
	p.Open = t.save
	p.Parts = []report.Part{{Name: "race", Run: t.race}, {Name: "estimate", Run: t.estimate}}
	p.Child = harness.Instead{Flag: "read", Usage: "be the bare reader of this snapshot: a contestant, not a race",
		Run: bareRead}
	return p
}

// save lets a server write the dataset to a file.
func (t *track) save(ctx context.Context, binary string) error {
	t.binary, t.file = binary, filepath.Join(t.Tools.Dir, binary+".rdb")
	server, truth, err := t.Load(ctx, binary)
	if err != nil {
		return err
	}
	t.truth = truth
	if err := server.Do("SAVE"); err != nil {
		return err
	}
	defer t.CleanUp()
	return os.Rename(filepath.Join(server.Dir, "dump.rdb"), t.file)
}
