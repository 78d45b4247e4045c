package page

import (
	"fmt"
	"slices"
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

// A table of very many columns is read up to a bound, which is said.
func TestManyColumns(t *testing.T) {
	const columns = 20_000
	text := "# Redis keys\n\n| Key | TTL |" + strings.Repeat(" n |", columns) + "\n" + strings.Repeat("|--", columns+2) + "|\n"
	for i := range 3 {
		text += fmt.Sprintf("| `user:{id}:%c` | 1h |", 'a'+i) + strings.Repeat(" user:{id}:x |", columns) + "\n"
	}
	p := Read([]byte(text))
	told := slices.ContainsFunc(p.Passed, func(one Passed) bool { return strings.Contains(one.Why, "only 100 columns") })
	if len(p.Keys) < 3 || !told {
		t.Errorf("%d keys, passed over: %.200v", len(p.Keys), p.Passed)
	}
}
