package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/harness/harnesstest"
	"github.com/keywright/keywright/bench/report"
)

// TestMain lets the test binary be its own contestant, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-read" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The audit of a file says exactly what was planted, with and without the
// checksum, and the estimates hold on both servers: run fails on any difference.
func TestFileIsExact(t *testing.T) {
	out := harnesstest.Shows(t, benchmark(), "-keys 50000 -rounds 1")
	for line := range strings.Lines(out) {
		if strings.Contains(line, "MISSED") &&
			(strings.Contains(line, "exact estimates") || strings.Contains(line, "error of the estimate")) {
			t.Error(line)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.rdb")
	harnesstest.Refuses(t, benchmark, map[string]string{"missing.rdb": "-read " + missing})
}

// A goal is missed by the contestant it is about, and by no other.
func TestGoals(t *testing.T) {
	runs := func(wall time.Duration, mib int64) *contest.Contestant {
		return &contest.Contestant{Samples: []contest.Sample{{Wall: wall, RSS: mib << 20}}}
	}
	good := func() field {
		return field{audit: runs(200*time.Millisecond, 20), quick: runs(180*time.Millisecond, 20),
			infer: runs(500*time.Millisecond, 20), check: runs(time.Second, 10)}
	}
	for missed, change := range map[string]func(*field){
		"":                  func(*field) {},
		"checksum verified": func(f *field) { f.audit = runs(350*time.Millisecond, 20); f.check = runs(2*time.Second, 10) },
		"--no-crc, million": func(f *field) { f.quick = runs(300*time.Millisecond, 20) },
		"redis-check-rdb":   func(f *field) { f.check = runs(800*time.Millisecond, 10) },
		"audit, peak RSS":   func(f *field) { f.quick = runs(180*time.Millisecond, 65) },
		"infer ÷ audit":     func(f *field) { f.infer = runs(4100*time.Millisecond, 20) },
		"infer, peak RSS":   func(f *field) { f.infer = runs(500*time.Millisecond, 257) },
	} {
		f := good()
		change(&f)
		var out report.Report
		f.goals(&out, 1_000_000)
		for _, g := range out.Goals {
			if about := missed != "" && strings.Contains(g.What, missed); g.Reached() == about {
				t.Errorf("%q: %s: %v, reached %v", missed, g.What, g.Value, g.Reached())
			}
		}
	}
}

// An estimate that is a byte off is not exact, and too large is as wrong as too
// small.
func TestEstimateGoals(t *testing.T) {
	exact, tooLarge, tooSmall := &tally{}, &tally{}, &tally{}
	exact.add(100, 100)
	tooLarge.add(111, 100)
	tooSmall.add(89, 100)
	for _, wrong := range []*tally{tooLarge, tooSmall} {
		var out report.Report
		tabulate(&out, "server",
			map[string]*tally{"all": wrong, "string raw": wrong, "stream stream": wrong, "set intset": exact})
		for _, g := range out.Goals {
			if about := strings.Contains(g.What, "set intset"); g.Reached() != about {
				t.Errorf("%s: %v, reached %v", g.What, g.Value, g.Reached())
			}
		}
		if len(out.Goals) != 4 {
			t.Errorf("%d goals", len(out.Goals))
		}
	}
}
