package shadow

import (
	"testing"

	"github.com/keywright/keywright/migrate/record"
)

// TestARecordCountsOnceInAClass: a list whose elements are all missing is one record of that class.
func TestARecordCountsOnceInAClass(t *testing.T) {
	t.Parallel()
	p := &Part{}
	for _, key := range []string{"list:1", "list:2"} {
		id := record.ID{Move: "list", Key: key}
		var diffs []record.Difference
		for _, sub := range []string{"0", "1", "2"} {
			diffs = append(diffs, record.Difference{ID: record.ID{Move: "list", Key: key, Sub: sub}, Kind: record.DiffMissing})
		}
		p.Differ(id, append(diffs, record.Difference{Path: ".a", Kind: record.DiffValue}), 1)
	}
	if len(p.Classes) != 2 || p.Classes[0].Count != 2 || p.Classes[1].Count != 2 {
		t.Errorf("%+v", p.Classes)
	}
}
