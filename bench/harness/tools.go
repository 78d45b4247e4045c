package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/verdict"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// Tools holds files that contestants need which are processes.
type Tools struct {
	Dir         string // is removed at the end
	CLI         string // keywright
	Self        string // this program
	Declaration string // of the dataset
}

func (t *Tools) prepare(ctx context.Context, name string) (err error) {
	if t.Dir, err = os.MkdirTemp("", "keywright-"+name+"-"); err != nil {
		return err
	}
	t.Declaration = filepath.Join(t.Dir, "keyspace.yaml")
	self, err := os.Executable()
	t.Self = self
	if err = errors.Join(err, os.WriteFile(t.Declaration, dataset.Declaration, 0o644)); err == nil && t.CLI == "" {
		t.CLI = filepath.Join(t.Dir, "keywright")
		err = build(ctx, t.CLI)
	}
	return err
}

func (t *Tools) remove() { os.RemoveAll(t.Dir) }

// build builds the keywright command of this tree into a file.
func build(ctx context.Context, file string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/keywright/keywright").Output()
	if err != nil {
		return fmt.Errorf("find the root module: %w; run this from the bench folder", err)
	}
	dir := strings.TrimSpace(string(root))
	build := exec.CommandContext(ctx, "go", "build", "-o", file, "./cmd/keywright")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build keywright: %w\n%s", err, text)
	}
	return nil
}

// Keywright returns a contestant that runs the command line with the declaration of the dataset.
func (t *Tools) Keywright(name string, args ...string) *contest.Contestant {
	args = append(args, "-f", t.Declaration, "--progress", "none")
	return &contest.Contestant{Name: name, Command: contest.Program(t.CLI, args...)}
}

// Audit returns a contestant that audits a file or a server. It finds the planted violations, so its exit status is 1.
func (t *Tools) Audit(name, source string, truth *dataset.Manifest, more ...string) *contest.Contestant {
	c := t.Keywright(name, append([]string{"audit", source, "-o", "json"}, more...)...)
	c.Exit, c.Verify = 1, func(stdout []byte) error { return verdict.Audit(stdout, truth) }
	return c
}

// RDB returns a contestant that takes a snapshot of a server and does nothing with it.
func RDB(from *live.Server) *contest.Contestant {
	host, port, _ := net.SplitHostPort(from.Addr)
	return &contest.Contestant{Name: "redis-cli --rdb -", Discard: true,
		Command: contest.Program("redis-cli", "-h", host, "-p", port, "--rdb", "-")}
}

// Declared loads a declaration, which must have no error.
func Declared(text []byte) (*keyspace.Keyspace, error) {
	ks, found := load.File(fstest.MapFS{"keyspace.yaml": {Data: text}}, "keyspace.yaml")
	if finding.Count(found).Errors > 0 {
		return nil, fmt.Errorf("the declaration has faults: %v", found)
	}
	return ks, nil
}

// Dataset says which keys the program works on.
func (p *Program) Dataset() dataset.Options { return dataset.Options{Keys: p.Keys, Seed: p.Seed} }

// Load starts a server with the dataset.
func (p *Program) Load(ctx context.Context, server string, settings ...string) (*live.Server, *dataset.Manifest,
	error) {
	s, err := p.Start(ctx, server, settings...)
	if err != nil {
		return nil, nil, err
	}
	truth, err := dataset.Load(ctx, s.Addr, p.Dataset())
	return s, truth, err
}
