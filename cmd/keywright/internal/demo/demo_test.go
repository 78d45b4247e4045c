package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/sample"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

const examplesDir = "../../../../examples"

// codes lists the findings that the planted faults must become. Foreign keys are
// counted apart and are no finding.
var codes = map[sample.Fault]string{
	sample.Typo: "KW501", sample.Stray: "KW502", sample.Legacy: "KW503", sample.WrongType: "KW504",
	sample.NoTTL: "KW505", sample.TTLTooLong: "KW506", sample.UnexpectedTTL: "KW507",
}

// TestAuditFindsWhatWasPlanted: on every server the demo can run on, the audit
// finds each planted fault once and nothing else.
func TestAuditFindsWhatWasPlanted(t *testing.T) {
	for _, name := range []string{"redis-server", "valkey-server", Embedded} {
		t.Run(name, func(t *testing.T) {
			var report *audit.Report
			opt := Options{Dir: examplesDir, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Keys: 8000, Seed: 3, Server: name}
			opt.Audit = func(ctx context.Context, url, _ string) (err error) {
				report, err = run(ctx, url)
				return err
			}
			if err := Run(t.Context(), opt); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(planted(opt.Out), found(report)); diff != "" {
				t.Errorf("planted (-) and found (+) differ:\n%s", diff)
			}
			if !report.Complete || report.Verdict != "findings" {
				t.Errorf("the report is %s: %v", report.Verdict, report.Incomplete)
			}
		})
	}
}

// run audits as the command does, values included.
func run(ctx context.Context, url string) (*audit.Report, error) {
	ks, err := loaded(examplesDir)
	if err != nil {
		return nil, err
	}
	a, err := audit.New(ks, audit.Options{Values: true})
	if err != nil {
		return nil, err
	}
	c, err := connect.New(connect.Options{URL: url})
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, server.New(c, server.Options{OnlyDB: -1}), source.Request{Bytes: true})
}

// planted reads the manifest as the demo prints it, so that what people see is
// what is compared.
func planted(out any) map[string]int64 {
	counts := map[string]int64{}
	for _, line := range strings.Split(out.(*bytes.Buffer).String(), "\n") {
		for _, part := range strings.Split(strings.TrimSpace(line), " · ") {
			n, what, _ := strings.Cut(part, " ")
			switch fault := sample.Fault(what); {
			case fault == sample.Foreign:
				counts["foreign"] = number(n)
			case fault == sample.Typo:
				counts["KW516"] = number(n)
				fallthrough
			case codes[fault] != "":
				counts[codes[fault]] = number(n)
			}
		}
	}
	return counts
}

func number(digits string) (n int64) {
	for _, d := range digits {
		n = 10*n + int64(d-'0')
	}
	return n
}

func found(r *audit.Report) map[string]int64 {
	counts := map[string]int64{}
	for _, f := range r.Findings {
		counts[f.Code] += f.Count
	}
	for _, f := range r.Foreign {
		counts["foreign"] += f.Keys
	}
	return counts
}

// TestNothingIsLeft: when the demo ends, however it ends, server and files are
// gone.
func TestNothingIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	broken := errors.New("the audit failed")
	opt := Options{Dir: examplesDir, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Keys: 300, Server: "redis-server"}
	var addr string
	opt.Audit = func(_ context.Context, url, _ string) error {
		addr = strings.TrimPrefix(url, "redis://")
		return broken
	}
	if err := Run(t.Context(), opt); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the audit", err)
	}
	if answers(addr) {
		t.Errorf("a server still answers on %s", addr)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestServeUntilToldToEnd: with Serve the server stays until ctx ends, and that
// is no error.
func TestServeUntilToldToEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	opt := Options{Dir: examplesDir, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Keys: 300, Server: Embedded, Serve: true}
	opt.Audit = func(context.Context, string, string) error {
		stop()
		return nil
	}
	if err := Run(ctx, opt); err != nil {
		t.Error(err)
	}
}

// TestSaysWhatIsMissing when there is no real server.
func TestSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs bytes.Buffer
	opt := Options{Dir: examplesDir, Out: &out, Err: &errs, Keys: 300,
		Audit: func(context.Context, string, string) error { return nil }}
	if err := Run(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	for _, l := range lacking {
		if !strings.Contains(errs.String(), l) {
			t.Errorf("it does not say %q", l)
		}
	}
}

func TestMistakesGetAHint(t *testing.T) {
	for name, opt := range map[string]Options{
		"--dir":       {Dir: t.TempDir()},
		"not in PATH": {Dir: examplesDir, Server: "no-such-server"},
	} {
		opt.Out, opt.Err = &bytes.Buffer{}, &bytes.Buffer{}
		if err := Run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want a hint with %q", err, name)
		}
	}
}
