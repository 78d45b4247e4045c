package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/harness/harnesstest"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/verdict"
)

// TestMain lets the test binary be its own contestants, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The real audit of 100,000 keys says exactly what was planted, on both
// servers, by the command line and in process: run fails on any difference.
func TestAuditIsExact(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-keys 100000 -rounds 1", "redis-server", "valkey-server", auditCLI, auditChild)
}

// With --values, what was planted is still all there is: every value of the
// dataset is as keyspace.yaml declares it.
func TestAuditOfValuesIsExact(t *testing.T) {
	server, err := live.Start(t.Context(), "redis-server")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	truth, err := dataset.Load(t.Context(), server.Addr, dataset.Options{Keys: 50_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	report, err := auditInProcess(t.Context(), server.Addr, audit.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := verdict.Audit(text, truth); err != nil {
		t.Error(err)
	}
}
