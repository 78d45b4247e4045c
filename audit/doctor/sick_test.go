package doctor_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source/server/examine"
)

// found returns the message of a finding, "" if no finding has the code.
func found(x *examine.Examination, code string) string {
	for _, f := range doctor.Of(x).Findings {
		if f.Code == code {
			return f.Message
		}
	}
	return ""
}

// TestLaggingReplicas: a replica that has not confirmed what its primary wrote is named, with its lag.
func TestLaggingReplicas(t *testing.T) {
	t.Parallel()
	info := topology.Info{"role": "master", "master_repl_offset": "600000",
		"slave0": "ip=10.0.0.1,port=6380,state=online,offset=599990,lag=1",
		"slave1": "ip=10.0.0.2,port=6380,state=online,offset=90000,lag=27",
		"slave2": "ip=10.0.0.3,port=6380,state=wait_bgsave,offset=0,lag=0"}
	x := &examine.Examination{Patients: []*examine.Patient{{Address: "10.0.0.9:6379", Info: info}}}
	want := "replicas are not in step: 10.0.0.2:6380 (lags by 510000 bytes, silent for 27s), " +
		"10.0.0.3:6380 (loading the data set)"
	if got := found(x, "KW732"); got != want {
		t.Errorf("%q", got)
	}
	if in := info.InStep(); len(in) != 1 || in[0] != "10.0.0.1:6380" {
		t.Errorf("in step: %q", in)
	}
}

// TestOrphanedKeys: keys in slots of other nodes are counted, and some of them are named.
func TestOrphanedKeys(t *testing.T) {
	t.Parallel()
	p := &examine.Patient{Address: "10.0.0.9:6379"}
	for n := range 7 {
		p.Orphans = append(p.Orphans, examine.OrphanSlot{Slot: n, Keys: 2, Owner: "10.0.0.1:6379", Names: []string{`"a"`, `"b"`}})
	}
	got := found(&examine.Examination{Patients: []*examine.Patient{p}}, "KW746")
	for _, want := range []string{"keys of 10.0.0.9:6379 in slots of other nodes, which no client can read: 14",
		`slot 0 of 10.0.0.1:6379 (keys: 2: "a", "b")`, "and 2 more slots"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}
