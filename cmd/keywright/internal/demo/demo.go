// Package demo is `keywright demo`: a server of its own, filled from the five
// example declarations and soiled on purpose, audited, and taken down again.
// What was planted is listed beside the report, so that a reader can see that
// the audit finds it all.
//
// It is not a benchmark and touches no server it has not started. Without
// valkey-server or redis-server it takes an embedded one and says what that
// cannot show.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/sample"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// File is the declaration in Options.Dir that the demo is about.
const File = "all.yaml"

// Options of a demo. Audit is the command that looks at the server; the demo
// does not judge its answer, only an error ends it.
type Options struct {
	Dir    string // the folder with all.yaml, "examples" by default
	Out    io.Writer
	Err    io.Writer
	Keys   int    // 50,000 by default
	Seed   uint64 // the same seed makes the same data
	Server string // valkey-server, redis-server or miniredis; "" is the first there is
	Serve  bool   // leave the server running until ctx ends
	Audit  func(ctx context.Context, url, file string) error
}

// faultsEach says how many keys of each fault are planted.
const faultsEach = 40

// Run shows the demo. It returns when the report is printed, or with Serve when
// ctx ends; then the server is gone.
func Run(ctx context.Context, opt Options) error {
	opt.Dir = cmp.Or(opt.Dir, "examples")
	opt.Keys = cmp.Or(opt.Keys, 50_000)
	ks, err := loaded(opt.Dir)
	if err != nil {
		return err
	}
	s, err := start(ctx, opt.Server)
	if err != nil {
		return err
	}
	defer s.stop()
	announce(opt, s)
	if err := stock(ctx, opt, ks, s); err != nil {
		return err
	}
	return show(ctx, opt, s)
}

func loaded(dir string) (*keyspace.Keyspace, error) {
	if _, err := os.Stat(filepath.Join(dir, File)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(
			"%s holds no %s; run the demo in the root of keywright's source, or name its examples folder with --dir", dir, File)
	}
	ks, findings := load.File(os.DirFS(dir), File)
	for _, f := range findings {
		if f.Severity == finding.Error {
			return nil, fmt.Errorf("%s:%d:%d: %s", f.Pos.File, f.Pos.Line, f.Pos.Column, f.Message)
		}
	}
	return ks, nil
}

func announce(opt Options, s *throwaway) {
	fmt.Fprintf(opt.Out, "Started a throw-away %s on %s.\n", s.name, s.addr)
	if s.name != Embedded {
		return
	}
	fmt.Fprintln(opt.Err, "Neither valkey-server nor redis-server is used, so this is missing:")
	for _, l := range lacking {
		fmt.Fprintf(opt.Err, "  - %s\n", l)
	}
}

// stock fills the server and says with what.
func stock(ctx context.Context, opt Options, ks *keyspace.Keyspace, s *throwaway) error {
	begin := time.Now()
	keys, manifest, err := data(ks, opt, begin)
	if err != nil {
		return err
	}
	if err := fill(ctx, s.addr, keys); err != nil {
		return err
	}
	var spoilt []string
	for _, f := range sample.Faults {
		spoilt = append(spoilt, fmt.Sprintf("%d %s", manifest.Count(f), f))
	}
	fmt.Fprintf(opt.Out, "Wrote %d keys of the five teams in %s. Spoilt on purpose:\n  %s\n", len(keys),
		time.Since(begin).Round(10*time.Millisecond), strings.Join(spoilt, " · "))
	return nil
}

func data(ks *keyspace.Keyspace, opt Options, now time.Time) ([]sample.Key, sample.Manifest, error) {
	o := sample.Options{Keys: opt.Keys, Seed: opt.Seed, Now: now}
	return sample.Soil(ks, sample.Generate(ks, o), faultsEach, o)
}

func show(ctx context.Context, opt Options, s *throwaway) error {
	file := filepath.Join(opt.Dir, File)
	fmt.Fprintf(opt.Out, "\n$ keywright audit -f %s -u %s\n\n", file, s.url())
	if err := opt.Audit(ctx, s.url(), file); err != nil {
		return err
	}
	if !opt.Serve {
		return nil
	}
	fmt.Fprintf(opt.Out, "\nThe server stays until you press ctrl-C: %s\n", s.url())
	<-ctx.Done()
	return nil
}
