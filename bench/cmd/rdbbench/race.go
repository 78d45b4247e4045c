package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// field describes what runs.
type field struct{ audit, quick, bare, infer, check, cat *contest.Contestant }

// race runs all contestants on the first file.
func (t *track) race(ctx context.Context, out *report.Report) error {
	if t.raced {
		return nil
	}
	t.raced = true
	info, err := os.Stat(t.file)
	if err != nil {
		return err
	}
	f := t.field()
	c := &contest.Contest{All: []*contest.Contestant{f.audit, f.quick, f.bare, f.infer, f.check, f.cat}}
	if err := c.Run(ctx, t.Rounds); err != nil {
		return err
	}
	c.Show(out, fmt.Sprintf("One file of %.1f MB", float64(info.Size())/1e6), t.Keys)
	f.goals(out, t.Keys)
	return nil
}

func (t *track) field() field {
	program := func(name string, command ...string) *contest.Contestant {
		return &contest.Contestant{Name: name, Discard: true, Command: contest.Program(command[0], command[1:]...)}
	}
	says := func(want string, c *contest.Contestant) *contest.Contestant {
		c.Discard, c.Verify = false, contest.Says(want)
		return c
	}
	return field{
		audit: t.Tools.Audit("keywright audit", t.file, t.truth),
		quick: t.Tools.Audit("keywright audit --no-crc", t.file, t.truth, "--no-crc"),
		bare:  says(fmt.Sprintf("%d keys\n", t.truth.Keys), program("source/rdb alone", t.Tools.Self, "-read", t.file)),
		infer: says(fmt.Sprintf("drawn from %s keys", grouped(t.truth.Keys)),
			program("keywright infer", t.Tools.CLI, "infer", t.file, "--progress", "none")),
		check: program("redis-check-rdb", "redis-check-rdb", t.file),
		cat:   program("cat, the floor", "cat", t.file),
	}
}

func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (f field) goals(out *report.Report, keys int) {
	speed := turns.Most("", "", contest.Speed(float64(keys)/1e6))
	out.AtLeast(3, speed.Value(f.audit.Samples), "audit, million keys per second, checksum verified")
	out.AtLeast(4, speed.Value(f.quick.Samples), "audit --no-crc, million keys per second")
	out.AtLeast(4.5, contest.Ratio(f.check, f.audit, contest.Wall), "wall, redis-check-rdb ÷ audit")
	out.AtMost(64, contest.Peak.Value(slices.Concat(f.audit.Samples, f.quick.Samples)), "audit, peak RSS MiB")
	out.AtMost(3, contest.Ratio(f.infer, f.audit, contest.Wall), "wall, infer ÷ audit")
	out.AtMost(64, contest.Peak.Value(f.infer.Samples), "infer, peak RSS MiB")
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
