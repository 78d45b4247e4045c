package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
)

// A page of many rows with a TTL each takes time in proportion to its length: labels of
// TTLs are looked up, not held against each key.
func TestManyRows(t *testing.T) {
	gate.Skip(t, "compares times")
	page := func(rows int) []byte {
		var b strings.Builder
		b.WriteString("# Redis keys\n\n| Key | TTL | Notes |\n|--|--|--|\n")
		for i := range rows {
			b.WriteString("| `")
			for j := range 12 {
				fmt.Fprintf(&b, "s%d:", i%(j+2))
			}
			fmt.Fprintf(&b, "{id}:%d` | 1h | x |\n", i)
		}
		return []byte(b.String())
	}
	short, long := page(1000), page(8000)
	for range 5 { // what a busy machine makes long once is not long each time
		start := time.Now()
		Read(short)
		middle := time.Now()
		if len(Read(long).Keys) == 0 {
			t.Fatal("no keys")
		}
		if time.Since(middle) < 32*middle.Sub(start) {
			return
		}
	}
	t.Error("8,000 rows take more than 32 times as long as 1,000")
}

// A table of very many columns is read up to a bound, which is said.
func TestManyColumns(t *testing.T) {
	const columns = 20_000
	text := "# Redis keys\n\n| Key | TTL |" + strings.Repeat(" n |", columns) + "\n" + strings.Repeat("|--",
		columns+2) + "|\n"
	for i := range 3 {
		text += fmt.Sprintf("| `user:{id}:%c` | 1h |", 'a'+i) + strings.Repeat(" user:{id}:x |", columns) + "\n"
	}
	p := Read([]byte(text))
	told := slices.ContainsFunc(p.Passed, func(one Passed) bool { return strings.Contains(one.Why, "only 100 columns") })
	if len(p.Keys) < 3 || !told {
		t.Errorf("%d keys, passed over: %.200v", len(p.Keys), p.Passed)
	}
}
