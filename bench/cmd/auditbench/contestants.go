package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strconv"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/peers"
	"github.com/keywright/keywright/bench/verdict"
)

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

// contestants lists ways through the whole keyspace, each a process.
func (f *field) contestants() []*contest.Contestant {
	host, port, _ := net.SplitHostPort(f.server.Addr)
	return []*contest.Contestant{
		f.Tools.Audit(auditCLI, f.server.URL(), f.truth),
		f.Tools.Audit(valuesCLI, f.server.URL(), f.truth, "--values"), // looks at a sample of the values, too
		f.child(auditChild, "audit", func(stdout []byte) error { return verdict.Audit(stdout, f.truth) }),
		f.child(rueidis, "rueidis", f.verifyTally), f.child(floor, "floor", f.verifyTally),
		f.child(valueFloor, "values", f.verifyTally),
		{Name: memkeys, Verify: contest.Says(fmt.Sprintf("Sampled %d keys in the keyspace!", f.truth.Keys)),
			Command: contest.Program("redis-cli", "-h", host, "-p", port, "--memkeys")},
	}
}

func (f *field) child(name, child string, verify func([]byte) error) *contest.Contestant {
	return &contest.Contestant{Name: name, Verify: verify, Command: func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, f.Tools.Self, "-child", child, "-addr", f.server.Addr, "-count",
			strconv.Itoa(f.count))
	}}
}

func (f *field) verifyTally(stdout []byte) error {
	var tally peers.Tally
	if err := json.Unmarshal(stdout, &tally); err != nil {
		return err
	}
	if tally.Keys != int64(f.truth.Keys) || tally.Bytes == 0 {
		return fmt.Errorf("saw %d keys of %d bytes, want %d keys", tally.Keys, tally.Bytes, f.truth.Keys)
	}
	return nil
}
