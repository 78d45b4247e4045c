package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/peers"
	"github.com/keywright/keywright/bench/verdict"
)

// contestant represents one way through the whole keyspace, as a process.
type contestant struct {
	name    string
	command func(ctx context.Context, addr string, count int) *exec.Cmd
	exit    int // the exit status of success
	verify  func(stdout []byte, truth *dataset.Manifest) error
	samples []sample
}

// Names that ratios refer to.
const (
	auditCLI   = "keywright audit"
	valuesCLI  = "keywright audit --values"
	auditChild = "keywright, in process"
	rueidis    = "rueidis loop"
	floor      = "tuned floor"
	valueFloor = "tuned floor, with values"
	memkeys    = "redis-cli --memkeys"
)

// tools holds the programs the contestants need.
type tools struct {
	options
	self string // this binary, for the contestants that are children
	dir  string
	file string // the declaration
}

func newTools(ctx context.Context, o options) (*tools, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "keywright-auditbench-")
	if err != nil {
		return nil, err
	}
	t := &tools{options: o, self: self, dir: dir, file: filepath.Join(dir, "keyspace.yaml")}
	if err := os.WriteFile(t.file, dataset.Declaration, 0o644); err != nil {
		return nil, err
	}
	if t.cli == "" {
		t.cli = filepath.Join(dir, "keywright")
		err = live.BuildCLI(ctx, t.cli)
	}
	return t, err
}

func (t *tools) remove() { os.RemoveAll(t.dir) }

func (t *tools) contestants() []*contestant {
	return []*contestant{
		{name: auditCLI, exit: 1, verify: verdict.Audit, command: t.audit},
		{name: valuesCLI, exit: 1, verify: verdict.Audit, command: t.auditValues},
		{name: auditChild, verify: verdict.Audit, command: t.child("audit")},
		{name: rueidis, verify: verifyTally, command: t.child("rueidis")},
		{name: floor, verify: verifyTally, command: t.child("floor")},
		{name: valueFloor, verify: verifyTally, command: t.child("values")},
		{name: memkeys, verify: verifyMemkeys, command: redisCLI},
	}
}

// audit finds the planted violations, so its exit status is 1.
func (t *tools) audit(ctx context.Context, addr string, _ int) *exec.Cmd {
	return exec.CommandContext(ctx, t.cli, "audit", "-f", t.file, "-u", "redis://"+addr, "-o", "json")
}

// auditValues looks at a sample of the values, too.
func (t *tools) auditValues(ctx context.Context, addr string, count int) *exec.Cmd {
	cmd := t.audit(ctx, addr, count)
	cmd.Args = append(cmd.Args, "--values")
	return cmd
}

func (t *tools) child(name string) func(context.Context, string, int) *exec.Cmd {
	return func(ctx context.Context, addr string, count int) *exec.Cmd {
		return exec.CommandContext(ctx, t.self, "-child", name, "-addr", addr, "-count", strconv.Itoa(count))
	}
}

func redisCLI(ctx context.Context, addr string, _ int) *exec.Cmd {
	host, port, _ := net.SplitHostPort(addr)
	return exec.CommandContext(ctx, "redis-cli", "-h", host, "-p", port, "--memkeys")
}

func verifyTally(stdout []byte, truth *dataset.Manifest) error {
	var tally peers.Tally
	if err := json.Unmarshal(stdout, &tally); err != nil {
		return err
	}
	if tally.Keys != int64(truth.Keys) || tally.Bytes == 0 {
		return fmt.Errorf("saw %d keys of %d bytes, want %d keys", tally.Keys, tally.Bytes, truth.Keys)
	}
	return nil
}

func verifyMemkeys(stdout []byte, truth *dataset.Manifest) error {
	want := fmt.Sprintf("Sampled %d keys in the keyspace!", truth.Keys)
	if !strings.Contains(string(stdout), want) {
		return fmt.Errorf("its output does not say %q", want)
	}
	return nil
}
