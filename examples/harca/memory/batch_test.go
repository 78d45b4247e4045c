package memory_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestBatchBound: a batch gives no more than 32 MB and what was under way then. What it leaves out has
// a status of its own, and can be asked for again.
func TestBatchBound(t *testing.T) {
	gate.Skip(t, "reads 100 MB")
	t.Parallel()
	const size, asked, most, underWay = 256 << 10, 400, 32 << 20, 128
	_, c := start(t, options(t, keywrighttest.Start(t, keywrighttest.Redis).URL()))
	var made memory.Written
	body := fmt.Sprintf(`{"type":"fact","content":%q}`, strings.Repeat("x", size-2))
	c.do(http.StatusCreated, "POST", "/items", body, &made)
	read := func(want, n int) (given, left int) {
		ids, err := json.Marshal(map[string]any{"ids": slices.Repeat([]string{made.ID}, n)})
		must(t, err)
		var said struct {
			Results []struct {
				Item   *memory.Item
				Status int
			}
			Failed int
		}
		must(t, json.Unmarshal([]byte(c.do(want, "POST", "/items/read", string(ids), nil)), &said))
		for _, r := range said.Results {
			switch {
			case r.Status == http.StatusOK && r.Item != nil:
				given += len(r.Item.Content)
			case r.Status == http.StatusRequestEntityTooLarge && r.Item == nil:
				left++
			default:
				t.Errorf("status %d, item %t", r.Status, r.Item != nil)
			}
		}
		if len(said.Results) != n || said.Failed != left {
			t.Errorf("%d results, %d of %d have failed", len(said.Results), said.Failed, left)
		}
		return given, left
	}
	if given, left := read(http.StatusMultiStatus, asked); given < most || given > most+underWay*size || left == 0 {
		t.Errorf("%d bytes are given, %d items are left out", given, left)
	}
	if given, left := read(http.StatusOK, 1); given != size || left != 0 {
		t.Errorf("asked for again: %d bytes, %d left out", given, left)
	}
}
