package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/verdict"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// track describes what a race over one file needs.
type track struct {
	keys, rounds     int
	cli, declaration string // files
}

// field describes what runs.
type field struct{ audit, quick, bare, infer, check, cat *contest.Contestant }

// race runs everybody on one file.
func (t *track) race(ctx context.Context, out *report.Report, file string, truth *dataset.Manifest) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f := t.field(self, file, truth)
	c := &contest.Contest{All: []*contest.Contestant{f.audit, f.quick, f.bare, f.infer, f.check, f.cat}}
	if err := c.Run(ctx, t.rounds); err != nil {
		return err
	}
	out.Tables = append(out.Tables, c.Table(fmt.Sprintf("One file of %.1f MB", float64(info.Size())/1e6), t.keys))
	out.Goals = append(out.Goals, f.goals(t.keys)...)
	return nil
}

// field enters everybody. An audit finds the planted violations, so its exit
// status is 1.
func (t *track) field(self, file string, truth *dataset.Manifest) field {
	audit := func(name string, more ...string) *contest.Contestant {
		args := append([]string{"audit", file, "-f", t.declaration, "-o", "json", "--progress", "none"}, more...)
		return &contest.Contestant{Name: name, Exit: 1, Command: contest.Program(t.cli, args...),
			Verify: func(stdout []byte) error { return verdict.Audit(stdout, truth) }}
	}
	says := func(name, want string, command ...string) *contest.Contestant {
		return &contest.Contestant{Name: name, Command: contest.Program(command[0], command[1:]...),
			Verify: func(stdout []byte) error { return contains(stdout, want) }}
	}
	return field{
		audit: audit("keywright audit"),
		quick: audit("keywright audit --no-crc", "--no-crc"),
		bare:  says("source/rdb alone", fmt.Sprintf("%d keys\n", truth.Keys), self, "-read", file),
		infer: says("keywright infer", fmt.Sprintf("drawn from %s keys", grouped(truth.Keys)), t.cli, "infer", file,
			"--progress", "none"),
		check: &contest.Contestant{Name: "redis-check-rdb", Discard: true, Command: contest.Program("redis-check-rdb", file)},
		cat:   &contest.Contestant{Name: "cat, the floor", Discard: true, Command: contest.Program("cat", file)},
	}
}

// contains makes sure that a contestant went through all keys.
func contains(stdout []byte, want string) error {
	if !bytes.Contains(stdout, []byte(want)) {
		return fmt.Errorf("it does not say %q", want)
	}
	return nil
}

func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (f field) goals(keys int) []report.Goal {
	speed := func(who *contest.Contestant) float64 { return float64(keys) / who.Best().Seconds() / 1e6 }
	return []report.Goal{
		{What: "audit, million keys per second, checksum verified", Value: speed(f.audit), Bound: 3, AtLeast: true},
		{What: "audit --no-crc, million keys per second", Value: speed(f.quick), Bound: 4, AtLeast: true},
		{What: "wall, redis-check-rdb ÷ audit", Value: contest.Ratio(f.check, f.audit, contest.Wall), Bound: 4.5,
			AtLeast: true},
		{What: "audit, peak RSS MiB", Value: max(f.audit.PeakRSS(), f.quick.PeakRSS()), Bound: 64},
		{What: "wall, infer ÷ audit", Value: contest.Ratio(f.infer, f.audit, contest.Wall), Bound: 3},
		{What: "infer, peak RSS MiB", Value: f.infer.PeakRSS(), Bound: 64},
	}
}

// bareRead returns the reader alone: the share of an audit that is
// not matching and counting.
func bareRead(ctx context.Context, file string, stdout io.Writer) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	keys := 0
	_, err = rdb.New(in, rdb.Options{OnlyDB: -1}).Scan(ctx, source.Request{Bytes: true}, func(batch []source.Key) error {
		keys += len(batch)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d keys\n", keys)
	return err
}
