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
	b.WriteString("| Key | TTL | Notes |\n|--|--|--|\n")
	for i := range 60_000 {
		fmt.Fprintf(&b, "| `app:{id}:part%d` | | thing %d of it |\n", i, i)
	}
	b.WriteString("\n| What | TTL |\n|--|--|\n")
	for i := range 60_000 {
		fmt.Fprintf(&b, "| thing %d | 1h |\n", i)
	}
	text := []byte(b.String())
	began := time.Now()
	if len(Read(text).Keys) == 0 {
		t.Error("no keys")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}
