package costs

import (
	"testing"

	"github.com/keywright/keywright/bench/live"
)

// A server's counters are read, and our own INFO is not counted.
func TestRead(t *testing.T) {
	server, err := live.Start(t.Context(), "redis-server")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	before, err := Read(server)
	if err != nil {
		t.Fatal(err)
	}
	const n = 10
	for range n {
		if err := server.Do("SET", "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	after, err := Read(server)
	if err != nil {
		t.Fatal(err)
	}
	var c Costs
	c.Add(before, after)
	c.Add(before, after)
	if got := c.Cells(2 * n)[3]; got != "1.0" || c.Allocations <= 0 || c.Client <= 0 {
		t.Errorf("%+v, %v commands", c, got)
	}
	if len(c.Cells(1)) != len(Columns) {
		t.Errorf("%d cells, %d columns", len(c.Cells(1)), len(Columns))
	}
}
