package audit

import (
	"bytes"
	"testing"

	"github.com/keywright/keywright/source"
)

// Names of a MiB, each in a group, a finding and the list of the largest keys of its
// own, are kept as their beginnings.
func TestLongNamesAreCut(t *testing.T) {
	a := newAudit(t, Options{Top: 1000, Examples: 1000, Groups: 1000})
	for i := range 200 {
		name := append([]byte{'a' + byte(i%26), byte('a' + i/26), ':'}, bytes.Repeat([]byte{'x'}, 1<<20)...)
		a.Add([]source.Key{{Name: name, Kind: source.String, TTL: source.NoTTL, Bytes: int64(i)}})
	}
	text, err := a.State()
	if err != nil || len(text) > 8<<20 {
		t.Errorf("200 names of a MiB are kept in %d bytes, %v", len(text), err)
	}
	r := a.Report(source.Summary{}, false)
	if len(r.Largest) != 200 || r.Undeclared.Other != 200 || len(r.Findings[0].Examples) != 200 {
		t.Errorf("%d of the largest, %+v", len(r.Largest), r.Undeclared)
	}
}
