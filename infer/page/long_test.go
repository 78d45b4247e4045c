package page

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A page of many rows with a TTL each takes time in proportion to its length: labels of
// TTLs are looked up, not held against each key.
func TestManyRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Redis keys\n\n| Key | TTL | Notes |\n|--|--|--|\n")
	for i := range 8000 {
		b.WriteString("| `")
		for j := range 12 {
			fmt.Fprintf(&b, "s%d:", i%(j+2))
		}
		fmt.Fprintf(&b, "{id}:%d` | 1h | x |\n", i)
	}
	text := []byte(b.String())
	began := time.Now()
	if len(Read(text).Keys) == 0 {
		t.Error("no keys")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v", took)
	}
}
