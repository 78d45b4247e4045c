package costs

import (
	"errors"
	"io"
	"testing"

	"github.com/keywright/keywright/bench/live"
)

// A server's counters are read, and our own INFO is not counted.
func TestCount(t *testing.T) {
	server, err := live.Start(t.Context(), "redis-server")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	const n = 10
	var c Costs
	for range 2 {
		if err := c.Count(server, func() (err error) {
			for range n {
				err = errors.Join(err, server.Do("SET", "a", "b"))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Cells(2 * n)[3]; got != "1.0" || c.Allocations <= 0 || c.Client <= 0 {
		t.Errorf("%+v, %v commands", c, got)
	}
	if len(c.Cells(1)) != len(Titles()) {
		t.Errorf("%d cells, %d columns", len(c.Cells(1)), len(Titles()))
	}
	if err := c.Count(server, func() error { return io.EOF }); err != io.EOF {
		t.Errorf("what fails: %v", err)
	}
}
