package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bench/dataset"
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
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-keys", "100000", "-rounds", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redis-server", "valkey-server", auditCLI, auditChild} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not mention %s:\n%s", want, out.String())
		}
	}
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
