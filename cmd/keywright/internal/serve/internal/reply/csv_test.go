package reply_test

import (
	"encoding/csv"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace/finding"
)

// TestATableHasNoFigureThatJSONLeavesOut: what JSON leaves out of a row is an empty cell of the table, and no zero; a
// figure that is zero in JSON is zero.
func TestATableHasNoFigureThatJSONLeavesOut(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	holder := finding.JSONKey("api-1")
	reply.WriteCSV(w, "locks", struct{ Items []answer.Lock }{[]answer.Lock{{Entry: "report", Key: finding.JSONKey("lock:1"),
		Sharing: 3}, {Entry: "report", Key: finding.JSONKey("lock:2"), Holder: &holder, Since: 1.5, Left: 2, Fence: 7}}})
	rows, err := csv.NewReader(w.Body).ReadAll()
	expect.NoError(t, err)
	want := [][]string{{"entry", "key", "holder", "token", "held_seconds", "lease_left_seconds", "fence", "waiting", "sharing"},
		{"report", "lock:1", "", "", "", "", "", "0", "3"}, {"report", "lock:2", "api-1", "", "1.5", "2", "7", "0", "0"}}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("%q\nnot\n%q", rows, want)
	}
}
